-- The settings: default, lowest, highest and one past each end of each; who may change them, and what happens then.
SELECT snowflake_node() BETWEEN 0 AND 1023 AS loaded;

SELECT name, vartype, boot_val, min_val, max_val, unit, context FROM pg_settings WHERE name ~ '^(snowflake|sequencer)[.]' AND name <> 'snowflake.epoch' ORDER BY name COLLATE "C";
-- Where the library was not preloaded, the epoch can be reloaded, but stays the same once ids have been made.
SELECT name, vartype, boot_val, context IN ('postmaster', 'sighup') AS operators_only FROM pg_settings WHERE name = 'snowflake.epoch';
SELECT count(*) FROM pg_settings WHERE name ~ '^(snowflake|sequencer)[.]' AND short_desc <> '';

-- snowflake.cache is everyone's own.
SET snowflake.cache = 1;
SET snowflake.cache = 256;
SELECT count(DISTINCT snowflake_next()) FROM generate_series(1, 1000);
SELECT error_of('SET snowflake.cache = 0');
SELECT error_of('SET snowflake.cache = 257');
SELECT error_of('SET snowflake.cache = -1');
SELECT error_of('SET snowflake.cache = many');
SHOW snowflake.cache;
RESET snowflake.cache;
SHOW snowflake.cache;
CREATE FUNCTION with_cache() RETURNS bigint LANGUAGE sql SET snowflake.cache = 16 AS 'SELECT count(DISTINCT snowflake_next()) FROM generate_series(1, 100)';
SELECT with_cache();
DROP FUNCTION with_cache();

-- The others are the operator's: no session changes them, not even a superuser's.
SELECT command, error_of(command) FROM unnest(ARRAY['SET snowflake.node = 2', 'SET LOCAL snowflake.node = 2', 'RESET snowflake.node',
    'SELECT set_config(''snowflake.node'', ''2'', false)', 'UPDATE pg_settings SET setting = 2 WHERE name = ''snowflake.node''',
    'SET snowflake.max_clock_step = ''20s''', 'SET snowflake.max_clock_skew = ''20s''', 'SET snowflake.sequence_spread = 15',
    'SET sequencer.clock_max_error = ''1ms''']) AS command;
SELECT command, substring(error_of(command) FROM '^55P02: parameter "snowflake.epoch" cannot be changed') AS error_of
FROM unnest(ARRAY['SET snowflake.epoch = ''0''', 'SET LOCAL snowflake.epoch = ''0''', 'SELECT set_config(''snowflake.epoch'', ''0'', false)']) AS command;
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_snowflake_user;
RESET client_min_messages;
CREATE ROLE regress_snowflake_user;
SELECT error_of('ALTER ROLE regress_snowflake_user SET snowflake.node = 2');
SELECT error_of(format('ALTER DATABASE %I SET snowflake.node = 2', current_database()));
SELECT error_of('CREATE FUNCTION with_node() RETURNS bigint LANGUAGE sql SET snowflake.node = 2 AS ''SELECT snowflake_next()''');
-- Case 51: nor a user who is no superuser.
SET ROLE regress_snowflake_user;
SELECT error_of('SET snowflake.node = 2');
SELECT substring(error_of('SET snowflake.epoch = ''0''') FROM '^55P02: parameter "snowflake.epoch" cannot be changed') AS error_of;
SELECT error_of('SET snowflake.max_clock_step = ''1h''');
SELECT error_of('SET snowflake.max_clock_skew = ''1h''');
SELECT error_of('SET snowflake.sequence_spread = 0');
ALTER SYSTEM SET snowflake.node = 2;
ALTER SYSTEM SET snowflake.epoch = '0';
ALTER SYSTEM RESET snowflake.node;
SELECT current_setting('snowflake.node')::int = snowflake_node() AS readable;
SET snowflake.cache = 8;
SELECT snowflake_decode_node_id(snowflake_next()) = snowflake_node() AS same;
RESET snowflake.cache;
RESET ROLE;
ALTER ROLE regress_snowflake_user SET snowflake.cache = 8;
DROP ROLE regress_snowflake_user;

-- The prefixes are ours: a slip of the pen is an error.
SELECT error_of('SET snowflake.nonsense = 1');
SELECT error_of('SET sequencer.nonsense = 1');
SELECT error_of('SET snowflake.nodes = 2');
SHOW snowflake.nonsense;

