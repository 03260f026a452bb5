//! The slot for a replication origin that the ceiling needs: none free, all taken, lowered below use, on the primary
//! and on a standby, and what docs/operations.md says of each. No id is issued without a slot, and none is lost.

use std::fs;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use snowflake_servers::ids::next_ids;
use snowflake_servers::{Cluster, ClusterBuilder, FakeClock, assert_sql_error};

const NEXT: &str = "SELECT snowflake_next()";
/// PostgreSQL's default.
const MANY: &str = "10";
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The setting that limits the slots, of the server that is tested.
fn setting() -> &'static str {
    static SETTING: OnceLock<&str> = OnceLock::new();
    SETTING.get_or_init(|| Cluster::builder().start().origin_slots_setting())
}

fn with_slots(slots: &str) -> ClusterBuilder {
    Cluster::builder().set(setting(), slots)
}

fn assert_no_slot(cluster: &Cluster, slots: &str) {
    let mut client = cluster.connect("postgres");
    let of = format!("of {slots}");
    assert_sql_error(client.query(NEXT, &[]), "53400", &[setting(), &of, "restart", "No id was issued"]);
}

fn highest(cluster: &Cluster) -> i64 {
    next_ids(&mut cluster.connect("postgres"), 100)[99]
}

/// Takes slots, as subscriptions do.
fn take_slots(cluster: &Cluster, count: usize) {
    cluster.execute(
        "postgres",
        &format!(
            "SELECT pg_replication_origin_create('other_' || n) FROM generate_series(1, {count}) n;
             SELECT pg_replication_origin_advance(roname, '0/1') FROM pg_replication_origin"
        ),
    );
}

/// Waits until the server has ended by itself, and has logged why.
fn wait_for_log(cluster: &Cluster, text: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    while cluster.count_in_log(text) == 0 {
        assert!(Instant::now() < end, "{text:?} is not in the log:\n{}", cluster.log());
        sleep(Duration::from_millis(5));
    }
}

/// The error holds no lock: it comes as often as it is asked for, and other sessions get it too (case 48). Seen to
/// fail with a lock of our own in the place of PostgreSQL's: the second call hung.
#[test]
fn no_slot_at_all() {
    let mut cluster = with_slots("0").start();
    cluster.create_extension("postgres");
    assert_eq!(cluster.status().free_origin_slots, 0);
    let (mut one, mut other) = (cluster.connect("postgres"), cluster.connect("postgres"));
    for _ in 0..100 {
        assert_sql_error(one.query(NEXT, &[]), "53400", &[setting()]);
    }
    let caught = "DO $$
        BEGIN
            FOR i IN 1..100 LOOP
                BEGIN
                    PERFORM snowflake_next();
                    RAISE 'an id was issued';
                EXCEPTION WHEN configuration_limit_exceeded THEN NULL;
                END;
            END LOOP;
        END $$";
    one.batch_execute(caught).expect("each is an error of its own");
    assert_sql_error(other.query(NEXT, &[]), "53400", &[setting()]);
    assert_sql_error(other.query("SELECT snowflake_advance(1 << 30)", &[]), "53400", &[]);
    assert_eq!(cluster.status().last_id, None);

    cluster.set(setting(), "1");
    cluster.restart();
    assert!(highest(&cluster) > 0);
    assert_eq!(cluster.status().free_origin_slots, 0);
}

/// A slot that becomes free is enough: nothing has to be restarted. Seen to fail with PostgreSQL's words in the place
/// of ours, and with a ceiling that is kept nowhere.
#[test]
fn all_slots_taken_by_others() {
    let cluster = with_slots("3").start();
    cluster.create_extension("postgres");
    take_slots(&cluster, 3);
    assert_no_slot(&cluster, "3");
    assert_eq!(cluster.status().last_id, None);
    cluster.execute("postgres", "SELECT pg_replication_origin_drop('other_2')");
    assert!(highest(&cluster) > 0);
    // And is the generator's now.
    cluster.execute("postgres", "SELECT pg_replication_origin_create('late')");
    let late = cluster.connect("postgres").query("SELECT pg_replication_origin_advance('late', '0/1')", &[]);
    assert_sql_error(late, "53400", &[]);
    assert!(highest(&cluster) > 0);
}

