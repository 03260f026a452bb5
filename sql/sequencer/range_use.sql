-- Ranges in use: claimed, handed out and listed. The tables and the names are in range.sql.

-- What a claim needs to know of a name. It sees what the caller's snapshot does.
CREATE FUNCTION snowflake_range_source(name text, INOUT size bigint, OUT id uuid, OUT names regclass, OUT source regclass)
STABLE PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $source$
DECLARE
    definition @extschema@.snowflake_range_names;
BEGIN
    SELECT * INTO definition FROM @extschema@.snowflake_range_names AS n WHERE n.name = $1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'range name "%" does not exist', $1
            USING ERRCODE = 'undefined_object',
                HINT = 'Create it with snowflake_range_create(), or snowflake_range_attach() where another server has it.';
    END IF;
    size := coalesce(size, definition.size);
    IF size NOT BETWEEN 1 AND 4294967296 THEN
        RAISE EXCEPTION 'size of a range must be in [1, 4294967296], got %', size
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Claim again when a range is used up.';
    END IF;
    id := definition.id;
    names := '@extschema@.snowflake_range_names'::regclass;
    source := coalesce(definition.claimed_from, '@extschema@.snowflake_ranges'::regclass);
    IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = source) THEN
        RAISE EXCEPTION 'the foreign table that ranges of "%" are claimed from was dropped', $1
            USING ERRCODE = 'undefined_table', HINT = 'snowflake_range_drop(), then snowflake_range_attach() to another.';
    END IF;
END
$source$;
ALTER FUNCTION snowflake_range_source(text, bigint) OWNER TO @extowner@;
REVOKE ALL ON FUNCTION snowflake_range_source(text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_range_source(text, bigint) IS
    'the definition of a name, and the table that ranges of it are claimed from';

-- These look at the caller's right to INSERT, and insert with the rights of the table's owner.
CREATE FUNCTION snowflake_range_claim(name text, size bigint, OUT first bigint, OUT last bigint)
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_range_claim_size_wrapper';
COMMENT ON FUNCTION snowflake_range_claim(text, bigint) IS
    'claims a range of so many numbers in this transaction';
CREATE FUNCTION snowflake_range_claim(name text, OUT first bigint, OUT last bigint)
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_range_claim_wrapper';
COMMENT ON FUNCTION snowflake_range_claim(text) IS
    'claims a range of the size that is set for its name, in this transaction';

CREATE FUNCTION snowflake_range_next(name text) RETURNS bigint
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_range_next_wrapper';
COMMENT ON FUNCTION snowflake_range_next(text) IS
    'the next number of this session''s range, and of another when it is used up';

CREATE FUNCTION snowflake_range_list(name text)
RETURNS TABLE (first bigint, last bigint, state text, claimed_at timestamptz, claimed_by text, node_id integer)
STABLE STRICT PARALLEL UNSAFE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $list$
#variable_conflict use_column
DECLARE
    counted_by regclass;
    start bigint;
    last_value bigint;
BEGIN
    SELECT counter INTO counted_by FROM @extschema@.snowflake_range_names AS n WHERE n.name = $1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'range name "%" does not exist', $1
            USING ERRCODE = 'undefined_object', HINT = 'See the table snowflake_range_names.';
    END IF;
    IF counted_by IS NULL THEN
        RAISE EXCEPTION 'range name "%" is not counted here', $1
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Ask the server that counts it.';
    END IF;
    SELECT seqstart INTO start FROM pg_sequence WHERE seqrelid = counted_by;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the counter of range name "%" was dropped', $1
            USING ERRCODE = 'undefined_table',
                HINT = 'snowflake_range_drop(), then snowflake_range_create() above what was given: see snowflake_ranges.';
    END IF;
    EXECUTE 'SELECT last_value FROM ' || counted_by || ' WHERE is_called' INTO last_value;
    RETURN QUERY
        WITH claimed AS (
            SELECT r.first, r.first - 1 + r.size AS last, r.claimed_at, r.claimed_by, r.node_id
            FROM @extschema@.snowflake_ranges AS r WHERE r.name = $1
        ), before AS (
            SELECT coalesce(lag(c.last) OVER (ORDER BY c.first), start - 1) AS gap_after, c.first - 1 AS gap_last FROM claimed AS c
            UNION ALL
            SELECT coalesce((SELECT max(c.last) FROM claimed AS c), start - 1), last_value
        )
        SELECT c.first, c.last, 'claimed', c.claimed_at, c.claimed_by, c.node_id FROM claimed AS c
        UNION ALL
        SELECT b.gap_after + 1, b.gap_last, 'unused', NULL, NULL, NULL FROM before AS b WHERE b.gap_after < b.gap_last
        ORDER BY 1;
END
$list$;
ALTER FUNCTION snowflake_range_list(text) OWNER TO @extowner@;
COMMENT ON FUNCTION snowflake_range_list(text) IS
    'what has been taken of a series that is counted here: claimed, or unused since a claim was not committed';
