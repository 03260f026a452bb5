//! `snowflake_adopt()` on a real server: through pg_dump and restore, under writers, in a schema of another name, and
//! with hostile owners.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use snowflake_servers::status::wait_until_waiting;
use snowflake_servers::{Cluster, assert_sql_error};

/// Tables of every kind that can be adopted, in a schema and with names that have to be quoted, with the extension in
/// such a schema as well.
const TABLES: &str = r#"
    CREATE SCHEMA "My Ids";
    CREATE EXTENSION snowflake SCHEMA "My Ids";
    CREATE SCHEMA "App";
    CREATE TABLE "App"."Customer" ("Id" serial PRIMARY KEY, referred_by integer REFERENCES "App"."Customer", name text);
    CREATE INDEX ON "App"."Customer" (name, "Id");
    CREATE TABLE "App".orders (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "Customer" integer NOT NULL REFERENCES "App"."Customer" ON DELETE CASCADE
    );
    CREATE TABLE "App".log (id bigserial, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE "App".log_1 PARTITION OF "App".log FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    INSERT INTO "App"."Customer" (name) SELECT 'customer ' || n FROM generate_series(1, 1000) AS n;
    UPDATE "App"."Customer" SET referred_by = "Id" - 1 WHERE "Id" > 1;
    INSERT INTO "App".orders ("Customer") SELECT "Id" FROM "App"."Customer";
    INSERT INTO "App".log (day) SELECT '2026-01-05' FROM generate_series(1, 100);"#;
const ADOPT: &str = r#"
    SELECT "My Ids".snowflake_adopt('"App"."Customer"', 'Id');
    SELECT "My Ids".snowflake_adopt('"App".orders', 'id');
    SELECT "My Ids".snowflake_adopt('"App".log', 'id');"#;
/// Each takes its id from the default, and ids from there on.
const INSERT: &str = r#"
    INSERT INTO "App"."Customer" (name) VALUES ('new'), ('newer');
    INSERT INTO "App".orders ("Customer") SELECT "Id" FROM "App"."Customer" WHERE name LIKE 'new%';
    INSERT INTO "App".log (day) VALUES ('2026-01-06');"#;
/// The rows, and how many of them have an id of the generator's.
const COUNTS: &str = r#"
    SELECT (SELECT count(*) FROM "App"."Customer"), (SELECT count(*) FROM "App"."Customer" WHERE "Id" > 1 << 30),
        (SELECT count(*) FROM "App".orders), (SELECT count(*) FROM "App".orders WHERE id > 1 << 30),
        (SELECT count(*) FROM "App".log), (SELECT count(*) FROM "App".log WHERE id > 1 << 30)"#;

fn counts(cluster: &Cluster, database: &str) -> Vec<i64> {
    let row = cluster.connect(database).query_one(COUNTS, &[]).expect("the tables");
    (0..row.len()).map(|column| row.get(column)).collect()
}

fn schema(cluster: &Cluster, database: &str) -> String {
    let output = cluster.run("pg_dump", &["--schema-only", database]);
    // From 15.14 on, a dump is closed with a word of its own each time.
    output.lines().filter(|line| !line.contains("restrict")).collect::<Vec<_>>().join("\n")
}

/// What was adopted is ordinary: it is dumped and restored as if it had been made so.
#[test]
fn through_dump_and_restore() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", TABLES);
    cluster.execute("postgres", ADOPT);
    cluster.execute("postgres", INSERT);
    assert_eq!(counts(&cluster, "postgres"), [1_002, 2, 1_002, 2, 101, 1]);
    cluster.execute("postgres", "CREATE DATABASE restored");
    let dump = cluster.dump_and_restore("postgres", "postgres", "restored");
    assert!(dump.contains(r#"DEFAULT "My Ids".snowflake_next()"#), "the default is not in the dump");
    assert!(!dump.contains("CREATE SEQUENCE"), "a sequence is left");

    assert_eq!(counts(&cluster, "restored"), [1_002, 2, 1_002, 2, 101, 1]);
    assert_eq!(schema(&cluster, "restored"), schema(&cluster, "postgres"));
    cluster.execute("restored", INSERT);
    assert_eq!(counts(&cluster, "restored"), [1_004, 4, 1_006, 6, 102, 2]);
    // Nothing is left to do there.
    let again =
        cluster.connect("restored").query(r#"SELECT "My Ids".snowflake_adopt('"App".orders', 'id')"#, &[]);
    assert!(again.expect("it is adopted").is_empty());
}

/// The statements of a dry run do the same, run one by one by hand.
#[test]
fn the_statements_of_a_dry_run() {
    let cluster = Cluster::builder().start();
    for database in ["adopted", "by_hand"] {
        cluster.execute("postgres", &format!("CREATE DATABASE {database}"));
        cluster.execute(database, TABLES);
    }
    cluster.execute("adopted", ADOPT);
    let untouched = schema(&cluster, "by_hand");
    let mut client = cluster.connect("by_hand");
    for call in ADOPT.split(';').filter(|call| !call.trim().is_empty()) {
        let rows = client.query(&call.replace("')", "', dry_run => true)"), &[]).expect("a dry run");
        let statements: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(!statements.is_empty());
        for statement in statements {
            client.batch_execute(&statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
    }
    let by_hand = schema(&cluster, "by_hand");
    assert_ne!(by_hand, untouched);
    assert_eq!(by_hand, schema(&cluster, "adopted"));
}

/// Writers wait and go on, with ids in the place of the sequence's numbers, and no statement of theirs fails.
#[test]
fn under_writers() {
    const WRITE: &str =
        "WITH new AS (INSERT INTO t DEFAULT VALUES RETURNING id) INSERT INTO r SELECT id FROM new";
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    cluster.execute(
        "postgres",
        "CREATE TABLE t (id serial PRIMARY KEY); CREATE TABLE r (t integer REFERENCES t)",
    );
    let (written, adopted) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = cluster.connect("postgres");
                let mut left_after = 100;
                while left_after > 0 {
                    client.batch_execute(WRITE).expect("it goes on");
                    written.fetch_add(1, Ordering::Relaxed);
                    left_after -= usize::from(adopted.load(Ordering::Relaxed));
                }
            });
        }
        while written.load(Ordering::Relaxed) < 100 {
            thread::yield_now();
        }
        let done = cluster.connect("postgres").query("SELECT snowflake_adopt('t', 'id')", &[]);
        // Before a panic, which would wait for the writers.
        adopted.store(true, Ordering::Relaxed);
        done.expect("it is adopted");
    });
    let counts = "SELECT count(*), count(*) FILTER (WHERE t.id > 1 << 30) FROM t JOIN r ON r.t = t.id";
    let row = cluster.connect("postgres").query_one(counts, &[]).expect("counts");
    assert_eq!(row.get::<_, i64>(0), written.into_inner() as i64);
    assert!(row.get::<_, i64>(1) >= 400);
}

