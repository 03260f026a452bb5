-- snowflake_compose(): the exact inverse of decoding; and known ids of other systems.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

-- Public ids of the layout 41 time, 10 node, 12 sequence, each with the epoch it was made with: a tweet, one of
-- ClickHouse (case 34), and two whose fields were chosen.
CREATE TABLE vector (id bigint, epoch_ms bigint, created_at timestamptz, node_id int, sequence_id int);
INSERT INTO vector VALUES
    (1593572310593806338, 1288834974657, '2022-11-18 11:50:20.644Z', 378, 2),
    (7195510166884597760, 0, '2024-05-12 19:48:29.899Z', 484, 0),
    (517811994666, 0, timestamptz 'epoch' + 123456 * interval '1 ms', 0, 42),
    (9223372036854775807, 0, timestamptz 'epoch' + 2199023255551 * interval '1 ms', 1023, 4095);
-- Case 35: Discord's epoch. Its ids have 42 bits of time where the sign bit and our 41 are, and where ours have
-- the node, a worker and a process of 5 bits each.
INSERT INTO vector VALUES
    (175928847299117063, 1420070400000, '2016-04-30 11:18:25.796Z', 1 * 32 + 0, 7),
    (105484726235607040, 1420070400000, '2015-10-19 01:58:38.546Z', 0 * 32 + 11, 0);
SELECT id, d.created_at, d.timestamp_ms, d.node_id, d.sequence_id,
    row(d.*) = row(v.created_at, round(extract(epoch FROM v.created_at) * 1000), v.node_id, v.sequence_id) AS as_known
FROM vector AS v, snowflake_decode(id, epoch_ms) AS d;
SELECT id, snowflake_compose(d.timestamp_ms, d.node_id, d.sequence_id, epoch_ms) = id AS composed
FROM vector AS v, snowflake_decode(id, epoch_ms) AS d;
SELECT id, snowflake_min_id(created_at, epoch_ms) <= id AND id <= snowflake_max_id(created_at, epoch_ms) AS in_its_millisecond
FROM vector;
-- Case 32: the tweet's millisecond.
SELECT snowflake_min_id('2022-11-18 11:50:20.644Z', 1288834974657), snowflake_max_id('2022-11-18 11:50:20.644Z', 1288834974657);
DROP TABLE vector;

-- The ends of each field. Case 28: the last id is the largest bigint.
SELECT snowflake_compose(0, 0, 0, 0) AS lowest;
SELECT snowflake_compose(0, 0, 4095, 0) AS sequence, snowflake_compose(0, 1023, 0, 0) AS node, snowflake_compose(2199023255551, 0, 0, 0) AS time;
SELECT snowflake_compose((1::bigint << 41) - 1, 1023, 4095, 0) AS highest;
-- Case 21: a time that does not fit 32 bits.
SELECT snowflake_decode_timestamp_ms(snowflake_compose(4294967296, 0, 0, 0), 0);

-- Cases 28, 54 and 61: one past each end is an error and never runs over into the next field.
SELECT error_of('SELECT snowflake_compose(0, 0, 4096, 0)');
SELECT error_of('SELECT snowflake_compose(0, 0, -1, 0)');
SELECT error_of('SELECT snowflake_compose(0, 1024, 0, 0)');
SELECT error_of('SELECT snowflake_compose(0, 2048, 0, 0)');
SELECT error_of('SELECT snowflake_compose(0, -1, 0, 0)');
SELECT error_of('SELECT snowflake_compose(1::bigint << 41, 0, 0, 0)');
SELECT error_of('SELECT snowflake_compose(-1, 0, 0, 0)');
SELECT error_of('SELECT snowflake_compose(1288834974656, 0, 0, 1288834974657)');
-- Nor do the extremes of bigint wrap around.
SELECT error_of('SELECT snowflake_compose(9223372036854775807, 0, 0, -9223372036854775808)');
SELECT error_of('SELECT snowflake_compose(-9223372036854775808, 0, 0, 9223372036854775807)');
SELECT error_of('SELECT snowflake_compose(0, 4294967296, 0, 0)');
SELECT error_of('SELECT snowflake_compose(0, 0, 9223372036854775807, 0)');
-- Node, then sequence, then time.
SELECT error_of('SELECT snowflake_compose(-1, 1024, 4096, 0)');
SELECT error_of('SELECT snowflake_compose(-1, 1023, 4096, 0)');
SELECT error_of('SELECT snowflake_compose(-1, 1023, 4095, 0)');

-- An epoch before 1970, and one to come.
SELECT snowflake_compose(-1, 1, 1, -10) = snowflake_compose(9, 1, 1, 0) AS same;
SELECT snowflake_compose(9223372036854775807, 1, 1, 9223372036854775807) = snowflake_compose(0, 1, 1, 0) AS same;

SELECT snowflake_compose(NULL, 1, 1, 0) IS NULL AND snowflake_compose(0, NULL, 1, 0) IS NULL
    AND snowflake_compose(0, 1, NULL, 0) IS NULL AND snowflake_compose(0, 1, 1, NULL) IS NULL
    AND snowflake_compose(NULL, 1, 1) IS NULL AND snowflake_compose(0, NULL, 1) IS NULL
    AND snowflake_compose(0, 1, NULL) IS NULL AS null_for_null;

-- The epoch in force is used where none is given; the arguments have names.
SELECT snowflake_compose(snowflake_epoch_ms() + 5, 6, 7) = snowflake_compose(5, 6, 7, 0) AS same;
SELECT snowflake_compose(sequence_id => 7, node_id => 6, timestamp_ms => 5, epoch_ms => 0) = snowflake_compose(5, 6, 7, 0) AS same;
SELECT error_of('SELECT snowflake_compose(snowflake_epoch_ms() - 1, 0, 0)');

-- Any id comes back from its fields.
SELECT setseed(0.5);
CREATE TABLE random_id AS
    SELECT floor(random() * (1::bigint << 31))::bigint << 32 | floor(random() * (1::bigint << 32))::bigint AS id
    FROM generate_series(1, 10000);
SELECT count(*), min(id) >= 0 AS valid, max(id) > 1::bigint << 62 AS of_full_width FROM random_id;
SELECT count(*) AS composed FROM random_id, snowflake_decode(id) AS d WHERE snowflake_compose(d.timestamp_ms, d.node_id, d.sequence_id) = id;
SELECT count(*) AS composed FROM random_id, snowflake_decode(id, 0) AS d WHERE snowflake_compose(d.timestamp_ms, d.node_id, d.sequence_id, 0) = id;
DROP TABLE random_id;

-- Case 67: as many rows as wanted with the time they really have, none twice: 4096 for each node number.
SELECT count(DISTINCT snowflake_compose(1700000000000, 100 + n / 4096, n % 4096)) FROM generate_series(0, 9999) AS n;