/// PostgreSQL keeps the file it cannot read; the ceiling is back with the slots. Seen to fail with PostgreSQL's words
/// in the place of ours.
#[test]
fn lowered_to_none_after_use() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let before = highest(&cluster);

    cluster.stop();
    cluster.set(setting(), "0");
    cluster.start();
    assert_no_slot(&cluster, "0");
    cluster.set(setting(), MANY);
    cluster.restart();
    let between = highest(&cluster);
    assert!(between > before, "{between} after {before}");

    // After a crash there is a record to replay, and no slot for it.
    cluster.stop_immediately();
    cluster.set(setting(), "0");
    let log = cluster.try_start().expect_err("it does not start");
    let refused = "could not find free replication state slot for replication origin with ID 65534";
    assert!(log.contains(&format!("FATAL:  {refused}")), "{log}");
    cluster.set(setting(), MANY);
    cluster.start();
    let after = highest(&cluster);
    assert!(after > between, "{after} after {between}");
}

/// Seen to fail with a ceiling that is kept nowhere.
#[test]
fn lowered_below_use() {
    let mut cluster = with_slots("3").start();
    cluster.create_extension("postgres");
    take_slots(&cluster, 2);
    let before = highest(&cluster);
    cluster.stop();
    cluster.set(setting(), "2");
    let log = cluster.try_start().expect_err("it does not start");
    assert!(log.contains("PANIC:  could not find free replication state, increase"), "{log}");
    cluster.set(setting(), "3");
    cluster.start();
    let after = highest(&cluster);
    assert!(after > before, "{after} after {before}");
}

/// Replay stops, and nothing is lost: with a slot the standby catches up, and is as good as any when promoted. Seen to
/// fail with a ceiling that is not written to the WAL.
#[test]
fn a_standby_without_a_slot() {
    let primary = Cluster::builder().start();
    primary.create_extension("postgres");
    let mut standby = Cluster::builder().standby_of(&primary).set(setting(), "0").start();
    let before = highest(&primary);
    wait_for_log(
        &standby,
        "FATAL:  could not find free replication state slot for replication origin with ID 65534",
    );
    standby.stop();
    standby.set(setting(), MANY);
    standby.start();
    primary.wait_for(&standby);
    standby.promote();
    let after = highest(&standby);
    assert!(after > before, "{after} after {before}");
}

/// Promoted before a record came: no id, until there is a slot; then the ceiling that the base backup had. Seen to
/// fail with the word started at the clock.
#[test]
fn a_standby_without_a_slot_that_is_promoted() {
    let clock = FakeClock::new();
    let primary = Cluster::builder().start();
    primary.create_extension("postgres");
    let before = highest(&primary);
    primary.execute("postgres", "CHECKPOINT");
    // Behind, so that only the ceiling keeps its ids above.
    clock.set_offset_ms(-600_000);
    let mut standby = Cluster::builder().standby_of(&primary).set(setting(), "0").clock(&clock).start();
    standby.promote();
    assert_no_slot(&standby, "0");
    standby.set(setting(), MANY);
    standby.restart();
    let after = highest(&standby);
    assert!(after > before, "{after} after {before}");
}

/// The origin gets a name for a moment: the statements of docs/operations.md, "Repairing the ceiling".
fn repair(cluster: &Cluster, ceiling: &str) {
    cluster.execute(
        "postgres",
        &format!(
            "BEGIN;
             INSERT INTO pg_replication_origin (roident, roname) VALUES (65534, 'snowflake_ceiling');
             SELECT pg_replication_origin_advance('snowflake_ceiling', {ceiling});
             DELETE FROM pg_replication_origin WHERE roident = 65534;
             COMMIT;"
        ),
    );
}

