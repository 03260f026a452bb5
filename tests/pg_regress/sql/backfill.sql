-- Ids for rows that have a time and no id: snowflake_compose() with a node number that no server has, and the place in
-- the millisecond as the sequence number. The statements are those of docs/existing-tables.md.

CREATE TABLE visit (old_id integer PRIMARY KEY, created_at timestamptz NOT NULL);
-- Microseconds that round up to another millisecond, 5000 rows in one millisecond, and times before and after.
INSERT INTO visit VALUES (1, '2020-01-01 00:00:00.0009+00'), (2, '2020-01-01 00:00:00.0001+00'), (3, '2020-01-01 00:00:00.001+00'), (4, '2019-12-31 23:59:59.9999+00');
INSERT INTO visit SELECT 100 + n, '2021-01-01 00:00+00' FROM generate_series(1, 5000) AS n;
ALTER TABLE visit ADD COLUMN id bigint;
ALTER TABLE visit ALTER COLUMN id SET DEFAULT snowflake_next();
INSERT INTO visit (old_id, created_at) VALUES (9000, now());

-- With one node number, more than 4096 rows of a millisecond are refused.
CREATE FUNCTION backfill(nodes text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        UPDATE visit SET id = numbered.new_id FROM (
            SELECT old_id, snowflake_compose(ms, %s, (place - 1) %% 4096) AS new_id FROM (
                SELECT old_id, ms, row_number() OVER (PARTITION BY ms ORDER BY created_at, old_id) AS place
                FROM visit, floor(extract(epoch FROM created_at) * 1000) AS exact, CAST(exact AS bigint) AS ms
                WHERE id IS NULL
            ) AS placed
        ) AS numbered WHERE numbered.old_id = visit.old_id', nodes);
END
$$;
SELECT error_of($$UPDATE visit SET id = snowflake_compose(ms, 1023, place - 1) FROM (
    SELECT old_id AS o, CAST(floor(extract(epoch FROM created_at) * 1000) AS bigint) AS ms,
        row_number() OVER (PARTITION BY floor(extract(epoch FROM created_at) * 1000) ORDER BY created_at, old_id) AS place
    FROM visit WHERE id IS NULL) AS placed WHERE o = old_id$$, 'got \d+');
SELECT count(*) FROM visit WHERE id IS NULL;

-- With eight, the rows of a millisecond go on with the next number, in order.
SELECT backfill('1016 + (place - 1) / 4096');
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id IS NULL) AS nulls FROM visit;
SELECT node_id, ids, first_at AT TIME ZONE 'UTC' AS first_at, last_at AT TIME ZONE 'UTC' AS last_at FROM snowflake_audit('visit', 'id') WHERE node_id >= 1016 ORDER BY 1;
-- The millisecond is that of the time, cut off, and the order is the order of times.
SELECT bool_and(snowflake_decode_timestamp(id) = date_trunc('milliseconds', created_at)) AS exact FROM visit WHERE old_id < 9000;
SELECT old_id FROM visit WHERE old_id < 100 ORDER BY id;
SELECT count(*) FROM (SELECT created_at, lag(created_at) OVER (ORDER BY id) AS before FROM visit) AS v WHERE before > created_at;
-- Again: nothing is left to do.
SELECT backfill('1016 + (place - 1) / 4096');
ALTER TABLE visit ALTER COLUMN id SET NOT NULL;
ALTER TABLE visit DROP CONSTRAINT visit_pkey, ADD PRIMARY KEY (id);
INSERT INTO visit (old_id, created_at) VALUES (9001, now()) RETURNING id > (SELECT max(id) FROM visit) AS above;

-- Rows without a time, and from before the epoch.
ALTER TABLE visit ALTER COLUMN created_at DROP NOT NULL, ALTER COLUMN id DROP DEFAULT;
ALTER TABLE visit DROP CONSTRAINT visit_pkey, ALTER COLUMN id DROP NOT NULL;
INSERT INTO visit VALUES (9002, NULL, NULL);
SELECT backfill('1023');
SELECT id IS NULL AS stays FROM visit WHERE old_id = 9002;
INSERT INTO visit VALUES (9003, '2009-01-01 00:00+00', NULL);
SELECT error_of($$SELECT backfill('1023')$$);
DROP TABLE visit;
DROP FUNCTION backfill;
