-- CREATE and DROP EXTENSION: in another schema, by a user who is no superuser, again, and in other databases of the
-- server, which all take their ids from one generator.
\set home :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_snowflake_copy;
DROP DATABASE IF EXISTS regress_snowflake;
DROP ROLE IF EXISTS regress_snowflake_owner;
RESET client_min_messages;
CREATE ROLE regress_snowflake_owner;
CREATE DATABASE regress_snowflake;
GRANT CREATE ON DATABASE regress_snowflake TO regress_snowflake_owner;

-- Case 3: ids of another database are of the same series.
SELECT snowflake_next() AS id \gset home_
\c regress_snowflake
SET client_min_messages = error;
-- It is trusted: whoever may create objects in the database may have it, in a schema of their choice.
SET SESSION AUTHORIZATION regress_snowflake_owner;
CREATE SCHEMA ids;
CREATE EXTENSION snowflake SCHEMA ids;
SELECT ids.snowflake_next() > :home_id AS greater;
CREATE SCHEMA app;
SET search_path = app;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT ids.snowflake_next(), at timestamptz GENERATED ALWAYS AS (ids.snowflake_decode_timestamp(id, 1288834974657)) STORED);
INSERT INTO item SELECT FROM generate_series(1, 1000);
SELECT count(*), count(DISTINCT id) FROM item;
SELECT node_id = ids.snowflake_node() AS same FROM ids.snowflake_status();
-- The generator is the server's: who owns the extension in one database may not move it for all.
SELECT ids.snowflake_advance(1);
-- The functions belong to the server's first superuser: nobody else can replace them.
SELECT DISTINCT proowner FROM pg_proc WHERE pronamespace = 'ids'::regnamespace;

-- The registry of node numbers is theirs to use: they claim, and they let others. But they cannot add code to the table.
SELECT relowner FROM pg_class WHERE oid = 'ids.snowflake_nodes'::regclass;
CREATE TRIGGER mine BEFORE INSERT ON ids.snowflake_nodes FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT ids.snowflake_node_claim('here');
GRANT INSERT ON ids.snowflake_nodes TO public;

-- What needs it keeps it.
ALTER TABLE item DROP COLUMN at;
DROP EXTENSION snowflake;
SELECT max(id) FROM item \gset
DROP TABLE item;
DROP EXTENSION snowflake;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'snowflake%';
-- Again, elsewhere. The settings and the generator have not noticed.
CREATE EXTENSION snowflake SCHEMA app;
SELECT snowflake_next() > :max AS greater;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int);
INSERT INTO item (n) SELECT generate_series(1, 1000);
RESET SESSION AUTHORIZATION;

-- Case 4: a copy of the database, in which everything has the same oid.
\c :home
CREATE DATABASE regress_snowflake_copy TEMPLATE regress_snowflake;
\c regress_snowflake
SET search_path = app;
INSERT INTO item (n) SELECT generate_series(1001, 2000);
SELECT max(id) AS id, (array_agg(id ORDER BY id DESC))[1:1000] AS added FROM item \gset here_
\c regress_snowflake_copy
SET search_path = app;
INSERT INTO item (n) SELECT generate_series(1001, 2000);
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id = ANY (:'here_added')) AS repeated, count(*) FILTER (WHERE id > :here_id) AS later FROM item;
SELECT max(id) AS id FROM item \gset copy_
\c :home
SELECT snowflake_next() > :copy_id AS greater;
DROP DATABASE regress_snowflake_copy;

-- The install script runs with the rights of a superuser, also when somebody else starts it: nothing that stands in
-- the schema may come before PostgreSQL's own functions. It says most where slots for replication origins are few.
CALL leave_free_slots(0);
\c regress_snowflake
\set SHOW_CONTEXT never
SET client_min_messages = error;
DROP EXTENSION snowflake CASCADE;
SET SESSION AUTHORIZATION regress_snowflake_owner;
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.note(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE '% was called by %', what, CASE WHEN current_user = 'regress_snowflake_owner' THEN 'its owner' ELSE 'A SUPERUSER' END;
END
$$;
CREATE FUNCTION hostile.format(text, text) RETURNS text LANGUAGE sql AS $$ SELECT hostile.note('format'); SELECT '' $$;
CREATE FUNCTION hostile.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT hostile.note('current_setting'); SELECT '1' $$;
CREATE FUNCTION hostile.count() RETURNS bigint LANGUAGE sql AS $$ SELECT hostile.note('count'); SELECT 1::bigint $$;
CREATE FUNCTION hostile.minus(int, bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT hostile.note('minus'); SELECT 1::bigint $$;
CREATE OPERATOR hostile.- (FUNCTION = hostile.minus, LEFTARG = int, RIGHTARG = bigint);
CREATE FUNCTION hostile.equal(text, name) RETURNS boolean LANGUAGE sql AS $$ SELECT hostile.note('equal'); SELECT true $$;
CREATE OPERATOR hostile.= (FUNCTION = hostile.equal, LEFTARG = text, RIGHTARG = name);
CREATE FUNCTION hostile.differ(oid, oid) RETURNS boolean LANGUAGE sql AS $$ SELECT hostile.note('differ'); SELECT true $$;
CREATE OPERATOR hostile.<> (FUNCTION = hostile.differ, LEFTARG = oid, RIGHTARG = oid);
CREATE FUNCTION hostile.pg_extension_config_dump(text, text) RETURNS void LANGUAGE sql AS $$ SELECT hostile.note('pg_extension_config_dump') $$;
SET search_path = hostile, pg_catalog;
CREATE EXTENSION snowflake SCHEMA hostile;
RESET search_path;
RESET SESSION AUTHORIZATION;

\c :home
CALL leave_free_slots(NULL);
DROP DATABASE regress_snowflake;
DROP ROLE regress_snowflake_owner;
