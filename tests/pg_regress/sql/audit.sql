-- snowflake_audit(): which nodes made the ids of a column, and which ids cannot be.

SET timezone = 'UTC';
CREATE TABLE "Audited" ("Id" bigint DEFAULT snowflake_next(), what text);
SELECT * FROM snowflake_audit('"Audited"', 'Id');

-- This server's own: none of them is wrong, and the times are those of the first and the last.
CALL wait_for_clock();
INSERT INTO "Audited" (what) SELECT 'own' FROM generate_series(1, 5000);
SELECT node_id = snowflake_node() AS own, ids, future_ids, unissued_ids,
    first_at = snowflake_decode_timestamp(min) AS first, last_at = snowflake_decode_timestamp(max) AS last
FROM snowflake_audit('"Audited"', 'Id'), (SELECT min("Id"), max("Id") FROM "Audited") AS a;

-- Two other nodes, one of which is ahead of the clock; what is no id, or plainly a counter's; and what is not there.
INSERT INTO "Audited" VALUES
    (snowflake_compose(1700000000000, 7, 0), 'other'), (snowflake_compose(1700000000001, 7, 4095), 'other'),
    (snowflake_compose(snowflake_current_millis(0) + 3600000, 8, 0), 'ahead'), (snowflake_compose(1700000000000, 8, 1), 'other'),
    (-5, 'no id'), (-6, 'no id'), (NULL, NULL), (1, 'small'), (4095, 'small'), (9223372036854775807, 'largest');
SELECT kind, node_id, ids, CASE WHEN NOT coalesce(future_ids > 0, false) THEN first_at END AS first_at,
    CASE WHEN future_ids = 0 THEN last_at END AS last_at, future_ids, unissued_ids
FROM snowflake_audit('"Audited"', 'Id') WHERE node_id IS DISTINCT FROM snowflake_node();

-- Another server uses this one's number, and its clock is ahead of this server's last id: the generator has not been
-- there. The next id above it makes it possible again.
INSERT INTO "Audited" SELECT snowflake_compose(snowflake_current_millis(0) + 500, snowflake_node(), n), 'elsewhere' FROM generate_series(0, 2) AS n;
SELECT ids, unissued_ids FROM snowflake_audit('"Audited"', 'Id') WHERE node_id = snowflake_node();
SELECT snowflake_advance(max("Id")) FROM "Audited" WHERE what = 'elsewhere';
SELECT ids, unissued_ids FROM snowflake_audit('"Audited"', 'Id') WHERE node_id = snowflake_node();

-- Old numbers of an adopted table are not taken for the ids of nodes. They end where the first hour after the epoch
-- does, or at a time that is given.
CREATE TABLE audited_adopted (id serial PRIMARY KEY, what text);
INSERT INTO audited_adopted (what) SELECT 'old' FROM generate_series(1, 5000);
SELECT snowflake_adopt('audited_adopted', 'id');
CALL wait_for_clock();
INSERT INTO audited_adopted (what) SELECT 'new' FROM generate_series(1, 100);
SELECT kind, node_id = snowflake_node() AS own, ids, first_at IS NOT NULL AS first_at, last_at IS NOT NULL AS last_at, future_ids, unissued_ids
FROM snowflake_audit('audited_adopted', 'id');
INSERT INTO audited_adopted VALUES ((3600000::bigint << 22) - 1), (3600000::bigint << 22), (0), (-1), (snowflake_min_id('2023-11-14 22:13:20+00')),
    (snowflake_min_id('2023-11-14 22:13:20+00') - 1);
SELECT kind, node_id, ids, first_at FROM snowflake_audit('audited_adopted', 'id') WHERE node_id IS DISTINCT FROM snowflake_node();
SELECT kind, node_id, ids, first_at FROM snowflake_audit('audited_adopted', 'id', since => '2023-11-14 22:13:20+00')
WHERE node_id IS DISTINCT FROM snowflake_node();
SELECT kind, node_id, ids FROM snowflake_audit('audited_adopted', 'id', '-infinity') WHERE node_id IS DISTINCT FROM snowflake_node();
SELECT kind, node_id, ids FROM snowflake_audit('audited_adopted', 'id', 'infinity');
DROP TABLE audited_adopted;

-- SELECT is all it takes, on the column; of a view too, and of each integer type.
CREATE ROLE regress_snowflake_auditor;
CREATE VIEW audited_view AS SELECT "Id"::smallint AS small FROM "Audited" WHERE what = 'small';
GRANT SELECT ON audited_view TO regress_snowflake_auditor;
GRANT SELECT ("Id") ON "Audited" TO regress_snowflake_auditor;
SET ROLE regress_snowflake_auditor;
SELECT sum(ids) FROM snowflake_audit('"Audited"', 'Id');
SELECT * FROM snowflake_audit('audited_view', 'small');
RESET ROLE;
REVOKE SELECT ON "Audited" FROM regress_snowflake_auditor;
REVOKE SELECT ("Id") ON "Audited" FROM regress_snowflake_auditor;
SET ROLE regress_snowflake_auditor;
SELECT error_of($$SELECT snowflake_audit('"Audited"', 'Id')$$);
RESET ROLE;
DROP OWNED BY regress_snowflake_auditor;
DROP ROLE regress_snowflake_auditor;

-- In a read-only transaction.
BEGIN READ ONLY;
SELECT sum(ids) FROM snowflake_audit('"Audited"', 'Id');
COMMIT;

SELECT error_of($$SELECT snowflake_audit('"Audited"', 'id')$$);
SELECT error_of($$SELECT snowflake_audit('"Audited"', 'what')$$);
SELECT error_of($$SELECT snowflake_audit(1::oid::regclass, 'what')$$);
SELECT count(*) FROM snowflake_audit(NULL, 'id') AS a FULL JOIN snowflake_audit('"Audited"', NULL) AS b ON true;

DROP TABLE "Audited" CASCADE;
CALL wait_for_clock();
