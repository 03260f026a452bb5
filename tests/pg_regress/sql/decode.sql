-- The fields of an id.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT * FROM snowflake_decode(1593572310593806338, 1288834974657);
SELECT snowflake_decode_timestamp(1593572310593806338, 1288834974657), snowflake_decode_timestamp_ms(1593572310593806338, 1288834974657),
    snowflake_decode_node_id(1593572310593806338), snowflake_decode_sequence_id(1593572310593806338);
SELECT pg_typeof(created_at), pg_typeof(timestamp_ms), pg_typeof(node_id), pg_typeof(sequence_id) FROM snowflake_decode(1);
SELECT (snowflake_decode(1593572310593806338, 1288834974657)).node_id;
SELECT snowflake_decode(id => 1593572310593806338, epoch_ms => 1288834974657);

-- The lowest and the highest id.
SELECT * FROM snowflake_decode(0, 0);
SELECT * FROM snowflake_decode(9223372036854775807, 0);
-- Case 26: from the default epoch they last for 69.7 years.
SELECT snowflake_decode_timestamp(9223372036854775807, 1288834974657);

-- Without an epoch, that in force counts.
SELECT snowflake_decode_timestamp_ms(0) = snowflake_epoch_ms() AS same;
SELECT snowflake_decode_timestamp(0) = snowflake_decode_timestamp(0, snowflake_epoch_ms()) AS same;
SELECT snowflake_decode(12345678901234) = snowflake_decode(12345678901234, snowflake_epoch_ms()) AS same;

-- Case 37: milliseconds are kept.
SELECT snowflake_decode_timestamp(890399407000784896, 1288834974657);
-- Every millisecond is, on both sides of 1970 and of 2000, where floating point or rounding could lose one.
SELECT start, count(*) FILTER (WHERE extract(epoch FROM snowflake_decode_timestamp(ms << 22, start)) * 1000 = start + ms
                               AND snowflake_decode_timestamp_ms(ms << 22, start) = start + ms) AS exact
FROM unnest(ARRAY[-62135596800000, -500, 946684799500, 1288834974657]) AS start, generate_series(0::bigint, 999) AS ms
GROUP BY start ORDER BY start;

-- Case 40: an instant is the same in every time zone.
CREATE TABLE seen (zone text, at timestamptz, shown text);
INSERT INTO seen SELECT 'UTC', at, at::text FROM snowflake_decode_timestamp(1593572310593806338, 1288834974657) AS at;
SET TimeZone = 'Asia/Kolkata';
INSERT INTO seen SELECT 'Asia/Kolkata', at, at::text FROM snowflake_decode_timestamp(1593572310593806338, 1288834974657) AS at;
SET TimeZone = 'America/St_Johns';
INSERT INTO seen SELECT 'America/St_Johns', at, at::text FROM snowflake_decode_timestamp(1593572310593806338, 1288834974657) AS at;
SET TimeZone = 'UTC';
SELECT zone, at, shown FROM seen;
DROP TABLE seen;
-- And there is none that gives a time without a zone, which would depend on the session's.
SELECT count(*) FROM pg_proc WHERE proname LIKE 'snowflake%'
    AND (prorettype = 'timestamp'::regtype OR 'timestamp'::regtype = ANY (coalesce(proallargtypes, proargtypes)));

-- Case 36: a negative number is no id.
SELECT error_of('SELECT snowflake_decode_timestamp(-1)');
SELECT error_of('SELECT snowflake_decode_node_id(-9223372036854775808)');
SELECT call, error_of('SELECT ' || call)
FROM unnest(ARRAY['snowflake_decode_timestamp(-2, 0)', 'snowflake_decode_timestamp_ms(-3)', 'snowflake_decode_timestamp_ms(-4, 0)',
    'snowflake_decode_node_id(-5)', 'snowflake_decode_sequence_id(-6)', 'snowflake_decode(-7)', 'snowflake_decode(-8, 0)']) AS call;

SELECT snowflake_decode_timestamp(NULL) IS NULL AND snowflake_decode_timestamp(NULL, 0) IS NULL AND snowflake_decode_timestamp(1, NULL) IS NULL
    AND snowflake_decode_timestamp_ms(NULL) IS NULL AND snowflake_decode_timestamp_ms(NULL, 0) IS NULL AND snowflake_decode_timestamp_ms(1, NULL) IS NULL
    AND snowflake_decode_node_id(NULL) IS NULL AND snowflake_decode_sequence_id(NULL) IS NULL
    AND snowflake_decode(NULL) IS NULL AND snowflake_decode(NULL, 0) IS NULL AND snowflake_decode(1, NULL) IS NULL AS null_for_null;

-- An epoch that PostgreSQL's timestamps cannot hold, or bigint cannot. From 4713 BC to 294276 AD they can.
SELECT snowflake_decode_timestamp(0, -210866803200000), snowflake_decode_timestamp(0, 9224318015999999);
SELECT error_of('SELECT snowflake_decode_timestamp(0, -210866803200001)');
SELECT error_of('SELECT snowflake_decode_timestamp(0, 9224318016000000)');
SELECT error_of('SELECT snowflake_decode_timestamp(1 << 22, 9224318015999999)');
SELECT error_of('SELECT snowflake_decode(0, 9223372036854775807)');
SELECT error_of('SELECT snowflake_decode_timestamp(9223372036854775807, -9223372036854775808)');
SELECT snowflake_decode_timestamp_ms(0, 9223372036854775807), snowflake_decode_timestamp_ms(0, -9223372036854775808);
SELECT error_of('SELECT snowflake_decode_timestamp_ms(1 << 22, 9223372036854775807)');

-- Case 41: an id has more digits than the numbers of JavaScript; as a text it passes through JSON whole.
SELECT to_json(2098288669218571760::text), (to_json(2098288669218571760::text)::jsonb #>> '{}')::bigint = 2098288669218571760 AS whole;
SELECT 2098288669218571760::float8::bigint = 2098288669218571760 AS whole_as_javascript_number;

-- Case 49: an id is a plain bigint, in the binary format too.
CREATE TABLE sent AS SELECT snowflake_next() AS id FROM generate_series(1, 1000);
SELECT DISTINCT pg_typeof(id) FROM sent;
\copy sent TO PROGRAM 'cat > "$PG_ABS_BUILDDIR"/results/sent.bin' (FORMAT binary)
CREATE TABLE received (id bigint PRIMARY KEY);
\copy received FROM PROGRAM 'cat "$PG_ABS_BUILDDIR"/results/sent.bin' (FORMAT binary)
SELECT count(*) FROM sent JOIN received USING (id);
DROP TABLE sent, received;
