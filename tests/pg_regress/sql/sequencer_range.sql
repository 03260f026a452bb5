-- Ranges of numbers: claimed in one step, handed out by the session.
CREATE EXTENSION sequencer;

SELECT snowflake_range_create('orders', 10);
SELECT array_agg(snowflake_range_next('orders')) FROM generate_series(1, 12);
SELECT * FROM snowflake_range_claim('orders', 5);
SELECT * FROM snowflake_range_claim('orders');
-- The session goes on in its own range.
SELECT snowflake_range_next('orders');
SELECT name, first, size, claimed_at <= now() + interval '1 s' AS claimed, claimed_by = session_user AS by_us, node_id FROM snowflake_ranges ORDER BY first;

-- A claim that is rolled back is a gap, and no number of it comes again.
BEGIN;
SELECT * FROM snowflake_range_claim('orders', 100);
ROLLBACK;
SELECT first, last, state, node_id FROM snowflake_range_list('orders');
-- The session's range goes with its claim.
SELECT snowflake_range_create('items', 3);
BEGIN;
SELECT snowflake_range_next('items');
ROLLBACK;
SELECT snowflake_range_next('items');
BEGIN;
SAVEPOINT s;
SELECT array_agg(snowflake_range_next('items')) FROM generate_series(1, 3);
ROLLBACK TO s;
SELECT snowflake_range_next('items');
SAVEPOINT s;
SAVEPOINT t;
SELECT array_agg(snowflake_range_next('items')) FROM generate_series(1, 3);
RELEASE t;
ROLLBACK TO s;
SELECT snowflake_range_next('items');
SAVEPOINT s;
SELECT snowflake_range_next('items');
RELEASE s;
COMMIT;
SELECT snowflake_range_next('items');
-- Every number that was given and not rolled back lies in a range that is listed as claimed.
SELECT first, last, state FROM snowflake_range_list('items');

-- The size is read at each claim, and a name can be another.
UPDATE snowflake_range_names SET size = 1000 WHERE name = 'items';
SELECT array_agg(snowflake_range_next('items')) FROM generate_series(1, 3);
SELECT first, last FROM snowflake_range_list('items') ORDER BY first DESC LIMIT 1;
UPDATE snowflake_range_names SET name = 'parts' WHERE name = 'items';
SELECT error_of($$SELECT snowflake_range_next('items')$$);
SELECT snowflake_range_next('parts');
SELECT count(*) > 3 AS renamed FROM snowflake_ranges WHERE name = 'parts';
-- Dropped and made again, it begins anew, in every session.
SELECT snowflake_range_drop('parts');
SELECT error_of($$SELECT snowflake_range_next('parts')$$);
SELECT snowflake_range_create('parts', 5, 1000);
SELECT snowflake_range_next('parts');
SELECT first, last, state FROM snowflake_range_list('parts');
SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname LIKE 'snowflake_range_%';

-- The owner says what is taken already; nobody else can.
INSERT INTO snowflake_ranges (name, first, size) VALUES ('parts', 1, 10000);
SELECT first FROM snowflake_range_claim('parts');

-- Up to the last bigint, and not further.
SELECT snowflake_range_create('last', 5, 9223372036854775800);
SELECT array_agg(snowflake_range_next('last')) FROM generate_series(1, 5);
SELECT error_of($$SELECT snowflake_range_claim('last', 4)$$, '_[0-9a-f]{32}');
SELECT * FROM snowflake_range_claim('last', 2);
SELECT error_of($$SELECT snowflake_range_next('last')$$, '_[0-9a-f]{32}');
SELECT first, last, state FROM snowflake_range_list('last');

