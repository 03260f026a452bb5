//! Ranges of numbers on real servers: many sessions, rollbacks, crashes, sequences that change, pg_dump.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, Statement};
use snowflake_servers::{Cluster, End, SqlError, assert_sql_error, sql_of_designs};

const NEXT: &str = "SELECT sequencer_range_next('ids')";

fn server(size: i64) -> Cluster {
    let cluster = Cluster::builder().set("max_prepared_transactions", "5").start();
    cluster.execute("postgres", "CREATE EXTENSION sequencer CASCADE");
    cluster.execute("postgres", &format!("CREATE SEQUENCE ids INCREMENT {size} START {size}"));
    cluster
}

fn number(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
}

/// Inserts numbers, some in transactions that are rolled back, until the server goes away or the time is over.
fn insert(cluster: &Cluster, seed: u64, until: Instant) {
    let mut client = cluster.connect("postgres");
    for turn in seed.. {
        if Instant::now() > until {
            return;
        }
        let end = if turn % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
        let statements = format!(
            "BEGIN; INSERT INTO item DEFAULT VALUES; SAVEPOINT s; INSERT INTO item DEFAULT VALUES; ROLLBACK TO s;
             INSERT INTO item DEFAULT VALUES; {end}"
        );
        if let Err(error) = client.batch_execute(&statements) {
            // Else the connection has ended, in one of its ways.
            if error.as_db_error().is_some() {
                let error = SqlError::of(&error);
                assert!(["57P01", "57P02"].contains(&&*error.code), "{error}");
            }
            return;
        }
    }
}

/// The primary key refuses a number that comes twice. Seen to fail with ranges that are one number too long.
#[test]
fn sixteen_sessions_rollbacks_and_crashes() {
    let mut cluster = server(7);
    cluster
        .execute("postgres", "CREATE TABLE item (id bigint PRIMARY KEY DEFAULT sequencer_range_next('ids'))");
    for (life, end) in [End::Immediate, End::Kill, End::Fast].into_iter().enumerate() {
        let until = Instant::now() + Duration::from_secs(2);
        thread::scope(|scope| {
            for session in 0..16 {
                let cluster = &cluster;
                scope.spawn(move || insert(cluster, session + 100 * life as u64, until));
            }
            thread::sleep(Duration::from_millis(800));
            if !matches!(end, End::Fast) {
                cluster.kill_a_session();
            }
        });
        cluster.wait_until_up();
        cluster.end(end);
        cluster.start();
        let rows = number(&mut cluster.connect("postgres"), "SELECT count(*) FROM item");
        assert!(rows > 100 * (life as i64 + 1));
    }
}

/// What eight sessions get from a statement, over and over, while another session does something in turns, for four seconds.
fn get_under_load<T: Send>(
    cluster: &Cluster,
    statement: &str,
    get: impl Fn(&mut Client, &Statement) -> T + Sync,
    mut turn: impl FnMut(i64, &mut Client),
) -> Vec<T> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = cluster.connect("postgres");
                    let statement = client.prepare(statement).expect("prepared");
                    let mut got = Vec::new();
                    while !over.load(Ordering::SeqCst) {
                        got.push(get(&mut client, &statement));
                    }
                    got
                })
            })
            .collect();
        let mut client = cluster.connect("postgres");
        let end = Instant::now() + Duration::from_secs(4);
        for number in 1.. {
            if Instant::now() > end {
                break;
            }
            turn(number, &mut client);
        }
        over.store(true, Ordering::SeqCst);
        sessions.into_iter().flat_map(|session| session.join().expect("a session failed")).collect()
    })
}

/// Sessions take numbers while the size of the ranges changes, and while the sequence is set further on, which ends the
/// ranges that they have: no number comes twice, and none from before. Seen to fail with ranges that begin at the
/// sequence's value, with an increment that was read without the lock, and with ranges that outlive a RESTART.
#[test]
fn a_sequence_that_is_altered_under_load() {
    let cluster = server(10);
    let floor = AtomicI64::new(0);
    let next = |client: &mut Client, next: &Statement| {
        let least = floor.load(Ordering::SeqCst);
        let id: i64 = client.query_one(next, &[]).expect("a number").get(0);
        assert!(id >= least, "{id} after the restart at {least}");
        id
    };
    let drawn = get_under_load(&cluster, NEXT, next, |turn, client| {
        let size = [3, 1000, 1, 40][turn as usize % 4];
        let restart = turn * 10_000_000;
        let alter = format!("ALTER SEQUENCE ids INCREMENT {size}");
        if turn % 5 == 0 {
            let last = restart + size - 1;
            client.batch_execute(&format!("{alter} RESTART WITH {last}")).expect("restarted");
            // A greater increment may reach further down, if it comes before the first claim.
            floor.store(restart - 1000, Ordering::SeqCst);
        } else {
            client.batch_execute(&alter).expect("altered");
        }
    });
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len(), "a number came twice");
    assert!(drawn.len() > 1000, "{}", drawn.len());
}

