//! Servers that are made from another's data (backup, copy, dump, template), and replication origins and slots that
//! serve others on the same server.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use snowflake_servers::history::rows_of;
use snowflake_servers::load::Life;
use snowflake_servers::{Cluster, ClusterBuilder, End, FakeClock, History, Load, Work, draw};

const NODE: i64 = 3;
const TEN_MINUTES_MS: i64 = 600_000;

fn builder(clock: &FakeClock) -> ClusterBuilder {
    Cluster::builder().set("snowflake.node", &NODE.to_string()).clock(clock)
}

fn behind() -> FakeClock {
    let clock = FakeClock::new();
    clock.set_offset_ms(-TEN_MINUTES_MS);
    clock
}

/// Load for a while.
fn issue(cluster: &Cluster, database: &str) -> Life {
    let load = Load::start(cluster, database, &Work::ALL);
    thread::sleep(Duration::from_millis(200));
    load.stop()
}

/// The server that is recovered to a point in the past, with its clock set back, has the rows of that time, and its
/// ids are above all that had been issued by then. Seen to fail with the word started at the clock, and with a
/// ceiling that is not written to the WAL.
#[test]
fn point_in_time_recovery() {
    let clock = FakeClock::new();
    let primary = builder(&clock).archiving().start();
    primary.create_table("postgres");
    let mut history = History::new(NODE);
    history.add(issue(&primary, "postgres"));
    let load = Load::start(&primary, "postgres", &Work::ALL);
    let backup = primary.base_backup();
    history.add(load.stop());
    // Without a row: only the ceiling tells of these.
    history.add_drawn(&draw(&primary, &["postgres"], 2, 1_000));
    primary.execute("postgres", "SELECT pg_create_restore_point('past')");
    let past = rows_of(&primary, "postgres");
    issue(&primary, "postgres");
    primary.archive_wal();
    let archive = primary.archive();

    let clock = behind();
    let mut recovered = builder(&clock).copy_of(&backup).create();
    recovered.recover_to(&archive, "past");
    assert!(rows_of(&recovered, "postgres") == past, "the recovered server has other rows");
    history.check_rows(&recovered, "postgres");
    history.add(issue(&recovered, "postgres"));
    history.check_rows(&recovered, "postgres");
}

/// A copy that is given a node number of its own goes on beside the original. Seen to fail with the word started at
/// the clock, which was behind for the copy.
#[test]
fn a_copied_data_directory() {
    let clock = FakeClock::new();
    let mut original = builder(&clock).start();
    original.create_table("postgres");
    let mut history = History::new(NODE);
    history.add(issue(&original, "postgres"));
    original.stop();
    let (clock_of_copy, node_of_copy) = (behind(), NODE + 1);
    let copy = builder(&clock_of_copy)
        .set("snowflake.node", &node_of_copy.to_string())
        .copy_of(original.data())
        .start();
    original.start();
    let mut history_of_copy = history.clone();
    history_of_copy.renumber(node_of_copy);

    let load = Load::start(&original, "postgres", &Work::ALL);
    let life_of_copy = issue(&copy, "postgres");
    let mut life = load.stop();
    history.add(life.clone());
    history_of_copy.add(life_of_copy.clone());
    history.check_rows(&original, "postgres");
    history_of_copy.check_rows(&copy, "postgres");
    life.extend(life_of_copy);
    life.drawn.assert_unique();
}

/// A dump carries rows, not the ceiling: snowflake_advance tells the new server of them, for good. Seen to fail with
/// an advance that does nothing, and (after the crash) with one that moves the word and not the ceiling.
#[test]
fn dump_and_restore() {
    let clock = FakeClock::new();
    let old = builder(&clock).start();
    old.create_table("postgres");
    issue(&old, "postgres");
    let dump = old.write_file("dump.sql", &old.run("pg_dump", &[]));
    let dump = dump.to_str().expect("paths of tests are UTF-8");

    let clock = behind();
    for crash in [false, true] {
        let mut new = builder(&clock).start();
        new.run("psql", &["--set=ON_ERROR_STOP=1", "--quiet", "--file", dump]);
        assert!(rows_of(&new, "postgres") == rows_of(&old, "postgres"), "the new server has other rows");
        let mut history = History::new(NODE);
        history.check_rows(&new, "postgres");
        new.execute("postgres", "SELECT snowflake_advance(max(id)) FROM t");
        if crash {
            new.end(End::Immediate);
            new.start();
        }
        history.add(issue(&new, "postgres"));
        history.check_rows(&new, "postgres");
    }
}

