//! `snowflake_next(after)` and `snowflake_observe(id)` between real servers whose clocks are apart: no effect before its
//! cause.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_servers::ids::{next_ids, node_of, show};
use snowflake_servers::{Cluster, FakeClock, Generating, Promise, assert_sql_error};

/// Of ids of one millisecond.
const MS: i64 = 1 << 22;
const APART_MS: i64 = 900;

/// A server whose clock is ahead by so much.
fn server(node: i64, clock: &FakeClock, ahead_ms: i64) -> Cluster {
    clock.set_offset_ms(ahead_ms);
    let cluster = Cluster::builder().set("snowflake.node", &node.to_string()).clock(clock).start();
    cluster.create_extension("postgres");
    cluster
}

fn answer(client: &mut Client, cause: i64) -> i64 {
    client.query_one("SELECT snowflake_next(after => $1)", &[&cause]).expect("an id").get(0)
}

/// The server behind has been moved no further than to the clock of the other, and that one not at all.
fn assert_with_the_clocks(servers: &[Cluster; 2]) {
    for (server, ahead) in servers.iter().zip([APART_MS, 0]) {
        let status = server.status();
        assert!(status.ahead_ms.is_some_and(|ms| ms <= ahead + 1), "{status:?}");
    }
}

fn observe(client: &mut Client, id: i64) {
    client.query("SELECT snowflake_observe($1)", &[&id]).expect("it is not too far");
}

/// What was said, where everybody reads: the causes.
#[derive(Default)]
struct Board(Mutex<Vec<i64>>);

impl Board {
    fn say(&self, id: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    /// One of the last, or none.
    fn hear(&self, which: usize) -> Option<i64> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.len().checked_sub(1 + which % 8).map(|place| said[place])
    }
}

/// Eight sessions of two servers answer what they hear. The control is in the same run: an id that is not told of its
/// cause sorts before it. Seen to fail with an answer that does not raise the word.
#[test]
fn a_reply_is_greater_than_its_post_with_clocks_900_ms_apart() {
    let clocks = [FakeClock::new(), FakeClock::new()];
    let servers = [server(1, &clocks[0], 0), server(2, &clocks[1], APART_MS)];
    let post = next_ids(&mut servers[1].connect("postgres"), 1)[0];
    let untold = next_ids(&mut servers[0].connect("postgres"), 1)[0];
    assert!(untold < post, "the clocks are not apart");

    let board = Board::default();
    board.say(post);
    let until = Instant::now() + Duration::from_secs(3);
    thread::scope(|scope| {
        for session in 0..8 {
            let (server, board) = (&servers[session % 2], &board);
            scope.spawn(move || {
                let mut client = server.connect("postgres");
                if session >= 4 {
                    client.batch_execute("SET snowflake.cache = 16").expect("a setting");
                }
                for turn in session.. {
                    if Instant::now() > until {
                        break;
                    }
                    let Some(cause) = board.hear(turn) else { continue };
                    let effect = answer(&mut client, cause);
                    assert!(effect > cause, "{} answers {}", show(effect), show(cause));
                    board.say(effect);
                }
            });
        }
    });
    let said = board.0.into_inner().expect("nobody has panicked");
    let distinct: HashSet<_> = said.iter().collect();
    assert_eq!(distinct.len(), said.len(), "an id was issued twice");
    for node in [1, 2] {
        let answers = said.iter().filter(|id| node_of(**id) == node).count();
        assert!(answers > 100, "node {node} gave {answers} answers");
    }
    // Thousands of answers have not moved the server behind further than to the clock of the other, nor that one.
    assert_with_the_clocks(&servers);
}

/// Faster than a millisecond, for thousands of answers: neither server is further ahead than the clock that is. Seen to
/// fail with a word that leaves the millisecond of what it is told: it was seconds ahead.
#[test]
fn answers_to_and_fro_stay_with_the_clocks() {
    let clocks = [FakeClock::new(), FakeClock::new()];
    let servers = [server(1, &clocks[0], 0), server(2, &clocks[1], APART_MS)];
    let mut clients = servers.each_ref().map(|server| server.connect("postgres"));
    let mut said = next_ids(&mut clients[1], 1)[0];
    for turn in 0..3_000 {
        let effect = answer(&mut clients[turn % 2], said);
        assert!(effect > said, "{} answers {}", show(effect), show(said));
        said = effect;
    }
    assert_with_the_clocks(&servers);
}

