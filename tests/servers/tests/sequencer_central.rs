//! Ranges that another server counts: claimed through a foreign table, used while that server is away.

use std::collections::HashSet;
use std::thread;

use postgres::Client;
use postgres::config::Host;
use snowflake_servers::{Cluster, SqlError, sql_of_designs};

const NEXT: &str = "SELECT sequencer_range_next('order_ranges')";

/// A server that counts, with what docs/designs.md shows, in ranges of ten.
fn central() -> Cluster {
    // So that what nobody flushes stays in memory.
    let central = Cluster::builder().set("wal_writer_delay", "10s").start();
    central.execute("postgres", sql_of_designs("CREATE VIEW order_ranges"));
    central.execute(
        "postgres",
        "ALTER SEQUENCE order_numbers INCREMENT 10 RESTART WITH 10; CREATE ROLE claimer LOGIN;
         GRANT SELECT ON order_ranges TO claimer; GRANT USAGE ON SEQUENCE order_numbers TO claimer",
    );
    central
}

/// A server that claims its ranges from another.
fn local(central: &Cluster) -> Cluster {
    let local = Cluster::builder().start();
    let config = central.config("postgres");
    let [Host::Unix(socket)] = config.get_hosts() else { panic!("{config:?}") };
    let statements = format!(
        "CREATE EXTENSION sequencer CASCADE; CREATE EXTENSION postgres_fdw;
         CREATE SERVER central FOREIGN DATA WRAPPER postgres_fdw
             OPTIONS (host '{}', port '5432', dbname 'postgres');
         CREATE USER MAPPING FOR postgres SERVER central OPTIONS (user 'claimer');
         CREATE FOREIGN TABLE order_ranges (first bigint, last bigint) SERVER central;
         CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT sequencer_range_next('order_ranges'))",
        socket.display()
    );
    local.execute("postgres", &statements);
    local
}

