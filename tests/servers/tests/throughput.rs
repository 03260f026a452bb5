//! On the format's ceiling, 4,096 ids a millisecond, and on the clock below it.
//!
//! What is measured is the generating itself, by the ids: how many were issued in how many of their milliseconds.
//! A busy machine makes any one window slow, so the best of several counts.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use snowflake_servers::Cluster;

const IDS_A_MILLISECOND: f64 = 4096.0;
/// Of the ceiling.
const WANTED: f64 = 0.99;
/// Long beside a millisecond, short beside what a scheduler takes from a session on a busy machine.
const WINDOW_MS: usize = 25;
/// How long to look for a good window.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measurements take turns: two at once would measure each other.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ids of all sessions, counted by millisecond inside the server: to send each would cost more than to make it.
fn ids_by_millisecond(cluster: &Cluster, sessions: usize, ids_each: i64) -> BTreeMap<i64, i64> {
    let mut counts = BTreeMap::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = cluster.connect("postgres");
                    client.batch_execute("SET jit = off; SET work_mem = '64MB'").expect("settings");
                    let query = "SELECT snowflake_next() >> 22, count(*) FROM generate_series(1, $1::bigint) GROUP BY 1";
                    let rows = client.query(query, &[&ids_each]).expect("counts");
                    rows.iter().map(|row| (row.get(0), row.get(1))).collect::<Vec<(i64, i64)>>()
                })
            })
            .collect();
        for thread in threads {
            for (millisecond, count) in thread.join().expect("a session") {
                *counts.entry(millisecond).or_default() += count;
            }
        }
    });
    counts
}

/// The share of the ceiling in the best window of consecutive milliseconds.
fn best_window(counts: &BTreeMap<i64, i64>) -> f64 {
    let (Some((&first, _)), Some((&last, _))) = (counts.first_key_value(), counts.last_key_value()) else {
        return 0.0;
    };
    let by_millisecond: Vec<i64> = (first..=last).map(|ms| counts.get(&ms).copied().unwrap_or(0)).collect();
    let best = by_millisecond.windows(WINDOW_MS).map(|window| window.iter().sum::<i64>()).max().unwrap_or(0);
    best as f64 / (WINDOW_MS as f64 * IDS_A_MILLISECOND)
}

fn reaches_the_ceiling(sessions: usize) {
    let _turn = alone();
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut best: f64 = 0.0;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let counts = ids_by_millisecond(&cluster, sessions, 2_000_000 / sessions as i64);
        assert!(counts.values().all(|&count| count <= 4096), "more than 4096 ids in a millisecond");
        best = best.max(best_window(&counts));
        if best >= WANTED {
            println!("{sessions} sessions: {:.2}% of the ceiling", best * 100.0);
            return;
        }
    }
    panic!("{sessions} sessions: only {:.2}% of the ceiling in the best {WINDOW_MS} ms", best * 100.0);
}

/// Seen to fail, as the next one, with sleeps that take two milliseconds more.
#[test]
fn one_session_reaches_the_ceiling() {
    reaches_the_ceiling(1);
}

#[test]
fn two_sessions_reach_the_ceiling() {
    reaches_the_ceiling(2);
}

/// Seen to fail with sleeps that take twenty milliseconds more; with two, others stand in.
#[test]
fn eight_sessions_reach_the_ceiling() {
    reaches_the_ceiling(8);
}

/// Below the ceiling an id's time is the millisecond in which it was made. Seen to fail with ids that stay in a
/// millisecond for three more.
#[test]
fn at_one_id_a_millisecond_the_time_is_the_clocks() {
    let _turn = alone();
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    let row = client
        .query_one(
            "SELECT count(*), count(*) FILTER (WHERE id_ms NOT BETWEEN before_ms AND after_ms),
                    count(*) FILTER (WHERE before_ms = after_ms)
             FROM (SELECT before_ms, snowflake_decode_timestamp_ms(id) AS id_ms, after_ms
                   FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) AS before_ms,
                                snowflake_next() AS id,
                                floor(extract(epoch FROM clock_timestamp()) * 1000) AS after_ms,
                                pg_sleep(0.001)
                         FROM generate_series(1, 2000) OFFSET 0) made OFFSET 0) read",
            &[],
        )
        .expect("ids at rest");
    let (ids, off, exact): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!((ids, off), (2_000, 0), "ids whose time is not the clock's");
    assert!(exact > 1_000, "only {exact} of {ids} were made within one millisecond: the machine is too busy");
}

/// After a burst ids are on the clock again: time taken ahead would not be given back. Seen to fail without the wait
/// for the next millisecond.
#[test]
fn after_a_burst_the_time_is_the_clocks() {
    let _turn = alone();
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    ids_by_millisecond(&cluster, 2, 1_000_000);
    // Far beyond the ceiling, also on a slow machine.
    cluster.execute("postgres", "SELECT count(*) FROM snowflake_next_batch(4000000)");
    let row = cluster
        .connect("postgres")
        .query_one(
            "SELECT snowflake_decode_timestamp_ms(id) - floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
             FROM (SELECT snowflake_next() AS id OFFSET 0) made",
            &[],
        )
        .expect("an id");
    let ahead: i64 = row.get(0);
    assert!((-50..=1).contains(&ahead), "an id after a burst is {ahead} ms off the clock");
}
