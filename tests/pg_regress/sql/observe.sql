-- snowflake_observe() and snowflake_next(after): no effect before its cause, whichever server made that.

-- An answer is greater than what it answers: an id of this server's past, of its own last millisecond, and of another
-- server whose clock is ahead.
CALL wait_for_clock();
SELECT snowflake_next() AS last \gset
SELECT snowflake_next(:last) > :last AS greater;
SELECT snowflake_next(after => 0) > :last AS greater;
SELECT snowflake_compose(snowflake_current_millis(0) + 900, 1023, 4095) AS ahead \gset
SELECT snowflake_next() < :ahead AS lower;
SELECT snowflake_next(:ahead) > :ahead AS greater;
-- That is the server's last id from then on.
SELECT snowflake_next() > :ahead AS greater;
\c -
SELECT snowflake_next() > :ahead AS greater;

-- Who has no cause follows none: NULL is the same as no argument. The one function that NULL does not make NULL.
CALL wait_for_clock();
SELECT snowflake_next(NULL) > :ahead AS greater, snowflake_next(after => NULL) IS NOT NULL AS not_null;

-- To observe issues no id, and what is below changes nothing.
SELECT snowflake_next() AS last \gset
SELECT snowflake_observe(0), snowflake_observe(:last - (1::bigint << 22));
SELECT last_id = :last AS unchanged FROM snowflake_status();
SELECT snowflake_observe(NULL) IS NULL AS is_null;
SELECT snowflake_observe(:last);
SELECT last_id = :last AS unchanged FROM snowflake_status();
SELECT snowflake_next() > :last AS greater;
SELECT snowflake_compose(snowflake_current_millis(0) + 900, 1023, 4095) AS ahead \gset
SELECT snowflake_observe(:ahead);
-- The generator is at the id itself, and no further: many that are observed do not add up.
SELECT last_id = :ahead AS there FROM snowflake_status();
SELECT snowflake_observe(:ahead), snowflake_observe(:ahead), snowflake_observe(:ahead - 1);
SELECT last_id = :ahead AS there FROM snowflake_status();
SELECT snowflake_next() > :ahead AS greater;

-- No block goes on below it, this session's own included.
CALL wait_for_clock();
SET snowflake.cache = 64;
SELECT snowflake_compose(snowflake_current_millis(0) + 900, 0, 0) AS ahead \gset
SELECT snowflake_observe(:ahead);
SELECT snowflake_next() AS first \gset
SELECT snowflake_observe(:first + 10);
SELECT snowflake_next() > :first + 10 AS greater;
-- Nor does an answer come from a block that was reserved before.
SELECT snowflake_next() AS first \gset
SELECT snowflake_next(:first + 10) > :first + 10 AS greater;
RESET snowflake.cache;

-- A reply after its post, in one statement. Whose posts come from where, the table does not tell.
CREATE TABLE post (id bigint PRIMARY KEY, parent bigint REFERENCES post);
INSERT INTO post VALUES (snowflake_compose(snowflake_current_millis(0) + 700, 900, 1));
INSERT INTO post SELECT snowflake_next(id), id FROM post;
INSERT INTO post SELECT snowflake_next(id), id FROM post;
SELECT count(*), bool_and(id > parent) FROM post WHERE parent IS NOT NULL;
DROP TABLE post;

-- What is no id, and what no honest server can have issued: nothing moves.
CALL wait_for_clock();
SELECT snowflake_next() AS last \gset
SELECT error_of('SELECT snowflake_observe(-1)');
SELECT error_of('SELECT snowflake_next(after => -1)');
SELECT snowflake_compose(snowflake_current_millis(0) + 3500, 7, 0) AS far \gset
SELECT error_of(format('SELECT snowflake_observe(%s)', :far), '\d{4,}');
SELECT error_of(format('SELECT snowflake_next(%s)', :far), '\d{4,}');
SELECT error_of('SELECT snowflake_observe(9223372036854775807)', '\d{4,}');
SELECT last_id = :last AS unchanged FROM snowflake_status();
-- This server's own ids are none from too far ahead, however far it is itself.
SELECT snowflake_advance(snowflake_compose(snowflake_current_millis(0) + 5000, 0, 0));
SELECT snowflake_observe(snowflake_next());
SELECT snowflake_next(snowflake_next()) > 0 AS greater;
CALL wait_for_clock();
-- Within the allowance for a server that has been restarted.
SELECT snowflake_observe(snowflake_compose(snowflake_current_millis(0) + 2900, 7, 0));

-- Who may: whom the owner lets.
CREATE ROLE regress_replier;
SET ROLE regress_replier;
SELECT error_of('SELECT snowflake_observe(0)');
SELECT error_of('SELECT snowflake_next(0)');
SELECT snowflake_next() > 0 AS anybody;
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_next(bigint), snowflake_observe(bigint) TO regress_replier;
SET ROLE regress_replier;
SELECT snowflake_next(0) > 0 AS granted;
SELECT snowflake_observe(0);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION snowflake_next(bigint), snowflake_observe(bigint) FROM regress_replier;
DROP ROLE regress_replier;
CALL wait_for_clock();