fn numbers(client: &mut Client, count: i32) -> Vec<i64> {
    let query = format!("{NEXT} FROM generate_series(1, {count})");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

fn assert_distinct(given: &[i64]) {
    let distinct: HashSet<i64> = given.iter().copied().collect();
    assert_eq!(distinct.len(), given.len(), "{given:?}");
}

/// Two servers and the one that counts. While it is away they go on in their ranges; afterwards they claim again.
#[test]
fn while_the_central_server_is_away() {
    let mut central = central();
    central.execute("postgres", "CREATE EXTENSION sequencer CASCADE");
    let own = "SELECT sequencer_range_next('order_numbers')";
    let of_its_own = |central: &Cluster| -> i64 {
        central.connect("postgres").query_one(own, &[]).expect("a number").get(0)
    };
    let locals = [local(&central), local(&central)];
    let mut clients: Vec<Client> = locals.iter().map(|local| local.connect("postgres")).collect();
    let mut given = vec![of_its_own(&central)];
    for client in &mut clients {
        given.extend(numbers(client, 13));
    }
    central.stop_immediately();
    for client in &mut clients {
        given.extend(numbers(client, 7));
        let refused = client.query(NEXT, &[]).expect_err("the central server is away");
        SqlError::of(&refused).assert("08001", &["central"]);
    }
    central.start();
    for client in &mut clients {
        given.extend(numbers(client, 30));
    }
    given.push(of_its_own(&central));
    assert_distinct(&given);
}

/// Many sessions of each of two servers insert, some transactions are rolled back, and the central server is killed meanwhile:
/// what is refused is refused because it is away.
#[test]
fn killed_under_load() {
    let mut central = central();
    let locals = [local(&central), local(&central)];
    thread::scope(|scope| {
        for session in 0..8 {
            let local = &locals[session % 2];
            scope.spawn(move || {
                let mut client = local.connect("postgres");
                for turn in 0..400 {
                    let end = if (turn + session) % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
                    let insert =
                        format!("BEGIN; INSERT INTO orders SELECT FROM generate_series(1, 4); {end}");
                    if let Err(error) = client.batch_execute(&insert) {
                        let error = SqlError::of(&error);
                        let away = ["08000", "08001", "08006", "57P01", "57P02", "57P03"];
                        assert!(away.contains(&&*error.code), "{error}");
                        client.batch_execute("ROLLBACK").expect("rolled back");
                    }
                }
            });
        }
        for _ in 0..3 {
            thread::sleep(std::time::Duration::from_millis(300));
            central.kill();
            central.start();
        }
    });
    let given: Vec<i64> = locals
        .iter()
        .flat_map(|local| local.connect("postgres").query("SELECT id FROM orders", &[]).expect("the rows"))
        .map(|row| row.get(0))
        .collect();
    assert!(given.len() > 1000, "{}", given.len());
    assert_distinct(&given);
}

/// The claim on the other server ends as the transaction here does.
#[test]
fn rolled_back_here() {
    let central = central();
    let local = local(&central);
    let mut client = local.connect("postgres");
    client.batch_execute("BEGIN").expect("a transaction");
    assert_eq!(numbers(&mut client, 2), [1, 2]);
    client.batch_execute("ROLLBACK").expect("rolled back");
    assert_eq!(numbers(&mut client, 2), [11, 12]);
    client.batch_execute("BEGIN; SAVEPOINT s").expect("a transaction");
    assert_eq!(numbers(&mut client, 10)[8], 21);
    client.batch_execute("ROLLBACK TO s").expect("rolled back");
    assert_eq!(numbers(&mut client, 1), [31]);
    client.batch_execute("COMMIT").expect("committed");
    assert_eq!(numbers(&mut client, 1), [32]);
}

/// A claim that was rolled back is not on disk for certain: a central server that is killed gives the range again, and
/// who had it must not go on in it. Seen to fail with ranges that outlive a rollback.
#[test]
fn rolled_back_before_a_crash_of_the_central_server() {
    for rollback in [
        "BEGIN; SELECT sequencer_range_next('order_ranges'); ROLLBACK",
        "BEGIN; SAVEPOINT s; SELECT sequencer_range_next('order_ranges'); ROLLBACK TO s; COMMIT",
    ] {
        let mut central = central();
        let locals = [local(&central), local(&central)];
        let mut clients: Vec<Client> = locals.iter().map(|local| local.connect("postgres")).collect();
        clients[0].batch_execute(rollback).expect("rolled back");
        central.kill();
        central.start();
        let mut given = numbers(&mut clients[1], 25);
        given.extend(numbers(&mut clients[0], 25));
        assert_distinct(&given);
    }
}

/// The record of a claim may be another transaction's, which is open: a claim that is committed has it flushed, because
/// its transaction has written one, too. Seen to fail with a view that has it write none, and with one that has it take
/// an id alone.
#[test]
fn a_claim_whose_record_another_transaction_has_written() {
    let mut central = central();
    let local = local(&central);
    let (mut one, mut other) = (local.connect("postgres"), local.connect("postgres"));
    // PostgreSQL writes one record for this call of nextval and the next 32.
    let mut writer = central.connect("postgres");
    writer.batch_execute("BEGIN; SELECT nextval('order_numbers')").expect("a record");
    let mut given = numbers(&mut one, 1);
    central.kill();
    central.start();
    given.extend(numbers(&mut other, 30));
    given.extend(numbers(&mut one, 9));
    assert_distinct(&given);
}

/// What is wrong between the servers is told.
#[test]
fn a_right_or_a_relation_that_is_missing_there() {
    let central = central();
    let local = local(&central);
    let mut client = local.connect("postgres");
    let refused = |client: &mut Client| SqlError::of(&client.query(NEXT, &[]).expect_err("refused"));
    central.execute("postgres", "REVOKE USAGE ON SEQUENCE order_numbers FROM claimer");
    refused(&mut client).assert("42501", &["order_numbers"]);
    central.execute("postgres", "GRANT USAGE ON SEQUENCE order_numbers TO claimer");
    assert_eq!(numbers(&mut client, 1), [1]);
    central.execute("postgres", "DROP VIEW order_ranges");
    // The range that the session has is its own.
    assert_eq!(numbers(&mut client, 9).len(), 9);
    refused(&mut client).assert("42P01", &["order_ranges"]);
    client.batch_execute("ALTER FOREIGN TABLE order_ranges ALTER first TYPE text").expect("retyped");
    refused(&mut client).assert("42804", &["\"order_ranges\"", "bigint"]);
    client.batch_execute("DROP FOREIGN TABLE order_ranges CASCADE").expect("dropped");
    refused(&mut client).assert("42P01", &["order_ranges"]);
}
