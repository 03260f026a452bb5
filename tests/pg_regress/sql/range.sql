-- snowflake_min_id() and snowflake_max_id(): the ids of an instant, for queries by time.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

-- Case 32: every id lies between the two of its own time, which lie in its millisecond.
SELECT setseed(0.5);
CREATE TABLE random_id AS
    SELECT floor(random() * (1::bigint << 31))::bigint << 32 | floor(random() * (1::bigint << 32))::bigint AS id
    FROM generate_series(1, 10000);
SELECT count(*) FILTER (WHERE id BETWEEN snowflake_min_id(snowflake_decode_timestamp(id)) AND snowflake_max_id(snowflake_decode_timestamp(id))) AS inside,
    count(*) FILTER (WHERE snowflake_min_id(snowflake_decode_timestamp(id)) = id >> 22 << 22) AS lowest,
    count(*) FILTER (WHERE snowflake_max_id(snowflake_decode_timestamp(id)) = id | (1 << 22) - 1) AS highest
FROM random_id;
SELECT count(*) FILTER (WHERE id BETWEEN snowflake_min_id(snowflake_decode_timestamp(id, 0), 0) AND snowflake_max_id(snowflake_decode_timestamp(id, 0), 0)) AS inside,
    count(*) FILTER (WHERE snowflake_min_id(snowflake_decode_timestamp(id, 0), 0) = id >> 22 << 22) AS lowest,
    count(*) FILTER (WHERE snowflake_max_id(snowflake_decode_timestamp(id, 0), 0) = id | (1 << 22) - 1) AS highest
FROM random_id;
DROP TABLE random_id;

-- A millisecond's last microsecond belongs to it; also before 2000 and before 1970, where division rounds up.
SELECT instant, snowflake_min_id(instant, -1000) >> 22 AS millisecond, snowflake_max_id(instant, -1000) >> 22 AS millisecond
FROM unnest(ARRAY['1970-01-01 00:00:00.000', '1970-01-01 00:00:00.000001', '1970-01-01 00:00:00.000999', '1970-01-01 00:00:00.001',
    '1969-12-31 23:59:59.999999', '1969-12-31 23:59:59.999', '1969-12-31 23:59:59.998999', '1969-12-31 23:59:59']::timestamptz[]) AS instant;
SELECT snowflake_min_id('1999-12-31 23:59:59.999999', 946684799998) >> 22 AS millisecond, snowflake_min_id('2000-01-01 00:00:00.000001', 946684799998) >> 22 AS millisecond;

-- Before the epoch: nothing is older than 0, and -1 makes "id <= max_id" empty.
SELECT instant, snowflake_min_id(instant, 1288834974657), snowflake_max_id(instant, 1288834974657)
FROM unnest(ARRAY['2010-11-04 01:42:54.657', '2010-11-04 01:42:54.656999', '2010-11-04 01:42:54.656', '1970-01-01', '4713-01-01 BC', '-infinity']::timestamptz[]) AS instant;
-- The format's last millisecond, and what is past it.
SELECT instant, snowflake_min_id(instant, 1288834974657), snowflake_max_id(instant, 1288834974657)
FROM unnest(ARRAY['2080-07-10 17:30:30.207', '2080-07-10 17:30:30.208', '2080-07-10 17:30:30.208999', '2080-07-10 17:30:30.209', '294276-12-31 23:59:59.999999', 'infinity']::timestamptz[]) AS instant;
-- Epochs at the ends of bigint do not wrap around.
SELECT epoch_ms, snowflake_min_id(instant, epoch_ms), snowflake_max_id(instant, epoch_ms)
FROM unnest(ARRAY[-9223372036854775808, 9223372036854775807]) AS epoch_ms, unnest(ARRAY['-infinity', '4713-01-01 BC', '2024-01-01', '294276-12-31', 'infinity']::timestamptz[]) AS instant;

-- Without an epoch, that in force counts. A date is the instant at which it begins in the session's time zone.
SELECT snowflake_min_id(instant) = snowflake_min_id(instant, snowflake_epoch_ms()) AS min_same, snowflake_max_id(instant) = snowflake_max_id(instant, snowflake_epoch_ms()) AS max_same
FROM unnest(ARRAY['2024-01-01 12:34:56.789', '-infinity', 'infinity']::timestamptz[]) AS instant;
SELECT snowflake_min_id(instant => date '2024-01-01', epoch_ms => 0) = snowflake_min_id('2024-01-01 00:00+00', 0) AS same;

SELECT snowflake_min_id(NULL) IS NULL AND snowflake_min_id(NULL, 0) IS NULL AND snowflake_min_id('epoch', NULL) IS NULL
    AND snowflake_max_id(NULL) IS NULL AND snowflake_max_id(NULL, 0) IS NULL AND snowflake_max_id('epoch', NULL) IS NULL AS null_for_null;

-- Case 42: the last millisecond of a day, with the highest node and sequence, belongs to the day.
CREATE TABLE event (id bigint PRIMARY KEY, at timestamptz);
INSERT INTO event SELECT snowflake_compose((extract(epoch FROM at) * 1000)::bigint, node_id, sequence_id), at
FROM unnest(ARRAY['2024-02-28 23:59:59.999', '2024-02-29 00:00:00', '2024-02-29 12:00', '2024-02-29 23:59:59.999', '2024-03-01 00:00:00']::timestamptz[]) AS at,
    (VALUES (0, 0), (1023, 4095)) AS ends (node_id, sequence_id);
SELECT at, snowflake_decode_node_id(id) AS node, snowflake_decode_sequence_id(id) AS sequence FROM event
WHERE id >= snowflake_min_id(date '2024-02-29') AND id < snowflake_min_id(date '2024-02-29' + 1) ORDER BY id;
SELECT count(*) FROM event
WHERE id BETWEEN snowflake_min_id('2024-02-29 00:00') AND snowflake_max_id('2024-02-29 23:59:59.999999');
SELECT count(*) AS up_to_noon FROM event WHERE id <= snowflake_max_id('2024-02-29 12:00');
SELECT count(*) AS after_noon FROM event WHERE id > snowflake_max_id('2024-02-29 12:00');
SELECT count(*) AS all_of_them FROM event WHERE id BETWEEN snowflake_min_id('-infinity') AND snowflake_max_id('infinity');
SELECT count(*) AS before_the_epoch FROM event WHERE id <= snowflake_max_id('2000-01-01');
DROP TABLE event;
