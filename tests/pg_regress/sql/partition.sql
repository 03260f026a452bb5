-- Partitions by time on the id: bounds made with snowflake_min_id(), and which partitions a query leaves out.

CREATE TABLE measure (id bigint PRIMARY KEY DEFAULT snowflake_next(), value double precision) PARTITION BY RANGE (id);
CREATE TABLE measure_2026_01 PARTITION OF measure
    FOR VALUES FROM (snowflake_min_id('2026-01-01 00:00+00', 1288834974657)) TO (snowflake_min_id('2026-02-01 00:00+00', 1288834974657));
CREATE TABLE measure_2026_02 PARTITION OF measure
    FOR VALUES FROM (snowflake_min_id('2026-02-01 00:00+00', 1288834974657)) TO (snowflake_min_id('2026-03-01 00:00+00', 1288834974657));
-- A bound is evaluated once: the overload that follows the setting does as well.
CREATE TABLE measure_2026_03 PARTITION OF measure
    FOR VALUES FROM (snowflake_min_id('2026-03-01 00:00+00')) TO (snowflake_min_id('2026-04-01 00:00+00'));
SELECT c.oid::regclass, pg_get_expr(relpartbound, c.oid) FROM pg_partition_tree('measure') JOIN pg_class AS c ON c.oid = relid AND relispartition ORDER BY 1;

-- Each row is in the partition of its time, to the millisecond.
INSERT INTO measure
SELECT snowflake_compose((extract(epoch FROM at) * 1000)::bigint, 5, 0), 1
FROM unnest('{2026-01-01 00:00+00,2026-01-31 23:59:59.999+00,2026-02-01 00:00+00,2026-02-28 23:59:59.999+00,2026-03-01 00:00+00}'::timestamptz[]) AS at;
SELECT tableoid::regclass, snowflake_decode_timestamp(id) AT TIME ZONE 'UTC' AS at FROM measure ORDER BY id;
SELECT error_of($$INSERT INTO measure VALUES (snowflake_min_id('2026-04-01 00:00+00'), 1)$$);

-- With an epoch the bounds of the query are constants: the planner leaves partitions out.
EXPLAIN (COSTS OFF) SELECT count(*) FROM measure
WHERE id >= snowflake_min_id('2026-02-03 00:00+00', 1288834974657) AND id < snowflake_min_id('2026-02-04 00:00+00', 1288834974657);
-- Without, they are known when the query starts.
EXPLAIN (COSTS OFF) SELECT count(*) FROM measure
WHERE id >= snowflake_min_id('2026-02-03 00:00+00') AND id < snowflake_min_id('2026-02-04 00:00+00');
EXPLAIN (COSTS OFF) SELECT count(*) FROM measure
WHERE id >= snowflake_min_id('2026-02-28 12:00+00') AND id <= snowflake_max_id('2026-03-01 00:00+00');
-- As parameters of a prepared statement, with a plan for all values.
SET plan_cache_mode = force_generic_plan;
PREPARE of_day (timestamptz) AS SELECT count(*) FROM measure WHERE id >= snowflake_min_id($1) AND id < snowflake_min_id($1 + interval '1 day');
EXPLAIN (COSTS OFF) EXECUTE of_day ('2026-01-31 00:00+00');
EXECUTE of_day ('2026-01-31 00:00+00');
RESET plan_cache_mode;
DEALLOCATE of_day;
-- Known only while the query runs: EXPLAIN ANALYZE tells what was never executed.
CREATE FUNCTION executed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line LIKE '%measure_2026%' AND line LIKE '%Scan%' THEN
            RETURN NEXT regexp_replace(line, '^.*(measure_2026_\d\d)( |_).*\((actual|never).*$', '\1 \3');
        END IF;
    END LOOP;
END
$$;
SET enable_seqscan = off;
SELECT executed($$SELECT count(*) FROM measure WHERE id >= (SELECT snowflake_min_id('2026-03-01 00:00+00'))$$);
RESET enable_seqscan;
-- By the decoded time, nothing is left out: compare ids, not times.
EXPLAIN (COSTS OFF) SELECT count(*) FROM measure WHERE snowflake_decode_timestamp(id) >= '2026-03-01 00:00+00';

-- A partition leaves, and comes back without a scan if a constraint says what is in it.
ALTER TABLE measure DETACH PARTITION measure_2026_01;
SELECT count(*) FROM measure;
ALTER TABLE measure_2026_01 ADD CONSTRAINT bounds CHECK (id >= snowflake_min_id('2026-01-01 00:00+00', 1288834974657) AND id < snowflake_min_id('2026-02-01 00:00+00', 1288834974657));
SET client_min_messages = debug1;
ALTER TABLE measure ATTACH PARTITION measure_2026_01
    FOR VALUES FROM (snowflake_min_id('2026-01-01 00:00+00', 1288834974657)) TO (snowflake_min_id('2026-02-01 00:00+00', 1288834974657));
RESET client_min_messages;
SELECT count(*) FROM measure;
DROP TABLE measure;
DROP FUNCTION executed;
