//! `snowflake_adopt()` on a real server: through pg_dump and restore, under writers, and in a schema of another name.

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
    let dump = cluster.run("pg_dump", &["postgres"]);
    assert!(dump.contains(r#"DEFAULT "My Ids".snowflake_next()"#), "the default is not in the dump");
    assert!(!dump.contains("CREATE SEQUENCE"), "a sequence is left");

    cluster.execute("postgres", "CREATE DATABASE restored");
    let dump = cluster.write_file("dump.sql", &dump);
    let dump = dump.to_str().expect("paths of tests are UTF-8");
    cluster.run("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-f", dump]);
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
