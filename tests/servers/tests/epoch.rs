//! The epoch is one for a server's run. Another one that is set meanwhile waits for the restart; moved there, ids go
//! on above, or are refused where they cannot.

use std::time::{SystemTime, UNIX_EPOCH};

use postgres::Client;
use snowflake_servers::ids::{next_ids, timestamp_of};
use snowflake_servers::{Cluster, FakeClock, Generating, Promise, SqlError, assert_sql_error};

const NEXT: &str = "SELECT snowflake_next()";
const EPOCH_MS: i64 = 1_288_834_974_657;
const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn set_epoch(cluster: &Cluster, epoch_ms: i64) {
    cluster.set("snowflake.epoch", &epoch_ms.to_string());
}

fn number(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
}

fn epoch_in_force(cluster: &Cluster) -> i64 {
    number(&mut cluster.connect("postgres"), "SELECT snowflake_epoch_ms()")
}

fn next_id(cluster: &Cluster) -> i64 {
    next_ids(&mut cluster.connect("postgres"), 1)[0]
}

/// Milliseconds from what an id decodes to, to now.
fn age_of_next_ms(cluster: &Cluster) -> i64 {
    number(
        &mut cluster.connect("postgres"),
        "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - snowflake_decode_timestamp_ms(id)
         FROM (SELECT snowflake_next() AS id OFFSET 0) made",
    )
}

/// Under load. The log tells of each value once, whoever comes across it. Seen to fail with an epoch that follows a
/// reload.
#[test]
fn another_value_waits_for_the_restart() {
    let mut preloads = vec![true];
    preloads.extend((!preloading_is_needed()).then_some(false));
    for preloaded in preloads {
        let builder = if preloaded { Cluster::builder() } else { Cluster::builder().not_preloaded() };
        let cluster = builder.start();
        cluster.create_extension("postgres");
        let promise = Promise::default();
        let logged = if preloaded {
            "parameter \"snowflake.epoch\" cannot be changed without restarting the server"
        } else {
            "stays in force until the server restarts"
        };
        Generating::sessions(&cluster, &[1, 1, 1, 64]).run(&promise, |watch| {
            for (times, days) in [(1, 1), (2, -300)] {
                let millisecond = timestamp_of(promise.highest());
                set_epoch(&cluster, EPOCH_MS + days * DAY_MS);
                cluster.reload();
                watch.wait_until_served();
                let on = timestamp_of(promise.highest()) - millisecond;
                assert!((0..HOUR_MS).contains(&on), "ids went on by {on} ms");
                assert_eq!(epoch_in_force(&cluster), EPOCH_MS);
                assert!((-100..60_000).contains(&age_of_next_ms(&cluster)), "decoded with another epoch");
                assert_eq!(cluster.count_in_log(logged), times, "{logged}");
            }
        });
    }
}

fn preloading_is_needed() -> bool {
    !Cluster::builder().start().generates_unloaded()
}

/// Ids would be dated below those there are: refused, and both are named that can be the cause. Seen to fail without
/// the check for a clock that is behind.
#[test]
fn moved_later_beyond_the_limit() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let before = next_id(&cluster);
    set_epoch(&cluster, EPOCH_MS + 2 * DAY_MS);
    for _ in 0..2 {
        cluster.restart();
        let refused = cluster.connect("postgres").query(NEXT, &[]);
        assert_sql_error(refused, "55000", &["ms behind the last snowflake id", "86400000 ms allowed"]);
        let refused = cluster.connect("postgres").query(NEXT, &[]);
        assert_sql_error(refused, "55000", &["snowflake.epoch was moved later", "snowflake.max_clock_step"]);
    }
    set_epoch(&cluster, EPOCH_MS);
    cluster.restart();
    assert!(next_id(&cluster) > before);
}

/// Ids run ahead of the clock by as much as the epoch was moved. Seen to fail with the word started at the clock.
#[test]
fn moved_later_within_the_limit() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let before = next_id(&cluster);
    set_epoch(&cluster, EPOCH_MS + HOUR_MS);
    cluster.restart();
    assert!(next_id(&cluster) > before);
    let ahead = cluster.status().ahead_ms.expect("ids were issued");
    assert!((HOUR_MS - 60_000..=HOUR_MS).contains(&ahead), "{ahead} ms ahead");
    assert_eq!(epoch_in_force(&cluster), EPOCH_MS + HOUR_MS);
    let age = age_of_next_ms(&cluster);
    assert!((-HOUR_MS..-HOUR_MS + 60_000).contains(&age), "decoded as {age} ms old");
}

/// Ids jump ahead, and are the clock's; the way back is refused. Seen to fail with the word started at the clock, and
/// without the check for a clock that is behind.
#[test]
fn moved_earlier_and_back() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let before = next_id(&cluster);
    set_epoch(&cluster, EPOCH_MS - 30 * DAY_MS);
    cluster.restart();
    let after = next_id(&cluster);
    let on = timestamp_of(after) - timestamp_of(before);
    assert!((30 * DAY_MS..30 * DAY_MS + HOUR_MS).contains(&on), "ids went on by {on} ms");
    assert!((-100..60_000).contains(&age_of_next_ms(&cluster)));
    // What was issued before is decoded with the epoch in force, or with the one that is given.
    let decoded = |epoch: &str| format!("SELECT snowflake_decode_timestamp_ms({before}{epoch})");
    let mut client = cluster.connect("postgres");
    let with_given = number(&mut client, &decoded(&format!(", {EPOCH_MS}")));
    assert_eq!(number(&mut client, &decoded("")), with_given - 30 * DAY_MS);
    drop(client);

    set_epoch(&cluster, EPOCH_MS);
    cluster.restart();
    let refused = cluster.connect("postgres").query(NEXT, &[]);
    assert_sql_error(refused, "55000", &["ms behind the last snowflake id"]);
}

/// The clock comes to the format's end. The log warns of that beforehand, ids go on to the last milliseconds, and then
/// there is none: not even a negative one, and not after a restart. Seen to fail without the check of the clock against
/// the format.
#[test]
fn the_format_ends() {
    const LAST_MS: i64 = (1 << 41) - 1;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_millis() as i64;
    let clock = FakeClock::new();
    clock.set_offset_ms(EPOCH_MS + LAST_MS - now - 8_000);
    let mut cluster = Cluster::builder().clock(&clock).start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    let (mut last, mut ids) = (0, 0);
    let refusal = loop {
        match client.query_one(NEXT, &[]) {
            Ok(row) => {
                let id: i64 = row.get(0);
                assert!(id > last, "{id} after {last}");
                (last, ids) = (id, ids + 1);
            }
            Err(error) => break SqlError::of(&error),
        }
    };
    assert!(ids > 0, "the format had ended before the first id: {refusal}");
    refusal.assert("54000", &["2199023255551", "snowflake.epoch"]);
    assert!(
        last >> 22 >= LAST_MS - 1_000,
        "the last id is from {} ms before the end",
        LAST_MS - (last >> 22)
    );
    assert_eq!(cluster.count_in_log("WARNING:  snowflake: the timestamps of this epoch end in 0 days"), 1);

    cluster.restart();
    for _ in 0..2 {
        assert_sql_error(cluster.connect("postgres").query(NEXT, &[]), "54000", &["snowflake.epoch"]);
    }
}
