-- The designs that are bound to the clock. Their last ids are the server's, as those of snowflake_next() are.

CREATE FUNCTION sequencer_unix_next() RETURNS bigint
VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_unix_next_wrapper';
COMMENT ON FUNCTION sequencer_unix_next() IS
    'the id of a millisecond that no other call on this server gets: at most a thousand a second';

CREATE FUNCTION sequencer_truetime_next() RETURNS bigint
VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_truetime_next_wrapper';
COMMENT ON FUNCTION sequencer_truetime_next() IS
    'the next id that says between which two instants it was made';

CREATE FUNCTION sequencer_truetime_wait(id bigint) RETURNS void
VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_truetime_wait_wrapper';
COMMENT ON FUNCTION sequencer_truetime_wait(bigint) IS
    'waits until the interval of a TrueTime id has passed for certain';

CREATE FUNCTION sequencer_truetime_compare(a bigint, b bigint) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_truetime_compare_wrapper';
COMMENT ON FUNCTION sequencer_truetime_compare(bigint, bigint) IS
    'before, after or concurrent, by the intervals of two TrueTime ids';

CREATE FUNCTION sequencer_truetime_decode(
    id bigint,
    OUT earliest timestamptz, OUT latest timestamptz, OUT node_id integer, OUT sequence_id integer
) STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_truetime_decode_wrapper';
COMMENT ON FUNCTION sequencer_truetime_decode(bigint) IS
    'the fields of a TrueTime id, with the epoch in force';

CREATE FUNCTION sequencer_truetime_decode(
    id bigint, epoch_ms bigint,
    OUT earliest timestamptz, OUT latest timestamptz, OUT node_id integer, OUT sequence_id integer
) IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_truetime_decode_epoch_wrapper';
COMMENT ON FUNCTION sequencer_truetime_decode(bigint, bigint) IS
    'the fields of a TrueTime id of the given epoch';
