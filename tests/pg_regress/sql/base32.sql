-- Ids as text, and back.
SELECT id, snowflake_to_base32(id) FROM unnest(ARRAY[0, 1, 31, 32, 517811994666, 1593572310593806338, 9223372036854775807]) AS id;
SELECT snowflake_from_base32('00000F280001A'), snowflake_from_base32('7ZZZZZZZZZZZZ'), snowflake_from_base32(base32 => '0000000000000');

-- Lower case, what looks alike, and hyphens.
SELECT base32, snowflake_from_base32(base32)
FROM unnest(ARRAY['00000f280001a', 'OOOOOF28OOOIA', 'ooooof28oooia', '00000F28000LA', '00000f28000la', '00000-F2800-01A', '-0-0-0-0-0-F-2-8-0-0-0-1-A-']) AS base32;

CREATE TABLE sample AS
    SELECT id FROM (SELECT snowflake_next() AS id FROM generate_series(1, 1000)) AS _
    UNION SELECT floor(random() * (1::bigint << 31))::bigint << 32 | floor(random() * (1::bigint << 32))::bigint FROM generate_series(1, 10000)
    UNION SELECT (1::bigint << n) - 1 FROM generate_series(0, 62) AS n
    UNION SELECT unnest(ARRAY[0, 9223372036854775807]);
SELECT count(*) FILTER (WHERE snowflake_from_base32(snowflake_to_base32(id)) <> id) AS lost,
    count(*) FILTER (WHERE snowflake_from_base32(lower(snowflake_to_base32(id))) <> id) AS lost_in_lower_case,
    count(*) FILTER (WHERE snowflake_to_base32(id) !~ '^[0-7][0-9A-HJKMNP-TV-Z]{12}$') AS odd
FROM sample;

-- They sort as the ids do, wherever digits and letters are in their common order.
CREATE FUNCTION out_of_order(collation_name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY snowflake_to_base32(id) COLLATE pg_catalog.%I) AS before FROM sample) AS _
        WHERE id <= before', collation_name) INTO result;
    RETURN result;
END
$$;
SELECT sum(out_of_order(collname)) AS out_of_order, count(*) >= 3 AS some
FROM pg_collation WHERE collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) AND collname IN ('default', 'C', 'POSIX', 'ucs_basic',
    'C.utf8', 'C.UTF-8', 'pg_c_utf8', 'unicode', 'en_US.utf8', 'de_DE.utf8', 'und-x-icu', 'en-x-icu', 'de-x-icu', 'fr-x-icu', 'ru-x-icu', 'ja-x-icu', 'zh-x-icu');
DROP FUNCTION out_of_order(text);
DROP TABLE sample;

-- What is none.
SELECT base32, error_of(format('SELECT snowflake_from_base32(%L)', base32))
FROM unnest(ARRAY['8000000000000', 'ZZZZZZZZZZZZZ', 'zzzzz-zzzzz-zzz', '00000F280001U', '00000F28 001A', '00000F280001é', '00000F280001*', '+0000F280001A',
    '', '-', '1', '00000F280001', '00000F280001A0', repeat('0', 40)]) AS base32;
SELECT error_of('SELECT snowflake_to_base32(-1)');
-- A text of another encoding is no reason to fail in another way.
SELECT error_of($$SELECT snowflake_from_base32(convert_from('\xe9', 'LATIN1'))$$);

SELECT snowflake_to_base32(NULL) IS NULL AND snowflake_from_base32(NULL) IS NULL AS null_for_null;

-- It may be indexed, and generated.
CREATE TABLE document (id bigint PRIMARY KEY DEFAULT snowflake_next(), code text COLLATE "C" GENERATED ALWAYS AS (snowflake_to_base32(id)) STORED UNIQUE);
INSERT INTO document SELECT FROM generate_series(1, 100);
SELECT count(*) FROM document WHERE snowflake_from_base32(code) = id;
DROP TABLE document;
