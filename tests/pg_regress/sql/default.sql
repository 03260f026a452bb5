-- snowflake_next() as a column default, in every way rows are made. Each row gets its own id, in the rows' order.

CREATE TABLE item (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int, note text);
-- How many rows there are, and how many of them have an id that is not greater than that of the row before.
CREATE FUNCTION ids_of(rows regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT format(''%%s rows, %%s distinct, %%s not rising'', count(*), count(DISTINCT id), count(*) FILTER (WHERE id <= before))'
        ' FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM %s) AS _', rows) INTO answer;
    RETURN answer;
END
$$;

-- Single rows, and RETURNING.
INSERT INTO item (n) VALUES (1);
INSERT INTO item (n) VALUES (2) RETURNING id > 0 AS positive;
INSERT INTO item (id, n) VALUES (DEFAULT, 3) RETURNING snowflake_decode_node_id(id) = snowflake_node() AS of_this_node;
INSERT INTO item DEFAULT VALUES RETURNING id = (SELECT last_id FROM snowflake_status()) AS last, n;
UPDATE item SET n = 4 WHERE n IS NULL;
WITH made AS (INSERT INTO item (n) VALUES (5) RETURNING id, n)
    SELECT id > (SELECT max(id) FROM item) AS greater, n FROM made;
SELECT ids_of('item');
-- Multi-row VALUES.
INSERT INTO item (n) VALUES (6), (7), (8), (9);
SELECT ids_of('item');
-- INSERT ... SELECT, in the order of its ORDER BY.
INSERT INTO item (n) SELECT n FROM generate_series(5000, 10, -1) AS n ORDER BY n;
SELECT ids_of('item');
-- COPY, with the column left out; and with an explicit id.
COPY item (n) FROM stdin;
5001
5002
5003
\.
COPY item (id, n, note) FROM stdin;
5	0	by hand
\.
SELECT ids_of('item');
-- COPY of enough rows that PostgreSQL inserts them in batches.
\copy (SELECT n FROM item ORDER BY n) TO PROGRAM 'cat > "$PG_ABS_BUILDDIR"/results/item.txt'
CREATE TABLE copied (LIKE item INCLUDING ALL);
\copy copied (n) FROM PROGRAM 'cat "$PG_ABS_BUILDDIR"/results/item.txt'
SELECT ids_of('copied'), min(id) > (SELECT max(id) FROM item) AS greater FROM copied;
DROP TABLE copied;
-- A new value for rows that are there.
UPDATE item SET id = DEFAULT WHERE n <= 9;
SELECT count(*), count(DISTINCT id) FROM item;
UPDATE item SET id = snowflake_next();
SELECT count(*), count(DISTINCT id) FROM item;

-- Case 43: a column that is added gives every row its own id.
CREATE TABLE old AS SELECT n FROM generate_series(1, 1000) AS n;
ALTER TABLE old ADD COLUMN id bigint DEFAULT snowflake_next();
SELECT ids_of('old');
ALTER TABLE old ADD PRIMARY KEY (id), ALTER COLUMN id SET NOT NULL;
INSERT INTO old (n) VALUES (1001);
SELECT ids_of('old');
ALTER TABLE old ALTER COLUMN id DROP DEFAULT;
SELECT error_of('INSERT INTO old (n) VALUES (1002)');
ALTER TABLE old ALTER COLUMN id SET DEFAULT snowflake_next();
INSERT INTO old (n) VALUES (1002);
SELECT ids_of('old');
DROP TABLE old;

-- ON CONFLICT: ids that are not used are not given out again.
CREATE TABLE named (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int GENERATED ALWAYS AS IDENTITY, name text UNIQUE);
INSERT INTO named (name) VALUES ('a'), ('b') ON CONFLICT DO NOTHING;
INSERT INTO named (name) VALUES ('a'), ('c') ON CONFLICT DO NOTHING;
SELECT max(id) FROM named \gset
INSERT INTO named (name) VALUES ('a'), ('d') ON CONFLICT (name) DO UPDATE SET id = excluded.id RETURNING name, id > :max AS new;
SELECT count(*), count(DISTINCT id) FROM named;
-- MERGE.
SELECT max(id) FROM named \gset
MERGE INTO named AS t USING (VALUES ('a'), ('b'), ('e'), ('f')) AS s (name) ON t.name = s.name
    WHEN MATCHED THEN UPDATE SET id = snowflake_next()
    WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name);
SELECT name, id > :max AS new FROM named ORDER BY name;
SELECT count(*), count(DISTINCT id) FROM named;
DROP TABLE named;

