-- snowflake_audit(): which nodes have made the ids of a column, and which numbers cannot be ids.
--
-- It runs with the caller's rights: SELECT on the column is all it takes. What this server has issued is read after the
-- caller's snapshot was taken, which the function shares because it is STABLE. So no row is seen whose id was issued
-- after that.
CREATE FUNCTION snowflake_audit(
    table_name regclass, column_name name, since timestamptz DEFAULT NULL,
    OUT kind text, OUT node_id integer, OUT ids bigint, OUT first_at timestamptz, OUT last_at timestamptz,
    OUT future_ids bigint, OUT unissued_ids bigint
) RETURNS SETOF record
STABLE PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $audit$
DECLARE
    -- The extension's schema, which may have been renamed.
    home CONSTANT text := (
        SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'snowflake');
    type_id oid;
    type text;
    server record;
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
    -- The lowest number that counts as an id is that of an hour after the epoch, 3600000 ms << 22, unless a time is given.
    EXECUTE format($query$
        SELECT s.node_id AS node, s.last_id, e.epoch_ms, %1$s.snowflake_max_id(clock_timestamp(), e.epoch_ms) AS now_id,
            coalesce(%1$s.snowflake_min_id($1, e.epoch_ms), %1$s.snowflake_compose(3600000, 0, 0, 0)) AS first_id
        FROM %1$s.snowflake_status() AS s, %1$s.snowflake_epoch_ms() AS e (epoch_ms) $query$, home)
        USING since INTO server;
    -- The table is counted by a plain GROUP BY, which the planners of distributed tables take as well, and what needs
    -- more than counts is worked out around it. The lowest id of a node has its first time.
    RETURN QUERY EXECUTE format($query$
        SELECT CASE node WHEN -1 THEN 'number' WHEN -2 THEN 'negative' ELSE 'snowflake' END,
            CASE WHEN node >= 0 THEN node END, numbers,
            CASE WHEN node >= 0 THEN %1$s.snowflake_decode_timestamp(lowest, $1) END,
            CASE WHEN node >= 0 THEN %1$s.snowflake_decode_timestamp(highest, $1) END,
            CASE WHEN node >= 0 THEN in_future END,
            CASE WHEN node = $3 AND $4 IS NOT NULL THEN above_last WHEN node >= 0 AND node <> $3 THEN 0 END
        FROM (
            SELECT node, count(*) AS numbers, min(id) AS lowest, max(id) AS highest,
                count(*) FILTER (WHERE id > $2) AS in_future, count(*) FILTER (WHERE id > $4) AS above_last
            FROM (
                SELECT id, CASE WHEN id >= $5 THEN %1$s.snowflake_decode_node_id(id) WHEN id >= 0 THEN -1 ELSE -2 END AS node
                FROM (SELECT %2$I::bigint AS id FROM %3$s) AS given WHERE id IS NOT NULL
            ) AS decoded
            GROUP BY node
        ) AS counted
        ORDER BY node < 0, abs(node) $query$, home, column_name, table_name)
        USING server.epoch_ms, server.now_id, server.node, server.last_id, server.first_id;
END
$audit$;