/// The view of the document asks for the increment when nextval has the lock. Seen to fail with a view that joins
/// pg_sequence.
#[test]
fn a_view_whose_sequence_is_altered_under_load() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", sql_of_designs("CREATE VIEW order_ranges"));
    let claim = |client: &mut Client, claim: &Statement| -> (i64, i64) {
        let row = client.query_one(claim, &[]).expect("a range");
        (row.get(0), row.get(1))
    };
    let mut claims =
        get_under_load(&cluster, "SELECT first, last FROM order_ranges", claim, |turn, client| {
            let size = if turn % 2 == 0 { 10 } else { 10_000 };
            client.batch_execute(&format!("ALTER SEQUENCE order_numbers INCREMENT {size}")).expect("altered");
        });
    claims.sort_unstable();
    for pair in claims.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{pair:?} overlap");
    }
}

/// Sessions that take numbers of a sequence which is dropped and created again get numbers, or are told.
#[test]
fn a_sequence_that_is_dropped_under_load() {
    let cluster = server(2);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = cluster.connect("postgres");
                while !over.load(Ordering::SeqCst) {
                    if let Err(error) = client.simple_query(NEXT) {
                        assert_eq!(SqlError::of(&error).code, "42P01", "{error:?}");
                    }
                }
            });
        }
        let mut client = cluster.connect("postgres");
        for _ in 0..200 {
            client
                .batch_execute("DROP SEQUENCE ids; CREATE SEQUENCE ids INCREMENT 2 START 2")
                .expect("made anew");
        }
        over.store(true, Ordering::SeqCst);
    });
    assert_eq!(cluster.count_in_log("XX000"), 0);
}

/// Whether a prepared transaction commits is not known yet, so a session does not go on in the range that it has read.
/// What came from a sequence, no transaction gives back.
#[test]
fn a_claim_in_a_prepared_transaction() {
    let cluster = server(10);
    let ranges =
        "CREATE VIEW ranges AS SELECT last - 9 AS first, last FROM (SELECT nextval('ids') AS last) AS claim";
    cluster.execute("postgres", ranges);
    for (source, after) in [("ranges", 11), ("ids", 22)] {
        let next = format!("SELECT sequencer_range_next('{source}')");
        let mut client = cluster.connect("postgres");
        client.batch_execute("BEGIN").expect("a transaction");
        number(&mut client, &next);
        client.batch_execute("PREPARE TRANSACTION 'claim'").expect("prepared");
        assert_eq!(number(&mut client, &next), after);
        client.batch_execute("ROLLBACK PREPARED 'claim'").expect("rolled back");
        assert_eq!(number(&mut client, &next), after + 1);
    }
}

/// An open transaction that has claimed keeps nobody from claiming; and who has no right keeps nobody from altering.
#[test]
fn nobody_waits() {
    let cluster = server(10);
    let (mut one, mut other) = (cluster.connect("postgres"), cluster.connect("postgres"));
    one.batch_execute("BEGIN").expect("a transaction");
    assert_eq!(number(&mut one, NEXT), 1);
    other.batch_execute("SET lock_timeout = '50ms'").expect("set");
    assert_eq!(number(&mut other, NEXT), 11);
    one.batch_execute("COMMIT").expect("committed");
    assert_eq!(number(&mut one, NEXT), 2);

    one.batch_execute("CREATE ROLE app; SET ROLE app; BEGIN; SAVEPOINT s").expect("another role");
    assert_sql_error(one.query(NEXT, &[]), "42501", &["ids"]);
    one.batch_execute("ROLLBACK TO s; SAVEPOINT t").expect("back");
    other.batch_execute("ALTER SEQUENCE ids INCREMENT 20").expect("nobody holds a lock");
}

/// A right that is taken away counts from the next number on, within a transaction too. Seen to fail where a session did
/// not look for messages.
#[test]
fn a_right_that_is_taken_away() {
    let cluster = server(1000);
    cluster.execute("postgres", "CREATE ROLE app LOGIN; GRANT USAGE ON SEQUENCE ids TO app");
    cluster.execute("postgres", "CREATE VIEW ranges AS SELECT 1::bigint AS first, 1000::bigint AS last");
    cluster.execute("postgres", "GRANT SELECT ON ranges TO app");
    let mut app = cluster.connect_as("app", "postgres");
    for (source, right) in [("ids", "USAGE ON SEQUENCE ids"), ("ranges", "SELECT ON ranges")] {
        let next = app.prepare(&format!("SELECT sequencer_range_next('{source}')")).expect("prepared");
        app.batch_execute("BEGIN").expect("a transaction");
        for _ in 0..3 {
            app.query(&next, &[]).expect("a number");
        }
        cluster.execute("postgres", &format!("REVOKE {right} FROM app"));
        assert_sql_error(app.query(&next, &[]), "42501", &[source]);
        app.batch_execute("ROLLBACK").expect("rolled back");
        assert_sql_error(app.query(&next, &[]), "42501", &[source]);
    }
}

