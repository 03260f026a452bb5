//! The designs that are bound to the clock, on real servers: TrueTime and Unix time, which make the same promise as
//! `snowflake_next()` by the same mechanism, and are never dated ahead of the clock.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use postgres::Client;
use snowflake_servers::ids::{show, timestamp_of};
use snowflake_servers::{
    Cluster, ClusterBuilder, End, FakeClock, Generating, KernelClock, Promise, assert_sql_error,
};

const EPOCH_MS: i64 = 1_288_834_974_657;
const TRUETIME: &str = "SELECT sequencer_truetime_next() FROM generate_series(1, $1::bigint)";
const UNIX: &str = "SELECT sequencer_unix_next() FROM generate_series(1, $1::bigint)";
/// Sessions that neither design gives blocks to.
const SESSIONS: [i64; 6] = [1; 6];

fn builder() -> ClusterBuilder {
    Cluster::builder().set("sequencer.clock_max_error", "3ms")
}

fn create(cluster: &Cluster) {
    cluster.execute("postgres", "CREATE EXTENSION sequencer CASCADE");
}

fn generating<'a>(cluster: &'a Cluster, statement: &'a str) -> Generating<'a> {
    Generating { statement, ids_a_statement: 20, ..Generating::sessions(cluster, &SESSIONS) }
}

fn truetime(client: &mut Client) -> i64 {
    client.query_one("SELECT sequencer_truetime_next()", &[]).expect("an id").get(0)
}

fn unix_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as i64
}

fn compare(client: &mut Client, a: i64, b: i64) -> String {
    client.query_one("SELECT sequencer_truetime_compare($1, $2)", &[&a, &b]).expect("two ids").get(0)
}

/// Unique and in order through crashes of every kind, after each of which the clock is set back further. Seen to fail
/// with words that start at the clock.
#[test]
fn both_keep_the_promise_through_crashes() {
    for statement in [TRUETIME, UNIX] {
        let clock = FakeClock::new();
        let mut cluster = builder().clock(&clock).start();
        create(&cluster);
        let promise = Promise::default();
        for (life, end) in [End::Immediate, End::Kill, End::Fast, End::Immediate].into_iter().enumerate() {
            generating(&cluster, statement).run(&promise, |watch| {
                cluster.execute("postgres", "SELECT count(snowflake_next()) FROM generate_series(1, 1000)");
                watch.wait_until_served();
            });
            cluster.end(end);
            clock.set_offset_ms(-300 * (life as i64 + 1));
            cluster.start();
        }
        generating(&cluster, statement).run(&promise, |_| ());
        assert!(promise.ids() > 1_000);
    }
}

/// The clock is set back and ahead, and its error changes with each reload. Seen to fail with ids that follow the clock
/// back.
#[test]
fn through_clock_steps_and_errors_that_change() {
    let clock = FakeClock::new();
    let cluster = builder().clock(&clock).start();
    create(&cluster);
    let promise = Promise::default();
    generating(&cluster, TRUETIME).run(&promise, |watch| {
        for (step, offset_ms) in [0, -300, 200, -900, 0, 5, 10, -10].into_iter().enumerate() {
            clock.set_offset_ms(offset_ms);
            cluster.set("sequencer.clock_max_error", &format!("{}ms", step % 8));
            cluster.reload();
            watch.wait_until_served();
        }
    });
    // Nor with a node number that changes.
    generating(&cluster, TRUETIME).run(&promise, |watch| {
        for node in [9, 3, 1_023, 0] {
            cluster.set("snowflake.node", &node.to_string());
            cluster.reload();
            watch.wait_until_served();
        }
    });
}

