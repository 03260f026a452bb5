-- Ids that tell nothing.
\set key '\'\\x2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94\''

-- Known answers: FF1 with AES-256, 63 binary digits, no tweak.
SELECT id, snowflake_encrypt(id, :key), snowflake_decrypt(snowflake_encrypt(id, :key), :key) = id AS back
FROM unnest(ARRAY[0, 1, 517811994666, 1593572310593806338, 9223372036854775807]) AS id;
SELECT snowflake_decrypt(id => 4851469835128059423, key => :key);
-- Another key, another number.
SELECT snowflake_encrypt(1593572310593806338, sha256('other')) = snowflake_encrypt(1593572310593806338, :key) AS same;

-- A million ids in a row: each another number, all ids again, no order left, and back without a loss.
CREATE TABLE sample AS SELECT id, snowflake_encrypt(id, :key) AS public_id FROM generate_series(1593572310593806338, 1593572310593806338 + 999999) AS id;
SELECT count(*), count(DISTINCT public_id), min(public_id) >= 0 AS ids, abs(corr(id - 1593572310593806338, public_id)) < 0.01 AS no_order,
    count(*) FILTER (WHERE snowflake_decrypt(public_id, :key) <> id) AS lost
FROM sample;
DROP TABLE sample;

-- A key has 32 bytes.
SELECT length, error_of(format('SELECT snowflake_encrypt(1, %L)', repeat('x', length)))
FROM unnest(ARRAY[0, 1, 16, 24, 31, 33, 1000]) AS length;
SELECT error_of('SELECT snowflake_decrypt(1, ''short'')');
SELECT error_of(format('SELECT snowflake_encrypt(-1, %L)', :key));
SELECT error_of(format('SELECT snowflake_decrypt(-1, %L)', :key));
SELECT snowflake_encrypt(NULL, :key) IS NULL AND snowflake_encrypt(1, NULL) IS NULL
    AND snowflake_decrypt(NULL, :key) IS NULL AND snowflake_decrypt(1, NULL) IS NULL AS null_for_null;