/// A database made from another has its table, and the table's default. Seen to fail with a word in each session.
#[test]
fn a_database_made_from_another() {
    let clock = FakeClock::new();
    let cluster = builder(&clock).start();
    cluster.execute("postgres", "CREATE DATABASE one");
    cluster.create_table("one");
    let mut history = History::new(NODE);
    history.add(issue(&cluster, "one"));
    cluster.execute("postgres", "CREATE DATABASE two TEMPLATE one");
    let load = Load::start(&cluster, "one", &Work::ALL);
    let mut life = issue(&cluster, "two");
    life.extend(load.stop());
    history.add(life);
    let (one, two) = (rows_of(&cluster, "one"), rows_of(&cluster, "two"));
    assert!(one.len() > one.intersection(&two).count(), "no row was added to the first");
}

/// What a logical slot decodes is what was committed, each row once, as written here: the origin that holds the
/// ceiling does not make them another server's. Seen to fail with sessions that have an origin after they raised.
#[test]
fn logical_decoding() {
    let clock = FakeClock::new();
    let mut cluster = builder(&clock).set("wal_level", "logical").start();
    cluster.create_table("postgres");
    let create = "SELECT pg_create_logical_replication_slot('slot', 'test_decoding')";
    cluster.execute("postgres", create);
    let mut history = History::new(NODE);
    let mut decoded = HashSet::new();
    for life in 0..3 {
        let load = Load::start(&cluster, "postgres", &Work::ALL);
        thread::sleep(Duration::from_millis(200));
        cluster.end(if life % 2 == 0 { End::Immediate } else { End::Fast });
        history.add(load.stop());
        cluster.start();
        history.check_rows(&cluster, "postgres");
        let query = "SELECT substring(data FROM 'INSERT: id.bigint.:([0-9]+)')::bigint
                     FROM pg_logical_slot_get_changes('slot', NULL, NULL, 'only-local', '1', 'include-xids', '0')
                     WHERE data NOT IN ('BEGIN', 'COMMIT')";
        let rows = cluster.connect("postgres").query(query, &[]).expect("the slot is there");
        let now: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(now.len(), rows.len(), "a row was decoded twice");
        // After a crash PostgreSQL decodes again what had been read since the last checkpoint.
        decoded.extend(now);
    }
    assert!(decoded == rows_of(&cluster, "postgres"), "other rows were decoded than there are");
}

/// A subscription on the same server, whose apply worker generates ids itself: its progress and ours are two things,
/// through crashes. Seen to fail with the ceiling in the origin of the subscription.
#[test]
fn a_subscription_on_the_same_server() {
    let clock = FakeClock::new();
    let mut cluster =
        builder(&clock).set("wal_level", "logical").set("wal_retrieve_retry_interval", "100ms").start();
    for database in ["publisher", "subscriber"] {
        cluster.execute("postgres", &format!("CREATE DATABASE {database}"));
    }
    cluster.create_table("publisher");
    cluster.create_table("subscriber");
    let add = "ALTER TABLE t ADD COLUMN own bigint NOT NULL UNIQUE DEFAULT snowflake_next()";
    cluster.execute("subscriber", add);
    let mut history = History::new(NODE);
    // These come over by the synchronization of the table, which has an origin of its own meanwhile.
    history.add(issue(&cluster, "publisher"));
    cluster.execute("publisher", "CREATE PUBLICATION publication FOR TABLE t");
    // A subscription to its own server cannot create its slot itself.
    cluster.execute("publisher", "SELECT pg_create_logical_replication_slot('slot', 'pgoutput')");
    let connection = cluster.connection_string("publisher");
    cluster.execute(
        "subscriber",
        &format!(
            "CREATE SUBSCRIPTION subscription CONNECTION '{connection}' PUBLICATION publication
             WITH (create_slot = false, slot_name = 'slot')"
        ),
    );
    for life in 0..3 {
        let load = Load::start(&cluster, "publisher", &Work::ALL);
        thread::sleep(Duration::from_millis(300));
        cluster.end(if life % 2 == 0 { End::Immediate } else { End::Fast });
        history.add(load.stop());
        cluster.start();
        history.check_rows(&cluster, "publisher");
    }
    let written = rows_of(&cluster, "publisher");
    cluster.wait_until("subscriber", &format!("SELECT count(*) >= {} FROM t", written.len()));
    assert!(rows_of(&cluster, "subscriber") == written, "the subscriber has other rows");
    assert_eq!(cluster.count_in_log("duplicate key"), 0, "a row came over twice");
    let own: HashSet<i64> = cluster
        .connect("subscriber")
        .query("SELECT own FROM t", &[])
        .expect("the table is there")
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(own.len(), written.len());
    assert!(own.is_disjoint(&written), "an id of the apply worker was issued to another session as well");
    let origins: Vec<i64> = cluster.origins().iter().map(|origin| origin.id).collect();
    assert_eq!(origins.len(), 2, "{origins:?}");
    assert_eq!(origins[1], 65_534, "{origins:?}");
}
