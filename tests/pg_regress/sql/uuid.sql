-- Ids as UUIDs of version 7, and back.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT id, snowflake_to_uuid(id, 1288834974657)
FROM unnest(ARRAY[0, 1, 4095, 4096, 4194303, 4194304, 1593572310593806338, 9223372036854775807]) AS id;
SELECT snowflake_from_uuid('01848a93-4ee4-717a-8002-000000000000', 1288834974657);
SELECT snowflake_from_uuid(uuid => snowflake_to_uuid(id => 1593572310593806338, epoch_ms => 1288834974657), epoch_ms => 1288834974657);

-- Without an epoch, that in force counts.
SELECT snowflake_to_uuid(id) = snowflake_to_uuid(id, snowflake_epoch_ms()) AS same, snowflake_from_uuid(snowflake_to_uuid(id)) = id AS back
FROM snowflake_next() AS id;

-- Nothing is lost, and the order is the same.
CREATE TABLE sample AS
    SELECT snowflake_next() AS id FROM generate_series(1, 1000)
    UNION SELECT floor(random() * (1::bigint << 31))::bigint << 32 | floor(random() * (1::bigint << 32))::bigint FROM generate_series(1, 10000)
    UNION SELECT (1::bigint << n) - 1 FROM generate_series(0, 62) AS n;
SELECT count(*) FILTER (WHERE snowflake_from_uuid(snowflake_to_uuid(id)) <> id) AS lost,
    count(*) FILTER (WHERE snowflake_to_uuid(id)::text !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-3][0-9a-f]{2}-8[0-9a-f]{3}-0{12}$') AS odd
FROM sample;
SELECT count(*) AS out_of_order FROM (SELECT id, lag(id) OVER (ORDER BY snowflake_to_uuid(id)) AS before FROM sample) AS _ WHERE id <= before;

-- PostgreSQL reads the same time from it, from 18 on. Before, this looks at the first 48 bits.
CREATE FUNCTION time_of(uuid) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    result timestamptz;
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        EXECUTE 'SELECT CASE uuid_extract_version($1) WHEN 7 THEN uuid_extract_timestamp($1) END' INTO result USING $1;
    ELSE
        result := timestamptz 'epoch' + ('x' || left(replace($1::text, '-', ''), 12))::bit(48)::bigint * interval '1 ms';
    END IF;
    RETURN result;
END
$$;
SELECT time_of(snowflake_to_uuid(1593572310593806338, 1288834974657)), snowflake_decode_timestamp(1593572310593806338, 1288834974657);
SELECT count(*) AS other_time FROM sample WHERE time_of(snowflake_to_uuid(id)) IS DISTINCT FROM snowflake_decode_timestamp(id);
DROP FUNCTION time_of(uuid);
DROP TABLE sample;

-- UUIDs of other origin: random, of version 7 but with other bits, of another variant.
SELECT uuid, error_of(format('SELECT snowflake_from_uuid(%L, 1288834974657)', uuid))
FROM unnest(ARRAY['550e8400-e29b-41d4-a716-446655440000', '018489e1-9624-7abc-9def-0123456789ab', '01848a93-4ee4-717a-8002-000000000001',
    '01848a93-4ee4-757a-8002-000000000000', '01848a93-4ee4-717a-9002-000000000000', '01848a93-4ee4-717a-c002-000000000000',
    '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) AS uuid;
-- And of another epoch: before it, and past the end of the format.
SELECT error_of('SELECT snowflake_from_uuid(''01848a93-4ee4-717a-8002-000000000000'', 1668772220645)');
SELECT error_of('SELECT snowflake_from_uuid(''01848a93-4ee4-717a-8002-000000000000'', -530251034908)');
SELECT snowflake_from_uuid('01848a93-4ee4-717a-8002-000000000000', 1668772220644), snowflake_from_uuid('01848a93-4ee4-717a-8002-000000000000', -530251034907) >> 22 = (1::bigint << 41) - 1 AS the_last;

-- Times that a UUID cannot hold.
SELECT error_of('SELECT snowflake_to_uuid(0, -1)');
SELECT error_of('SELECT snowflake_to_uuid(4194304, 281474976710655)');
SELECT error_of('SELECT snowflake_to_uuid(9223372036854775807, 9223372036854775807)');
SELECT snowflake_to_uuid(0, 281474976710655), snowflake_to_uuid(4194304, -1);
SELECT error_of('SELECT snowflake_to_uuid(-1)');
SELECT error_of('SELECT snowflake_to_uuid(-1, 0)');

SELECT snowflake_to_uuid(NULL) IS NULL AND snowflake_to_uuid(NULL, 0) IS NULL AND snowflake_to_uuid(1, NULL) IS NULL
    AND snowflake_from_uuid(NULL) IS NULL AND snowflake_from_uuid(NULL, 0) IS NULL
    AND snowflake_from_uuid('01848a93-4ee4-717a-8002-000000000000', NULL) IS NULL AS null_for_null;

-- With the epoch it may be indexed.
CREATE TABLE document (id bigint PRIMARY KEY DEFAULT snowflake_next());
CREATE UNIQUE INDEX ON document (snowflake_to_uuid(id, 1288834974657));
SELECT error_of('CREATE UNIQUE INDEX ON document (snowflake_to_uuid(id))');
DROP TABLE document;
