-- Ranges of numbers: each session claims one from a sequence, or by reading a view or foreign table, with the caller's
-- rights, and hands it out.

CREATE FUNCTION sequencer_range_next(source regclass) RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'sequencer_range_next_wrapper';
COMMENT ON FUNCTION sequencer_range_next(regclass) IS
    'the next number of this session''s range of a source, and of another when it is used up';
