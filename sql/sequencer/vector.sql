-- Vector clocks. A clock is an array of counters in a table of the user's, and the caller's rights on it count; the
-- functions compute.

CREATE FUNCTION sequencer_vector_zero(nodes bigint) RETURNS bigint[]
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_vector_zero_wrapper';
COMMENT ON FUNCTION sequencer_vector_zero(bigint) IS
    'the counters of a vector clock of so many nodes that has seen nothing';

CREATE FUNCTION sequencer_vector_tick(counters bigint[]) RETURNS bigint[]
STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_vector_tick_wrapper';
COMMENT ON FUNCTION sequencer_vector_tick(bigint[]) IS
    'the counters after one more event of this server';

CREATE FUNCTION sequencer_vector_merge(counters bigint[], id bigint) RETURNS bigint[]
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_vector_merge_wrapper';
COMMENT ON FUNCTION sequencer_vector_merge(bigint[], bigint) IS
    'the counters that also know of what an id knows';

CREATE FUNCTION sequencer_vector_id(counters bigint[]) RETURNS bigint
STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_vector_id_wrapper';
COMMENT ON FUNCTION sequencer_vector_id(bigint[]) IS
    'the id of these counters, for an event of this server';

CREATE FUNCTION sequencer_vector_compare(a bigint, b bigint, nodes bigint) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_vector_compare_wrapper';
COMMENT ON FUNCTION sequencer_vector_compare(bigint, bigint, bigint) IS
    'whether an event of so many nodes was before or after another, equal or concurrent';

CREATE FUNCTION sequencer_vector_decode(id bigint, nodes bigint, OUT counters bigint[], OUT node_id integer)
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_vector_decode_wrapper';
COMMENT ON FUNCTION sequencer_vector_decode(bigint, bigint) IS
    'the counters and the node of an id of a vector clock of so many nodes';