/// A row that another session has written and not committed counts: its number may be the highest.
#[test]
fn a_high_number_that_is_not_committed_yet() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    cluster.execute("postgres", "CREATE TABLE t (id bigint PRIMARY KEY)");
    let mut writer = cluster.connect("postgres");
    let mut transaction = writer.transaction().expect("a transaction");
    transaction.batch_execute("INSERT INTO t VALUES (9223372036854775807)").expect("a row");
    thread::scope(|scope| {
        let adopting =
            scope.spawn(|| cluster.connect("postgres").query("SELECT snowflake_adopt('t', 'id')", &[]));
        wait_until_waiting(&cluster, 1, "relation");
        transaction.commit().expect("committed");
        let adopted = adopting.join().expect("it ends");
        assert_sql_error(adopted, "55000", &["9223372036854775807", "snowflake_advance"]);
    });
}

/// Where no id can be made, nothing is changed.
#[test]
fn not_preloaded() {
    let cluster = Cluster::builder().not_preloaded().start();
    if cluster.version_num() >= 17_0000 {
        return;
    }
    cluster.create_extension("postgres");
    cluster.execute("postgres", "CREATE TABLE t (id serial)");
    let before = schema(&cluster, "postgres");
    let refused = cluster.connect("postgres").query("SELECT snowflake_adopt('t', 'id')", &[]);
    assert_sql_error(refused, "55000", &["shared_preload_libraries"]);
    assert_eq!(schema(&cluster, "postgres"), before);
}