/// Every session of the server, with blocks of all sizes. Seen to fail with blocks that go on below what was observed.
#[test]
fn what_was_observed_comes_before_every_id_of_the_server() {
    let clocks = [FakeClock::new(), FakeClock::new()];
    let (here, there) = (server(1, &clocks[0], 0), server(2, &clocks[1], APART_MS));
    let mut messenger = here.connect("postgres");
    let mut other = there.connect("postgres");
    let promise = Promise::default();
    let mut generating = Generating::sessions(&here, &[1, 1, 16, 64, 256, 256]);
    generating.ids_a_statement = 3;
    generating.run(&promise, |watch| {
        for step in 0..300 {
            // From the other server, or one that this one has issued, or will.
            let id = match step % 3 {
                0 => next_ids(&mut other, 1)[0],
                1 => promise.highest(),
                _ => promise.highest() + 7,
            };
            observe(&mut messenger, id);
            promise.forbid_up_to(id);
            if step % 10 == 0 {
                watch.wait_until_served();
            }
        }
    });
    let status = here.status();
    assert!(status.ahead_ms.is_some_and(|ms| ms <= APART_MS + 50), "{status:?}");
}

/// A crash does not undo it: the ceiling is raised before the word. Seen to fail with a word that is raised above the
/// ceiling.
#[test]
fn what_was_observed_survives_a_crash() {
    let mut cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    for round in 0..6 {
        let mut client = cluster.connect("postgres");
        // As far ahead as an honest server can be, so mostly above the ceiling.
        let id = next_ids(&mut client, 1)[0];
        let clock: i64 =
            client.query_one("SELECT snowflake_max_id(clock_timestamp())", &[]).expect("it is stable").get(0);
        let cause = id.max(clock) + 600 * MS;
        let last = if round % 2 == 0 {
            observe(&mut client, cause);
            cause
        } else {
            answer(&mut client, cause)
        };
        drop(client);
        if round % 3 == 2 {
            cluster.kill();
        } else {
            cluster.stop_immediately();
        }
        cluster.start();
        let next = next_ids(&mut cluster.connect("postgres"), 1)[0];
        assert!(next > last, "{} came after {} was observed", show(next), show(last));
        // So that rounds do not add up to more than is allowed.
        cluster.wait_for_status(|status| status.ahead_ms == Some(0));
    }
}

/// A forged or broken id moves nothing; how far apart clocks may be is the operator's to say, and never further than
/// generation follows. Seen to fail without the limit.
#[test]
fn an_id_from_too_far_ahead_is_refused() {
    let cluster = Cluster::builder().set("snowflake.max_clock_step", "10s").start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    let id_in = |client: &mut Client, ms: i64| -> i64 {
        let row = client.query_one(
            "SELECT snowflake_max_id(clock_timestamp() + $1 * interval '1 millisecond')",
            &[&(ms as f64)],
        );
        row.expect("an id").get(0)
    };
    for (skew, most_ms) in [("1s", 3_000), ("0", 2_000), ("5s", 7_000), ("1d", 7_999)] {
        cluster.set("snowflake.max_clock_skew", skew);
        cluster.reload();
        let before = next_ids(&mut client, 1)[0];
        // The clock goes on between the two statements.
        let far = id_in(&mut client, most_ms + 2_000);
        for statement in ["SELECT snowflake_observe($1)", "SELECT snowflake_next($1)"] {
            let limit = format!("must be at most {most_ms} ms");
            let result = client.query(statement, &[&far]);
            assert_sql_error(
                result,
                "22023",
                &[&far.to_string(), "ahead of the clock", &limit, "max_clock_skew"],
            );
        }
        let after = next_ids(&mut client, 1)[0];
        assert!(after < far && after - before < 2_000 * MS, "{} came after {}", show(after), show(before));
        let near = id_in(&mut client, most_ms - 200);
        assert!(answer(&mut client, near) > near);
        if skew != "1d" {
            cluster.wait_for_status(|status| status.ahead_ms == Some(0));
        }
    }
}

/// On a standby nothing may be raised; after its promotion, causality goes on.
#[test]
fn a_standby_observes_nothing_until_it_is_promoted() {
    let primary = Cluster::builder().start();
    primary.create_extension("postgres");
    let cause = next_ids(&mut primary.connect("postgres"), 1)[0] + 500 * MS;
    observe(&mut primary.connect("postgres"), cause);
    let standby = Cluster::builder().standby_of(&primary).start();
    primary.wait_for(&standby);
    let mut client = standby.connect("postgres");
    for statement in ["SELECT snowflake_observe($1)", "SELECT snowflake_next($1)"] {
        assert_sql_error(client.query(statement, &[&(cause + MS)]), "25006", &["recovery"]);
    }
    drop(primary);
    standby.promote();
    // What the primary had observed, its ceiling has told.
    assert!(next_ids(&mut client, 1)[0] > cause);
    assert!(answer(&mut client, cause + 900 * MS) > cause + 900 * MS);
}
