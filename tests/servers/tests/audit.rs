//! `snowflake_audit()` on a real server: what it finds is there, and what it does not find is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use snowflake_servers::{Cluster, FakeClock};

/// Of one node: ids, ids of the future, ids that this server cannot have issued.
type Row = (i32, i64, i64, Option<i64>);

fn audit(cluster: &Cluster) -> Vec<Row> {
    let query =
        "SELECT node_id, ids, future_ids, unissued_ids FROM snowflake_audit('t', 'id') ORDER BY node_id";
    let rows = cluster.connect("postgres").query(query, &[]).expect("the table");
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect()
}

fn with_table(cluster: &Cluster) {
    cluster.create_extension("postgres");
    cluster.execute("postgres", "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next())");
    cluster.execute("postgres", "INSERT INTO t SELECT FROM generate_series(1, 1000)");
}

/// Ids of a table that is being written are never taken for another's: the last id is read after the rows.
#[test]
fn under_load() {
    let cluster = Cluster::builder().start();
    with_table(&cluster);
    cluster.wait_for_status(|status| status.ahead_ms == Some(0));
    cluster.execute("postgres", "TRUNCATE t");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for cache in [1, 256] {
            let (cluster, done) = (&cluster, &done);
            scope.spawn(move || {
                let mut client = cluster.connect("postgres");
                client.batch_execute(&format!("SET snowflake.cache = {cache}")).expect("set");
                while !done.load(Ordering::Relaxed) {
                    client.batch_execute("INSERT INTO t DEFAULT VALUES").expect("rows");
                }
            });
        }
        // Judged when the writers have ended: a panic in here would wait for them.
        let audits: Vec<_> = (0..50).map(|_| audit(&cluster)).collect();
        done.store(true, Ordering::Relaxed);
        for rows in &audits {
            if let Some(&(node, ids, future, unissued)) = rows.first() {
                assert_eq!((node, future, unissued), (1, 0, Some(0)), "of {ids} ids");
            }
        }
        let ids = |rows: &Vec<Row>| rows.first().map_or(0, |row| row.1);
        assert!(audits.is_sorted_by_key(ids));
        assert!(ids(&audits[49]) > 0);
    });
}

/// A second server with the same number, whose clock is ahead; and a third with its own.
#[test]
fn another_server_with_this_ones_number() {
    let clock = FakeClock::new();
    clock.set_offset_ms(3_600_000);
    let here = Cluster::builder().start();
    let ahead = Cluster::builder().clock(&clock).start();
    let other = Cluster::builder().set("snowflake.node", "7").start();
    for cluster in [&here, &ahead, &other] {
        with_table(cluster);
    }
    here.wait_for_status(|status| status.ahead_ms == Some(0));
    for cluster in [&ahead, &other] {
        let rows = cluster.run("psql", &["-XqtA", "-c", "SELECT id FROM t"]);
        let rows = here.write_file("rows", &rows);
        here.run("psql", &["-Xq", "-c", &format!("\\copy t FROM '{}'", rows.display())]);
    }
    assert_eq!(audit(&here)[0], (1, 2_000, 1_000, Some(1_000)));
    let (node, ids, _, unissued) = audit(&here)[1];
    assert_eq!((node, ids, unissued), (7, 1_000, Some(0)));
}

/// Before a server's first id since its start, and on a standby, nobody knows what was issued.
#[test]
fn before_the_first_id_and_on_a_standby() {
    let mut cluster = Cluster::builder().start();
    with_table(&cluster);
    let standby = Cluster::builder().standby_of(&cluster).start();
    cluster.wait_for(&standby);
    let [(node, ids, _, unissued)] = audit(&standby)[..] else { panic!("one node") };
    assert_eq!((node, ids, unissued), (1, 1_000, None));
    drop(standby);
    cluster.restart();
    assert_eq!(audit(&cluster)[0].3, None);
    cluster.execute("postgres", "SELECT snowflake_next()");
    assert_eq!(audit(&cluster)[0].3, Some(0));
}

/// Numbers from before the adoption are in a line of their own, and take no part in what is said of nodes.
#[test]
fn old_numbers_of_an_adopted_table() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    cluster.execute(
        "postgres",
        "CREATE TABLE t (id serial PRIMARY KEY); INSERT INTO t SELECT FROM generate_series(1, 5000)",
    );
    cluster.execute("postgres", "SELECT snowflake_adopt('t', 'id')");
    cluster.execute("postgres", "INSERT INTO t SELECT FROM generate_series(1, 100)");
    let query = "SELECT kind, node_id, ids, unissued_ids FROM snowflake_audit('t', 'id')";
    let rows = cluster.connect("postgres").query(query, &[]).expect("the table");
    let rows: Vec<(String, Option<i32>, i64, Option<i64>)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
    assert_eq!(rows, [("snowflake".into(), Some(1), 100, Some(0)), ("number".into(), None, 5_000, None)]);
}
