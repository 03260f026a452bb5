-- Ids in parallel workers: each process has its own block, and any may raise the ceiling.

CREATE TABLE source AS SELECT n FROM generate_series(1, 100000) AS n;
ANALYZE source;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- Whatever is made, a worker makes it.
SET parallel_leader_participation = off;

-- The ids are made below the Gather, in the workers.
SELECT substring(line FROM '^(?:CREATE|Gather|  Output|  ->  Parallel Seq Scan|        Output).*') AS plan
FROM plan_of('CREATE TABLE target AS SELECT n, snowflake_next() AS id FROM source') AS line
WHERE line ~ 'Gather|Scan|Output';
-- For the plan that is carried out: its workers.
CREATE FUNCTION in_workers(command text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    launched boolean := false;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || command LOOP
        launched := launched OR line ~ 'Workers Launched: [1-9]';
    END LOOP;
    RETURN launched;
END
$$;

SELECT last_id FROM snowflake_status() \gset
SELECT in_workers('CREATE TABLE target AS SELECT n, snowflake_next() AS id FROM source');
SELECT count(*), count(DISTINCT id), min(id) > :last_id AS greater, max(id) < snowflake_next() AS lower_than_the_next FROM target;
DROP TABLE target;

-- With blocks, of a session that has a block itself.
SET snowflake.cache = 64;
SELECT snowflake_next() AS id \gset
SELECT in_workers('CREATE TABLE target AS SELECT n, snowflake_next() AS id FROM source');
SELECT count(*), count(DISTINCT id), min(id) > :id AS greater FROM target;
-- The block that this session has left is from before the workers'.
INSERT INTO target SELECT 0, snowflake_next();
SELECT count(*), count(DISTINCT id) FROM target;
RESET snowflake.cache;
DROP TABLE target;

-- The first id in a worker needs a higher ceiling.
CALL wait_for_ceiling();
SELECT ceiling_id FROM snowflake_status() \gset
SELECT in_workers('CREATE TABLE target AS SELECT n, snowflake_next() AS id FROM source');
SELECT count(*), count(DISTINCT id), min(id) > :ceiling_id AS above_the_ceiling_that_was FROM target;
SELECT ceiling_id >= max(id) AS covered FROM target, snowflake_status() GROUP BY ceiling_id;
DROP TABLE target;

-- A parallel scan that decodes.
SELECT in_workers('CREATE TABLE target AS SELECT (snowflake_decode(n, 0)).sequence_id, snowflake_min_id(snowflake_decode_timestamp(n)) AS lowest, snowflake_epoch_ms() AS epoch, snowflake_node() AS node FROM source');
SELECT count(*), min(lowest), max(lowest), count(DISTINCT sequence_id), bool_and(epoch = snowflake_epoch_ms() AND node = snowflake_node()) AS same FROM target;
DROP TABLE target;

-- A materialized view, whose refresh is parallel too.
CREATE MATERIALIZED VIEW kept AS SELECT n, snowflake_next() AS id FROM source;
REFRESH MATERIALIZED VIEW kept;
SELECT count(*), count(DISTINCT id) FROM kept;
DROP MATERIALIZED VIEW kept;

-- An error in a worker arrives with its code and text.
SELECT error_of('SELECT count(snowflake_decode_timestamp(-n)) FROM source', '-\d+');
SELECT snowflake_next() > 0 AS positive;

-- What a batch has left is not for the next batch, where another process has issued an id in between; ahead of the clock,
-- all of this is one millisecond.
SELECT snowflake_advance(snowflake_next() + (1000::bigint << 22));
SELECT snowflake_next_batch(200) AS id LIMIT 1 \gset a_
SELECT max(id) AS id FROM (SELECT snowflake_next() AS id FROM source WHERE n <= 100) AS _ \gset b_
SELECT snowflake_next_batch(200) AS id LIMIT 1 \gset c_
SELECT :a_id < :b_id AND :b_id < :c_id AS rising;
CALL wait_for_clock();

DROP TABLE source;
DROP FUNCTION in_workers(text);