/// Code of a table's owner that takes what it can get.
const HOSTILE: &str = r#"
    CREATE ROLE "Owner" LOGIN;
    CREATE SCHEMA own AUTHORIZATION "Owner";
    GRANT CREATE ON SCHEMA public TO "Owner";
    SET SESSION AUTHORIZATION "Owner";
    CREATE FUNCTION own.take() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE 'ALTER ROLE "Owner" SUPERUSER';
        RETURN true;
    EXCEPTION WHEN OTHERS THEN
        RETURN true;
    END $$;
    -- In an immutable function itself, PostgreSQL refuses such a command.
    CREATE FUNCTION own.take(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN own.take(); END';
    RESET SESSION AUTHORIZATION;"#;
/// Tables with such code: made by the superuser, then by the owner, and which one the superuser is led to adopt.
const TRAPS: &[(&str, &str, &str)] = &[
    (
        "",
        "CREATE TABLE own.t (id serial); INSERT INTO own.t VALUES (1); ALTER TABLE own.t ADD CHECK (own.take(id))",
        "own.t",
    ),
    ("", "CREATE TABLE own.t (id bigserial); ALTER TABLE own.t ADD CHECK (own.take(id))", "own.t"),
    ("", "CREATE TABLE own.t (id bigserial); CREATE INDEX ON own.t ((own.take(1)))", "own.t"),
    ("", "CREATE TABLE own.t (id bigserial, g boolean GENERATED ALWAYS AS (own.take(id)) STORED)", "own.t"),
    (
        "",
        "CREATE TABLE own.t (id bigserial) PARTITION BY LIST ((own.take(id))); CREATE TABLE own.t1 PARTITION OF own.t FOR VALUES IN (true)",
        "own.t",
    ),
    (
        r#"CREATE TABLE own.t (id bigserial); CREATE TABLE own.c () INHERITS (own.t); ALTER TABLE own.c OWNER TO "Owner""#,
        "CREATE INDEX ON own.c ((own.take(1)))",
        "own.t",
    ),
    (
        r#"CREATE TABLE own.t (id serial PRIMARY KEY); INSERT INTO own.t VALUES (1); GRANT REFERENCES ON own.t TO "Owner""#,
        "CREATE TABLE own.r (t integer REFERENCES own.t); INSERT INTO own.r VALUES (1); ALTER TABLE own.r ADD CHECK (own.take(t))",
        "own.t",
    ),
    (
        r#"CREATE TABLE own.t (id serial PRIMARY KEY); INSERT INTO own.t VALUES (1); GRANT REFERENCES ON own.t TO "Owner""#,
        "CREATE TABLE own.r (t bigint REFERENCES own.t); CREATE INDEX ON own.r ((own.take(1)))",
        "own.t",
    ),
    // Nothing of the referencing table changes here, so it is adopted: without a look at what is the owner's.
    (
        r#"CREATE TABLE own.t (id bigserial PRIMARY KEY); GRANT REFERENCES ON own.t TO "Owner""#,
        "CREATE DOMAIN own.d AS bigint CHECK (own.take(VALUE)); CREATE TABLE own.r (t own.d REFERENCES own.t, CHECK (own.take(t)))",
        "",
    ),
];

/// No code of a table's owner runs with the rights of who adopts, not even in a dry run.
#[test]
fn nobodys_code_runs_with_the_callers_rights() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    client.batch_execute(HOSTILE).expect("a role");
    for (before, trap, refused) in TRAPS {
        client.batch_execute(before).expect("the superuser's");
        client.batch_execute(&format!(r#"SET ROLE "Owner"; {trap}; RESET ROLE"#)).expect(trap);
        // The schema's owner could rename it.
        client
            .batch_execute("ALTER SCHEMA own OWNER TO postgres; GRANT ALL ON SCHEMA own TO PUBLIC")
            .expect("a schema");
        for dry_run in [true, false] {
            let result = client.query("SELECT snowflake_adopt('own.t', 'id', $1)", &[&dry_run]);
            let row = client.query_one("SELECT rolsuper FROM pg_roles WHERE rolname = 'Owner'", &[]);
            assert!(!row.expect("the role").get::<_, bool>(0), "the owner is superuser by {trap}");
            if refused.is_empty() {
                result.expect(trap);
            } else {
                assert_sql_error(result, "42501", &[r#"SET ROLE "Owner""#, "must be owner of table own."]);
            }
        }
        client.batch_execute("DROP TABLE own.t CASCADE; DROP TABLE IF EXISTS own.r").expect("gone");
    }
    // The owner's right is the owner's.
    client
        .batch_execute(r#"SET ROLE "Owner"; CREATE TABLE own.t (id serial, CHECK (own.take(id)))"#)
        .expect("a table");
    client.query("SELECT snowflake_adopt('own.t', 'id')", &[]).expect("adopted");
}

/// The extension's functions are found where they are, whatever is called by the name its schema had.
#[test]
fn in_a_renamed_schema() {
    let cluster = Cluster::builder().start();
    let mut client = cluster.connect("postgres");
    client.batch_execute(TABLES).expect("tables");
    client
        .batch_execute(
            r#"ALTER SCHEMA "My Ids" RENAME TO "Their Ids";
            CREATE SCHEMA "My Ids";
            CREATE TABLE called (name text);
            CREATE FUNCTION "My Ids".snowflake_next() RETURNS bigint LANGUAGE sql AS $$INSERT INTO called VALUES ('next'); SELECT 5::bigint$$;
            CREATE FUNCTION "My Ids".snowflake_epoch_ms() RETURNS bigint LANGUAGE sql AS $$INSERT INTO called VALUES ('epoch'); SELECT 5::bigint$$;
            CREATE FUNCTION "My Ids".equal(name, name) RETURNS boolean LANGUAGE sql AS $$INSERT INTO called VALUES ('='); SELECT true$$;
            CREATE OPERATOR "My Ids".= (FUNCTION = "My Ids".equal, LEFTARG = name, RIGHTARG = name);
            CREATE FUNCTION "My Ids".format(text, VARIADIC "any") RETURNS text LANGUAGE internal AS 'text_format';
            SET search_path = "My Ids", pg_catalog"#,
        )
        .expect("a trap");
    let adopt = ADOPT.replace("My Ids", "Their Ids");
    client.batch_execute(&adopt).expect("adopted");
    let row = client
        .query_one(
            r#"SELECT (SELECT count(*) FROM public.called),
                (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = '"App".orders'::regclass AND adnum = 1),
                (SELECT ids FROM "Their Ids".snowflake_audit('"App".orders', 'id'))"#,
            &[],
        )
        .expect("what it is now");
    assert_eq!((row.get(0), row.get(1), row.get(2)), (0_i64, r#""Their Ids".snowflake_next()"#, 1_000_i64));
    client.batch_execute(INSERT).expect("rows");
    client.batch_execute(r#"ALTER SCHEMA "Their Ids" RENAME TO "Ids of All""#).expect("renamed");
    client.batch_execute(INSERT).expect("rows");
    let again = client.query(r#"SELECT "Ids of All".snowflake_adopt('"App".orders', 'id')"#, &[]);
    assert!(again.expect("it is known").is_empty());
}

/// A child with an identity of its own loses that. From PostgreSQL 18 on its NOT NULL is a constraint that ALTER TABLE
/// cannot make anew beside its parent's, and is named.
#[test]
fn a_child_with_an_identity() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    client
        .batch_execute(
            "CREATE TABLE city (id serial PRIMARY KEY);
            CREATE TABLE port (id integer GENERATED ALWAYS AS IDENTITY) INHERITS (city)",
        )
        .expect("tables");
    for dry_run in [true, false] {
        let adopted = client.query("SELECT snowflake_adopt('city', 'id', $1)", &[&dry_run]);
        if cluster.version_num() < 18_0000 {
            let first: String = adopted.expect("adopted")[0].get(0);
            assert_eq!(first, "ALTER TABLE public.port ALTER COLUMN id DROP IDENTITY");
        } else {
            assert_sql_error(adopted, "0A000", &["constraint port_id_not_null on table public.port"]);
        }
    }
}