-- Partitions by the id itself, by another key, and by its hash.
CREATE TABLE by_id (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int) PARTITION BY RANGE (id);
CREATE TABLE by_id_past PARTITION OF by_id FOR VALUES FROM (0) TO (snowflake_min_id('2024-01-01 00:00+00'));
CREATE TABLE by_id_now PARTITION OF by_id FOR VALUES FROM (snowflake_min_id('2024-01-01 00:00+00')) TO (MAXVALUE);
INSERT INTO by_id (n) SELECT n FROM generate_series(1, 1000) AS n;
INSERT INTO by_id (id, n) VALUES (snowflake_max_id('2023-12-31 23:59:59.999+00'), 0);
SELECT ids_of('by_id'), ids_of('by_id_past'), ids_of('by_id_now');
CREATE TABLE by_key (id bigint DEFAULT snowflake_next(), n int, region text, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE by_key_a PARTITION OF by_key FOR VALUES IN ('a');
CREATE TABLE by_key_b PARTITION OF by_key FOR VALUES IN ('b');
INSERT INTO by_key (n, region) SELECT n, CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 1000) AS n;
INSERT INTO by_key_a (n, region) VALUES (1001, 'a');
SELECT ids_of('by_key'), ids_of('by_key_a'), ids_of('by_key_b');
-- A row that moves to another partition keeps its id.
SELECT id FROM by_key WHERE n = 2 \gset
UPDATE by_key SET region = 'b' WHERE n = 2 RETURNING tableoid::regclass AS partition, id = :id AS kept;
CREATE TABLE by_hash (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int) PARTITION BY HASH (id);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_hash (n) SELECT n FROM generate_series(1, 10000) AS n;
SELECT ids_of('by_hash'), (SELECT count(*) FROM by_hash_0) BETWEEN 4000 AND 6000 AS even;
DROP TABLE by_id, by_key, by_hash;

-- PL/pgSQL: assignments, loops, dynamic commands, rows.
CREATE TABLE made (n int GENERATED ALWAYS AS IDENTITY, id bigint);
DO $$
DECLARE
    new_id bigint;
    with_default bigint DEFAULT snowflake_next();
BEGIN
    INSERT INTO made (id) VALUES (with_default);
    FOR i IN 1..100 LOOP
        new_id := snowflake_next();
        INSERT INTO made (id) VALUES (new_id);
        SELECT snowflake_next() INTO new_id;
        INSERT INTO made (id) VALUES (new_id), (snowflake_next());
        EXECUTE 'SELECT snowflake_next()' INTO new_id;
        INSERT INTO made (id) VALUES (new_id);
        INSERT INTO item (note) VALUES ('plpgsql') RETURNING id INTO new_id;
        INSERT INTO made (id) VALUES (new_id);
    END LOOP;
    FOR new_id IN SELECT snowflake_next() FROM generate_series(1, 100) LOOP
        INSERT INTO made (id) VALUES (new_id);
    END LOOP;
END
$$;
SELECT ids_of('made');
-- SQL functions: inlined or not, old and new form, with an id as the default of an argument.
CREATE FUNCTION new_id() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT snowflake_next()';
CREATE FUNCTION new_id_strict(n int) RETURNS bigint LANGUAGE sql VOLATILE STRICT AS 'SELECT n * 0 + snowflake_next()';
CREATE FUNCTION new_id_atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT snowflake_next(); END;
CREATE FUNCTION new_id_as_argument(id bigint DEFAULT snowflake_next()) RETURNS bigint LANGUAGE sql AS 'SELECT id';
TRUNCATE made RESTART IDENTITY;
INSERT INTO made (id) SELECT new_id() FROM generate_series(1, 100);
INSERT INTO made (id) SELECT new_id_strict(n) FROM generate_series(1, 100) AS n;
INSERT INTO made (id) SELECT new_id_atomic() FROM generate_series(1, 100);
INSERT INTO made (id) SELECT new_id_as_argument() FROM generate_series(1, 100);
SELECT ids_of('made');
DROP FUNCTION new_id(), new_id_strict(int), new_id_atomic(), new_id_as_argument(bigint);

-- Prepared statements, planned once for all.
SET plan_cache_mode = force_generic_plan;
PREPARE one AS INSERT INTO made (id) SELECT snowflake_next();
PREPARE value AS SELECT snowflake_next() AS id;
PREPARE by_default (text) AS INSERT INTO item (note) VALUES ($1) RETURNING id;
TRUNCATE made RESTART IDENTITY;
EXECUTE one;
EXECUTE value \gset
INSERT INTO made (id) VALUES (:id);
EXECUTE one;
EXECUTE by_default('prepared') \gset
INSERT INTO made (id) VALUES (:id);
EXECUTE value \gset
INSERT INTO made (id) VALUES (:id);
EXECUTE by_default('prepared') \gset
INSERT INTO made (id) VALUES (:id);
SELECT ids_of('made');
RESET plan_cache_mode;
DEALLOCATE ALL;