SELECT error_of($$SELECT snowflake_range_create('parts', 5)$$);
SELECT error_of($$SELECT snowflake_range_create('', 5)$$);
SELECT error_of($$SELECT snowflake_range_create(repeat('x', 256), 5)$$);
SELECT error_of($$SELECT snowflake_range_create('new', 0)$$);
SELECT error_of($$SELECT snowflake_range_create('new', 4294967297)$$);
SELECT error_of($$SELECT snowflake_range_create('new', 1, 0)$$);
SELECT error_of($$SELECT snowflake_range_claim('orders', 0)$$);
SELECT error_of($$SELECT snowflake_range_claim('orders', 4294967297)$$);
SELECT error_of($$SELECT snowflake_range_claim('missing', 1)$$);
SELECT error_of($$SELECT snowflake_range_claim('missing')$$);
SELECT error_of($$SELECT snowflake_range_next('missing')$$);
SELECT error_of($$SELECT snowflake_range_next('')$$);
SELECT error_of($$SELECT snowflake_range_list('missing')$$);
SELECT error_of($$SELECT snowflake_range_drop('missing')$$);
SELECT error_of($$SELECT snowflake_range_attach('new', 1, 'pg_class')$$);
SELECT error_of($$INSERT INTO snowflake_ranges (name) VALUES ('missing')$$);
SELECT error_of($$INSERT INTO snowflake_ranges (name, size) VALUES ('orders', -1)$$);
SELECT error_of($$SELECT snowflake_counter_take('missing', 1)$$);
CREATE SEQUENCE counter;
SELECT error_of($$SELECT snowflake_counter_take('counter', 0)$$);
SELECT snowflake_counter_take('counter', 10) AS first, snowflake_counter_raise('counter', 5), snowflake_counter_take('counter', 1) AS next;
DROP SEQUENCE counter;
SELECT snowflake_range_next(NULL) IS NULL AND snowflake_range_claim(NULL, 1) IS NULL AND snowflake_range_claim('orders', NULL) IS NULL AS null_for_null;
-- A number of the session's range needs no write.
BEGIN READ ONLY;
SELECT snowflake_range_next('orders');
SELECT error_of($$SELECT snowflake_range_claim('orders')$$);
ROLLBACK;

-- Who may claim: INSERT on the table, and no right on any counter.
CREATE ROLE regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT error_of($$SELECT snowflake_range_next('orders')$$);
SELECT error_of($$SELECT snowflake_range_create('mine', 1)$$);
SELECT error_of($$SELECT snowflake_range_drop('orders')$$);
RESET ROLE;
GRANT INSERT ON snowflake_ranges TO regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT snowflake_range_next('orders') AS number;
SELECT state, claimed_by = session_user AS by_session FROM snowflake_range_list('orders') ORDER BY first DESC LIMIT 1;
CREATE TEMPORARY TABLE own (name text, first bigint, size bigint);
SELECT error_of('CREATE TRIGGER own BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION snowflake_range_fill()');
DROP TABLE own;
SELECT error_of($$INSERT INTO snowflake_ranges (name, first, size) VALUES ('orders', 1000000, 1)$$);
SELECT error_of($$SELECT snowflake_counter_take((SELECT counter FROM snowflake_range_names WHERE name = 'orders'), 1)$$, '_[0-9a-f]{32}');
RESET ROLE;
REVOKE INSERT ON snowflake_ranges FROM regress_snowflake_caller;
DROP ROLE regress_snowflake_caller;

-- A trigger that the owner of the table has added runs with the owner's rights, whoever claims, and changes nothing for
-- the session.
CREATE ROLE regress_snowflake_owner;
GRANT USAGE, CREATE ON SCHEMA public TO regress_snowflake_owner;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_snowflake_owner', current_database()) \gexec
SET ROLE regress_snowflake_owner;
CREATE SCHEMA ids;
RESET ROLE;
DROP EXTENSION sequencer;
SET ROLE regress_snowflake_owner;
CREATE EXTENSION sequencer SCHEMA ids;
SELECT ids.snowflake_range_create('orders', 2);
CREATE TABLE ids.ran (by text, path text);
CREATE FUNCTION ids.trap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ids.ran VALUES (current_user, current_setting('search_path'));
    PERFORM set_config('search_path', 'trap', false);
    RETURN NEW;
