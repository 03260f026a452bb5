-- What `make demo` shows. It runs on any server that has the extension:
--   createdb demo && PGDATABASE=demo psql -f docs/demo.sql      (from the root of the repository)
\set QUIET on
\pset footer off

CREATE EXTENSION snowflake;

\echo
\echo '-- A table whose key is a snowflake id.'
\set ECHO queries
CREATE TABLE orders (
    id       bigint PRIMARY KEY DEFAULT snowflake_next(),
    customer integer NOT NULL,
    amount   numeric(10, 2) NOT NULL
);
\set ECHO none

\echo
\echo '-- 100,000 rows from 8 sessions at once, ten in a transaction (docs/demo-load.sql).'
\! pgbench --no-vacuum --client=8 --jobs=2 --transactions=1250 --progress=1 --file=docs/demo-load.sql 2>&1 | grep -E 'progress|processed|rror'
VACUUM ANALYZE orders;

\echo
\echo '-- As many ids as rows.'
\set ECHO queries
SELECT count(*) AS rows, count(DISTINCT id) AS distinct_ids FROM orders;
\set ECHO none

\echo
\echo '-- What an id says: when and where it was made.'
\set ECHO queries
SELECT id, created_at, node_id, sequence_id, customer, amount
  FROM orders, snowflake_decode(id)
 ORDER BY id DESC
 LIMIT 5;
\set ECHO none

\echo
\echo '-- The rows of a tenth of a second, found by time through the primary key.'
SELECT snowflake_decode_timestamp(id) AS from, snowflake_decode_timestamp(id) + interval '100 ms' AS until
  FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id) AS id FROM orders) AS median \gset
\set ECHO queries
SELECT count(*), count(DISTINCT customer) AS customers, sum(amount)
  FROM orders
 WHERE id >= snowflake_min_id(:'from') AND id < snowflake_min_id(:'until');

EXPLAIN (COSTS OFF)
SELECT count(*), count(DISTINCT customer) AS customers, sum(amount)
  FROM orders
 WHERE id >= snowflake_min_id(:'from') AND id < snowflake_min_id(:'until');
\set ECHO none

\echo
\echo '-- The generator of this server, for all its databases and sessions.'
\x on
\set ECHO queries
SELECT * FROM snowflake_status();
\set ECHO none
\x off

-- Anything less would be a fault worth a bug report.
DO $$
BEGIN
    IF (SELECT count(DISTINCT id) FROM orders) <> 100000 THEN
        RAISE EXCEPTION 'expected 100000 distinct ids in orders';
    END IF;
END
$$;