-- A transaction that may not write can make ids: first an ordinary one, then one that needs a new ceiling in the WAL.
CALL wait_for_ceiling();
SELECT ceiling_id FROM snowflake_status() \gset before_
BEGIN READ ONLY;
SELECT snowflake_next() > :before_ceiling_id AS above_the_ceiling_that_was;
SELECT snowflake_next() > 0 AS positive;
SELECT ceiling_id > :before_ceiling_id AS raised FROM snowflake_status();
SELECT error_of('INSERT INTO item DEFAULT VALUES');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT snowflake_next() > 0 AS positive;
COMMIT;
-- And it takes no transaction id.
BEGIN;
SELECT snowflake_next() > 0 AS positive, pg_current_xact_id_if_assigned() IS NULL AS no_transaction_id;
COMMIT;

-- Rolled back, to a savepoint or all: what was given out is not given out again.
BEGIN;
SELECT snowflake_next() AS a \gset
SAVEPOINT s;
INSERT INTO item (note) VALUES ('lost') RETURNING id AS b \gset
ROLLBACK TO s;
INSERT INTO item (note) VALUES ('lost too') RETURNING id AS c \gset
ROLLBACK;
SELECT :a < :b AND :b < :c AND :c < snowflake_next() AS rising;
SELECT count(*) FROM item WHERE note LIKE 'lost%';

-- Triggers that set an id, or make rows of their own.
CREATE TABLE log (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int GENERATED ALWAYS AS IDENTITY, item_id bigint);
CREATE FUNCTION item_made() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF TG_WHEN = 'BEFORE' THEN
        NEW.id := snowflake_next();
    ELSE
        INSERT INTO log (item_id) VALUES (NEW.id);
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER before_insert BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION item_made();
CREATE TRIGGER after_insert AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION item_made();
INSERT INTO item (n) SELECT n FROM generate_series(100001, 100100) AS n;
SELECT ids_of('log'), min(log.id) > max(item_id) AS rows_before_the_log, count(*) FILTER (WHERE item.id IS NULL) AS unknown
FROM log LEFT JOIN item ON item.id = item_id;
DROP TABLE log;
DROP TRIGGER before_insert ON item;
DROP TRIGGER after_insert ON item;
DROP FUNCTION item_made();

-- Views: that of the table takes the table's default, and may have one of its own.
CREATE VIEW item_view AS SELECT id, n, note FROM item;
INSERT INTO item_view (n, note) VALUES (1, 'view') RETURNING id = (SELECT last_id FROM snowflake_status()) AS last;
ALTER TABLE item ALTER COLUMN id DROP DEFAULT;
SELECT error_of($$INSERT INTO item_view (n, note) VALUES (2, 'view')$$);
ALTER VIEW item_view ALTER COLUMN id SET DEFAULT snowflake_next();
INSERT INTO item_view (n, note) VALUES (2, 'view'), (3, 'view');
SELECT count(*), count(DISTINCT id) FROM item_view WHERE note = 'view';
DROP VIEW item_view;
ALTER TABLE item ALTER COLUMN id SET DEFAULT snowflake_next();
-- A view of ids makes new ones each time it is read; a materialized one, when it is refreshed.
CREATE VIEW fresh AS SELECT snowflake_next() AS id;
SELECT (SELECT id FROM fresh) < (SELECT id FROM fresh) AS rising;
CREATE MATERIALIZED VIEW kept AS SELECT n, snowflake_next() AS id FROM generate_series(1, 1000) AS n;
SELECT max(id) FROM kept \gset
SELECT max(id) = :max AS same FROM kept;
REFRESH MATERIALIZED VIEW kept;
SELECT ids_of('kept'), min(id) > :max AS made_anew FROM kept;
DROP MATERIALIZED VIEW kept;
DROP VIEW fresh;

-- Where a value may not be needed, none is taken.
SELECT last_id FROM snowflake_status() \gset
SELECT coalesce(1, snowflake_next()), CASE WHEN true THEN 2 ELSE snowflake_next() END;
INSERT INTO item (id) VALUES (17);
SELECT last_id = :last_id AS unchanged FROM snowflake_status();

-- Domains, and columns that are arrays.
CREATE DOMAIN snowflake_id AS bigint DEFAULT snowflake_next() CHECK (VALUE >= 0);
CREATE TABLE of_domain (id snowflake_id PRIMARY KEY, n int, more bigint[] DEFAULT ARRAY[snowflake_next(), snowflake_next()]);
INSERT INTO of_domain (n) SELECT n FROM generate_series(1, 100) AS n;
SELECT ids_of('of_domain'), count(DISTINCT m) FROM of_domain, unnest(more) AS m;
DROP TABLE of_domain;
DROP DOMAIN snowflake_id;

-- An integer column is too narrow, and says so.
CREATE TABLE narrow (id int DEFAULT snowflake_next());
SELECT error_of('INSERT INTO narrow DEFAULT VALUES');
DROP TABLE narrow;

DROP TABLE item, made;
DROP FUNCTION ids_of(regclass);
