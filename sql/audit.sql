-- snowflake_audit(): which nodes have made the ids of a column, and which ids cannot be.
--
-- It runs with the caller's rights: SELECT on the column is all it takes. What this server has issued is read after the
-- caller's snapshot was taken, which the function shares because it is STABLE. So no row is seen whose id was issued
-- after that.
CREATE FUNCTION snowflake_audit(
    table_name regclass, column_name name,
    OUT node_id integer, OUT ids bigint, OUT first_at timestamptz, OUT last_at timestamptz,
    OUT future_ids bigint, OUT unissued_ids bigint
) RETURNS SETOF record
STABLE STRICT PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $audit$
DECLARE
    type_id oid;
    type text;
    server record;
BEGIN
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
    SELECT s.node_id AS node, s.last_id, @extschema@.snowflake_epoch_ms() AS epoch_ms INTO server
        FROM @extschema@.snowflake_status() AS s;
    -- The lowest id of a node has its first time.
    RETURN QUERY EXECUTE format($query$
        SELECT node, count(*), @extschema@.snowflake_decode_timestamp(min(id) FILTER (WHERE id >= 0), $1),
            @extschema@.snowflake_decode_timestamp(max(id) FILTER (WHERE id >= 0), $1),
            count(*) FILTER (WHERE id > $2), CASE
                WHEN node IS DISTINCT FROM $3 THEN 0
                WHEN $4 IS NOT NULL THEN count(*) FILTER (WHERE id > $4)
            END
        FROM (
            SELECT id, CASE WHEN id >= 0 THEN @extschema@.snowflake_decode_node_id(id) END AS node
            FROM (SELECT %I::bigint AS id FROM %s) AS given WHERE id IS NOT NULL
        ) AS decoded
        GROUP BY node ORDER BY node $query$, column_name, table_name)
        USING server.epoch_ms, @extschema@.snowflake_max_id(clock_timestamp(), server.epoch_ms), server.node, server.last_id;
END
$audit$;
