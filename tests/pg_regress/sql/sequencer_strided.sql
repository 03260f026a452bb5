-- sequencer_designs(), and the designs that keep nothing but a sequence: strided, Unix time, and the spread of keys.
CREATE EXTENSION sequencer;

SELECT * FROM sequencer_designs();
SELECT design, sum(bits) AS bits FROM sequencer_designs() GROUP BY design ORDER BY design;

-- sequencer_strided_next(): each server its own residue, and the numbers as dense as the sequence's.
CREATE SEQUENCE strided;
SELECT sequencer_strided_next('strided') AS id, sequencer_strided_next('strided') AS next, snowflake_node() AS node;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT sequencer_strided_next('strided'), n int);
INSERT INTO item (n) SELECT generate_series(1, 1000);
SELECT count(*), min(id / 1024), max(id / 1024), count(DISTINCT id % 1024) AS nodes FROM item;
DROP TABLE item;

-- The usual form gives server i of m the numbers i, i + m, i + 2m and so on. A third server comes, m becomes 3 for all,
-- and the next numbers of one are among the old ones of another.
SELECT format('CREATE SEQUENCE usual_%s START %s INCREMENT 2', i, i) FROM generate_series(1, 2) AS i \gexec
CREATE TABLE usual (id bigint, server int);
INSERT INTO usual SELECT nextval(format('usual_%s', i)), i FROM generate_series(1, 2) AS i, generate_series(1, i * 10);
CREATE SEQUENCE usual_3 START 3;
SELECT format('ALTER SEQUENCE usual_%s INCREMENT 3', i) FROM generate_series(1, 3) AS i \gexec
INSERT INTO usual SELECT nextval(format('usual_%s', i)), i FROM generate_series(1, 3) AS i, generate_series(1, 10);
SELECT count(*), count(*) - count(DISTINCT id) AS duplicates FROM usual;
DROP TABLE usual;
DROP SEQUENCE usual_1, usual_2, usual_3;

-- Up to the end of 53 bits, and not further.
SELECT setval('strided', 9007199254740990);
SELECT sequencer_strided_next('strided') AS id;
SELECT error_of($$SELECT sequencer_strided_next('strided')$$);
CREATE SEQUENCE negative INCREMENT -1 MINVALUE -5 MAXVALUE 5 START 0;
SELECT sequencer_strided_next('negative') AS id;
SELECT error_of($$SELECT sequencer_strided_next('negative')$$);
CREATE SEQUENCE short MAXVALUE 2;
SELECT sequencer_strided_next('short') AS id, sequencer_strided_next('short') AS last;
SELECT error_of($$SELECT sequencer_strided_next('short')$$);
SELECT min(left(e, 5)) AS code FROM error_of($$SELECT sequencer_strided_next('pg_class')$$) AS e;
SELECT error_of($$SELECT sequencer_strided_next('missing')$$);
-- What a crash sets back, or each session has for itself.
CREATE UNLOGGED SEQUENCE unlogged;
SELECT error_of($$SELECT sequencer_strided_next('unlogged')$$);
CREATE TEMPORARY SEQUENCE passing;
SELECT error_of($$SELECT sequencer_strided_next('passing')$$);
DROP SEQUENCE unlogged, passing;
SELECT sequencer_strided_next(NULL) IS NULL AS null_for_null;
BEGIN READ ONLY;
SELECT sequencer_strided_next('strided');
ROLLBACK;
-- The caller's rights on the sequence count.
CREATE ROLE regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT error_of($$SELECT sequencer_strided_next('short')$$);
RESET ROLE;
GRANT USAGE ON SEQUENCE strided TO regress_snowflake_caller;
SELECT setval('strided', 1);
SET ROLE regress_snowflake_caller;
SELECT sequencer_strided_next('strided') AS id;
RESET ROLE;
DROP SEQUENCE strided, negative, short;
DROP ROLE regress_snowflake_caller;

-- Unix time: a thousand ids a second and server at most, since all calls of a millisecond get the same.
SELECT sequencer_unix_id(1700000000000, 7) AS id, sequencer_unix_id(0, 0) AS lowest, sequencer_unix_id(9007199254740991, 1023) AS highest;
SELECT error_of('SELECT sequencer_unix_id(-1, 0)');
SELECT error_of('SELECT sequencer_unix_id(9007199254740992, 0)');
SELECT error_of('SELECT sequencer_unix_id(0, 1024)');
SELECT error_of('SELECT sequencer_unix_id(0, -1)');
SELECT sequencer_unix_now() / 1024 BETWEEN extract(epoch FROM now()) * 1000 - 1 AND extract(epoch FROM clock_timestamp()) * 1000 + 1 AS now,
    sequencer_unix_now() % 1024 = snowflake_node() AS node;
WITH drawn AS MATERIALIZED (SELECT clock_timestamp() AS at, sequencer_unix_now() AS id FROM generate_series(1, 100000))
SELECT count(DISTINCT id) < count(*) / 2 AS duplicates,
    count(DISTINCT id) <= 2 + extract(epoch FROM max(at) - min(at)) * 1000 AS one_a_millisecond_at_most
FROM drawn;

-- sequencer_scatter(): the 63 bits reversed.
SELECT id, sequencer_scatter(id), sequencer_unscatter(sequencer_scatter(id)) = id AS back
FROM unnest('{0,1,2,4611686018427387904,9223372036854775807}'::bigint[]) AS id;
SELECT error_of('SELECT sequencer_scatter(-1)');
SELECT error_of('SELECT sequencer_unscatter(-9223372036854775808)');
SELECT sequencer_scatter(NULL) IS NULL AND sequencer_unscatter(NULL) IS NULL AS null_for_null;
-- A million ids that were made one after the other, in sixteen ranges of keys of the same size: all in one, and in each
-- about a sixteenth.
CREATE TABLE drawn AS SELECT id, sequencer_scatter(id) AS scattered FROM snowflake_next_batch(1000000) AS id;
SELECT count(DISTINCT id) AS ids, count(DISTINCT scattered) AS scattered, bool_and(sequencer_unscatter(scattered) = id) AS back FROM drawn;
SELECT count(DISTINCT id >> 59) AS ranges FROM drawn;
SELECT count(*) AS ranges, bool_and(ids BETWEEN 1000000 / 16 - 1000 AND 1000000 / 16 + 1000) AS even
FROM (SELECT count(*) AS ids FROM drawn GROUP BY scattered >> 59) AS spread;
DROP TABLE drawn;

DROP EXTENSION sequencer;
