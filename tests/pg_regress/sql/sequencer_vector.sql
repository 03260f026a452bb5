-- Vector clocks: what an event knows of is in its id. This server is node 1. The clock is a table of the user's.
CREATE EXTENSION sequencer;
CREATE TABLE clock (counters bigint[] NOT NULL);
CREATE FUNCTION event() RETURNS bigint LANGUAGE sql AS
    'UPDATE clock SET counters = sequencer_vector_tick(counters) RETURNING sequencer_vector_id(counters)';
CREATE FUNCTION observe(id bigint) RETURNS void LANGUAGE sql AS
    'UPDATE clock SET counters = sequencer_vector_merge(counters, id)';

SELECT error_of('SELECT sequencer_vector_zero(0)');
SELECT error_of('SELECT sequencer_vector_zero(54)');
SELECT sequencer_vector_zero(3);
INSERT INTO clock VALUES (sequencer_vector_zero(3));

SELECT event() AS a \gset
SELECT event() AS b \gset
SELECT counters, node_id FROM sequencer_vector_decode(:a, 3);
SELECT * FROM sequencer_vector_decode(:b, 3);
SELECT sequencer_vector_compare(:a, :b, 3), sequencer_vector_compare(:b, :a, 3) AS reverse, sequencer_vector_compare(:a, :a, 3) AS same;

-- An event of node 0 that knows of the first one here, but not of the second.
CREATE FUNCTION id_of(counters bigint[], node bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT ((counters[1] << 34) + (counters[2] << 17) + counters[3] << 10) + node
$$;
SELECT id_of('{4,1,0}', 0) AS c \gset
SELECT * FROM sequencer_vector_decode(:c, 3);
SELECT sequencer_vector_compare(:a, :c, 3), sequencer_vector_compare(:c, :a, 3) AS reverse;
SELECT sequencer_vector_compare(:b, :c, 3), sequencer_vector_compare(:c, :b, 3) AS reverse;
-- Observed, the next event here comes after both.
SELECT observe(:c);
SELECT event() AS d \gset
SELECT * FROM sequencer_vector_decode(:d, 3);
SELECT sequencer_vector_compare(:b, :d, 3) AS after_b, sequencer_vector_compare(:c, :d, 3) AS after_c;
-- What is known already takes nothing back.
SELECT observe(:a);
SELECT counters FROM clock;
-- Rolled back, an event has not been.
BEGIN;
SELECT counters FROM sequencer_vector_decode(event(), 3);
ROLLBACK;
SELECT counters FROM clock;

SELECT sequencer_vector_compare(1 << 10, 2 << 10, 1) AS one, sequencer_vector_compare(1, 1, 53) AS all;
SELECT * FROM sequencer_vector_decode(9223372036854775807 - 1023 + 52, 53);

-- A counter never starts over.
UPDATE clock SET counters = '{4,131070,0}';
SELECT counters FROM sequencer_vector_decode(event(), 3);
SELECT error_of('SELECT event()');
SELECT error_of('SELECT event()');
-- A server whose number is none of the clock's.
UPDATE clock SET counters = sequencer_vector_zero(1);
SELECT error_of('SELECT event()');
UPDATE clock SET counters = sequencer_vector_zero(53);
SELECT counters[1:3], cardinality(counters) FROM sequencer_vector_decode(event(), 53);
SELECT error_of('SELECT event()');

SELECT error_of('SELECT sequencer_vector_decode(-1, 3)');
SELECT error_of('SELECT sequencer_vector_decode(1, 0)');
SELECT error_of('SELECT sequencer_vector_decode(2, 2)');
SELECT error_of('SELECT sequencer_vector_decode(4611686018427387904, 2)');
SELECT error_of('SELECT sequencer_vector_compare(2, 1, 2)');
-- Arrays that are no clock.
SELECT error_of($$SELECT sequencer_vector_id('{}')$$);
SELECT error_of($$SELECT sequencer_vector_id('{1,NULL}')$$);
SELECT error_of($$SELECT sequencer_vector_id('{{1,2},{3,4}}')$$);
SELECT error_of($$SELECT sequencer_vector_merge('{1,-1}', 0)$$);
SELECT error_of($$SELECT sequencer_vector_tick('{1,67108864}')$$);
SELECT error_of($$SELECT sequencer_vector_tick(array_fill(0::bigint, ARRAY[54]))$$);
SELECT error_of($$SELECT sequencer_vector_merge(array_fill(0::bigint, ARRAY[1000000]), 0)$$);
SELECT error_of($$SELECT sequencer_vector_tick(array_fill(NULL::bigint, ARRAY[1000, 1000]))$$);
SELECT sequencer_vector_tick('[5:6]={1,2}') AS other_bounds;
SELECT sequencer_vector_tick(NULL) IS NULL AND sequencer_vector_merge(NULL, 1) IS NULL AND sequencer_vector_merge('{1}', NULL) IS NULL
    AND sequencer_vector_id(NULL) IS NULL AND sequencer_vector_zero(NULL) IS NULL AND sequencer_vector_compare(NULL, 1, 1) IS NULL
    AND sequencer_vector_compare(1, 1, NULL) IS NULL AND sequencer_vector_decode(NULL, 1) IS NULL
    AND sequencer_vector_decode(1, NULL) IS NULL AS null_for_null;
DROP TABLE clock;
DROP FUNCTION event, observe, id_of;
DROP EXTENSION sequencer;
