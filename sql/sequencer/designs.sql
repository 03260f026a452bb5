-- The designs that need no state of their own.
--
-- The scripts of this directory make up the extension's, in the order of their names. It runs as superuser with a
-- schema of the user's choice in its search path, so nothing may be looked up there.

CREATE FUNCTION sequencer_designs()
RETURNS TABLE (design text, field text, bits integer, shift integer, max bigint)
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_designs_wrapper';
COMMENT ON FUNCTION sequencer_designs() IS
    'the fields of each design''s ids, the highest first';

CREATE FUNCTION sequencer_strided_next(sequence regclass) RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_strided_next_wrapper';
COMMENT ON FUNCTION sequencer_strided_next(regclass) IS
    'the next number of a sequence times the number of node numbers there can be, plus this server''s';

CREATE FUNCTION sequencer_unix_id(unix_ms bigint, node_id bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_unix_id_wrapper';
COMMENT ON FUNCTION sequencer_unix_id(bigint, bigint) IS
    'the id of a Unix time in milliseconds and a node number';

CREATE FUNCTION sequencer_unix_now() RETURNS bigint
VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_unix_now_wrapper';
COMMENT ON FUNCTION sequencer_unix_now() IS
    'the id of this millisecond and this server, which all calls within it get';

CREATE FUNCTION sequencer_scatter(id bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_scatter_wrapper';
COMMENT ON FUNCTION sequencer_scatter(bigint) IS
    'the 63 bits of an id reversed: ids that rise are spread over all keys';

CREATE FUNCTION sequencer_unscatter(scattered bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_unscatter_wrapper';
COMMENT ON FUNCTION sequencer_unscatter(bigint) IS
    'the id that sequencer_scatter() was given';
