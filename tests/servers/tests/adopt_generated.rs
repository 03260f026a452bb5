//! `snowflake_adopt()` over generated schemas: the dry run says what the run will do, whatever uses the column.
//!
//! The oracle is PostgreSQL: the run itself in a subtransaction, an insert after it, the same by hand where it was
//! refused, and the removal of what it named.

use std::collections::BTreeMap;

use postgres::Client;
use snowflake_servers::{Cluster, SqlError};

const SCHEMAS: u64 = 300;
const SEED: u64 = 10;

/// What every schema may use.
const FUNCTIONS: &str = "
    CREATE FUNCTION of_int(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1';
    CREATE FUNCTION of_bigint(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1';
    CREATE FUNCTION of_any(anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1::text';
    CREATE FUNCTION of_two(integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'int'$$;
    CREATE FUNCTION of_two(bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'bigint'$$;
    CREATE FUNCTION helper(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper($1)';
    CREATE FUNCTION unqualified(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN helper($1); END';
    CREATE FUNCTION qualified(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.helper($1); END';
    CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
    CREATE FUNCTION is_near(integer, integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 <> $2';
    CREATE OPERATOR <~> (FUNCTION = is_near, LEFTARG = integer, RIGHTARG = integer);
    CREATE DOMAIN int_domain AS integer;
    CREATE DOMAIN bigint_domain AS bigint;
    CREATE DOMAIN small_bigints AS bigint CHECK (VALUE < 1000000);";

/// How the table begins. `{id}` is the column's definition.
const TABLES: &[&str] = &[
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05')",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05')",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05', PRIMARY KEY (id))",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05', PRIMARY KEY (id))",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05', CONSTRAINT t_pkey UNIQUE (id, x))",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05', PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
     CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
     CREATE TABLE t2 (LIKE t); ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05', PRIMARY KEY (id)) PARTITION BY RANGE (id);
     CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (30000)",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05') PARTITION BY RANGE (id, day);
     CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1, '2026-01-01') TO (30000, '2026-02-01');
     CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (-5, MINVALUE) TO (1, '2026-01-01')",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05') PARTITION BY RANGE (id);
     CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (30000) PARTITION BY LIST (x); CREATE TABLE t11 PARTITION OF t1 DEFAULT;
     CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (30000) TO (MAXVALUE) PARTITION BY LIST ((id % 2));
     CREATE TABLE t20 PARTITION OF t2 FOR VALUES IN (0); CREATE TABLE t21 PARTITION OF t2 FOR VALUES IN (1)",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05') PARTITION BY LIST (id);
     CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, NULL)",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05') PARTITION BY HASH (id);
     CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE t2 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05') PARTITION BY RANGE ((id / 1000));
     CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (30)",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05', PRIMARY KEY (id));
     CREATE TABLE t1 (extra text) INHERITS (t); CREATE TABLE t2 (id integer GENERATED ALWAYS AS IDENTITY) INHERITS (t)",
    "CREATE TABLE t ({id}, x integer DEFAULT 1, name text DEFAULT 'a', day date DEFAULT '2026-01-05');
     CREATE TABLE t1 (extra text) INHERITS (t); CREATE TABLE t2 (id integer) INHERITS (t)",
    "CREATE TYPE prescribed AS (id integer, x integer, name text, day date); CREATE TABLE t OF prescribed (id PRIMARY KEY, x DEFAULT 1)",
];

const IDS: &[&str] = &[
    "id serial",
    "id serial",
    "id integer GENERATED ALWAYS AS IDENTITY",
    "id integer GENERATED BY DEFAULT AS IDENTITY",
    "id integer NOT NULL DEFAULT 7",
    "id smallserial",
    "id bigserial",
    "id bigint GENERATED ALWAYS AS IDENTITY",
    "id bigserial",
];

/// What uses the column, or stands beside it. Some do not fit some tables: those are left out.
const USES: &[&str] = &[
    // Constraints.
    "ALTER TABLE t ADD CHECK (id > 0)",
    "ALTER TABLE t ADD CHECK (id <> ALL (ARRAY[0, 123456789])), ADD CHECK (id BETWEEN 1 AND x OR x < 1000)",
    "ALTER TABLE t ADD CHECK (id < 1000000)",
    "ALTER TABLE t ADD CHECK (id < 1000000) NOT VALID",
    "ALTER TABLE t ADD CHECK (public.of_int(id) > 0)",
    "ALTER TABLE t ADD CHECK (public.of_bigint(id) > 0)",
    "ALTER TABLE t ADD CHECK (public.of_any(id) <> '')",
    "ALTER TABLE t ADD CHECK (public.of_two(id) = 'int')",
    "ALTER TABLE t ADD CHECK (public.unqualified(name) <> 'x' AND id > 0)",
    "ALTER TABLE t ADD CHECK (public.unqualified(name) <> 'x')",
    "ALTER TABLE t ADD CHECK (id::text ~ '[0-9]')",
    "ALTER TABLE t ADD CHECK (chr(id) <> 'z')",
    "ALTER TABLE t ADD CHECK (pg_column_size(id) < 5)",
    "ALTER TABLE t ADD CHECK (id OPERATOR(public.<~>) 1000000)",
    "ALTER TABLE t ADD CHECK (t IS NOT NULL)",
    "ALTER TABLE t ADD CHECK (t.tableoid <> 0 AND id > 0)",
    "ALTER TABLE t1 ADD CHECK (id < 1000000)",
    "ALTER TABLE t ADD EXCLUDE (id WITH =)",
    "ALTER TABLE t ADD EXCLUDE ((id + 1) WITH =) WHERE (id > 2)",
    "ALTER TABLE t ADD EXCLUDE USING gist (id WITH =, x WITH <>)",
    "ALTER TABLE t ADD EXCLUDE USING gist (int4range(id, id, '[]') WITH &&)",
    // Indexes.
    "CREATE INDEX ON t (id)",
    "CREATE INDEX ON t (x) INCLUDE (id)",
    "CREATE INDEX ON t (name, id) WHERE id > 100",
    "CREATE INDEX ON t ((id % 7), (id + 1))",
    "CREATE UNIQUE INDEX ON t ((id << 3)) WHERE x IS NULL",
    "CREATE UNIQUE INDEX ON t ((id >> 30))  WHERE id = 1",
    "CREATE INDEX ON t ((id::text))",
    "CREATE INDEX ON t ((id::smallint))",
    "CREATE INDEX ON t ((1000 / (id - 1))) WHERE id > 1",
    "CREATE INDEX ON t (public.of_int(id))",
    "CREATE INDEX ON t (x) WHERE public.of_int(id) > 0",
    "CREATE INDEX ON t (public.of_bigint(id))",
    "CREATE INDEX ON t (public.of_any(id))",
    "CREATE INDEX ON t (public.of_two(id))",
    "CREATE INDEX ON t (lower(name))",
    "CREATE INDEX ON t (public.unqualified(name))",
    "CREATE INDEX ON t (public.qualified(name))",
    "CREATE INDEX ON t USING brin (id)",
    "CREATE INDEX ON t USING brin (id int4_minmax_multi_ops)",
    "CREATE INDEX ON t USING hash (id)",
    "CREATE INDEX ON t USING gin ((ARRAY[id]))",
    "CREATE INDEX ON t USING gist (id)",
    "CREATE INDEX ON t USING bloom (id, x)",
    "CREATE INDEX ON t1 (public.of_int(id))",
    "CREATE FUNCTION of_row(t) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1.id'; CREATE INDEX ON t (of_row(t))",
    "ALTER TABLE t REPLICA IDENTITY USING INDEX t_pkey; CLUSTER t USING t_pkey",
    // Statistics.
    "CREATE STATISTICS s1 ON id, x FROM t",
    "CREATE STATISTICS s2 ON (id + 1), x FROM t",
    "CREATE STATISTICS s3 ON (public.of_int(id)), x FROM t",
    // What reads it.
    "CREATE VIEW v AS SELECT id FROM t",
    "CREATE VIEW v AS SELECT id FROM t; CREATE VIEW v2 AS SELECT * FROM v; CREATE MATERIALIZED VIEW v3 AS SELECT count(*) FROM v2; CREATE INDEX ON v3 (count)",
    "CREATE VIEW v AS SELECT id FROM t; CREATE FUNCTION of_view(v) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE VIEW v AS SELECT id, name FROM t GROUP BY id",
    "CREATE VIEW w AS SELECT x FROM t; CREATE VIEW w2 AS SELECT t FROM t; CREATE TABLE uses_w2 (w w2)",
    "CREATE FUNCTION f() RETURNS bigint BEGIN ATOMIC SELECT max(id) FROM t; END",
    "CREATE FUNCTION f() RETURNS bigint BEGIN ATOMIC SELECT max(id) FROM t; END;
     CREATE TABLE uses_f (f bigint DEFAULT f(), CHECK (f > f()), y integer); CREATE VIEW f_view AS SELECT f();
     CREATE FUNCTION g(bigint DEFAULT f()) RETURNS bigint LANGUAGE sql AS 'SELECT $1'",
    "CREATE FUNCTION h() RETURNS void BEGIN ATOMIC INSERT INTO t (x) VALUES (1) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING; END",
    "CREATE FUNCTION i() RETURNS bigint LANGUAGE sql AS 'SELECT max(id) FROM t'",
    "CREATE POLICY p ON t USING (id > 0)",
    "CREATE TABLE beside (y integer); CREATE POLICY p ON beside USING (y IN (SELECT id FROM t))",
    "CREATE RULE r AS ON UPDATE TO t WHERE new.id < 0 DO INSTEAD NOTHING",
    "CREATE TABLE beside (y integer); CREATE RULE r AS ON INSERT TO beside DO INSTEAD INSERT INTO t (id) VALUES (new.y)",
    "CREATE TRIGGER tr BEFORE UPDATE OF id ON t FOR EACH ROW EXECUTE FUNCTION public.nothing()",
    "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW WHEN (new.id > 0) EXECUTE FUNCTION public.nothing()",
    "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.*) EXECUTE FUNCTION public.nothing()",
    "ALTER TABLE t ADD twice bigint GENERATED ALWAYS AS (id * 2) STORED",
    "ALTER TABLE t ADD twice integer GENERATED ALWAYS AS (x * 2) STORED",
    "CREATE PUBLICATION generated FOR TABLE t",
    "CREATE PUBLICATION generated FOR TABLE t WHERE (id > 5)",
    "CREATE PUBLICATION generated FOR TABLE t (id, x)",
    // What references it.
    "CREATE TABLE r (t integer REFERENCES t, y integer)",
    "CREATE TABLE r (t integer REFERENCES t, CHECK (t > 0)); CREATE INDEX ON r (t)",
    "CREATE TABLE r (t integer PRIMARY KEY REFERENCES t, CHECK (t < 1000000))",
    "CREATE TABLE r (t integer DEFAULT 1 REFERENCES t); CREATE VIEW r_view AS SELECT t FROM r",
    "CREATE TABLE r (t bigint REFERENCES t, CHECK (t < 1000000))",
    "CREATE TABLE r (t public.int_domain REFERENCES t)",
    "CREATE TABLE r (t public.bigint_domain REFERENCES t)",
    "CREATE TABLE r (t public.small_bigints REFERENCES t)",
    "CREATE TABLE r (t integer PRIMARY KEY REFERENCES t); CREATE TABLE r2 (r smallint REFERENCES r); CREATE INDEX ON r2 (public.of_int(r))",
    "CREATE TABLE n (id numeric PRIMARY KEY); CREATE TABLE r (t integer REFERENCES t REFERENCES n)",
    "CREATE TABLE r (t integer REFERENCES t) PARTITION BY LIST (t)",
    "CREATE TABLE r (t integer REFERENCES t, y integer) PARTITION BY LIST (y); CREATE TABLE r1 PARTITION OF r FOR VALUES IN (1)",
    "CREATE TABLE r (t integer); ALTER TABLE r ADD FOREIGN KEY (t) REFERENCES t NOT VALID",
    "ALTER TABLE t ADD parent integer REFERENCES t, ADD CHECK (parent < id)",
    // What holds its rows.
    "CREATE TABLE c (v t)",
    "CREATE TABLE c (v t[], y integer)",
    "CREATE DOMAIN row_domain AS t; CREATE TABLE c (v row_domain)",
    "CREATE TYPE row_type AS (v t); CREATE TABLE c (v row_type[]); CREATE VIEW c_view AS SELECT v FROM c",
    "CREATE DOMAIN row_domain AS t CHECK ((VALUE).id > 0)",
    "CREATE FUNCTION of_t(t) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    // What uses its sequence.
    "CREATE TABLE o (id bigint DEFAULT nextval('t_id_seq'))",
    "CREATE VIEW seq AS SELECT last_value FROM t_id_seq; CREATE VIEW seq2 AS SELECT * FROM seq",
    "CREATE FUNCTION seq() RETURNS bigint BEGIN ATOMIC SELECT nextval('t_id_seq'); END",
    "ALTER TABLE t ALTER x SET DEFAULT nextval('t_id_seq')",
    "ALTER TABLE t1 ALTER id SET DEFAULT nextval('t_id_seq')",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Runs a command in a subtransaction, which is kept only where that is wanted and the command succeeded.
fn attempt<T>(
    client: &mut Client,
    keep: bool,
    command: impl FnOnce(&mut Client) -> Result<T, postgres::Error>,
) -> Result<T, SqlError> {
    client.batch_execute("SAVEPOINT attempt").expect("a savepoint");
    let result = command(client).map_err(|error| SqlError::of(&error));
    if !keep || result.is_err() {
        client.batch_execute("ROLLBACK TO attempt").expect("back");
    }
    client.batch_execute("RELEASE attempt").expect("released");
    result
}

fn adopt(client: &mut Client, dry_run: bool) -> Result<Vec<String>, postgres::Error> {
    let rows = client.query("SELECT public.snowflake_adopt('t', 'id', $1)", &[&dry_run])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// With the id that a refusal shows, no two are the same.
fn without_id(error: &SqlError) -> String {
    let text = error.to_string();
    let Some((before, after)) = text.split_once("such as ") else { return text };
    before.to_owned() + after.trim_start_matches(|c: char| c.is_ascii_digit())
}

/// The objects that a refusal names, without the reasons.
fn named(error: &SqlError) -> Vec<String> {
    let (_, list) = error.detail.split_once(": ").unwrap_or_else(|| panic!("no list in {error}"));
    let list = list.strip_suffix('.').expect("a full stop");
    list.split("; ").map(|name| name.split(" (").next().expect("a name").to_owned()).collect()
}

/// The command that removes a named object without any other, if there is one.
fn removal(description: &str) -> Option<String> {
    let (kind, name) = description.split_once(' ')?;
    let on_table = |kind: &str, name: &str| {
        let (name, table) = name.split_once(" on table ")?;
        Some(format!("DROP {kind} {name} ON {table}"))
    };
    Some(match kind {
        "view" | "function" | "index" => format!("DROP {description}"),
        "materialized" => format!("DROP {description}"),
        "statistics" => format!("DROP STATISTICS {}", name.strip_prefix("object ")?),
        "rule" | "trigger" | "policy" => on_table(kind, name)?,
        "constraint" => match name.split_once(" on table ") {
            Some((name, table)) => format!("ALTER TABLE {table} DROP CONSTRAINT {name}"),
            None => format!("DROP DOMAIN {}", name.split_once(" on type ")?.1),
        },
        "publication" => format!("DROP PUBLICATION {}", name.rsplit(' ').next()?),
        "column" => {
            let (column, table) = name.split_once(" of table ")?;
            format!("ALTER TABLE {table} DROP COLUMN {column} RESTRICT")
        }
        "default" => {
            let (column, table) = name.strip_prefix("value for column ")?.split_once(" of table ")?;
            format!("ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT")
        }
        "generated" => {
            let (column, table) = name.strip_prefix("column ")?.split_once(" of table ")?;
            format!("ALTER TABLE {table} ALTER COLUMN {column} DROP EXPRESSION")
        }
        _ => return None,
    })
}

/// Removes all that a refusal names, and nothing else; false if something of it cannot be removed.
fn remove(client: &mut Client, error: &SqlError) -> bool {
    let named = named(error);
    // From 18 on a child's own NOT NULL, which is inherited too, cannot be dropped: only the inheritance can be ended.
    let stays = |name: &String| name.contains(", w") || name.contains("_not_null") || removal(name).is_none();
    if named.iter().any(stays) {
        return false;
    }
    let mut commands: Vec<String> = named.iter().filter_map(|name| removal(name)).collect();
    commands.dedup();
    while !commands.is_empty() {
        let before = commands.len();
        let mut last = String::new();
        commands.retain(|command| {
            let result = attempt(client, true, |client| client.batch_execute(command));
            if let Err(error) = &result {
                last = format!("{command}: {error}");
            }
            // A child's generated column goes with its parent's.
            result.is_err_and(|error| error.code != "42P16")
        });
        assert!(commands.len() < before, "{last}\nof {error}");
    }
    true
}

/// The same by hand, and a row after it.
const BY_HAND: &str = "
    DO $$ BEGIN IF (SELECT attidentity <> '' FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'id') THEN
        ALTER TABLE t ALTER id DROP IDENTITY; END IF; END $$;
    ALTER TABLE t ALTER id TYPE bigint;
    DO $$ DECLARE r record; BEGIN
        FOR r IN SELECT DISTINCT conrelid::regclass, attname FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
            WHERE contype = 'f' AND confrelid IN (to_regclass('t'), to_regclass('r')) AND atttypid IN ('smallint'::regtype, 'integer'::regtype)
        LOOP EXECUTE format('ALTER TABLE %s ALTER %I TYPE bigint', r.conrelid, r.attname); END LOOP;
    END $$;
    ALTER TABLE t ALTER id SET DEFAULT snowflake_next();
    INSERT INTO t DEFAULT VALUES;";

#[test]
fn the_dry_run_tells_what_the_run_does() {
    let cluster = Cluster::builder().set("wal_level", "logical").start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    client.batch_execute(FUNCTIONS).expect("functions");
    for contrib in ["btree_gist", "bloom"] {
        if client.batch_execute(&format!("CREATE EXTENSION {contrib}")).is_err() {
            println!("without {contrib}");
        }
    }
    let (mut adopted, mut refused, mut by_hand, mut removed) =
        (0, BTreeMap::<String, usize>::new(), Vec::new(), 0);
    let only: Option<u64> = std::env::var("SNOWFLAKE_TEST_SCHEMA").ok().and_then(|n| n.parse().ok());
    for number in (0..SCHEMAS).filter(|n| only.is_none_or(|only| only == *n)) {
        let mut random = Random(SEED + number * 1_000);
        client
            .batch_execute("BEGIN; CREATE SCHEMA generated; SET LOCAL search_path = generated, public")
            .expect("a schema");
        let table = random.of(TABLES).replace("{id}", random.of(IDS));
        let mut made = vec![];
        if attempt(&mut client, true, |client| client.batch_execute(&table)).is_ok() {
            made.push(table.clone());
            if random.below(3) > 0 {
                let rows = "INSERT INTO t (x, name) SELECT 100, 'row ' || n FROM generate_series(1, 5) AS n";
                let _ = attempt(&mut client, true, |client| client.batch_execute(rows));
            }
            for _ in 0..random.below(5) {
                let uses = random.of(USES);
                if attempt(&mut client, true, |client| client.batch_execute(uses)).is_ok() {
                    made.push(uses.to_owned());
                }
            }
            let shown = format!("schema {number}:\n{}", made.join(";\n"));

            let dry = attempt(&mut client, false, |client| adopt(client, true));
            let run = attempt(&mut client, false, |client| adopt(client, false));
            match (&dry, &run) {
                (Ok(dry), Ok(run)) => {
                    assert_eq!(dry, run, "{shown}");
                    adopted += 1;
                    let inserted = attempt(&mut client, false, |client| {
                        adopt(client, false)?;
                        client.batch_execute("INSERT INTO t DEFAULT VALUES")
                    });
                    if let Err(error) = inserted {
                        panic!("no row can be inserted: {error}\n{shown}");
                    }
                }
                (Err(dry), Err(run)) => {
                    assert_eq!(without_id(dry), without_id(run), "{shown}");
                    assert!(["0A000", "55000"].contains(&&*dry.code), "{dry}\n{shown}");
                    *refused.entry(dry.code.clone()).or_default() += 1;
                    if attempt(&mut client, false, |client| client.batch_execute(BY_HAND)).is_ok() {
                        by_hand.push(format!("{} {}", dry.code, dry.detail));
                    }
                    // With all of it gone, it succeeds: what was named is there, and is all.
                    let mut error = dry.clone();
                    for _ in 0..2 {
                        if error.code != "0A000" && error.detail.contains("partitions of")
                            || !remove(&mut client, &error)
                        {
                            break;
                        }
                        match attempt(&mut client, false, |client| adopt(client, false)) {
                            Ok(_) => {
                                removed += 1;
                                break;
                            }
                            Err(next) => {
                                assert!(
                                    error.code == "0A000" && next.code == "55000",
                                    "{next}\nafter {error}\n{shown}"
                                );
                                error = next;
                            }
                        }
                    }
                }
                _ => panic!("dry run: {dry:?}\nrun: {run:?}\n{shown}"),
            }
        }
        client.batch_execute("ROLLBACK").expect("gone");
    }
    let refusals: usize = refused.values().sum();
    println!(
        "{adopted} adopted, {refusals} refused {refused:?}, {} of them possible by hand; {removed} adopted without what was named",
        by_hand.len()
    );
    for detail in &by_hand {
        println!("by hand: {detail}");
    }
    if only.is_none() {
        assert!(adopted > 50 && refusals > 50 && removed > 30, "the generator does not reach both");
        assert!(by_hand.len() * 5 < refusals, "too much is refused that can be done by hand");
    }
}
