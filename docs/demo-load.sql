-- One transaction of pgbench in docs/demo.sql: ten rows as an application would insert them, without an id.
\set customer random(1, 1000)
INSERT INTO orders (customer, amount)
SELECT :customer, (random() * 1000)::numeric(10, 2)
  FROM generate_series(1, 10);
