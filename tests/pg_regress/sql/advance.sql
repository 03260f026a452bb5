-- snowflake_advance(): no id at or below the given one from now on.

-- What is lower than the last id changes nothing.
CALL wait_for_clock();
SELECT snowflake_next() AS last \gset
SELECT snowflake_advance(0);
SELECT snowflake_advance(1);
SELECT snowflake_advance(:last - (1 << 22));
SELECT last_id = :last AS unchanged FROM snowflake_status();

-- NULL in, NULL out, and nothing happens.
SELECT snowflake_advance(NULL) IS NULL AS is_null;
SELECT last_id = :last AS unchanged FROM snowflake_status();

-- The last id itself is the least that moves the generator: to the millisecond after it.
SELECT snowflake_advance(:last);
SELECT id > :last AS greater, snowflake_decode_timestamp_ms(id) > snowflake_decode_timestamp_ms(:last) AS later
FROM snowflake_next() AS id;

-- Case 68: a table is loaded whose ids are ahead of the clock; rows added by hand with odd ids burn nothing.
CREATE TABLE loaded (id bigint PRIMARY KEY DEFAULT snowflake_next(), what text);
INSERT INTO loaded VALUES
    (-5, 'by hand'),
    (1, 'by hand'),
    (snowflake_compose(snowflake_current_millis(0) + 1000, 1023, 4095), 'from elsewhere');
SELECT max(id) AS ahead FROM loaded \gset
INSERT INTO loaded (what) VALUES ('before') RETURNING id < :ahead AS lower;
SELECT snowflake_advance(max(id)) FROM loaded;
INSERT INTO loaded (what) VALUES ('after'), ('after') RETURNING id > :ahead AS greater;
SELECT count(*), count(DISTINCT id) FROM loaded;
-- In another session too, and at once: the generator is the server's.
\c -
SELECT snowflake_next() > :ahead AS greater;
-- The ids between are not issued later either.
CALL wait_for_clock();
SELECT snowflake_next() > :ahead AS greater;
DROP TABLE loaded;

-- What a session has reserved is dropped.
SET snowflake.cache = 64;
SELECT snowflake_next() AS first \gset
SELECT snowflake_advance(:first + (500::bigint << 22));
SELECT snowflake_next() > :first + (500::bigint << 22) AS greater;
-- Also where the id is one of the block, which would be good for as long as the clock is behind.
SELECT snowflake_next() AS first \gset
SELECT snowflake_advance(:first + 10);
SELECT snowflake_next() > :first + 10 AS greater;
RESET snowflake.cache;
-- What a batch has reserved too, in the middle of it.
BEGIN;
DECLARE batch CURSOR FOR SELECT snowflake_next_batch(100) AS id;
FETCH batch \gset
SELECT snowflake_advance(:id + (500::bigint << 22));
SELECT :id + (500::bigint << 22) AS floor \gset
FETCH batch \gset
SELECT :id > :floor AS greater;
COMMIT;

-- What is no id, and what is too far ahead.
SELECT error_of('SELECT snowflake_advance(-1)');
SELECT error_of('SELECT snowflake_advance(-9223372036854775808)');
SELECT error_of('SELECT snowflake_advance(9223372036854775807)', '\d+(?= ms ahead)');
SELECT error_of(format('SELECT snowflake_advance(%s)', snowflake_max_id(now() + '25 hours')),
                '(?<=id )\d+|\d+(?= ms ahead)');
SELECT ahead_ms < 5000 AS refused_means_unchanged FROM snowflake_status();

-- Who may: nobody but the owner, until it is granted.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_snowflake_user;
RESET client_min_messages;
CREATE ROLE regress_snowflake_user;
SET ROLE regress_snowflake_user;
SELECT error_of('SELECT snowflake_advance(1)');
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_advance(bigint) TO regress_snowflake_user;
SET ROLE regress_snowflake_user;
SELECT last_id AS last FROM snowflake_status() \gset
SELECT snowflake_advance(:last);
SELECT snowflake_next() > :last AS greater;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION snowflake_advance(bigint) FROM regress_snowflake_user;
DROP ROLE regress_snowflake_user;

-- In a transaction that is rolled back it counts all the same: ids are not transactional.
SELECT last_id + (100::bigint << 22) AS target FROM snowflake_status() \gset
BEGIN;
SELECT snowflake_advance(:target);
ROLLBACK;
SELECT snowflake_next() > :target AS greater;

CALL wait_for_clock();
