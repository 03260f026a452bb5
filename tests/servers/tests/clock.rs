//! A clock that is set back under load: ids go on, in order, and come back to the clock.

use std::thread::sleep;
use std::time::Duration;

use snowflake_servers::{Cluster, FakeClock, draw, draw_while};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Sets the clock back again and again while four sessions generate, and returns it in between.
fn step_under_load(step_ms: i64, times: usize) {
    let clock = FakeClock::new();
    let cluster = Cluster::builder().clock(&clock).start();
    cluster.create_extension("postgres");
    let drawn = draw_while(&cluster, &["postgres"], 4, || {
        for _ in 0..times {
            sleep(ms(150));
            clock.set_offset_ms(-step_ms);
            sleep(ms(150));
            clock.set_offset_ms(0);
        }
    });
    drawn.assert_unique_and_rising();
}

/// Seen to fail, as the next two, with ids that follow the clock back.
#[test]
fn five_milliseconds_back_and_forth() {
    step_under_load(5, 10);
}

#[test]
fn two_seconds_back_and_forth() {
    step_under_load(2_000, 5);
}

/// Set back for good: ids run ahead of the clock for as long as the step, and then are the clock's again. The step
/// is counted, and logged, once.
#[test]
fn two_seconds_back_for_good() {
    let clock = FakeClock::new();
    let cluster = Cluster::builder().clock(&clock).start();
    cluster.create_extension("postgres");
    let drawn = draw_while(&cluster, &["postgres"], 4, || {
        sleep(ms(300));
        clock.set_offset_ms(-2_000);
        sleep(ms(500));
    });
    drawn.assert_unique_and_rising();
    sleep(ms(3_000));
    let after = draw(&cluster, &["postgres"], 1, 1);
    after.assert_above(&drawn);
    let status = cluster
        .connect("postgres")
        .query_one("SELECT ahead_ms, clock_regressions, largest_regression_ms FROM snowflake_status()", &[])
        .expect("a status");
    assert!(status.get::<_, i64>(0) < 50, "ids are still {} ms ahead of the clock", status.get::<_, i64>(0));
    assert_eq!(status.get::<_, i64>(1), 1, "regressions counted");
    let largest: f64 = status.get(2);
    assert!((1_900.0..2_100.0).contains(&largest), "the regression of 2000 ms was seen as {largest}");
    assert_eq!(cluster.count_in_log("the clock was set back"), 1, "{}", cluster.log());
}

/// A steady clock under load never looks as if it had been set back. Seen to fail without the tolerance for two
/// readings of one clock.
#[test]
fn a_steady_clock_counts_no_regression() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    draw(&cluster, &["postgres"], 8, 100_000).assert_unique_and_rising();
    let status = cluster
        .connect("postgres")
        .query_one("SELECT clock_regressions, leaps_refused FROM snowflake_status()", &[])
        .expect("a status");
    assert_eq!((status.get::<_, i64>(0), status.get::<_, i64>(1)), (0, 0));
}
