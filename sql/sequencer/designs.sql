-- The designs that need no state of their own.
--
-- The scripts of this directory make up the extension's, in the order of their names. It runs as superuser with a
-- schema of the user's choice in its search path, so nothing may be looked up there.

CREATE FUNCTION snowflake_designs()
RETURNS TABLE (design text, field text, bits integer, shift integer, max bigint)
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_designs_wrapper';
COMMENT ON FUNCTION snowflake_designs() IS
    'the fields of each design''s ids, the highest first';

CREATE FUNCTION snowflake_strided_next(sequence regclass) RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_strided_next_wrapper';
COMMENT ON FUNCTION snowflake_strided_next(regclass) IS
    'the next number of a sequence times the number of node numbers there can be, plus this server''s';

CREATE FUNCTION snowflake_unix_id(unix_ms bigint, node_id bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_unix_id_wrapper';
COMMENT ON FUNCTION snowflake_unix_id(bigint, bigint) IS
    'the id of a Unix time in milliseconds and a node number';

CREATE FUNCTION snowflake_unix_now() RETURNS bigint
VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_unix_now_wrapper';
COMMENT ON FUNCTION snowflake_unix_now() IS
    'the id of this millisecond and this server, which all calls within it get';

CREATE FUNCTION snowflake_scatter(id bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_scatter_wrapper';
COMMENT ON FUNCTION snowflake_scatter(bigint) IS
    'the 63 bits of an id reversed: ids that rise are spread over all keys';

CREATE FUNCTION snowflake_unscatter(scattered bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_unscatter_wrapper';
COMMENT ON FUNCTION snowflake_unscatter(bigint) IS
    'the id that snowflake_scatter() was given';
