//! Waiting for the next millisecond: cancellable, visible, and nothing is lost by it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::NoTls;
use snowflake_servers::ids::next_ids;
use snowflake_servers::{Cluster, Drawn, assert_sql_error};

/// More than anybody waits for; with several sessions at it, each sleeps in most milliseconds.
/// The series is made row by row, which it is not in FROM.
const ENDLESS: &str =
    "SELECT count(snowflake_next()) FROM (SELECT generate_series(1, 1000000000000)) endless";
/// How late a cancelled statement may end on a busy machine.
const LATE: Duration = Duration::from_secs(5);

/// Seen to fail with sleeps of six seconds that no signal ends. Between two ids the executor looks for interrupts as
/// well.
#[test]
fn statement_timeout() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let drawn = thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = cluster.connect("postgres");
                    let mut ids = Vec::new();
                    for timeout_ms in [1, 2, 3, 5, 8, 13, 100] {
                        client
                            .batch_execute(&format!("SET statement_timeout = {timeout_ms}"))
                            .expect("a setting");
                        let began = Instant::now();
                        assert_sql_error(client.query(ENDLESS, &[]), "57014", &["statement timeout"]);
                        assert!(began.elapsed() < LATE, "{timeout_ms} ms took {:?}", began.elapsed());
                        client.batch_execute("SET statement_timeout = 0").expect("a setting");
                        ids.extend(next_ids(&mut client, 1_000));
                    }
                    ids
                })
            })
            .collect();
        Drawn { sessions: sessions.into_iter().map(|session| session.join().expect("a session")).collect() }
    });
    drawn.assert_unique_and_rising();
}

/// Seen to fail as the one above.
#[test]
fn cancel() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|_| {
                let mut client = cluster.connect("postgres");
                let token = client.cancel_token();
                let thread = scope.spawn(move || {
                    assert_sql_error(client.query(ENDLESS, &[]), "57014", &["user request"]);
                    next_ids(&mut client, 1_000)
                });
                (token, thread)
            })
            .collect();
        thread::sleep(Duration::from_millis(300));
        for (token, thread) in sessions {
            let began = Instant::now();
            // Again, where the first came before the statement had begun.
            while !thread.is_finished() {
                assert!(began.elapsed() < LATE, "not cancelled after {:?}", began.elapsed());
                token.cancel_query(NoTls).expect("the server takes the request");
                thread::sleep(Duration::from_millis(100));
            }
            assert_eq!(thread.join().expect("a session").len(), 1_000);
        }
    });
}

/// Sessions that wait are seen in pg_stat_activity, by name from PostgreSQL 17 on, and hold no lock meanwhile. Seen to
/// fail without the wait event.
#[test]
fn shows_in_pg_stat_activity() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let name = if cluster.version_num() >= 17_0000 { "SnowflakeClock" } else { "Extension" };
    let done = AtomicBool::new(false);
    let (mut seen, mut holding) = (0_i64, 0_i64);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = cluster.connect("postgres");
                while !done.load(Ordering::Relaxed) {
                    client
                        .query("SELECT count(snowflake_next()) FROM generate_series(1, 50000)", &[])
                        .expect("a count");
                }
            });
        }
        let mut watcher = cluster.connect("postgres");
        let end = Instant::now() + Duration::from_secs(20);
        while seen < 20 && Instant::now() < end {
            let row = watcher
                .query_one(
                    "SELECT count(*), count(*) FILTER (WHERE wait_event_type IN ('LWLock', 'Lock'))
                     FROM pg_stat_activity WHERE query ~ 'snowflake_next' AND pid <> pg_backend_pid()
                       AND (wait_event_type IN ('LWLock', 'Lock')
                            OR (wait_event_type = 'Extension' AND wait_event = $1))",
                    &[&name],
                )
                .expect("the activity");
            seen += row.get::<_, i64>(0);
            holding += row.get::<_, i64>(1);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen >= 20, "seen waiting as {name} only {seen} times in 20 s");
    assert_eq!(holding, 0, "sessions were seen waiting for each other's locks");
}
