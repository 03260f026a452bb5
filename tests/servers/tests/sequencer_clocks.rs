//! Strided ids and logical clocks on real servers: races, several servers, ends of counters.

use std::collections::HashSet;
use std::thread;

use postgres::Client;
use snowflake_servers::{Cluster, assert_sql_error, vector_clock};

const OBSERVE: &str = "SELECT sequencer_lamport_observe('clock', $1)";
const LAMPORT: &str = "SELECT sequencer_lamport_next('clock')";

fn server(node: i32, statements: &str) -> Cluster {
    let cluster = Cluster::builder().set("snowflake.node", &node.to_string()).start();
    cluster.execute("postgres", "CREATE EXTENSION sequencer CASCADE");
    cluster.execute("postgres", statements);
    cluster
}

fn number(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
}

/// Sessions that observe an id of this very microsecond, as all others do, and take one: each is greater than what the
/// session has observed and taken before, and none comes twice. Seen to fail with a raise that shares its lock.
#[test]
fn lamport_observes_while_others_take_ids() {
    let cluster = server(1, "CREATE SEQUENCE clock");
    let query = "SELECT observed, sequencer_lamport_observe('clock', observed), sequencer_lamport_next('clock') AS id
        FROM generate_series(1, 30000) AS n,
        LATERAL (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint << 10 | 1023 + n * 0 AS observed
                 OFFSET 0) AS now";
    let ids: Vec<i64> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let rows = cluster.connect("postgres").query(query, &[]).expect("ids");
                    let mut highest = 0;
                    let mut check = |row: &postgres::Row| {
                        let (observed, id): (i64, i64) = (row.get("observed"), row.get("id"));
                        highest = highest.max(observed);
                        assert!(id > highest, "{id} after {highest}");
                        highest = id;
                        id
                    };
                    rows.iter().map(&mut check).collect::<Vec<_>>()
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().expect("a session failed")).collect()
    });
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "an id came twice");
}

/// A session that waits for a raise can be cancelled, and leaves no lock.
#[test]
fn a_sequence_that_is_being_altered() {
    let cluster = server(1, "CREATE SEQUENCE clock");
    let (mut one, mut other) = (cluster.connect("postgres"), cluster.connect("postgres"));
    one.batch_execute("BEGIN; ALTER SEQUENCE clock RESTART 100").expect("altered");
    other.batch_execute("SET statement_timeout = '100ms'").expect("set");
    assert_sql_error(other.query(LAMPORT, &[]), "57014", &[]);
    assert_sql_error(other.query(OBSERVE, &[&1_i64]), "57014", &[]);
    one.batch_execute("SELECT sequencer_lamport_observe('clock', 1); COMMIT").expect("no deadlock");
    assert!(number(&mut other, LAMPORT) >> 10 > 100);
}

/// Two servers tell each other of their events: what was caused is greater, by Lamport's clock and by the vectors,
/// and what was not is told apart by the vectors alone.
#[test]
fn two_servers_that_exchange_events() {
    let clocks = format!("CREATE SEQUENCE clock; {}", vector_clock(2));
    let servers = [server(0, &clocks), server(1, &clocks)];
    let mut clients: Vec<Client> = servers.iter().map(|server| server.connect("postgres")).collect();
    let vector = "SELECT event()";
    let compare = |client: &mut Client, a: i64, b: i64| -> String {
        client.query_one("SELECT sequencer_vector_compare($1, $2, 2)", &[&a, &b]).expect("comparable").get(0)
    };
    let mut ids = HashSet::new();
    for _ in 0..20 {
        let sent = [number(&mut clients[0], vector), number(&mut clients[1], vector)];
        assert_eq!(compare(&mut clients[0], sent[0], sent[1]), "concurrent");
        for (from, to) in [(0, 1), (1, 0)] {
            let lamport = number(&mut clients[from], LAMPORT);
            clients[to].query(OBSERVE, &[&lamport]).expect("observed");
            let caused = number(&mut clients[to], LAMPORT);
            assert!(caused > lamport);
            clients[to].query("SELECT observe($1)", &[&sent[from]]).expect("observed");
            let caused_vector = number(&mut clients[to], vector);
            assert_eq!(compare(&mut clients[0], sent[from], caused_vector), "before");
            assert!(ids.insert(lamport) && ids.insert(caused));
        }
    }
}

/// The sessions of one server: every event is after another's or before it, and the counter counts them all.
#[test]
fn vector_events_of_many_sessions() {
    let cluster = server(0, &vector_clock(5));
    let ids: Vec<i64> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = cluster.connect("postgres");
                    (0..120).map(|_| number(&mut client, "SELECT event()")).collect::<Vec<_>>()
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().expect("a session failed")).collect()
    });
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 960);
    let mut client = cluster.connect("postgres");
    assert_eq!(number(&mut client, "SELECT counters[1] FROM clock_of_vectors"), 960);
    // Ten bits for each of five nodes; the counter ends at 1023, and no event comes after.
    for _ in 960..1023 {
        number(&mut client, "SELECT event()");
    }
    for _ in 0..3 {
        let exhausted = client.query("SELECT event()", &[]);
        assert_sql_error(exhausted, "54000", &["node 0", "1023"]);
    }
}

/// Servers come and go, each with a number of its own, and nothing has to be agreed on.
#[test]
fn strided_ids_of_servers_that_come_and_go() {
    let mut ids = HashSet::new();
    let mut servers: Vec<Cluster> = Vec::new();
    for node in [1, 2, 7, 1023] {
        servers.push(server(node, "CREATE SEQUENCE numbers"));
        for server in &servers {
            let query = "SELECT sequencer_strided_next('numbers') FROM generate_series(1, 500)";
            let rows = server.connect("postgres").query(query, &[]).expect("ids");
            for row in rows {
                assert!(ids.insert(row.get::<_, i64>(0)), "{row:?} came twice");
            }
        }
        if servers.len() == 3 {
            servers.remove(0);
        }
    }
    assert!(ids.iter().all(|id| [1, 2, 7, 1023].contains(&(id % 1024))));
    // 53 bits of dense numbers: the highest is that of the last server.
    assert!(ids.iter().all(|id| id / 1024 <= 2_000));
}

/// A server that gets another number goes on with it, without a restart.
#[test]
fn a_node_number_that_changes() {
    let cluster = server(3, "CREATE SEQUENCE numbers; CREATE SEQUENCE clock");
    let mut client = cluster.connect("postgres");
    assert_eq!(number(&mut client, "SELECT sequencer_strided_next('numbers')"), 1024 + 3);
    cluster.set("snowflake.node", "4");
    cluster.reload();
    assert_eq!(number(&mut client, "SELECT sequencer_strided_next('numbers')"), 2 * 1024 + 4);
    assert_eq!(number(&mut client, LAMPORT), 1024 + 4);
    // Where the clock has no counter for it, that is told.
    client.batch_execute(&vector_clock(4)).expect("a clock");
    assert_sql_error(client.query("SELECT event()", &[]), "55000", &["number 4", "4 nodes"]);
}