/// The interval of every id holds the time at which it was made, by the server's own clock: also when that is set back,
/// and right after a restart, where snowflake ids are ahead of it. Seen to fail with a series that may lead the clock.
#[test]
fn the_interval_holds_the_time() {
    const MADE: &str = "
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, sequencer_truetime_next(),
               floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let clock = FakeClock::new();
    let mut cluster = builder().clock(&clock).start();
    create(&cluster);
    for offset_ms in [0, -300, -400] {
        let mut client = cluster.connect("postgres");
        truetime(&mut client);
        clock.set_offset_ms(offset_ms);
        for _ in 0..300 {
            let row = client.query_one(MADE, &[]).expect("an id");
            let (begun, id, ended): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
            let earliest = timestamp_of(id) + EPOCH_MS;
            let latest = earliest + ((id >> 18) & 15);
            assert!(
                earliest <= ended && begun <= latest,
                "[{earliest}, {latest}] was made in [{begun}, {ended}], {offset_ms} ms"
            );
        }
        // So that the ceiling is far enough ahead to outlast the restart.
        let ahead = "SELECT snowflake_observe(snowflake_max_id(clock_timestamp() + interval '2 s'))";
        client.query(ahead, &[]).expect("it is not too far");
        drop(client);
        cluster.stop_immediately();
        cluster.start();
    }
}

/// One id a millisecond on a server, however many sessions ask.
#[test]
fn unix_time_has_one_id_a_millisecond() {
    let cluster = builder().start();
    create(&cluster);
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = cluster.connect("postgres");
                let query = "SELECT count(sequencer_unix_next()) FROM generate_series(1, 200)";
                client.query(query, &[]).expect("ids");
            });
        }
    });
    let elapsed = begun.elapsed();
    assert!(elapsed >= Duration::from_millis(799), "800 ids took {elapsed:?}");
    let row = cluster.connect("postgres").query_one(
        "SELECT abs((sequencer_unix_next() >> 10) - extract(epoch FROM clock_timestamp()) * 1000) < 100",
        &[],
    );
    assert!(row.expect("an id").get::<_, bool>(0), "it is not the Unix time");
}

/// What the kernel says, or why it cannot. Seen to fail with a kernel that is not asked whether its clock is
/// synchronised.
#[test]
fn the_kernel_says_how_wrong_the_clock_is() {
    let kernel = KernelClock::synchronised(1_200);
    let cluster = Cluster::builder().kernel_clock(&kernel).start();
    create(&cluster);
    let mut client = cluster.connect("postgres");
    let uncertainty = |client: &mut Client| (truetime(client) >> 18) & 15;
    assert!((2..=3).contains(&uncertainty(&mut client)));
    kernel.set(KernelClock::SYNCHRONISED, 0);
    assert_eq!(uncertainty(&mut client), 0);
    kernel.set(KernelClock::SYNCHRONISED, 7_000);
    assert!((14..=15).contains(&uncertainty(&mut client)));

    const NEXT: &str = "SELECT sequencer_truetime_next()";
    for max_error_us in [8_000, 16_000_000, i64::MAX / 4_000] {
        kernel.set(KernelClock::SYNCHRONISED, max_error_us);
        let texts = ["clock is uncertain by", "at most 15 ms", "sequencer.clock_max_error"];
        assert_sql_error(client.query(NEXT, &[]), "55000", &texts);
    }
    // The state tells, or the status.
    let (state, status) = KernelClock::NOT_SYNCHRONISED;
    for unknown in [(state, 0), (0, status), (state, status), (-1, 0)] {
        kernel.set(unknown, 500);
        let texts = ["clock is not synchronised", "sequencer.clock_max_error"];
        assert_sql_error(client.query(NEXT, &[]), "55000", &texts);
    }
    // Who knows better says so.
    cluster.set("sequencer.clock_max_error", "2ms");
    cluster.reload();
    assert!((4..=5).contains(&uncertainty(&mut client)));
    cluster.set("sequencer.clock_max_error", "8ms");
    cluster.reload();
    assert_sql_error(client.query(NEXT, &[]), "55000", &["clock is uncertain by 16 ms", "at most 15 ms"]);
}

/// Rather an error than a call that sleeps for an hour: generation goes on when the clock is right again.
#[test]
fn a_clock_far_behind_is_refused() {
    let clock = FakeClock::new();
    let cluster = builder().clock(&clock).start();
    create(&cluster);
    let mut client = cluster.connect("postgres");
    let id = truetime(&mut client);
    clock.set_offset_ms(-3_600_000);
    for statement in
        ["SELECT sequencer_truetime_next()", "SELECT sequencer_truetime_wait(sequencer_truetime_next())"]
    {
        assert_sql_error(
            client.query(statement, &[]),
            "55000",
            &["behind the last id of this design", "5000 ms"],
        );
    }
    assert_sql_error(
        client.query("SELECT sequencer_truetime_wait($1)", &[&id]),
        "55000",
        &["behind the id to wait for"],
    );
    clock.set_offset_ms(0);
    assert!(truetime(&mut client) > id);
}

