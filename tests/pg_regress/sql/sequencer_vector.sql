-- Vector clocks: what an event knows of is in its id. This server is node 1.
CREATE EXTENSION sequencer;

SELECT error_of('SELECT snowflake_vector_next()');
SELECT error_of('SELECT snowflake_vector_observe(1)');
SELECT error_of('SELECT snowflake_vector_compare(1, 1)');
SELECT error_of('SELECT snowflake_vector_configure(0)');
SELECT error_of('SELECT snowflake_vector_configure(54)');
SELECT snowflake_vector_configure(3);
SELECT snowflake_vector_nodes();

SELECT snowflake_vector_next() AS a \gset
SELECT snowflake_vector_next() AS b \gset
SELECT counters, node_id FROM snowflake_vector_decode(:a);
SELECT * FROM snowflake_vector_decode(:b, 3);
SELECT snowflake_vector_compare(:a, :b), snowflake_vector_compare(:b, :a) AS reverse, snowflake_vector_compare(:a, :a) AS same;

-- An event of node 0 that knows of the first one here, but not of the second.
CREATE FUNCTION id_of(counters bigint[], node bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT ((counters[1] << 34) + (counters[2] << 17) + counters[3] << 10) + node
$$;
SELECT id_of('{4,1,0}', 0) AS c \gset
SELECT * FROM snowflake_vector_decode(:c);
SELECT snowflake_vector_compare(:a, :c), snowflake_vector_compare(:c, :a) AS reverse;
SELECT snowflake_vector_compare(:b, :c), snowflake_vector_compare(:c, :b) AS reverse;
-- Observed, the next event here comes after both.
SELECT snowflake_vector_observe(:c);
SELECT snowflake_vector_next() AS d \gset
SELECT * FROM snowflake_vector_decode(:d);
SELECT snowflake_vector_compare(:b, :d) AS after_b, snowflake_vector_compare(:c, :d) AS after_c;
-- What is known already takes nothing back.
SELECT snowflake_vector_observe(:a);
SELECT counters FROM snowflake_vector_clock;
-- Rolled back, an event has not been.
BEGIN;
SELECT counters FROM snowflake_vector_decode(snowflake_vector_next());
ROLLBACK;
SELECT counters FROM snowflake_vector_clock;

-- Without the table: of any number of nodes.
SELECT snowflake_vector_compare(1 << 10, 2 << 10, 1) AS one, snowflake_vector_compare(1, 1, 53) AS all;
SELECT * FROM snowflake_vector_decode(9223372036854775807 - 1023 + 52, 53);

-- A counter never starts over.
UPDATE snowflake_vector_clock SET counters = '{4,131070,0}';
SELECT counters FROM snowflake_vector_decode(snowflake_vector_next());
SELECT error_of('SELECT snowflake_vector_next()');
SELECT error_of('SELECT snowflake_vector_next()');

-- The number of nodes stays, unless it is meant.
SELECT snowflake_vector_configure(3);
SELECT error_of('SELECT snowflake_vector_configure(4)');
SELECT counters FROM snowflake_vector_clock;
SELECT snowflake_vector_configure(1, restart => true);
SELECT error_of('SELECT snowflake_vector_next()');
SELECT snowflake_vector_configure(53);
SELECT counters[1:3], cardinality(counters) FROM snowflake_vector_decode(snowflake_vector_next());
SELECT error_of('SELECT snowflake_vector_next()');

SELECT error_of('SELECT snowflake_vector_decode(-1, 3)');
SELECT error_of('SELECT snowflake_vector_decode(1, 0)');
SELECT error_of('SELECT snowflake_vector_decode(2, 2)');
SELECT error_of('SELECT snowflake_vector_decode(4611686018427387904, 2)');
SELECT error_of('SELECT snowflake_vector_compare(2, 1, 2)');
SELECT error_of($$SELECT snowflake_vector_id('{}')$$);
SELECT error_of($$SELECT snowflake_vector_id('{1,NULL}')$$);
SELECT error_of($$SELECT snowflake_vector_merge('{1,-1}', 0)$$);
SELECT error_of($$SELECT snowflake_vector_tick('{1,67108864}')$$);
SELECT error_of($$INSERT INTO snowflake_vector_clock VALUES (false, '{0}')$$, 'new row.*');
SELECT snowflake_vector_observe(NULL) IS NULL AND snowflake_vector_compare(NULL, 1) IS NULL AND snowflake_vector_compare(1, 1, NULL) IS NULL
    AND snowflake_vector_decode(NULL) IS NULL AND snowflake_vector_decode(1, NULL) IS NULL AS null_for_null;

-- An event locks the clock for all, and uses up a counter: it is for whom it was granted to. The table is nobody's but
-- the owner's.
SELECT snowflake_vector_configure(2, true);
CREATE ROLE regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT error_of('SELECT snowflake_vector_next()');
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_vector_next() TO regress_snowflake_caller;
SET ROLE regress_snowflake_caller;
SELECT snowflake_vector_next() AS id;
SELECT counters FROM snowflake_vector_clock;
SELECT error_of('SELECT snowflake_vector_observe(1)');
SELECT error_of('SELECT snowflake_vector_configure(2, true)');
SELECT error_of('UPDATE snowflake_vector_clock SET counters = NULL');
RESET ROLE;
DROP OWNED BY regress_snowflake_caller;
DROP ROLE regress_snowflake_caller;
DROP FUNCTION id_of;
DROP EXTENSION sequencer;
