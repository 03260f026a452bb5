-- snowflake.sequence_spread: where a millisecond begins.
SELECT current_setting('snowflake.sequence_spread') AS before \gset
CREATE TABLE taken (n int GENERATED ALWAYS AS IDENTITY, id bigint);

-- One id in each millisecond.
CREATE PROCEDURE take(wanted int) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE taken RESTART IDENTITY;
    FOR _ IN 1 .. wanted LOOP
        INSERT INTO taken (id) VALUES (snowflake_next());
        PERFORM pg_sleep(0.001);
    END LOOP;
END
$$;

-- As it is, every id ends in zeros.
CALL wait_for_clock();
CALL take(100);
SELECT count(DISTINCT id % 16) AS remainders, max(snowflake_decode_sequence_id(id)) FROM taken;

ALTER SYSTEM SET snowflake.sequence_spread = 15;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.sequence_spread', '15') \gexec
\set ECHO all
CALL take(500);
SELECT count(*), count(DISTINCT id), count(DISTINCT id % 16) AS remainders, min(snowflake_decode_sequence_id(id)), max(snowflake_decode_sequence_id(id)) FROM taken;
-- Evenly: 31 of each are expected.
SELECT count(*) AS uneven FROM (SELECT count(*) FROM taken GROUP BY id % 16) AS _ WHERE count NOT BETWEEN 8 AND 80;
SELECT count(*) AS not_rising FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM taken) AS _ WHERE id <= before;

-- The widest, with many ids in each millisecond, blocks and batches: no id comes twice, and they rise.
ALTER SYSTEM SET snowflake.sequence_spread = 1023;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.sequence_spread', '1023') \gexec
\set ECHO all
CALL take(200);
SELECT max(snowflake_decode_sequence_id(id)) BETWEEN 800 AND 1023 AS wide, count(DISTINCT snowflake_decode_sequence_id(id)) > 150 AS many FROM taken;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 100000);
SET snowflake.cache = 256;
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 100000);
RESET snowflake.cache;
INSERT INTO taken (id) SELECT id FROM snowflake_next_batch(100000) AS id;
SELECT count(*), count(DISTINCT id) FROM taken;
SELECT count(*) AS not_rising FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM taken) AS _ WHERE id <= before;
-- Within a millisecond nothing is left out.
SELECT count(*) AS gaps FROM (SELECT id, lag(id) OVER (ORDER BY id) AS before FROM taken WHERE n BETWEEN 201 AND 100200) AS _ WHERE id >> 22 = before >> 22 AND id <> before + 1;

ALTER SYSTEM RESET snowflake.sequence_spread;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.sequence_spread', :'before') \gexec
\set ECHO all
DROP PROCEDURE take(int);
DROP TABLE taken;
