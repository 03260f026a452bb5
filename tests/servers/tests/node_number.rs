//! `snowflake.node` while the server runs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use postgres::NoTls;
use snowflake_servers::ids::{next_ids, node_of};
use snowflake_servers::{Cluster, Drawn, assert_sql_error, calls, draw_while};

const NODES: [i64; 12] = [1, 1023, 0, 512, 2, 3, 1, 700, 255, 256, 0, 1023];

/// Raised and lowered under load: ids rise all the same, each from a node number that was set. Seen to fail with a
/// number that ignores the order within a millisecond.
#[test]
fn reload_under_load() {
    let cluster = Cluster::builder().set("snowflake.node", "1").start();
    cluster.create_extension("postgres");
    let drawn = draw_while(&cluster, &["postgres"], 4, || {
        for node in NODES {
            cluster.set("snowflake.node", &node.to_string());
            cluster.reload();
            thread::sleep(Duration::from_millis(100));
        }
    });
    drawn.assert_unique_and_rising();
    for (session, ids) in drawn.sessions.iter().enumerate() {
        let mut seen: Vec<i64> = ids.iter().map(|&id| node_of(id)).collect();
        seen.dedup();
        assert_eq!(seen, NODES, "the node numbers of session {session}");
    }
}

/// Sessions see a reload at different moments, so for a millisecond or so they generate with different numbers: the
/// order across them holds all the same. Seen to fail with a number that ignores the order within a millisecond.
#[test]
fn sessions_that_see_different_numbers_keep_the_order() {
    let cluster = Cluster::builder().set("snowflake.node", "1023").start();
    cluster.create_extension("postgres");
    let done = AtomicBool::new(false);
    let calls = thread::scope(|scope| {
        scope.spawn(|| {
            for node in ["0", "1023"].into_iter().cycle() {
                cluster.set("snowflake.node", node);
                cluster.reload();
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let calls = calls::call(&cluster, "postgres", 4, 10_000);
        done.store(true, Ordering::Relaxed);
        calls
    });
    let nodes: BTreeSet<i64> = calls.iter().map(|call| node_of(call.id)).collect();
    assert_eq!(nodes, BTreeSet::from([0, 1023]));
    calls::assert_order(&calls);
    Drawn { sessions: vec![calls.iter().map(|call| call.id).collect()] }.assert_unique();
}

/// A long statement goes on with the number it began with. Whoever has seen the reload has a lower one, and must not
/// wait for the statement's end. Seen to fail without the way past a higher number, with thousands of waits;
/// not on a machine so busy that the long statement is interrupted all the time.
#[test]
fn a_lower_number_is_not_starved_by_a_long_statement_with_a_higher_one() {
    let cluster = Cluster::builder().set("snowflake.node", "9").start();
    cluster.create_extension("postgres");
    // With some work beside each id it never uses a millisecond up: so it never waits, and is the first in each.
    let busy = "SELECT count(snowflake_next() + length(md5(md5(n::text))))
                FROM (SELECT generate_series(1, 1000000000000) n) endless";
    let mut long = cluster.connect("postgres");
    let cancel = long.cancel_token();
    thread::scope(|scope| {
        let statement =
            scope.spawn(move || long.batch_execute(busy).expect_err("the statement is cancelled"));
        thread::sleep(Duration::from_millis(100));
        cluster.set("snowflake.node", "3");
        cluster.reload();
        let mut other = cluster.connect("postgres");
        other.batch_execute("SET statement_timeout = '10s'").expect("a setting of one's own");
        let mut next = || other.query_one("SELECT snowflake_next()", &[]).map(|row| row.get(0));
        let ids: Result<Vec<i64>, _> = (0..500).map(|_| next()).collect();
        let waits = other.query_one("SELECT waits FROM snowflake_status()", &[]).map(|row| row.get(0));
        let ended = statement.is_finished();
        cancel.cancel_query(NoTls).expect("a cancel request");
        let ids = ids.expect("ids beside the long statement");
        assert!(!ended, "the long statement has ended");
        // One for each id, or less: from one millisecond to the next.
        let waits: i64 = waits.expect("a status");
        assert!(waits < 3 * 500, "{waits} waits for 500 ids");
        assert!(ids.iter().all(|&id| node_of(id) == 3), "node numbers of {} ids", ids.len());
        assert!(ids.is_sorted());
    });
}

/// Seen to fail with the number of a session's first call.
#[test]
fn alter_system_and_reload_take_effect_in_a_running_session() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut running = cluster.connect("postgres");
    assert_eq!(next_ids(&mut running, 3).into_iter().map(node_of).collect::<Vec<_>>(), [1, 1, 1]);
    cluster.execute("postgres", "ALTER SYSTEM SET snowflake.node = 9");
    cluster.reload();
    assert_eq!(node_of(next_ids(&mut running, 1)[0]), 9);
    cluster.execute("postgres", "ALTER SYSTEM RESET snowflake.node");
    cluster.reload();
    assert_eq!(node_of(next_ids(&mut running, 1)[0]), 1);
}

/// Values that a reload refuses leave the one in force. Seen to fail with a range of twice the size.
#[test]
fn a_bad_value_in_a_reload_changes_nothing() {
    let cluster = Cluster::builder().set("snowflake.node", "5").start();
    cluster.create_extension("postgres");
    let mut running = cluster.connect("postgres");
    for bad in ["1024", "-1", "seven", ""] {
        cluster.set("snowflake.node", bad);
        cluster.reload();
        assert_eq!(node_of(next_ids(&mut running, 1)[0]), 5, "a running session, after {bad:?}");
        let mut new = cluster.connect("postgres");
        assert_eq!(node_of(next_ids(&mut new, 1)[0]), 5, "a new session, after {bad:?}");
    }
}

/// Seen to fail with a number that a session may set.
#[test]
fn only_the_operator_sets_it() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    cluster.execute("postgres", "CREATE ROLE somebody LOGIN");
    let mut somebody = cluster.connect_as("somebody", "postgres");
    for setting in
        ["snowflake.node", "snowflake.epoch", "snowflake.max_clock_step", "snowflake.max_clock_skew"]
    {
        for statement in [
            format!("SET {setting} = '15'"),
            format!("SELECT set_config('{setting}', '15', false)"),
            format!("ALTER ROLE somebody SET {setting} = '15'"),
        ] {
            assert_sql_error(somebody.batch_execute(&statement), "55P02", &[setting]);
        }
        let alter_system = somebody.batch_execute(&format!("ALTER SYSTEM SET {setting} = '15'"));
        assert_sql_error(alter_system, "42501", &[]);
    }
    // The superuser is told the same: these settings belong to the server, not to a session.
    let mut superuser = cluster.connect("postgres");
    assert_sql_error(superuser.batch_execute("SET snowflake.node = 15"), "55P02", &["snowflake.node"]);
    assert_eq!(node_of(next_ids(&mut somebody, 1)[0]), 1);
}

/// A value out of range is refused where it is given. Seen to fail with a range of twice the size.
#[test]
fn alter_system_refuses_what_is_out_of_range() {
    let cluster = Cluster::builder().start();
    let mut client = cluster.connect("postgres");
    for (setting, bad) in [
        ("snowflake.node", "-1"),
        ("snowflake.node", "1024"),
        ("snowflake.node", "2048"),
        ("snowflake.epoch", "-1"),
        ("snowflake.epoch", "2010-11-04"),
        ("snowflake.epoch", "32503680000000"),
        ("snowflake.cache", "0"),
        ("snowflake.cache", "257"),
        ("snowflake.max_clock_step", "9"),
        ("snowflake.max_clock_skew", "-1"),
    ] {
        let result = client.batch_execute(&format!("ALTER SYSTEM SET {setting} = '{bad}'"));
        assert_sql_error(result, "22023", &[setting]);
    }
    for (setting, good) in [
        ("snowflake.node", "0"),
        ("snowflake.node", "1023"),
        ("snowflake.epoch", "1288834974657"),
        ("snowflake.cache", "1"),
        ("snowflake.cache", "256"),
        ("snowflake.max_clock_step", "10"),
        ("snowflake.max_clock_skew", "0"),
    ] {
        client
            .batch_execute(&format!("ALTER SYSTEM SET {setting} = '{good}'"))
            .unwrap_or_else(|error| panic!("{setting} = {good}: {error:?}"));
    }
}
