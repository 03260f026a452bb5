//! The registry of node numbers on a real server: concurrent claims, isolation levels, pg_dump, a standby.

use std::thread;

use postgres::Client;
use snowflake_servers::{Cluster, SqlError, assert_sql_error};

const CLAIM: &str = "SELECT snowflake_node_claim($1)";
const SESSIONS: usize = 16;

fn claim(client: &mut Client, name: &str) -> i32 {
    let row = client.query_one(CLAIM, &[&name]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    row.get(0)
}

/// The registry's rows, in order.
fn rows(cluster: &Cluster, database: &str) -> Vec<(i32, String)> {
    let query = "SELECT node_id, server_name FROM snowflake_nodes ORDER BY node_id";
    let rows = cluster.connect(database).query(query, &[]).expect("the registry");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Claims a share of 1,024 names in each of 16 sessions, every name in two of them, with what is to be done about one.
fn claim_all(cluster: &Cluster, claim: impl Fn(&mut Client, &str) -> i32 + Sync) {
    let claimed: Vec<(String, i32)> = thread::scope(|scope| {
        let claim = &claim;
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|session| {
                scope.spawn(move || {
                    let mut client = cluster.connect("postgres");
                    let names = (0..1024).filter(|n| n % 8 == session % 8).map(|n| format!("server {n}"));
                    names.map(|name| (name.clone(), claim(&mut client, &name))).collect::<Vec<_>>()
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().expect("a session failed")).collect()
    });
    let mut registered = rows(cluster, "postgres");
    assert_eq!(registered.iter().map(|&(node, _)| node).collect::<Vec<_>>(), (0..1024).collect::<Vec<_>>());
    registered.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(claimed.len(), 2 * 1024);
    for (name, node) in claimed {
        let at = registered.binary_search_by(|row| row.1.cmp(&name)).expect("it is registered");
        assert_eq!(registered[at].0, node, "{name}");
    }
    let one_more = cluster.connect("postgres").query(CLAIM, &[&"one more"]);
    assert_sql_error(one_more, "54000", &["one more", "1024", "snowflake_node_release"]);
}

#[test]
fn sixteen_sessions_claim_all_numbers() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    claim_all(&cluster, claim);
}

/// At these levels, who comes late fails to serialize, and gets a number with the next try.
#[test]
fn at_every_isolation_level() {
    for level in ["repeatable read", "serializable"] {
        let cluster = Cluster::builder().set("default_transaction_isolation", level).start();
        cluster.create_extension("postgres");
        claim_all(&cluster, |client, name| {
            loop {
                match client.query_one(CLAIM, &[&name]) {
                    Ok(row) => return row.get(0),
                    Err(error) => SqlError::of(&error).assert("40001", &[]),
                }
            }
        });
    }
}

/// A transaction whose snapshot is older than another's claim does not get the same number.
#[test]
fn with_a_snapshot_from_before() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let (mut one, mut other) = (cluster.connect("postgres"), cluster.connect("postgres"));
    one.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM snowflake_nodes")
        .expect("a snapshot");
    assert_eq!(claim(&mut other, "other"), 1);
    assert_sql_error(one.query(CLAIM, &[&"one"]), "40001", &["\"one\"", "Try the transaction again"]);
    one.batch_execute("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ").expect("again");
    assert_eq!(claim(&mut one, "one"), 2);
    one.batch_execute("COMMIT").expect("committed");
}

/// A name that is claimed waits for nobody.
#[test]
fn a_claim_that_is_there_takes_no_lock() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    let (mut one, mut other) = (cluster.connect("postgres"), cluster.connect("postgres"));
    assert_eq!(claim(&mut one, "one"), 1);
    one.batch_execute("BEGIN; SELECT snowflake_node_claim('two')").expect("a claim that is not committed");
    other.batch_execute("SET lock_timeout = '50ms'").expect("set");
    assert_eq!(claim(&mut other, "one"), 1);
    assert_sql_error(other.query(CLAIM, &[&"three"]), "55P03", &[]);
    one.batch_execute("ROLLBACK").expect("given back");
    assert_eq!(claim(&mut other, "three"), 2);
}

/// pg_dump keeps the rows, also where it is run by an owner of the database who is no superuser.
#[test]
fn through_dump_and_restore() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE ROLE app LOGIN");
    for database in ["original", "copy"] {
        cluster.execute("postgres", &format!("CREATE DATABASE {database} OWNER app"));
    }
    let mut client = cluster.connect_as("app", "original");
    client
        .batch_execute("CREATE SCHEMA ids; CREATE EXTENSION snowflake SCHEMA ids; SET search_path = ids")
        .expect("it is trusted");
    for name in ["one", "two", "with \"quotes\" and 'more'"] {
        claim(&mut client, name);
    }
    client.batch_execute("SELECT snowflake_node_release('one')").expect("it is theirs");
    cluster.dump_and_restore("app", "original", "copy");
    for database in ["original", "copy"] {
        cluster.execute("postgres", &format!("ALTER DATABASE {database} SET search_path = ids"));
    }
    assert_eq!(rows(&cluster, "copy"), rows(&cluster, "original"));
    assert_eq!(rows(&cluster, "copy").len(), 2);
    let mut copy = cluster.connect_as("app", "copy");
    assert_eq!(claim(&mut copy, "two"), 2);
    assert_eq!(claim(&mut copy, "new"), 1);

    // It goes with the extension.
    client
        .batch_execute("DROP EXTENSION snowflake; CREATE EXTENSION snowflake SCHEMA ids")
        .expect("it is theirs");
    assert_eq!(rows(&cluster, "original"), []);
}

/// The owner of a database in which a superuser has created the extension can dump it.
#[test]
fn dumped_by_somebody_else() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE ROLE app LOGIN");
    cluster.execute("postgres", "CREATE DATABASE original OWNER app");
    cluster.create_extension("original");
    let rights = "GRANT INSERT, DELETE ON snowflake_nodes TO app";
    cluster.execute("original", rights);
    claim(&mut cluster.connect_as("app", "original"), "one");
    let dump = cluster.run("pg_dump", &["--username", "app", "original"]);
    assert!(dump.contains("COPY public.snowflake_nodes"), "{dump}");
    let without = ["--username", "app", "--exclude-table-data", "*.snowflake_nodes", "original"];
    assert!(!cluster.run("pg_dump", &without).contains("COPY public.snowflake_nodes"));
}

/// A standby tells who has which number, and claims none.
#[test]
fn on_a_standby() {
    let primary = Cluster::builder().start();
    primary.create_extension("postgres");
    claim(&mut primary.connect("postgres"), "one");
    let standby = Cluster::builder().standby_of(&primary).start();
    primary.wait_for(&standby);
    let mut client = standby.connect("postgres");
    assert_eq!(claim(&mut client, "one"), 1);
    assert_sql_error(client.query(CLAIM, &[&"two"]), "25006", &[]);
}
