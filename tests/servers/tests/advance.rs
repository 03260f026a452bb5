//! `snowflake_advance(id)` on a real server: no id at or below it from any session from then on, through restarts.

use std::thread::{self, sleep};
use std::time::Duration;

use postgres::Client;
use snowflake_servers::ids::{next_ids, show};
use snowflake_servers::status::{wait_until_waiting, waits_for_ceiling, waits_for_flush};
use snowflake_servers::{Cluster, FlushGate, Generating, Promise, assert_sql_error};

/// Of ids of one millisecond.
const MS: i64 = 1 << 22;

fn advance(client: &mut Client, id: i64) {
    client.query("SELECT snowflake_advance($1)", &[&id]).expect("it is not too far");
}

fn next_id(cluster: &Cluster) -> i64 {
    next_ids(&mut cluster.connect("postgres"), 1)[0]
}

/// Sessions that hold blocks of all sizes drop them. Some steps end in the middle of the millisecond that ids are
/// issued in. Seen to fail with a word that an advance leaves where it is, or takes to the id and not past its
/// millisecond, and with blocks that outlive their millisecond.
#[test]
fn under_load_of_sessions_with_blocks() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut operator = cluster.connect("postgres");
    let promise = Promise::default();
    let mut generating = Generating::sessions(&cluster, &[1, 1, 16, 64, 64, 256, 256]);
    // Few at a time, so that blocks are left over from one statement to the next.
    generating.ids_a_statement = 3;
    generating.run(&promise, |watch| {
        for step in 0..60 {
            let ahead = [0, 7, 50 * MS, 300 * MS][step % 4];
            let target = promise.highest() + ahead;
            advance(&mut operator, target);
            promise.forbid_up_to(target);
            watch.wait_until_served();
        }
    });
}

/// What was promised is in the WAL. Seen to fail with an advance that leaves the ceiling, and with the word started at
/// the clock.
#[test]
fn through_immediate_restarts() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut highest = 0;
    for round in 0..6 {
        let mut client = cluster.connect("postgres");
        let target = next_ids(&mut client, 1)[0] + 20_000 * MS;
        advance(&mut client, target);
        highest = if round % 2 == 0 { target } else { next_ids(&mut client, 5_000)[4_999] };
        drop(client);
        if round % 3 == 2 {
            cluster.kill();
        } else {
            cluster.stop_immediately();
        }
        cluster.start();
        let next = next_id(&cluster);
        assert!(next > highest, "{} came after {}", show(next), show(highest));
    }
    cluster.restart();
    assert!(next_id(&cluster) > highest);
}

/// A session that advances less far does not take back what another has done. Seen to fail with nothing that keeps an
/// advance from lowering the word.
#[test]
fn from_several_sessions_at_once() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    for _ in 0..5 {
        let from = next_id(&cluster);
        thread::scope(|scope| {
            for session in 0..8 {
                let cluster = &cluster;
                scope.spawn(move || {
                    let mut client = cluster.connect("postgres");
                    for step in 0..20 {
                        let target = from + (step * 37 + session * 11) % 150 * 20 * MS;
                        advance(&mut client, target);
                        let next = next_ids(&mut client, 1)[0];
                        assert!(next > target, "{} after an advance to {}", show(next), show(target));
                    }
                });
            }
        });
    }
}

/// One that has waited while another went further does not take that back either. Seen to fail with a store in the
/// place of the maximum.
#[test]
fn after_a_wait_for_another_that_went_further() {
    let gate = FlushGate::new();
    let cluster = Cluster::builder().flushes_through(&gate).start();
    cluster.create_extension("postgres");
    let from = next_id(&cluster);
    let (near, far) = (from + 20_000 * MS, from + 40_000 * MS);
    gate.close();
    thread::scope(|scope| {
        for (target, event) in [(far, waits_for_flush(&cluster)), (near, waits_for_ceiling(&cluster))] {
            let mut client = cluster.connect("postgres");
            scope.spawn(move || advance(&mut client, target));
            wait_until_waiting(&cluster, 1, event);
        }
        gate.open();
    });
    let next = next_id(&cluster);
    assert!(next > far, "{} after an advance to {}", show(next), show(far));
}

/// Ids that would be dated too far ahead are refused, until the limit is raised. Lower ids change nothing. Seen to
/// fail without the limit.
#[test]
fn within_the_limit() {
    let cluster = Cluster::builder().set("snowflake.max_clock_step", "1h").start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    let far = next_ids(&mut client, 1)[0] + 3_700_000 * MS;
    let refused = client.query("SELECT snowflake_advance($1)", &[&far]);
    assert_sql_error(refused, "22023", &[&far.to_string(), "3600000 ms", "snowflake.max_clock_step"]);
    let unchanged = cluster.status();
    assert!(unchanged.ahead_ms < Some(5_000), "{unchanged:?}");
    cluster.set("snowflake.max_clock_step", "2h");
    cluster.reload();
    advance(&mut client, far);
    assert!(next_ids(&mut client, 1)[0] > far);
    let before = cluster.status();
    advance(&mut client, far - 1_000 * MS);
    assert_eq!(cluster.status().last_id, before.last_id);
}

/// The ceiling is two seconds ahead of the last advance, and has a farther one covered. Seen to fail where the distance
/// was looked at only for a ceiling that has to be raised.
#[test]
fn beyond_the_limit_and_below_the_ceiling() {
    let cluster = Cluster::builder().set("snowflake.max_clock_step", "1h").start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    // Until the ceiling has its whole lead, which is counted from the first id on 17 and newer.
    next_ids(&mut client, 1);
    sleep(Duration::from_millis(2_500));
    let near = next_ids(&mut client, 1)[0] + 3_599_000 * MS;
    advance(&mut client, near);
    let covered = cluster.status().ceiling_id.expect("there are ids") - MS;
    let refused = client.query("SELECT snowflake_advance($1)", &[&covered]);
    assert_sql_error(refused, "22023", &[&covered.to_string(), "3600000 ms", "snowflake.max_clock_step"]);
    assert!(next_ids(&mut client, 1)[0] > near);
}