/// Seen to fail without the check of what was found.
#[test]
fn a_ceiling_that_is_no_id_is_refused_and_repaired() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let before = highest(&cluster);
    repair(&cluster, "'FFFFFFFF/FFFFFFFF'");
    // The running server knows its ceiling. The next start looks.
    assert!(highest(&cluster) > before);
    cluster.restart();
    let refused = cluster.connect("postgres").query(NEXT, &[]);
    assert_sql_error(
        refused,
        "55000",
        &["18446744073709551615", "65534", "not a snowflake id", "docs/operations.md"],
    );
    repair(&cluster, "'0/0'::pg_lsn + snowflake_max_id(now())");
    cluster.restart();
    let after = highest(&cluster);
    assert!(after > before, "{after} after {before}");
    cluster.wait_for_status(|status| status.ahead_ms == Some(0));
}

/// What the server knows of its ceiling is thrown away. The log tells, at the start that finds none and at no other;
/// with a clock that is right ids go on above, and otherwise once the server is told of those there are. Seen to fail
/// with the word started at the clock (the log), and with an advance that leaves the word.
#[test]
fn a_ceiling_that_is_lost_is_told_of() {
    const NO_CEILING: &str = "LOG:  snowflake: there is no ceiling";
    let clock = FakeClock::new();
    let mut cluster = Cluster::builder().clock(&clock).start();
    cluster.create_extension("postgres");
    let mut before = highest(&cluster);
    assert_eq!(cluster.count_in_log(NO_CEILING), 1, "a new server");
    cluster.restart();
    before = before.max(highest(&cluster));
    assert_eq!(cluster.count_in_log(NO_CEILING), 1, "it had a ceiling");
    for (lives, behind_ms) in [(2, 0), (3, 60_000)] {
        cluster.stop();
        fs::remove_file(cluster.data().join("pg_logical/replorigin_checkpoint")).expect("a ceiling");
        clock.set_offset_ms(-behind_ms);
        cluster.start();
        if behind_ms > 0 {
            cluster.execute("postgres", &format!("SELECT snowflake_advance({before})"));
        }
        let after = highest(&cluster);
        assert!(after > before, "{after} after {before}");
        assert_eq!(cluster.count_in_log(NO_CEILING), lives);
        before = after;
    }
}

/// Ids dated ten days ahead were removed; the ceiling is put back, down. Seen to fail with the word started at the
/// clock.
#[test]
fn a_ceiling_far_ahead_is_put_back() {
    let clock = FakeClock::new();
    clock.set_offset_ms(10 * DAY_MS);
    let mut cluster = Cluster::builder().clock(&clock).start();
    cluster.create_extension("postgres");
    let ahead = highest(&cluster);
    clock.set_offset_ms(0);
    for _ in 0..2 {
        let refused = cluster.connect("postgres").query(NEXT, &[]);
        assert_sql_error(refused, "55000", &["ms behind the last snowflake id"]);
        cluster.restart();
    }
    repair(&cluster, "'0/0'::pg_lsn + snowflake_max_id(now())");
    cluster.restart();
    let after = highest(&cluster);
    assert!(after < ahead - ((9 * DAY_MS) << 22), "{after} is still near {ahead}");
    cluster.wait_for_status(|status| status.ahead_ms == Some(0));
}

/// The statements of docs/operations.md, "Uninstalling". Seen to fail with a ceiling that is kept nowhere.
#[test]
fn the_slot_is_freed() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    highest(&cluster);
    let origins = "SELECT count(*) FROM pg_replication_origin_status WHERE local_id = 65534";
    let count = |cluster: &Cluster| -> i64 {
        cluster.connect("postgres").query_one(origins, &[]).expect("a count").get(0)
    };
    assert_eq!(count(&cluster), 1);
    cluster.execute("postgres", "DROP EXTENSION snowflake");
    cluster.set("shared_preload_libraries", "");
    cluster.restart();
    assert_eq!(count(&cluster), 1, "it is kept until it is dropped");
    cluster.execute(
        "postgres",
        "BEGIN;
         INSERT INTO pg_replication_origin (roident, roname) VALUES (65534, 'snowflake_ceiling');
         SELECT pg_replication_origin_drop('snowflake_ceiling');
         COMMIT;",
    );
    assert_eq!(count(&cluster), 0);
    cluster.restart();
    assert_eq!(count(&cluster), 0);
}
