-- snowflake_generate(): an id of this moment for a caller who owns the sequence, and snowflake_try_generate(), the
-- same with a WARNING and NULL in the place of an ERROR.

-- The result is in (0, 2^63), and decoding gives the arguments back, at the time of the call.
CREATE FUNCTION given_back(sequence_id bigint, node_id bigint, epoch_ms bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    before timestamptz := date_trunc('milliseconds', clock_timestamp());
    ids bigint[] := ARRAY[snowflake_generate(sequence_id, node_id, epoch_ms),
                          snowflake_try_generate(sequence_id, node_id, epoch_ms)];
BEGIN
    RETURN bool_and(id > 0
        AND snowflake_decode_sequence_id(id) = sequence_id
        AND snowflake_decode_node_id(id) = node_id
        AND snowflake_decode_timestamp(id, epoch_ms) BETWEEN before AND clock_timestamp()) FROM unnest(ids) AS id;
END
$$;
SELECT sequence_id, node_id, given_back(sequence_id, node_id, 1288834974657)
FROM unnest(ARRAY[0, 1, 4095]) AS sequence_id, unnest(ARRAY[0, 1, 255, 256, 511, 512, 1023]) AS node_id;
SELECT epoch_ms, given_back(1, 1, epoch_ms) FROM unnest(ARRAY[0, 1288834974657, 1577836800000]) AS epoch_ms;

-- What is not given comes from the settings.
SELECT snowflake_decode_node_id(snowflake_generate(5)) = snowflake_node() AS node,
    snowflake_decode_sequence_id(snowflake_generate(5)) AS sequence,
    snowflake_decode_timestamp_ms(snowflake_generate(5), snowflake_epoch_ms())
        - floor(extract(epoch FROM clock_timestamp()) * 1000) BETWEEN -60000 AND 0 AS now;
SELECT snowflake_decode_node_id(snowflake_try_generate(5)) = snowflake_node() AS node,
    snowflake_decode_sequence_id(snowflake_try_generate(5)) AS sequence,
    snowflake_decode_timestamp_ms(snowflake_try_generate(5), snowflake_epoch_ms())
        - floor(extract(epoch FROM clock_timestamp()) * 1000) BETWEEN -60000 AND 0 AS now;
SELECT snowflake_decode_node_id(snowflake_generate(5, 77)), snowflake_decode_node_id(snowflake_try_generate(5, 77));
SELECT snowflake_decode_node_id(snowflake_generate(epoch_ms => 0, node_id => 8, sequence_id => 9));

-- One past each end.
SELECT error_of('SELECT snowflake_generate(-1, 1, 0)');
SELECT error_of('SELECT snowflake_generate(4096, 1, 0)');
SELECT error_of('SELECT snowflake_generate(1, -1, 0)');
SELECT error_of('SELECT snowflake_generate(1, 1024, 0)');
SELECT error_of('SELECT snowflake_generate(4096, 1)');
SELECT error_of('SELECT snowflake_generate(1, 1024)');
SELECT error_of('SELECT snowflake_generate(4096)');
SELECT error_of('SELECT snowflake_generate(-9223372036854775808, 1, 0)');
SELECT error_of('SELECT snowflake_generate(1, 9223372036854775807, 0)');
-- An epoch to come, or so long ago that the format has ended.
SELECT error_of('SELECT snowflake_generate(1, 1, 32472144000000)', '(?<=got -)\d+');
SELECT error_of('SELECT snowflake_generate(1, 1, 9223372036854775807)', '(?<=got -)\d+');
SELECT error_of('SELECT snowflake_generate(1, 1, -1288834974657)', '(?<=got )\d+');
SELECT error_of('SELECT snowflake_generate(1, 1, -9223372036854775808)', '(?<=got )\d+');
-- Both ends of the time.
DO $$
BEGIN
    FOR i IN 1..3 LOOP
        PERFORM snowflake_generate(0, 0, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 2199023255551 + 60000);
        BEGIN
            PERFORM snowflake_generate(0, 0, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 2199023255552);
            RAISE 'one past the end was accepted';
        EXCEPTION WHEN numeric_value_out_of_range THEN
        END;
        BEGIN
            PERFORM snowflake_generate(0, 0, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 60000);
            RAISE 'an epoch to come was accepted';
        EXCEPTION WHEN numeric_value_out_of_range THEN
        END;
    END LOOP;
END
$$;

-- The moment that is the epoch itself would give node 0 the id 0. It is met after a try or two.
CREATE FUNCTION at_its_epoch() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
BEGIN
    FOR i IN 1..100000 LOOP
        id := snowflake_generate(0, 0, snowflake_current_millis(0));
        IF id < 1 << 22 THEN
            RETURN 'id ' || id;
        END IF;
    END LOOP;
    RETURN 'never met';
END
$$;
SELECT error_of('SELECT at_its_epoch()');
DROP FUNCTION at_its_epoch();

-- Node, then sequence, then time: the first failure decides.
SELECT error_of('SELECT snowflake_generate(4096, 1024, 32472144000000)');
SELECT error_of('SELECT snowflake_generate(4096, 1023, 32472144000000)');
SELECT error_of('SELECT snowflake_generate(4095, 1023, 32472144000000)', '(?<=got -)\d+');

-- The same texts as a WARNING, and NULL.
SELECT snowflake_try_generate(4096, 1024, 9223372036854775807);
SELECT snowflake_try_generate(4096, 1023, 9223372036854775807);
SELECT snowflake_try_generate(-1, 1023);
SELECT snowflake_try_generate(1, -1);
SELECT snowflake_try_generate(4096);
-- With the time of the call in it: checked apart.
SET client_min_messages = error;
SELECT snowflake_try_generate(1, 1, 32472144000000), snowflake_try_generate(1, 1, -1288834974657);
RESET client_min_messages;
-- The statement goes on after it.
SELECT n, snowflake_try_generate(n, 1, 0) IS NULL AS is_null FROM generate_series(4094, 4097) AS n;

SELECT snowflake_generate(NULL) IS NULL AND snowflake_generate(NULL, 1) IS NULL AND snowflake_generate(1, NULL) IS NULL
    AND snowflake_generate(NULL, 1, 0) IS NULL AND snowflake_generate(1, NULL, 0) IS NULL AND snowflake_generate(1, 1, NULL) IS NULL
    AND snowflake_try_generate(NULL) IS NULL AND snowflake_try_generate(NULL, 1) IS NULL AND snowflake_try_generate(1, NULL) IS NULL
    AND snowflake_try_generate(NULL, 1, 0) IS NULL AND snowflake_try_generate(1, NULL, 0) IS NULL
    AND snowflake_try_generate(1, 1, NULL) IS NULL AS null_for_null;
-- NULL comes before any check.
SELECT snowflake_generate(NULL, 1024, 0) IS NULL AND snowflake_try_generate(4096, NULL, 0) IS NULL AS null_for_null;

-- It takes nothing from the generator.
SELECT snowflake_next() AS last \gset
SELECT count(snowflake_generate(n)) FROM generate_series(0, 4095) AS n;
SELECT last_id = :last AS unchanged FROM snowflake_status();

-- snowflake_current_millis(): the time that goes into an id.
CREATE FUNCTION current_millis_is_now(epoch_ms bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    before bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
    millis bigint := snowflake_current_millis(epoch_ms);
    after bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
    RETURN millis + epoch_ms BETWEEN before AND after;
END
$$;
SELECT current_millis_is_now(0), current_millis_is_now(1288834974657);
SELECT snowflake_current_millis(snowflake_epoch_ms()) - snowflake_current_millis() BETWEEN -60000 AND 0 AS same;
SELECT snowflake_current_millis(NULL) IS NULL AS is_null;
SELECT error_of('SELECT snowflake_current_millis(32472144000000)', '(?<=got -)\d+');
SELECT error_of('SELECT snowflake_current_millis(-1288834974657)', '(?<=got )\d+');

DROP FUNCTION given_back(bigint, bigint, bigint);
DROP FUNCTION current_millis_is_now(bigint);
