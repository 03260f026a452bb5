-- snowflake_decode_as(): ids that other generators made.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT * FROM snowflake_layouts();

-- Public ids, with what their owners say of them.
SELECT layout, id, created_at, timestamp_ms, node_id, sequence_id
FROM (VALUES (1593572310593806338, 'twitter'), (175928847299117063, 'discord'), (105484726235607040, 'discord'),
    (101767036616676231, 'mastodon'), (7195510166884597760, 'unix'), (16908291, 'sonyflake')) AS v (id, layout), snowflake_decode_as(id, layout);
-- Discord counts worker and process on their own.
SELECT node_id / 32 AS worker, node_id % 32 AS process FROM snowflake_decode_as(175928847299117063, 'discord');

-- The lowest and the highest id of each: from the epoch to the end of its format.
SELECT layout, low.created_at AS epoch, high.created_at AS ends_at, high.timestamp_ms, high.node_id, high.sequence_id,
    (extract(epoch FROM low.created_at) * 1000)::bigint = epoch_ms AS same
FROM snowflake_layouts(), snowflake_decode_as(0, layout) AS low, snowflake_decode_as(9223372036854775807, layout) AS high;

-- Times that are finer and coarser than a millisecond.
SELECT created_at, timestamp_ms, node_id, sequence_id FROM snowflake_decode_as((123456::bigint << 15) + 3, 'cockroachdb');
SELECT created_at, timestamp_ms, node_id, sequence_id FROM snowflake_decode_as(7::bigint << 24, 'sonyflake');

-- Twitter's layout is this one's, with the default epoch.
CREATE TABLE random_id AS
    SELECT floor(random() * (1::bigint << 31))::bigint << 32 | floor(random() * (1::bigint << 32))::bigint AS id FROM generate_series(1, 1000);
SELECT count(*) FROM random_id WHERE snowflake_decode_as(id, 'twitter')::text = snowflake_decode(id, 1288834974657)::text;
SELECT count(*) FROM random_id WHERE snowflake_decode_as(id, 'unix')::text = snowflake_decode(id, 0)::text;
DROP TABLE random_id;

SELECT pg_typeof(created_at), pg_typeof(timestamp_ms), pg_typeof(node_id), pg_typeof(sequence_id) FROM snowflake_decode_as(1, 'twitter');
SELECT (snowflake_decode_as(id => 16908291, layout => 'sonyflake')).node_id;

SELECT error_of('SELECT snowflake_decode_as(1, ''myspace'')');
SELECT error_of('SELECT snowflake_decode_as(1, ''Twitter'')');
SELECT error_of('SELECT snowflake_decode_as(1, '''')');
SELECT error_of('SELECT snowflake_decode_as(1, ''twitté'')');
SELECT error_of('SELECT snowflake_decode_as(-1, ''twitter'')');
SELECT snowflake_decode_as(NULL, 'twitter') IS NULL AND snowflake_decode_as(1, NULL) IS NULL AS null_for_null;
