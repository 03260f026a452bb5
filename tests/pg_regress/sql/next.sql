-- snowflake_next(): the promise, as one session sees it.

SELECT id > 0 AS positive, pg_typeof(id) FROM snowflake_next() AS id;
CREATE TABLE taken (n int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL);
CREATE FUNCTION not_rising() RETURNS bigint
LANGUAGE sql AS $$
    SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM taken) AS _ WHERE id <= before
$$;

-- Case 8: across several milliseconds, none comes twice.
SELECT count(DISTINCT snowflake_next()) FROM generate_series(1, 20000);

-- Cases 9 and 12: flat out, strictly rising; the sequence never runs over into the node. A steady clock is never
-- taken for one that was set back.
SELECT clock_regressions, leaps_refused FROM snowflake_status() \gset before_
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 200000);
SELECT not_rising(), count(DISTINCT id), max(snowflake_decode_sequence_id(id)) <= 4095 AS in_range,
    bool_and(snowflake_decode_node_id(id) = snowflake_node()) AS of_this_node FROM taken;
SELECT clock_regressions - :before_clock_regressions AS regressions, leaps_refused - :before_leaps_refused AS leaps FROM snowflake_status();

-- Case 9 on any machine, however slow: ahead of the clock, each millisecond is used up before the next is begun.
TRUNCATE taken RESTART IDENTITY;
CALL wait_for_clock();
DO $$
BEGIN
    PERFORM snowflake_advance(snowflake_next() + (1000::bigint << 22));
    INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 10000);
END
$$;
SELECT not_rising(), count(DISTINCT id), max(snowflake_decode_sequence_id(id)),
    bool_and(snowflake_decode_node_id(id) = snowflake_node()) AS of_this_node FROM taken;
-- The first two are whole. (Number 0 of the first counts as issued already if this is node 0.)
SELECT millisecond - min(millisecond) OVER () AS millisecond, whole
FROM (SELECT id >> 22 AS millisecond, count(*) >= 4095 AS whole FROM taken GROUP BY 1 ORDER BY 1 LIMIT 2) AS _;
CALL wait_for_clock();

-- Case 12: the time in an id is that of the call. Case 22: also right after many ids were taken.
CREATE FUNCTION times_wrong(rounds int) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    before timestamptz;
    id bigint;
    wrong bigint := 0;
BEGIN
    FOR i IN 1..rounds LOOP
        before := date_trunc('milliseconds', clock_timestamp());
        id := snowflake_next();
        -- A millisecond that is used up is waited for, by another clock than this one: hence the tolerance.
        IF snowflake_decode_timestamp(id) NOT BETWEEN before AND clock_timestamp() + interval '1 ms' THEN
            wrong := wrong + 1;
        END IF;
    END LOOP;
    RETURN wrong;
END
$$;
SELECT times_wrong(1000);
SELECT count(snowflake_next()) FROM generate_series(1, 100000);
SELECT times_wrong(1000);
-- Below the ceiling of 4096 in a millisecond, each begins at sequence number 0 (case 65: so the lowest bits of ids
-- that are made seldom are all the same).
SELECT count(DISTINCT snowflake_decode_sequence_id(id)) AS sequence_numbers, min(snowflake_decode_sequence_id(id)) AS lowest
FROM (SELECT pg_sleep(0.002), snowflake_next() AS id FROM generate_series(1, 20)) AS _;

-- A session that reserves ids, stops doing so and goes on: rising all the time, and on time.
TRUNCATE taken RESTART IDENTITY;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SET snowflake.cache = 64;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 10000);
SELECT times_wrong(1000);
INSERT INTO taken (id) SELECT snowflake_next_batch(1000);
SET snowflake.cache = 256;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 10000);
SET snowflake.cache = 2;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 999);
RESET snowflake.cache;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT not_rising(), count(*), count(DISTINCT id) FROM taken;

-- Several in one row, in a row's order.
SELECT a < b AND b < c AS rising FROM (SELECT snowflake_next() AS a, snowflake_next() AS b, snowflake_next() AS c) AS _;

-- Case 5: each in a new session.
\c -
SELECT snowflake_next() AS id \gset a_
\c -
SET snowflake.cache = 256;
SELECT snowflake_next() AS id \gset b_
\c -
SELECT snowflake_next() AS id \gset c_
SELECT :a_id < :b_id AND :b_id < :c_id AS rising;

-- Case 48: errors leave nothing behind, neither in this session nor for another.
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            PERFORM snowflake_next(), snowflake_advance(9223372036854775807);
            RAISE 'no error';
        EXCEPTION WHEN invalid_parameter_value THEN
        END;
        BEGIN
            PERFORM snowflake_next(), snowflake_compose(-1, 0, 0, 0);
            RAISE 'no error';
        EXCEPTION WHEN numeric_value_out_of_range THEN
        END;
    END LOOP;
END
$$;
SELECT snowflake_next() AS id \gset
\c -
SELECT snowflake_next() > :id AS greater;

-- A statement that is cancelled, in the middle of ids, leaves the session as it was.
SELECT snowflake_next() AS id \gset
SET statement_timeout = '200ms';
SELECT error_of('SELECT count(snowflake_next()) FROM generate_series(1, 1000000000)');
SELECT error_of('SELECT count(*) FROM (SELECT snowflake_next_batch(1000000000)) AS _');
RESET statement_timeout;
SELECT snowflake_next() > :id AS greater;

-- Case 68: odd numbers in a table are no business of the generator.
CREATE TABLE odd (id bigint PRIMARY KEY DEFAULT snowflake_next());
SELECT last_id AS id FROM snowflake_status() \gset
INSERT INTO odd VALUES (-5), (1), (0), (9223372036854775807);
SELECT last_id = :id AS unchanged FROM snowflake_status();
INSERT INTO odd DEFAULT VALUES RETURNING id > :id AS greater;
SELECT times_wrong(10);
DROP TABLE odd;

DROP TABLE taken;
DROP FUNCTION not_rising();
DROP FUNCTION times_wrong(int);
