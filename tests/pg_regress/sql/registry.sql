-- The registry of node numbers: snowflake_node_claim() and snowflake_node_release().

-- From 1 on, the same for the same name; a released number is the next one's.
SELECT name, snowflake_node_claim(name) FROM unnest('{one,two,three,two,One,"with space"}'::text[]) AS name;
SELECT snowflake_node_release('two');
SELECT snowflake_node_release('two') IS NULL AS unknown;
SELECT snowflake_node_claim('four');
SELECT node_id, server_name, claimed_at <= clock_timestamp() AS past FROM snowflake_nodes ORDER BY node_id;
SELECT snowflake_node_claim(NULL) IS NULL AS is_null, snowflake_node_release(NULL) IS NULL AS is_null;

-- What is no name.
SELECT error_of($$SELECT snowflake_node_claim('')$$);
SELECT error_of($$SELECT snowflake_node_claim(repeat('x', 256))$$);
SELECT snowflake_node_claim(repeat('ü', 255));
SELECT error_of($$INSERT INTO snowflake_nodes VALUES (1024, 'by hand', 'epoch')$$);

-- All 1024 can be had, and no more. 0 comes last.
SELECT count(snowflake_node_claim('server ' || n)) FROM generate_series(1, 1024 - (SELECT count(*) FROM snowflake_nodes)) AS n;
SELECT count(*), min(node_id), max(node_id) FROM snowflake_nodes;
SELECT node_id FROM snowflake_nodes ORDER BY claimed_at DESC, substring(server_name FROM '^server (\d+)$')::integer DESC NULLS LAST LIMIT 1;
SELECT error_of($$SELECT snowflake_node_claim('too many')$$);
SELECT snowflake_node_claim('one');
SELECT snowflake_node_release('server 500') \gset
SELECT snowflake_node_claim('too many') = :snowflake_node_release AS same;

-- The rights are those on the table, which everybody may read.
CREATE ROLE regress_snowflake_operator;
SET ROLE regress_snowflake_operator;
SELECT snowflake_node_claim('one');
SELECT error_of($$SELECT snowflake_node_claim('new')$$);
SELECT error_of($$SELECT snowflake_node_release('one')$$);
RESET ROLE;
GRANT INSERT, DELETE ON snowflake_nodes TO regress_snowflake_operator;
SET ROLE regress_snowflake_operator;
SELECT snowflake_node_release('one');
SELECT snowflake_node_claim('new');
RESET ROLE;
DROP OWNED BY regress_snowflake_operator;
DROP ROLE regress_snowflake_operator;

-- Claimed in a transaction that fails, it is not claimed. A reader of a standby, or in a read-only transaction, can ask
-- for what there is.
BEGIN;
SELECT snowflake_node_release('new');
SELECT snowflake_node_claim('newer');
ROLLBACK;
BEGIN READ ONLY;
SELECT snowflake_node_claim('new');
SELECT error_of($$SELECT snowflake_node_claim('newest')$$);
ROLLBACK;

-- The table cannot be dropped alone, and goes with the extension.
SELECT error_of('DROP TABLE snowflake_nodes');
TRUNCATE snowflake_nodes;