/// After the commit wait, whoever makes an id anywhere makes one that is not before: the clocks of two servers are as
/// far apart as their errors say. Without it, the two overlap. Seen to fail with a wait that ends at once.
#[test]
fn after_the_commit_wait_nothing_comes_before() {
    let clocks = [FakeClock::new(), FakeClock::new()];
    clocks[0].set_offset_ms(3);
    clocks[1].set_offset_ms(-3);
    let servers = [1, 2].map(|node| {
        let clock = &clocks[node as usize - 1];
        let cluster = builder().set("snowflake.node", &node.to_string()).clock(clock).start();
        create(&cluster);
        cluster
    });
    let mut clients = servers.each_ref().map(|server| server.connect("postgres"));
    let mut overlaps = 0;
    for round in 0..200 {
        let (from, to) = (round % 2, 1 - round % 2);
        let first = truetime(&mut clients[from]);
        let concurrent = truetime(&mut clients[to]);
        overlaps += usize::from(compare(&mut clients[0], first, concurrent) == "concurrent");
        clients[from].query("SELECT sequencer_truetime_wait($1)", &[&first]).expect("it passes");
        let begun = unix_ms();
        let second = truetime(&mut clients[to]);
        assert_ne!(compare(&mut clients[0], first, second), "after", "{} and {}", show(first), show(second));
        // The interval of the first is over, by any clock.
        let latest = timestamp_of(first) + ((first >> 18) & 15) + EPOCH_MS;
        assert!(latest < begun + 1, "it is {begun}, and {latest} has not passed");
        let here = truetime(&mut clients[from]);
        assert_eq!(compare(&mut clients[0], first, here), "before");
        assert_eq!(compare(&mut clients[0], here, first), "after");
    }
    assert!(overlaps > 100, "{overlaps} overlaps: the clocks are not apart");
}

/// Nor where the clock becomes less certain after the wait, or is set back: that would date the next id into the interval.
/// Seen to fail with a wait that leaves the word where it is.
#[test]
fn after_the_commit_wait_the_clock_may_go_back() {
    let clock = FakeClock::new();
    let cluster = builder().clock(&clock).start();
    create(&cluster);
    let mut client = cluster.connect("postgres");
    for offset_ms in [-100, -200, -300] {
        let first = truetime(&mut client);
        client.query("SELECT sequencer_truetime_wait($1)", &[&first]).expect("it passes");
        clock.set_offset_ms(offset_ms);
        let second = truetime(&mut client);
        assert_eq!(compare(&mut client, first, second), "before");
    }
}

/// What an operator advances over comes before every id of these designs too, also without a restart.
#[test]
fn what_is_advanced_over_comes_before() {
    let cluster = builder().start();
    create(&cluster);
    let mut client = cluster.connect("postgres");
    let last = [truetime(&mut client), truetime(&mut client)][1];
    // Two seconds.
    let over = last + (2_000 << 22);
    client.query("SELECT snowflake_advance($1)", &[&over]).expect("it is not too far");
    assert!(truetime(&mut client) > over);
    let unix_ms: i64 = client.query_one("SELECT sequencer_unix_next() >> 10", &[]).expect("an id").get(0);
    assert!(unix_ms > timestamp_of(over) + EPOCH_MS, "{unix_ms}");
}

/// On a promoted standby whose clock is behind by less than is waited for.
#[test]
fn a_promoted_standby_waits_for_its_clock() {
    let (primary_clock, standby_clock) = (FakeClock::new(), FakeClock::new());
    let primary = builder().clock(&primary_clock).start();
    create(&primary);
    standby_clock.set_offset_ms(-1_500);
    let standby = builder().standby_of(&primary).clock(&standby_clock).start();
    let mut client = standby.connect("postgres");
    let id = truetime(&mut primary.connect("postgres"));
    primary.wait_for(&standby);
    assert_sql_error(client.query("SELECT sequencer_truetime_next()", &[]), "25006", &["recovery"]);
    drop(primary);
    standby.promote();
    let next = truetime(&mut client);
    assert!(next > id, "{} came after {}", show(next), show(id));
}