-- Values that are refused where they are given. Cases 30 and 54.
ALTER SYSTEM SET snowflake.node = -1;
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET snowflake.node = 1024;
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET snowflake.node = 2048;
ALTER SYSTEM SET snowflake.node = 'abc';
ALTER SYSTEM SET snowflake.node = '';
ALTER SYSTEM SET snowflake.node = '1s';
ALTER SYSTEM SET snowflake.epoch = '2999-01-01';
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET snowflake.epoch = '32472144000000';
\echo :LAST_ERROR_SQLSTATE
-- Case 35: a digit too many.
ALTER SYSTEM SET snowflake.epoch = '14200070400000';
ALTER SYSTEM SET snowflake.epoch = '-1';
ALTER SYSTEM SET snowflake.epoch = -1;
ALTER SYSTEM SET snowflake.epoch = '+1';
ALTER SYSTEM SET snowflake.epoch = '1.5';
ALTER SYSTEM SET snowflake.epoch = '';
ALTER SYSTEM SET snowflake.epoch = ' 1';
ALTER SYSTEM SET snowflake.epoch = 'abc';
ALTER SYSTEM SET snowflake.epoch = '9223372036854775808';
-- The messages of these name the range in one way before PostgreSQL 17, and in another since.
\set VERBOSITY sqlstate
ALTER SYSTEM SET snowflake.max_clock_step = '9s';
ALTER SYSTEM SET snowflake.max_clock_step = '2147483648s';
ALTER SYSTEM SET snowflake.max_clock_step = '-1';
ALTER SYSTEM SET snowflake.max_clock_skew = '-1';
ALTER SYSTEM SET snowflake.max_clock_skew = '2147483648';
ALTER SYSTEM SET sequencer.clock_max_error = '-2';
ALTER SYSTEM SET sequencer.clock_max_error = '2147483648';
ALTER SYSTEM SET snowflake.cache = 0;
ALTER SYSTEM SET snowflake.cache = 257;
ALTER SYSTEM SET snowflake.sequence_spread = -1;
ALTER SYSTEM SET snowflake.sequence_spread = 1024;
\set VERBOSITY default

-- What is accepted takes effect in the sessions that there are, this one for example, between two commands: hence the
-- many of until_it_is().
CREATE TABLE taken (n int GENERATED ALWAYS AS IDENTITY, id bigint);
SELECT current_setting('snowflake.node') AS node, current_setting('snowflake.max_clock_step') AS max_clock_step,
    current_setting('snowflake.max_clock_skew') AS max_clock_skew, current_setting('snowflake.cache') AS cache,
    snowflake_epoch_ms() AS epoch, current_setting('sequencer.clock_max_error') AS clock_max_error \gset before_

-- Case 55: node numbers of more than eight bits. Rising, whether the number grows or shrinks.
ALTER SYSTEM SET snowflake.node = 0;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '0') \gexec
\set ECHO all
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT snowflake_node(), node_id, snowflake_decode_node_id(snowflake_next()), snowflake_decode_node_id(snowflake_generate(1)), snowflake_decode_node_id(snowflake_try_generate(1)) FROM snowflake_status();
ALTER SYSTEM SET snowflake.node = 1023;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '1023') \gexec
\set ECHO all
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT snowflake_node(), node_id, snowflake_decode_node_id(snowflake_next()), snowflake_decode_node_id(snowflake_generate(1)), snowflake_decode_node_id(snowflake_try_generate(1)) FROM snowflake_status();
ALTER SYSTEM SET snowflake.node = 256;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '256') \gexec
\set ECHO all
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT snowflake_node(), node_id, snowflake_decode_node_id(snowflake_next()), snowflake_decode_node_id(snowflake_generate(1)), snowflake_decode_node_id(snowflake_try_generate(1)) FROM snowflake_status();
ALTER SYSTEM SET snowflake.node = 511;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '511') \gexec
\set ECHO all
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT snowflake_node(), node_id, snowflake_decode_node_id(snowflake_next()), snowflake_decode_node_id(snowflake_generate(1)), snowflake_decode_node_id(snowflake_try_generate(1)) FROM snowflake_status();
ALTER SYSTEM SET snowflake.node = 512;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '512') \gexec
\set ECHO all
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT snowflake_node(), node_id, snowflake_decode_node_id(snowflake_next()), snowflake_decode_node_id(snowflake_generate(1)), snowflake_decode_node_id(snowflake_try_generate(1)) FROM snowflake_status();
ALTER SYSTEM SET snowflake.node = 1;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '1') \gexec
\set ECHO all
INSERT INTO taken (id) SELECT snowflake_next() FROM generate_series(1, 1000);
SELECT snowflake_node(), node_id, snowflake_decode_node_id(snowflake_next()), snowflake_decode_node_id(snowflake_generate(1)), snowflake_decode_node_id(snowflake_try_generate(1)) FROM snowflake_status();
SELECT array_agg(DISTINCT snowflake_decode_node_id(id)) AS nodes, count(*), count(DISTINCT id) FROM taken;
SELECT count(*) AS not_rising FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM taken) AS _ WHERE id <= before;
-- Ahead of the clock, where the millisecond stays the same meanwhile, a block of another node number's is dropped, and
-- a number that shrinks has to wait for the next millisecond.
SET snowflake.cache = 256;
SELECT snowflake_advance(snowflake_next() + (1000::bigint << 22));
SELECT snowflake_next() AS id, snowflake_decode_node_id(snowflake_next()) AS node_id \gset a_
ALTER SYSTEM SET snowflake.node = 700;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '700') \gexec
\set ECHO all
SELECT snowflake_next() AS id, snowflake_decode_node_id(snowflake_next()) AS node_id \gset b_
ALTER SYSTEM SET snowflake.node = 2;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', '2') \gexec
\set ECHO all
SELECT snowflake_next() AS id, snowflake_decode_node_id(snowflake_next()) AS node_id \gset c_
SELECT :a_node_id, :b_node_id, :c_node_id, :a_id < :b_id AND :b_id < :c_id AS rising;
CALL wait_for_clock();
RESET snowflake.cache;
ALTER SYSTEM RESET snowflake.node;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.node', :'before_node') \gexec
\set ECHO all
SELECT snowflake_node() = :before_node AS as_before;