/// Types are looked at with each claim, whatever a session has prepared. Seen to fail with a read that trusts the types:
/// the server ended.
#[test]
fn a_view_that_is_retyped_under_prepared_sessions() {
    let cluster = server(10);
    let view = |first: &str, columns: &str| {
        format!("CREATE VIEW ranges AS SELECT {first} AS first, 1::bigint AS last{columns}")
    };
    cluster.execute("postgres", &view("1::bigint", ""));
    let mut client = cluster.connect("postgres");
    // By name with each call, and by OID once.
    let by_name = client.prepare("SELECT sequencer_range_next($1::text::regclass)").expect("prepared");
    let by_oid = client.prepare("SELECT sequencer_range_next('ranges')").expect("prepared");
    for first in ["3735928559::integer", "'x'::text", "ARRAY[1::bigint]", "true", "1.0", "'1 day'::interval"]
    {
        client.query(&by_name, &[&"ranges"]).expect("a number");
        cluster.execute("postgres", &format!("DROP VIEW ranges; {}", view(first, ", 2 AS more")));
        for _ in 0..2 {
            let refused = client.query(&by_name, &[&"ranges"]);
            assert_sql_error(refused, "42804", &["\"ranges\"", "bigint"]);
        }
        cluster.execute("postgres", &format!("DROP VIEW ranges; {}", view("1::bigint", "")));
    }
    // PostgreSQL plans the statement anew where the view it was planned for is gone.
    assert_eq!(client.query_one(&by_oid, &[]).expect("a number").get::<_, i64>(0), 1);
}

/// A dump keeps what is claimed, and no number comes again in the copy. So with the clocks.
#[test]
fn through_dump_and_restore() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE ROLE app LOGIN");
    for database in ["original", "copy"] {
        cluster.execute("postgres", &format!("CREATE DATABASE {database} OWNER app"));
    }
    let mut client = cluster.connect_as("app", "original");
    client
        .batch_execute(
            "CREATE EXTENSION sequencer CASCADE; CREATE SEQUENCE ids INCREMENT 10 START 10;
             CREATE TABLE item (id bigint PRIMARY KEY DEFAULT sequencer_range_next('ids'));
             INSERT INTO item SELECT FROM generate_series(1, 25);
             CREATE SEQUENCE clock; SELECT sequencer_lamport_observe('clock', 500 * 1024)",
        )
        .expect("it is trusted");
    client.batch_execute(sql_of_designs("CREATE VIEW order_ranges")).expect("the view");
    client.batch_execute(sql_of_designs("CREATE TABLE my_clock")).expect("the vector clock");
    client
        .batch_execute("SELECT FROM order_ranges; SELECT sequencer_range_next('order_ranges')")
        .expect("claims");
    cluster.dump_and_restore("app", "original", "copy");
    let mut copy = cluster.connect_as("app", "copy");
    copy.batch_execute("INSERT INTO item DEFAULT VALUES").expect("a new number");
    assert_eq!(number(&mut copy, "SELECT max(id) FROM item"), 31);
    assert_eq!(number(&mut copy, "SELECT sequencer_range_next('order_ranges')"), 20_001);
    assert_eq!(number(&mut copy, "SELECT counters[1] FROM my_clock"), 4);
    assert!(number(&mut copy, "SELECT sequencer_lamport_next('clock') / 1024") > 500);
}

/// A standby hands out nothing, and says so.
#[test]
fn on_a_standby() {
    let primary = server(10);
    primary.execute("postgres", NEXT);
    let standby = Cluster::builder().standby_of(&primary).start();
    primary.execute("postgres", "CREATE SEQUENCE clock");
    primary.wait_for(&standby);
    let mut client = standby.connect("postgres");
    for query in [NEXT, "SELECT sequencer_lamport_next('clock')"] {
        assert_sql_error(client.query(query, &[]), "25006", &[]);
    }
    let given = number(&mut primary.connect("postgres"), NEXT);
    primary.wait_for(&standby);
    drop(primary);
    standby.promote();
    let next = number(&mut client, NEXT);
    assert!(next > given, "{next} after {given}");
}

/// Names and schemas of a database that is not in UTF-8.
#[test]
fn in_another_encoding() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE DATABASE old ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    let mut client = cluster.connect("old");
    client
        .batch_execute(
            "CREATE SCHEMA \"größe\"; CREATE EXTENSION sequencer SCHEMA \"größe\" CASCADE;
             CREATE SEQUENCE \"größe\".\"maß\" INCREMENT 10 START 10;
             CREATE VIEW \"größe\".\"Maße\" AS SELECT 1::bigint AS first, 2::bigint AS last;
             CREATE VIEW \"größe\".\"Übermaß\" AS SELECT 2::bigint AS first, 1::bigint AS last",
        )
        .expect("created");
    let next = |client: &mut Client, name: &str| {
        client.query_one(&format!("SELECT \"größe\".sequencer_range_next('\"größe\".\"{name}\"')"), &[])
    };
    for (name, expected) in [("maß", 1_i64), ("maß", 2), ("Maße", 1)] {
        assert_eq!(next(&mut client, name).expect("a number").get::<_, i64>(0), expected);
    }
    assert_sql_error(next(&mut client, "Übermaß"), "22000", &["\"Übermaß\"", "2 and 1"]);
}
