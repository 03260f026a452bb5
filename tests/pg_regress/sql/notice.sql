-- What CREATE EXTENSION tells the operator. One answer, notice_1.out, is for a server on which snowflake.node is set.
\set home :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_snowflake;
RESET client_min_messages;
CREATE DATABASE regress_snowflake;
-- The ceiling has its slot from the first id on.
SELECT snowflake_next() > 0 AS positive;
SELECT source = 'default' AS node_is_the_default FROM pg_settings WHERE name = 'snowflake.node';

-- Slots enough: the node number, if anything.
\c regress_snowflake
CREATE EXTENSION snowflake;
DROP EXTENSION snowflake;
-- None left beside its own. (The hint names the setting, which is another one from PostgreSQL 18 on.)
\c :home
CALL leave_free_slots(0);
\c regress_snowflake
\set VERBOSITY terse
CREATE EXTENSION snowflake;
\set VERBOSITY default
DROP EXTENSION snowflake;
-- Ids need no more than that.
\c :home
SELECT snowflake_next() > 0 AS positive;
CALL wait_for_ceiling();
SELECT snowflake_next() > 0 AS positive;
-- One to spare.
CALL leave_free_slots(1);
\c regress_snowflake
CREATE EXTENSION snowflake;
DROP EXTENSION snowflake;
\c :home
CALL leave_free_slots(NULL);

-- Somebody has the identifier.
\c regress_snowflake
\set SHOW_CONTEXT never
BEGIN;
INSERT INTO pg_replication_origin VALUES (65534, 'somebody''s');
CREATE EXTENSION snowflake;
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT count(*) FROM pg_replication_origin WHERE roident = 65534;

\c :home
DROP DATABASE regress_snowflake;