-- The ends of the others' ranges.
ALTER SYSTEM SET snowflake.max_clock_step = '10s';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.max_clock_step', '10s') \gexec
\set ECHO all
SHOW snowflake.max_clock_step;
SELECT snowflake_next() > 0 AS positive;
ALTER SYSTEM SET snowflake.max_clock_step = '2147483647s';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.max_clock_step', '2147483647s') \gexec
\set ECHO all
SHOW snowflake.max_clock_step;
SELECT snowflake_next() > 0 AS positive;
ALTER SYSTEM RESET snowflake.max_clock_step;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.max_clock_step', :'before_max_clock_step') \gexec
\set ECHO all
ALTER SYSTEM SET snowflake.max_clock_skew = '0';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.max_clock_skew', '0') \gexec
\set ECHO all
SHOW snowflake.max_clock_skew;
SELECT snowflake_next() > 0 AS positive;
ALTER SYSTEM SET snowflake.max_clock_skew = '2147483647ms';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.max_clock_skew', '2147483647ms') \gexec
\set ECHO all
SHOW snowflake.max_clock_skew;
SELECT snowflake_next() > 0 AS positive;
ALTER SYSTEM RESET snowflake.max_clock_skew;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.max_clock_skew', :'before_max_clock_skew') \gexec
\set ECHO all
ALTER SYSTEM SET sequencer.clock_max_error = '0';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('sequencer.clock_max_error', '0') \gexec
\set ECHO all
SHOW sequencer.clock_max_error;
ALTER SYSTEM SET sequencer.clock_max_error = '2147483647ms';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('sequencer.clock_max_error', '2147483647ms') \gexec
\set ECHO all
SHOW sequencer.clock_max_error;
ALTER SYSTEM RESET sequencer.clock_max_error;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('sequencer.clock_max_error', :'before_clock_max_error') \gexec
\set ECHO all
ALTER SYSTEM SET snowflake.cache = '1';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.cache', '1') \gexec
\set ECHO all
SHOW snowflake.cache;
SELECT snowflake_next() > 0 AS positive;
ALTER SYSTEM SET snowflake.cache = '256';
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.cache', '256') \gexec
\set ECHO all
SHOW snowflake.cache;
SELECT snowflake_next() > 0 AS positive;
ALTER SYSTEM RESET snowflake.cache;
SELECT pg_reload_conf();
\set ECHO none
SELECT until_it_is('snowflake.cache', :'before_cache') \gexec
\set ECHO all

-- The epoch is one for a server's run: a value given now has to wait for the next.
ALTER SYSTEM SET snowflake.epoch = '1577836800000';
SELECT pg_reload_conf();
\c -
SELECT snowflake_epoch_ms() = :before_epoch AS as_before, epoch_ms = :before_epoch AS as_before,
    abs(extract(epoch FROM snowflake_decode_timestamp(snowflake_next(), :before_epoch) - clock_timestamp())) < 60 AS in_ids_too
FROM snowflake_status();
-- As a number too. 0 is an epoch, 1970.
ALTER SYSTEM SET snowflake.epoch = 1577836800000;
ALTER SYSTEM SET snowflake.epoch = 0;
ALTER SYSTEM RESET snowflake.epoch;
SELECT pg_reload_conf();
SELECT count(*) FROM pg_file_settings WHERE name LIKE 'snowflake.%' AND sourcefile LIKE '%postgresql.auto.conf';

DROP TABLE taken;
