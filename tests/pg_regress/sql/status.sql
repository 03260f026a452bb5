-- snowflake_status(): one row on the state of this server's generator, for everyone to read.

SELECT count(*) FROM snowflake_status();
SELECT count(snowflake_next()) FROM generate_series(1, 10);
SELECT key AS column, pg_typeof_value FROM snowflake_status() AS s,
    LATERAL (VALUES
        ('node_id', pg_typeof(s.node_id)), ('epoch_ms', pg_typeof(s.epoch_ms)),
        ('last_id', pg_typeof(s.last_id)), ('last_id_at', pg_typeof(s.last_id_at)), ('ahead_ms', pg_typeof(s.ahead_ms)),
        ('ceiling_id', pg_typeof(s.ceiling_id)), ('ceiling_at', pg_typeof(s.ceiling_at)),
        ('waits', pg_typeof(s.waits)), ('wait_ms', pg_typeof(s.wait_ms)),
        ('clock_regressions', pg_typeof(s.clock_regressions)), ('largest_regression_ms', pg_typeof(s.largest_regression_ms)),
        ('leaps_refused', pg_typeof(s.leaps_refused)), ('free_origin_slots', pg_typeof(s.free_origin_slots)),
        ('ends_at', pg_typeof(s.ends_at))) AS types (key, pg_typeof_value);

SELECT node_id = snowflake_node() AS node, epoch_ms = snowflake_epoch_ms() AS epoch,
    last_id_at = snowflake_decode_timestamp(last_id) AS last_at, ceiling_at = snowflake_decode_timestamp(ceiling_id) AS ceiling_at,
    ceiling_id >= last_id AS ceiling_covers, ceiling_at - last_id_at <= interval '5 s' AS by_little,
    ahead_ms >= 0 AS ahead, waits >= 0 AND wait_ms >= 0 AS waits, clock_regressions >= 0 AND largest_regression_ms >= 0 AS regressions,
    leaps_refused >= 0 AS leaps, free_origin_slots >= 0 AS slots,
    -- Case 26.
    ends_at = snowflake_decode_timestamp(9223372036854775807) AS ends
FROM snowflake_status();

-- The last id is the last id, whoever made it; reading the status makes none.
SELECT snowflake_next() AS id \gset
\c -
SELECT last_id = :id AS same FROM snowflake_status();
SELECT last_id = :id AS same FROM snowflake_status();
-- A block counts as issued up to its end.
SET snowflake.cache = 64;
SELECT snowflake_next() AS id \gset
SELECT last_id - :id AS rest_of_the_block FROM snowflake_status();
RESET snowflake.cache;

-- How far ahead of the clock.
CALL wait_for_clock();
SELECT ahead_ms FROM snowflake_status();
-- There, a millisecond that is used up has to be waited for: it is counted, with its time.
CREATE FUNCTION ahead(OUT ms_ahead bigint, OUT waits bigint, OUT wait_ms float8)
LANGUAGE plpgsql AS $$
DECLARE
    before record;
    after record;
BEGIN
    PERFORM snowflake_advance(snowflake_next() + (1000::bigint << 22));
    SELECT * INTO before FROM snowflake_status();
    PERFORM snowflake_next() FROM generate_series(1, 10000);
    SELECT * INTO after FROM snowflake_status();
    ms_ahead := before.ahead_ms;
    waits := after.waits - before.waits;
    wait_ms := after.wait_ms - before.wait_ms;
END
$$;
SELECT ms_ahead BETWEEN 1 AND 1001 AS ahead, waits >= 2 AS waited, wait_ms BETWEEN 0.5 AND 100000 AS for_some_time FROM ahead();
DROP FUNCTION ahead();

-- The slots for replication origins: PostgreSQL's own name for how many there are differs.
SELECT free_origin_slots = current_setting(CASE WHEN current_setting('server_version_num')::int < 180000
        THEN 'max_replication_slots' ELSE 'max_active_replication_origins' END)::int
    - (SELECT count(*) FROM pg_replication_origin_status) AS counted
FROM snowflake_status();
SELECT pg_replication_origin_create('regress_snowflake') > 0 AS created;
SELECT free_origin_slots FROM snowflake_status() \gset before_
SELECT pg_replication_origin_advance('regress_snowflake', '0/1');
SELECT free_origin_slots - :before_free_origin_slots AS difference FROM snowflake_status();
SELECT pg_replication_origin_drop('regress_snowflake');
SELECT free_origin_slots - :before_free_origin_slots AS difference FROM snowflake_status();
-- The ceiling is the row without a name.
SELECT external_id, remote_lsn - '0/0' = (SELECT ceiling_id FROM snowflake_status()) AS is_the_ceiling
FROM pg_replication_origin_status WHERE local_id = 65534;

-- Any role can read it, except the number of free slots: PostgreSQL itself does not show every role which are taken.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_snowflake_user;
RESET client_min_messages;
CREATE ROLE regress_snowflake_user;
SET ROLE regress_snowflake_user;
SELECT error_of('SELECT count(*) FROM pg_replication_origin_status');
SELECT last_id > 0 AS last_id, ceiling_id > 0 AS ceiling_id, ends_at IS NOT NULL AS ends, free_origin_slots FROM snowflake_status();
RESET ROLE;
GRANT EXECUTE ON FUNCTION pg_show_replication_origin_status() TO regress_snowflake_user;
SET ROLE regress_snowflake_user;
SELECT last_id > 0 AS last_id, free_origin_slots = :before_free_origin_slots AS slots FROM snowflake_status();
RESET ROLE;
DROP OWNED BY regress_snowflake_user;
DROP ROLE regress_snowflake_user;
-- Not even what stands in the caller's schemas changes that.
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.count() RETURNS bigint LANGUAGE sql AS 'SELECT 1000000::bigint';
CREATE FUNCTION hostile.pg_show_replication_origin_status() RETURNS SETOF int LANGUAGE sql AS 'SELECT generate_series(1, 1000)';
SET search_path = hostile, public, pg_catalog;
SELECT free_origin_slots = :before_free_origin_slots AS slots FROM snowflake_status();
RESET search_path;
DROP FUNCTION hostile.count(), hostile.pg_show_replication_origin_status();
DROP SCHEMA hostile;

-- In a read-only transaction, and in a subquery.
BEGIN READ ONLY;
SELECT count(*) FROM snowflake_status();
COMMIT;
SELECT (snowflake_status()).node_id = (SELECT node_id FROM snowflake_status()) AS same;
CALL wait_for_clock();
