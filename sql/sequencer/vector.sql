-- Vector clocks. The clock of this database is one row; an UPDATE of it is an event. It belongs to whoever creates the
-- extension, and the functions that change it run with their rights, so that nobody else needs any on the table.

CREATE TABLE snowflake_vector_clock (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    counters bigint[] NOT NULL
);
ALTER TABLE snowflake_vector_clock OWNER TO @extowner@;
-- pg_dump reads every table of a database, whoever runs it.
GRANT SELECT ON snowflake_vector_clock TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.snowflake_vector_clock'::pg_catalog.regclass, '');
COMMENT ON TABLE snowflake_vector_clock IS
    'the vector clock of this database, in one row';
COMMENT ON COLUMN snowflake_vector_clock.single IS
    'true: there is one row';
COMMENT ON COLUMN snowflake_vector_clock.counters IS
    'how many events of each node are known here, node 0 first';

-- What the functions below compute with, of any counters that are passed.
CREATE FUNCTION snowflake_vector_zero(nodes bigint) RETURNS bigint[]
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_vector_zero_wrapper';
COMMENT ON FUNCTION snowflake_vector_zero(bigint) IS
    'the counters of a vector clock of so many nodes that has seen nothing';
CREATE FUNCTION snowflake_vector_tick(counters bigint[]) RETURNS bigint[]
STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_vector_tick_wrapper';
COMMENT ON FUNCTION snowflake_vector_tick(bigint[]) IS
    'the counters after one more event of this server';
CREATE FUNCTION snowflake_vector_merge(counters bigint[], id bigint) RETURNS bigint[]
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_vector_merge_wrapper';
COMMENT ON FUNCTION snowflake_vector_merge(bigint[], bigint) IS
    'the counters that also know of what an id knows';
CREATE FUNCTION snowflake_vector_id(counters bigint[]) RETURNS bigint
STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_vector_id_wrapper';
COMMENT ON FUNCTION snowflake_vector_id(bigint[]) IS
    'the id of these counters, for an event of this server';

CREATE FUNCTION snowflake_vector_compare(a bigint, b bigint, nodes bigint) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_vector_compare_nodes_wrapper';
COMMENT ON FUNCTION snowflake_vector_compare(bigint, bigint, bigint) IS
    'whether an event of so many nodes was before or after another, equal or concurrent';
CREATE FUNCTION snowflake_vector_decode(id bigint, nodes bigint, OUT counters bigint[], OUT node_id integer)
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_vector_decode_nodes_wrapper';
COMMENT ON FUNCTION snowflake_vector_decode(bigint, bigint) IS
    'the counters and the node of an id of a vector clock of so many nodes';

CREATE FUNCTION snowflake_vector_nodes() RETURNS bigint
STABLE STRICT PARALLEL SAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $nodes$
DECLARE
    nodes bigint;
BEGIN
    SELECT cardinality(c.counters) INTO nodes FROM @extschema@.snowflake_vector_clock AS c;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the vector clock has no number of nodes'
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Configure it with snowflake_vector_configure(), alike on all nodes.';
    END IF;
    RETURN nodes;
END
$nodes$;
COMMENT ON FUNCTION snowflake_vector_nodes() IS
    'number of nodes of the vector clock of this database';

CREATE FUNCTION snowflake_vector_compare(a bigint, b bigint) RETURNS text
STABLE STRICT PARALLEL SAFE LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $compare$
    SELECT @extschema@.snowflake_vector_compare(a, b, @extschema@.snowflake_vector_nodes())
$compare$;
COMMENT ON FUNCTION snowflake_vector_compare(bigint, bigint) IS
    'whether an event was before or after another, equal or concurrent';
CREATE FUNCTION snowflake_vector_decode(id bigint, OUT counters bigint[], OUT node_id integer)
STABLE STRICT PARALLEL SAFE LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $decode$
    SELECT d.counters, d.node_id FROM @extschema@.snowflake_vector_decode(id, @extschema@.snowflake_vector_nodes()) AS d
$decode$;
COMMENT ON FUNCTION snowflake_vector_decode(bigint) IS
    'the counters and the node of an id of the vector clock';

CREATE FUNCTION snowflake_vector_configure(nodes bigint, restart boolean DEFAULT false) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $configure$
DECLARE
    zero CONSTANT bigint[] := @extschema@.snowflake_vector_zero(nodes);
    known bigint[];
BEGIN
    LOCK TABLE @extschema@.snowflake_vector_clock IN SHARE ROW EXCLUSIVE MODE;
    SELECT c.counters INTO known FROM @extschema@.snowflake_vector_clock AS c;
    IF NOT FOUND THEN
        INSERT INTO @extschema@.snowflake_vector_clock (counters) VALUES (zero);
    ELSIF restart OR known = array_fill(0::bigint, ARRAY[cardinality(known)]) THEN
        UPDATE @extschema@.snowflake_vector_clock SET counters = zero;
    ELSIF cardinality(known) <> nodes THEN
        RAISE EXCEPTION 'the vector clock has % nodes and has seen events, cannot have % nodes', cardinality(known), nodes
            USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = 'An id of another number of nodes has other counters.',
                HINT = 'restart => true begins anew. Keep the new ids apart from the old: they may be equal.';
    END IF;
END
$configure$;
ALTER FUNCTION snowflake_vector_configure(bigint, boolean) OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_vector_configure(bigint, boolean) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_vector_configure(bigint, boolean) IS
    'sets the number of nodes of the vector clock; with restart also where it has seen events';

CREATE FUNCTION snowflake_vector_next() RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $next$
DECLARE
    id bigint;
BEGIN
    UPDATE @extschema@.snowflake_vector_clock AS c SET counters = @extschema@.snowflake_vector_tick(c.counters)
        RETURNING @extschema@.snowflake_vector_id(c.counters) INTO id;
    IF NOT FOUND THEN
        PERFORM @extschema@.snowflake_vector_nodes();
    END IF;
    RETURN id;
END
$next$;
ALTER FUNCTION snowflake_vector_next() OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_vector_next() FROM PUBLIC;
COMMENT ON FUNCTION snowflake_vector_next() IS
    'the id of an event here, after all that this database''s vector clock has seen';

CREATE FUNCTION snowflake_vector_observe(id bigint) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $observe$
BEGIN
    UPDATE @extschema@.snowflake_vector_clock AS c SET counters = @extschema@.snowflake_vector_merge(c.counters, $1);
    IF NOT FOUND THEN
        PERFORM @extschema@.snowflake_vector_nodes();
    END IF;
END
$observe$;
ALTER FUNCTION snowflake_vector_observe(bigint) OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_vector_observe(bigint) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_vector_observe(bigint) IS
    'makes the next events of this database''s vector clock come after one from elsewhere';
