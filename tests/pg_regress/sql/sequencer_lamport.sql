-- Lamport clocks: a sequence, and what came from elsewhere.
CREATE EXTENSION sequencer;

CREATE SEQUENCE clock;
SELECT sequencer_lamport_next('clock') AS id, sequencer_lamport_next('clock') AS next;
SELECT value, node_id FROM sequencer_lamport_decode(7 * 1024 + 5);
SELECT * FROM sequencer_lamport_decode(9223372036854775807);

-- After an id from elsewhere every next one is greater, also where the other's node number is the highest.
SELECT sequencer_lamport_observe('clock', 100 * 1024 + 1023);
SELECT sequencer_lamport_next('clock') AS id, sequencer_lamport_next('clock') > 100 * 1024 + 1023 AS greater;
-- What is known already never lowers the clock, and takes no number of it.
SELECT sequencer_lamport_observe('clock', 50 * 1024);
SELECT sequencer_lamport_observe('clock', 0);
SELECT value FROM sequencer_lamport_decode(sequencer_lamport_next('clock'));
-- An observation is not taken back.
BEGIN;
SELECT sequencer_lamport_observe('clock', 200 * 1024);
ROLLBACK;
SELECT value FROM sequencer_lamport_decode(sequencer_lamport_next('clock'));
-- A sequence that was set, and not called since.
SELECT setval('clock', 1000, false);
SELECT sequencer_lamport_observe('clock', 5 * 1024);
SELECT value FROM sequencer_lamport_decode(sequencer_lamport_next('clock'));
-- No lock is kept to the end of the transaction but the sequence's own.
BEGIN;
SELECT sequencer_lamport_next('clock') IS NOT NULL AS next, sequencer_lamport_observe('clock', 1);
SELECT locktype, mode, relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND (relation = 'clock'::regclass OR locktype = 'advisory');
ROLLBACK;

-- The end of 53 bits is the end: no clock starts over.
SELECT sequencer_lamport_observe('clock', 9223372036854775807 - 1024);
SELECT value FROM sequencer_lamport_decode(sequencer_lamport_next('clock'));
SELECT error_of($$SELECT sequencer_lamport_next('clock')$$);
SELECT error_of($$SELECT sequencer_lamport_next('clock')$$, '\d+$');

SELECT error_of($$SELECT sequencer_lamport_observe('clock', -1)$$);
SELECT error_of('SELECT sequencer_lamport_decode(-1)');
SELECT error_of($$SELECT sequencer_lamport_next('missing')$$);
SELECT min(left(e, 5)) AS code FROM error_of($$SELECT sequencer_lamport_next('pg_class')$$) AS e;
CREATE SEQUENCE cached CACHE 32;
SELECT error_of($$SELECT sequencer_lamport_next('cached')$$);
SELECT error_of($$SELECT sequencer_lamport_observe('cached', 1)$$);
CREATE SEQUENCE steps INCREMENT 2;
SELECT error_of($$SELECT sequencer_lamport_next('steps')$$);
CREATE SEQUENCE round CYCLE;
SELECT error_of($$SELECT sequencer_lamport_next('round')$$);
-- What a crash sets back, or each session has for itself.
CREATE UNLOGGED SEQUENCE unlogged;
SELECT error_of($$SELECT sequencer_lamport_next('unlogged')$$);
SELECT error_of($$SELECT sequencer_lamport_observe('unlogged', 1)$$);
ALTER SEQUENCE unlogged SET LOGGED;
SELECT sequencer_lamport_next('unlogged') AS id;
CREATE TEMPORARY SEQUENCE passing;
SELECT error_of($$SELECT sequencer_lamport_next('passing')$$);
SELECT error_of('SELECT sequencer_lamport_next(1)');
CREATE SEQUENCE short MAXVALUE 10;
SELECT error_of($$SELECT sequencer_lamport_observe('short', 11 * 1024)$$);
-- At its end there may still be nothing to raise.
CREATE SEQUENCE ended MAXVALUE 3;
SELECT sequencer_lamport_observe('ended', 3 * 1024);
SELECT sequencer_lamport_observe('ended', 3 * 1024 + 5), sequencer_lamport_observe('ended', 1);
SELECT error_of($$SELECT sequencer_lamport_observe('ended', 4 * 1024)$$);
BEGIN READ ONLY;
SELECT sequencer_lamport_observe('ended', 1);
ROLLBACK;
SELECT sequencer_lamport_next(NULL) IS NULL AND sequencer_lamport_observe('short', NULL) IS NULL AND sequencer_lamport_decode(NULL) IS NULL AS null_for_null;
BEGIN READ ONLY;
SELECT sequencer_lamport_next('short');
ROLLBACK;

-- The rights on the sequence: USAGE for ids, UPDATE to raise.
CREATE ROLE regress_snowflake_caller;
GRANT USAGE ON SEQUENCE short TO regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT sequencer_lamport_next('short') IS NOT NULL AS next;
SELECT error_of($$SELECT sequencer_lamport_observe('short', 5 * 1024)$$);
-- Also where there is nothing to raise.
SELECT error_of($$SELECT sequencer_lamport_observe('short', 0)$$);
SELECT error_of($$SELECT sequencer_lamport_next('clock')$$);
RESET ROLE;
GRANT UPDATE ON SEQUENCE short TO regress_snowflake_caller;
REVOKE USAGE ON SEQUENCE short FROM regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
-- To observe is to read as well.
SELECT error_of($$SELECT sequencer_lamport_observe('short', 5 * 1024)$$);
RESET ROLE;
GRANT SELECT ON SEQUENCE short TO regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT sequencer_lamport_observe('short', 5 * 1024), sequencer_lamport_next('short') / 1024 AS value;
RESET ROLE;

DROP SEQUENCE clock, cached, steps, round, short, ended, unlogged, passing;
DROP ROLE regress_snowflake_caller;
DROP EXTENSION sequencer;
