-- The registry of node numbers, for those who want one: a table in a database of their choice, and two functions.
--
-- The table belongs to whoever creates the extension, so that they can grant rights on it, dump it and restore it. The
-- functions run with the caller's rights: the rights on the table decide.
CREATE TABLE snowflake_nodes (
    node_id integer PRIMARY KEY CHECK (node_id BETWEEN 0 AND 1023),
    server_name text NOT NULL UNIQUE CHECK (pg_catalog.length(server_name) BETWEEN 1 AND 255),
    claimed_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
ALTER TABLE snowflake_nodes OWNER TO @extowner@;
-- pg_dump reads every table of a database, whoever runs it.
GRANT SELECT ON snowflake_nodes TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.snowflake_nodes'::pg_catalog.regclass, '');

CREATE FUNCTION snowflake_node_claim(server_name text) RETURNS integer
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $claim$
#variable_conflict use_column
DECLARE
    claimed integer;
BEGIN
    IF length($1) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'server name must have 1 to 255 characters, got %', length($1)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass the name by which you know the server.';
    END IF;
    SELECT node_id INTO claimed FROM @extschema@.snowflake_nodes AS n WHERE n.server_name = $1;
    IF FOUND THEN
        RETURN claimed;
    END IF;
    -- One at a time. At READ COMMITTED each statement after this sees what the others have claimed; at the other
    -- levels, who is late fails to serialize.
    LOCK TABLE @extschema@.snowflake_nodes IN SHARE ROW EXCLUSIVE MODE;
    SELECT node_id INTO claimed FROM @extschema@.snowflake_nodes AS n WHERE n.server_name = $1;
    IF FOUND THEN
        RETURN claimed;
    END IF;
    -- The first server has run with the default number, 1. 0 comes last: small numbers that are no ids decode to it.
    SELECT free INTO claimed FROM generate_series(0, 1023) AS free
        WHERE NOT EXISTS (SELECT FROM @extschema@.snowflake_nodes WHERE node_id = free)
        ORDER BY free = 0, free LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node number is free for server "%"', $1
            USING ERRCODE = 'program_limit_exceeded', DETAIL = 'All 1024 numbers are claimed.',
                HINT = 'Release one that no server uses any more, with snowflake_node_release().';
    END IF;
    BEGIN
        INSERT INTO @extschema@.snowflake_nodes (node_id, server_name) VALUES (claimed, $1);
    EXCEPTION WHEN unique_violation THEN
        -- Claimed after this transaction's snapshot was taken.
        RAISE EXCEPTION 'could not claim a node number for server "%"', $1
            USING ERRCODE = 'serialization_failure',
                DETAIL = 'Another transaction has claimed a number since this one began.', HINT = 'Try the transaction again.';
    END;
    RETURN claimed;
END
$claim$;

CREATE FUNCTION snowflake_node_release(server_name text) RETURNS integer
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $release$
    DELETE FROM @extschema@.snowflake_nodes AS n WHERE n.server_name = $1 RETURNING n.node_id
$release$;
