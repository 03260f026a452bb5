-- Lamport clocks. The clock is a sequence that the user has made, and the caller's rights on it count.

CREATE FUNCTION sequencer_lamport_next(clock regclass) RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_lamport_next_wrapper';
COMMENT ON FUNCTION sequencer_lamport_next(regclass) IS
    'the id of an event here, greater than all that the clock has given or observed';

CREATE FUNCTION sequencer_lamport_observe(clock regclass, id bigint) RETURNS void
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_lamport_observe_wrapper';
COMMENT ON FUNCTION sequencer_lamport_observe(regclass, bigint) IS
    'makes every id from now on greater than one that came from elsewhere';

CREATE FUNCTION sequencer_lamport_decode(id bigint, OUT value bigint, OUT node_id integer)
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_lamport_decode_wrapper';
COMMENT ON FUNCTION sequencer_lamport_decode(bigint) IS
    'the clock''s value and the node of a Lamport id';
