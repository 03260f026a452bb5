-- Case 45: with an explicit epoch, decoding is IMMUTABLE: for generated columns, indexes and partition bounds.
-- Without one it follows a setting, and PostgreSQL refuses it there.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
\set epoch 1288834974657

CREATE TABLE event (
    id bigint PRIMARY KEY DEFAULT snowflake_next(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_decode_timestamp(id, :epoch)) STORED,
    node_id int GENERATED ALWAYS AS (snowflake_decode_node_id(id)) STORED,
    sequence_id int GENERATED ALWAYS AS (snowflake_decode_sequence_id(id)) STORED,
    what text
);
INSERT INTO event (what) VALUES ('a'), ('b'), ('c');
SELECT what, created_at = snowflake_decode_timestamp(id, :epoch) AS created_at, node_id = snowflake_node() AS node FROM event ORDER BY id;
-- An id that is none is refused with its own message, not stored with a time of its own.
SELECT error_of('INSERT INTO event (id) VALUES (-5)');

INSERT INTO event (id, what) SELECT snowflake_compose(1700000000000 + 60000 * n, n % 1024, 0, :epoch), 'old' FROM generate_series(0, 9999) AS n;
CREATE INDEX event_created_at ON event (snowflake_decode_timestamp(id, :epoch));
CREATE INDEX event_minute ON event ((snowflake_decode_timestamp_ms(id, :epoch) / 60000));
CREATE INDEX event_node ON event (snowflake_decode_node_id(id), snowflake_decode_sequence_id(id));
CREATE INDEX event_recent ON event (what) WHERE id >= snowflake_min_id('2023-11-15 00:00+00'::timestamptz, :epoch);
ANALYZE event;

-- The index is used, and gives the same in every time zone (case 40).
CREATE FUNCTION plan_uses(query text, index text) RETURNS boolean
LANGUAGE sql AS $$ SELECT bool_or(line LIKE '%' || index || '%') FROM plan_of(query) AS line $$;
SELECT plan_uses($$SELECT * FROM event WHERE snowflake_decode_timestamp(id, 1288834974657) = '2023-11-15 00:00:20+00'$$, 'event_created_at');
SET TimeZone = 'Asia/Kolkata';
SELECT what, id FROM event WHERE snowflake_decode_timestamp(id, :epoch) = '2023-11-15 00:00:20+00';
SET TimeZone = 'America/St_Johns';
SELECT what, id FROM event WHERE snowflake_decode_timestamp(id, :epoch) = '2023-11-15 00:00:20+00';
SET TimeZone = 'UTC';
SELECT plan_uses('SELECT * FROM event WHERE snowflake_decode_node_id(id) = 3 AND snowflake_decode_sequence_id(id) = 0', 'event_node');
SELECT count(*) FROM event WHERE snowflake_decode_node_id(id) = 1000 AND snowflake_decode_sequence_id(id) = 0 AND what = 'old';

-- A query by time uses the primary key: no index on the time is needed. With the epoch in force too.
SELECT plan_uses($$SELECT * FROM event WHERE id >= snowflake_min_id('2023-11-15 00:00+00') AND id < snowflake_min_id('2023-11-15 01:00+00')$$, 'event_pkey');
SELECT plan_uses($$SELECT * FROM event WHERE id >= snowflake_min_id(now() - interval '1 minute')$$, 'event_pkey');
SELECT count(*) FROM event WHERE id >= snowflake_min_id('2023-11-15 00:00+00', :epoch) AND id < snowflake_min_id('2023-11-15 01:00+00', :epoch);
-- The order of ids is that of time.
SELECT count(*) FROM (SELECT created_at, lag(created_at) OVER (ORDER BY id) AS before FROM event) AS _ WHERE created_at < before;
DROP TABLE event;

-- Partitions by time, with bounds that are written as times.
CREATE TABLE measured (id bigint NOT NULL DEFAULT snowflake_next(), value int) PARTITION BY RANGE (id);
CREATE TABLE measured_2022 PARTITION OF measured FOR VALUES
    FROM (snowflake_min_id('2022-01-01 00:00+00', :epoch)) TO (snowflake_min_id('2023-01-01 00:00+00', :epoch));
CREATE TABLE measured_2023 PARTITION OF measured FOR VALUES
    FROM (snowflake_min_id('2023-01-01 00:00+00', :epoch)) TO (snowflake_min_id('2024-01-01 00:00+00', :epoch));
CREATE TABLE measured_later PARTITION OF measured FOR VALUES
    FROM (snowflake_min_id('2024-01-01 00:00+00', :epoch)) TO (MAXVALUE);
INSERT INTO measured (id, value) VALUES
    (snowflake_min_id('2022-01-01 00:00+00', :epoch), 1),
    (snowflake_max_id('2022-12-31 23:59:59.999+00', :epoch), 2),
    (snowflake_min_id('2023-01-01 00:00+00', :epoch), 3),
    (snowflake_max_id('2023-12-31 23:59:59.999+00', :epoch), 4);
INSERT INTO measured (value) VALUES (5);
SELECT tableoid::regclass AS partition, value FROM measured ORDER BY id;
-- The planner leaves out the others.
SELECT DISTINCT substring(line FROM 'measured_\w+') AS partition
FROM plan_of($$SELECT * FROM measured WHERE id >= snowflake_min_id('2023-05-01 00:00+00'::timestamptz, 1288834974657) AND id < snowflake_min_id('2023-06-01 00:00+00'::timestamptz, 1288834974657)$$) AS line
WHERE line LIKE '%Scan%';
DROP TABLE measured;

-- What depends on the epoch in force is refused where it would be stored.
SELECT error_of('CREATE TABLE t (id bigint, at timestamptz GENERATED ALWAYS AS (snowflake_decode_timestamp(id)) STORED)');
CREATE TABLE t (id bigint);
SELECT error_of('CREATE INDEX ON t (snowflake_decode_timestamp(id))');
SELECT error_of('CREATE INDEX ON t (snowflake_decode_timestamp_ms(id))');
SELECT error_of($$CREATE INDEX ON t (id) WHERE id > snowflake_min_id('2024-01-01 00:00+00')$$);
-- So is what makes new ids.
SELECT error_of('CREATE INDEX ON t (snowflake_next())');
SELECT error_of('CREATE TABLE u (id bigint GENERATED ALWAYS AS (snowflake_next()) STORED)');
DROP TABLE t;

DROP FUNCTION plan_uses(text, text);
