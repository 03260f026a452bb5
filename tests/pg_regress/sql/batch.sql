-- snowflake_next_batch(n): n ids in order.

CREATE FUNCTION describe(ids bigint[]) RETURNS text
LANGUAGE sql AS $$
    SELECT format('%s ids, %s distinct, %s, of node %s', count(*), count(DISTINCT id),
                  CASE WHEN count(*) FILTER (WHERE NOT rising) = 0 THEN 'rising' ELSE 'NOT RISING' END,
                  CASE WHEN count(*) FILTER (WHERE snowflake_decode_node_id(id) <> snowflake_node()) = 0 THEN 'this server' ELSE 'ANOTHER' END)
    FROM (SELECT id, id > coalesce(lag(id) OVER (ORDER BY n), 0) AS rising
          FROM unnest(ids) WITH ORDINALITY AS _ (id, n)) AS _
$$;

SELECT n, describe(array(SELECT snowflake_next_batch(n)))
FROM unnest(ARRAY[0, 1, 2, 255, 256, 257, 4096, 10000]) AS n;
SELECT count(*) FROM snowflake_next_batch(0);
SELECT pg_typeof(id) FROM snowflake_next_batch(1) AS id;
SELECT count(*) FROM snowflake_next_batch(NULL);

SELECT error_of('SELECT snowflake_next_batch(-1)');
SELECT error_of('SELECT snowflake_next_batch(-9223372036854775808)');
SELECT error_of('SELECT * FROM snowflake_next_batch(-1)');

-- In the select list ids are made as they are asked for: LIMIT stops a batch that would never end.
SELECT describe(array(SELECT snowflake_next_batch(9223372036854775807) LIMIT 300));
SELECT count(*) FROM (SELECT snowflake_next_batch(9223372036854775807) LIMIT 0) AS _;

-- The first id is greater than what was returned before the call, whatever former batches reserved.
SELECT snowflake_next_batch(200) AS id LIMIT 1 \gset a_
SELECT snowflake_next() AS id \gset b_
SELECT snowflake_next_batch(200) AS id LIMIT 1 \gset c_
SELECT snowflake_next_batch(200) AS id LIMIT 1 \gset d_
SELECT :a_id < :b_id AND :b_id < :c_id AND :c_id < :d_id AS rising;

-- A cursor read between calls of snowflake_next(), with and without a cache of its own: a session's ids rise.
CREATE TABLE taken (n int GENERATED ALWAYS AS IDENTITY, id bigint);
CREATE PROCEDURE interleave(rounds int)
LANGUAGE plpgsql AS $$
DECLARE
    batch CURSOR FOR SELECT snowflake_next_batch(1000);
    other CURSOR FOR SELECT snowflake_next_batch(1000);
    got bigint;
BEGIN
    OPEN batch;
    OPEN other;
    FOR i IN 1..rounds LOOP
        FETCH batch INTO got;
        INSERT INTO taken (id) VALUES (got);
        INSERT INTO taken (id) VALUES (snowflake_next());
        FETCH other INTO got;
        INSERT INTO taken (id) VALUES (got);
        FETCH batch INTO got;
        INSERT INTO taken (id) VALUES (got);
        PERFORM set_config('snowflake.cache', CASE WHEN i % 2 = 0 THEN '1' ELSE '64' END, true);
    END LOOP;
END
$$;
CALL interleave(400);
SELECT describe(array_agg(id ORDER BY n)) FROM taken;
-- Two batches in one select list.
TRUNCATE taken RESTART IDENTITY;
SET snowflake.cache = 256;
INSERT INTO taken (id)
    SELECT id FROM (SELECT snowflake_next_batch(300) AS a, snowflake_next_batch(500) AS b, snowflake_next() AS c) AS _,
        LATERAL (VALUES (a), (b), (c)) AS ids (id)
    WHERE id IS NOT NULL;
RESET snowflake.cache;
SELECT count(*), count(DISTINCT id) FROM taken;

-- A batch that is not read to its end, its transaction rolled back, and another one: nothing comes twice.
TRUNCATE taken RESTART IDENTITY;
DO $$
DECLARE
    seen bigint[] := '{}';
    got bigint;
BEGIN
    FOR i IN 1..20 LOOP
        BEGIN
            FOR got IN SELECT snowflake_next_batch(100) LOOP
                seen := seen || got;
                EXIT WHEN cardinality(seen) % 7 = 0;
            END LOOP;
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
        END;
    END LOOP;
    INSERT INTO taken (id) SELECT unnest(seen);
END
$$;
SELECT describe(array_agg(id ORDER BY n)) FROM taken;

-- For rows that need ids which are to be known first.
SELECT describe(array_agg(id ORDER BY name)) FROM ROWS FROM (snowflake_next_batch(3), unnest(ARRAY['a', 'b', 'c'])) AS _ (id, name);

DROP TABLE taken;
DROP PROCEDURE interleave(int);
DROP FUNCTION describe(bigint[]);