END
$$;
CREATE TRIGGER trap BEFORE INSERT ON ids.snowflake_ranges FOR EACH ROW EXECUTE FUNCTION ids.trap();
RESET ROLE;
SELECT ids.snowflake_range_next('orders'), first FROM ids.snowflake_range_claim('orders', 5);
SELECT * FROM ids.ran;
SHOW search_path;
SELECT DISTINCT claimed_by = session_user AS by_us FROM ids.snowflake_ranges;
-- It takes no other role's rights.
SET ROLE regress_snowflake_owner;
CREATE OR REPLACE FUNCTION ids.trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RESET ROLE; RETURN NEW; END';
RESET ROLE;
SELECT error_of($$SELECT ids.snowflake_range_claim('orders')$$);
-- Nor does a view in the place of a table.
SET ROLE regress_snowflake_owner;
DROP TRIGGER trap ON ids.snowflake_ranges;
CREATE FUNCTION ids.who() RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'as %', current_user; RETURN ''; END$$;
ALTER TABLE ids.snowflake_range_names RENAME TO names;
CREATE VIEW ids.snowflake_range_names AS
    SELECT name || ids.who() AS name, size, id, counter, claimed_from FROM ids.names;
RESET ROLE;
SELECT ids.snowflake_range_claim('orders');
-- Nor can a table of another be named.
SET ROLE regress_snowflake_owner;
DROP VIEW ids.snowflake_range_names;
ALTER TABLE ids.names RENAME TO snowflake_range_names;
RESET ROLE;
CREATE TABLE other (name text, first bigint DEFAULT 1, size bigint, node_id int);
SET ROLE regress_snowflake_owner;
INSERT INTO ids.snowflake_range_names (name, size, claimed_from) VALUES ('other', 1, 'other');
RESET ROLE;
SELECT error_of($$SELECT ids.snowflake_range_claim('other')$$);
DROP TABLE other;
-- A table that gives nothing.
SET ROLE regress_snowflake_owner;
CREATE FUNCTION ids.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER nothing BEFORE INSERT ON ids.snowflake_ranges FOR EACH ROW EXECUTE FUNCTION ids.nothing();
RESET ROLE;
SELECT error_of($$SELECT ids.snowflake_range_claim('orders')$$);
SET client_min_messages = warning;
DROP OWNED BY regress_snowflake_owner CASCADE;
RESET client_min_messages;
DROP ROLE regress_snowflake_owner;
CREATE EXTENSION sequencer;

-- A counter that was dropped by hand.
SELECT snowflake_range_create('lost', 5);
SELECT snowflake_range_next('lost');
DO $$BEGIN EXECUTE 'DROP SEQUENCE ' || (SELECT counter FROM snowflake_range_names WHERE name = 'lost'); END$$;
SELECT error_of($$SELECT snowflake_range_list('lost')$$);
SELECT error_of($$SELECT snowflake_range_claim('lost')$$, '\d+');
SELECT snowflake_range_drop('lost');
SELECT error_of($$SELECT snowflake_range_next('lost')$$);

-- Ranges that come by replication raise the counter, too.
SELECT snowflake_range_create('copied', 5);
SET session_replication_role = replica;
INSERT INTO snowflake_ranges (name, first, size, claimed_at, claimed_by) VALUES ('copied', 1, 100, now(), 'there');
SELECT first FROM snowflake_range_claim('copied');
RESET session_replication_role;
SELECT first FROM snowflake_range_claim('copied');

-- pg_dump reads the counters, whoever runs it.
SELECT has_sequence_privilege('public', counter, 'SELECT') AS read, has_sequence_privilege('public', counter, 'USAGE, UPDATE') AS move
FROM snowflake_range_names WHERE name = 'copied';
-- A name that is not there is told as it was given.
SELECT error_of(format('SELECT snowflake_range_next(%L)', E'gr\u00F6\u00DFe'));

-- A hostile search path changes nothing.
CREATE SCHEMA hostile;
CREATE TABLE hostile.snowflake_range_names (name text, id uuid);
CREATE FUNCTION hostile.equal(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR hostile.= (FUNCTION = hostile.equal, LEFTARG = text, RIGHTARG = text);
SET search_path = hostile, pg_catalog, public;
SELECT snowflake_range_create('other', 2);
SELECT array_agg(snowflake_range_next('other')) FROM generate_series(1, 3);
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA hostile CASCADE;
RESET client_min_messages;

DROP EXTENSION sequencer;
-- The counters go with it.
SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname LIKE 'snowflake_range_%';
