-- The registry of node numbers: a table in a database of the user's choice, and two functions.
--
-- The functions run with the caller's rights: the rights on the table decide. Whoever creates the extension has them all,
-- and may grant them, but does not own the table: an owner could add code to it that runs with the rights of whoever
-- claims. As every object of a trusted extension, it belongs to a superuser.
CREATE TABLE snowflake_nodes (
    node_id integer PRIMARY KEY CHECK (node_id BETWEEN 0 AND 1023),
    server_name text NOT NULL UNIQUE CHECK (pg_catalog.length(server_name) BETWEEN 1 AND 255),
    claimed_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON snowflake_nodes TO @extowner@ WITH GRANT OPTION;
-- pg_dump reads every table of a database, whoever runs it.
GRANT SELECT ON snowflake_nodes TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.snowflake_nodes'::pg_catalog.regclass, '');

CREATE FUNCTION snowflake_nodes_change(nodes regclass, server_name text, claim boolean) RETURNS integer
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $change$
DECLARE
    owner record;
    find CONSTANT text := format('SELECT node_id FROM %s WHERE server_name = $1', nodes);
    node integer;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = nodes) THEN
        RAISE EXCEPTION 'relation with OID % does not exist', nodes::oid
            USING ERRCODE = 'undefined_table', HINT = 'Name a table like snowflake_nodes.';
    END IF;
    -- A superuser may have given the table to somebody. Not even to read it is safe then: the owner's code is in
    -- policies and indexes, too, and can take back what a session has given up by SET ROLE. The owner of the schema can
    -- rename it between two statements, and put other objects there.
    SELECT rolname, thing INTO owner
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL (VALUES (relowner, format('table %s', nodes)),
            (CASE nspowner WHEN 'pg_database_owner'::regrole
                THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE nspowner END,
                format('schema %I', nspname))) AS owned (by, thing)
        JOIN pg_roles ON pg_roles.oid = owned.by
        WHERE c.oid = nodes AND NOT rolsuper AND EXISTS (SELECT FROM unnest(ARRAY[current_user, session_user]) AS caller
            WHERE caller <> rolname AND pg_has_role(caller, rolname, 'MEMBER'))
        ORDER BY thing DESC LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% belongs to role "%"', owner.thing, owner.rolname
            USING ERRCODE = 'insufficient_privilege',
                DETAIL = 'Code of its owner''s could run with your rights. SET ROLE does not keep it from that.',
                HINT = format('Connect as role "%s", or give what belongs to it to a superuser: ALTER %s OWNER TO ...', owner.rolname,
                    regexp_replace(owner.thing, '^[a-z]+', upper(split_part(owner.thing, ' ', 1))));
    END IF;
    IF NOT claim THEN
        EXECUTE format('DELETE FROM %s WHERE server_name = $1 RETURNING node_id', nodes) INTO node USING server_name;
        RETURN node;
    END IF;
    IF length(server_name) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'server name must have 1 to 255 characters, got %', length(server_name)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass the name by which you know the server.';
    END IF;
    EXECUTE find INTO node USING server_name;
    IF node IS NULL THEN
        -- One at a time. At READ COMMITTED each statement after this sees what other transactions have claimed. At the
        -- other levels, the later transaction fails to serialize.
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', nodes);
        EXECUTE find INTO node USING server_name;
    END IF;
    IF node IS NULL THEN
        -- The first server has run with the default number, 1. 0 comes last: small numbers that are no ids decode to it.
        EXECUTE format('SELECT free FROM generate_series(0, 1023) AS free
            WHERE NOT EXISTS (SELECT FROM %s WHERE node_id = free) ORDER BY free = 0, free LIMIT 1', nodes) INTO node;
        IF node IS NULL THEN
            RAISE EXCEPTION 'no node number is free for server "%"', server_name::name
                USING ERRCODE = 'program_limit_exceeded', DETAIL = 'All 1024 numbers are claimed.',
                    HINT = 'Release one that no server uses any more, with snowflake_node_release().';
        END IF;
        BEGIN
            EXECUTE format('INSERT INTO %s (node_id, server_name) VALUES ($1, $2)', nodes) USING node, server_name;
        EXCEPTION WHEN unique_violation THEN
            -- Claimed after this transaction's snapshot was taken.
            RAISE EXCEPTION 'could not claim a node number for server "%"', server_name::name
                USING ERRCODE = 'serialization_failure',
                    DETAIL = 'Another transaction has claimed a number since this one began.',
                    HINT = 'Try the transaction again.';
        END;
    END IF;
    IF node NOT BETWEEN 0 AND 1023 THEN
        RAISE EXCEPTION 'node number of server "%" must be in [0, 1023], got %', server_name::name, node
            USING ERRCODE = 'numeric_value_out_of_range', HINT = 'The constraint of the table was dropped: correct the row.';
    END IF;
    RETURN node;
END
$change$;

-- These know the table by its OID, not by its name.
CREATE FUNCTION snowflake_node_claim(server_name text) RETURNS integer
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE sql
BEGIN ATOMIC
    SELECT @extschema@.snowflake_nodes_change('@extschema@.snowflake_nodes'::pg_catalog.regclass, server_name, true);
END;

CREATE FUNCTION snowflake_node_release(server_name text) RETURNS integer
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE sql
BEGIN ATOMIC
    SELECT @extschema@.snowflake_nodes_change('@extschema@.snowflake_nodes'::pg_catalog.regclass, server_name, false);
END;
