//! Dumps of the extension sequencer that others make and restore than its owner.

use snowflake_servers::Cluster;

fn original() -> Cluster {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE ROLE app LOGIN; CREATE ROLE keeper LOGIN");
    cluster.execute("postgres", "CREATE DATABASE original OWNER keeper");
    cluster.execute("postgres", "CREATE DATABASE copy");
    cluster.execute(
        "original",
        "GRANT CREATE ON DATABASE original TO app; GRANT CREATE ON SCHEMA public TO app",
    );
    let mut app = cluster.config("original").user("app").connect(postgres::NoTls).expect("a session");
    app.batch_execute(
        "CREATE EXTENSION sequencer CASCADE; SELECT snowflake_range_create('orders', 10);
         SELECT snowflake_range_next('orders')",
    )
    .expect("it is trusted");
    cluster
}

/// Who owns the database, and not what is in it, can dump it. Seen to fail without a right on the counters.
#[test]
fn by_the_owner_of_the_database() {
    let cluster = original();
    let dump = cluster.run("pg_dump", &["--username", "keeper", "original"]);
    assert!(dump.contains("snowflake_range_"), "{dump}");
}

/// A superuser's copy is the superuser's, counters and all: they belong to the table again. Seen to fail without the
/// trigger.
#[test]
fn restored_by_a_superuser() {
    let cluster = original();
    let dump = cluster.run("pg_dump", &["original"]);
    let file = cluster.write_file("dump.sql", &dump);
    let file = file.to_str().expect("paths of tests are UTF-8");
    cluster.run("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "copy", "-f", file]);
    let mut copy = cluster.connect("copy");
    let counters = "SELECT count(*), count(*) FILTER (WHERE relowner = 'postgres'::regrole)
                    FROM pg_class WHERE relkind = 'S' AND relname LIKE 'snowflake_range_%'";
    let count = |client: &mut postgres::Client| -> (i64, i64) {
        let row = client.query_one(counters, &[]).expect("counts");
        (row.get(0), row.get(1))
    };
    assert_eq!(count(&mut copy), (1, 1));
    let next: i64 = copy.query_one("SELECT snowflake_range_next('orders')", &[]).expect("a number").get(0);
    assert_eq!(next, 11);
    // The statements of docs/designs.md.
    copy.batch_execute("GRANT INSERT ON snowflake_ranges TO app").expect("granted");
    let mut app = cluster.config("copy").user("app").connect(postgres::NoTls).expect("a session");
    let next: i64 = app.query_one("SELECT snowflake_range_next('orders')", &[]).expect("a number").get(0);
    assert_eq!(next, 21);
    copy.batch_execute("DROP EXTENSION sequencer").expect("dropped");
    assert_eq!(count(&mut copy), (0, 0));
}
