-- snowflake_audit(): which nodes have made the ids of a column, and which numbers cannot be ids.
--
-- It runs with the caller's rights: SELECT on the column is all it takes. What this server has issued is read after the
-- caller's snapshot was taken, which the function shares because it is STABLE. So no row is seen whose id was issued
-- after that.
--
-- No function of the extension is called by its name, which others could take while the call waits for the table.
CREATE FUNCTION snowflake_audit_counts(
    table_name regclass, column_name name, first_id bigint, now_id bigint, last_id bigint,
    OUT node integer, OUT numbers bigint, OUT lowest bigint, OUT highest bigint, OUT in_future bigint, OUT above_last bigint
) RETURNS SETOF record
STABLE PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $audit$
DECLARE
    type_id oid;
    type text;
BEGIN
    IF table_name IS NULL OR column_name IS NULL THEN
        RETURN;
    END IF;
    SELECT a.atttypid, format_type(a.atttypid, a.atttypmod) INTO type_id, type
        FROM pg_attribute AS a WHERE attrelid = table_name AND attname = column_name AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'column "%" of relation % does not exist', column_name, table_name
            USING ERRCODE = 'undefined_column', HINT = 'The name is taken as it is written, upper case included.';
    END IF;
    IF type_id NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) THEN
        RAISE EXCEPTION 'column "%" of relation % has type %', column_name, table_name, type
            USING ERRCODE = 'datatype_mismatch', HINT = 'Ids are bigint. Name the column that holds them.';
    END IF;
    -- A plain GROUP BY, which the planners of distributed tables take as well. The node number stands above the 12 bits
    -- of the sequence; -1 stands for numbers that are no ids, -2 for negative ones.
    RETURN QUERY EXECUTE format($query$
        SELECT node, count(*), min(id), max(id), count(*) FILTER (WHERE id > $2), count(*) FILTER (WHERE id > $3)
        FROM (
            SELECT id, CASE WHEN id >= $1 THEN ((id >> 12) & 1023)::integer WHEN id >= 0 THEN -1 ELSE -2 END AS node
            FROM (SELECT %1$I::bigint AS id FROM %2$s) AS given WHERE id IS NOT NULL
        ) AS decoded
        GROUP BY node $query$, column_name, table_name)
        USING first_id, now_id, last_id;
END
$audit$;
