//! Ranges that another server counts: claimed through a foreign table, used while that server is away.

use std::collections::HashSet;

use postgres::Client;
use postgres::config::Host;
use snowflake_servers::{Cluster, SqlError};

const NEXT: &str = "SELECT snowflake_range_next('orders')";

fn central() -> Cluster {
    let central = Cluster::builder().set("snowflake.node", "1").start();
    central.execute(
        "postgres",
        "CREATE EXTENSION sequencer CASCADE; SELECT snowflake_range_create('orders', 10);
         CREATE ROLE claimer LOGIN; GRANT SELECT, INSERT ON snowflake_ranges TO claimer",
    );
    central
}

/// A server that claims its ranges from another.
fn local(central: &Cluster, node: i32, size: i64) -> Cluster {
    let local = Cluster::builder().set("snowflake.node", &node.to_string()).start();
    let config = central.config("postgres");
    let [Host::Unix(socket)] = config.get_hosts() else { panic!("{config:?}") };
    let statements = format!(
        "CREATE EXTENSION sequencer CASCADE; CREATE EXTENSION postgres_fdw;
         CREATE SERVER central FOREIGN DATA WRAPPER postgres_fdw
             OPTIONS (host '{}', port '5432', dbname 'postgres');
         CREATE USER MAPPING FOR postgres SERVER central OPTIONS (user 'claimer');
         CREATE SCHEMA central;
         IMPORT FOREIGN SCHEMA public LIMIT TO (snowflake_ranges) FROM SERVER central INTO central;
         SELECT snowflake_range_attach('orders', {size}, 'central.snowflake_ranges')",
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

/// Two servers and the one that counts. While it is away they go on in their ranges; afterwards they claim again.
#[test]
fn while_the_central_server_is_away() {
    let mut central = central();
    let locals = [local(&central, 2, 100), local(&central, 3, 50)];
    let mut clients: Vec<Client> = locals.iter().map(|local| local.connect("postgres")).collect();
    let mut given = numbers(&mut central.connect("postgres"), 15);
    for client in &mut clients {
        given.extend(numbers(client, 30));
    }
    central.stop_immediately();
    given.extend(numbers(&mut clients[0], 70));
    given.extend(numbers(&mut clients[1], 20));
    for client in &mut clients {
        let refused = client.query(NEXT, &[]).expect_err("the central server is away");
        SqlError::of(&refused).assert("08001", &["central"]);
    }
    central.start();
    for client in &mut clients {
        given.extend(numbers(client, 130));
    }
    given.extend(numbers(&mut central.connect("postgres"), 15));
    let distinct: HashSet<i64> = given.iter().copied().collect();
    assert_eq!(distinct.len(), given.len());

    // The central server knows who has what.
    let claims = "SELECT node_id, claimed_by, count(*), sum(size)::bigint FROM snowflake_ranges GROUP BY 1, 2 ORDER BY 1";
    let claims = central.connect("postgres").query(claims, &[]).expect("the claims");
    let claims: Vec<(i32, String, i64, i64)> =
        claims.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
    let row = |node, by: &str, count, numbers| (node, by.to_owned(), count, numbers);
    assert_eq!(claims, [row(1, "postgres", 4, 40), row(2, "claimer", 3, 300), row(3, "claimer", 4, 200)]);
}

/// The claim on the other server ends as the transaction here does.
#[test]
fn rolled_back_here() {
    let central = central();
    let local = local(&central, 2, 10);
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
    let list = "SELECT string_agg(concat_ws(' ', first, last, state), ', ' ORDER BY first) FROM snowflake_range_list('orders')";
    let list: String = central.connect("postgres").query_one(list, &[]).expect("the list").get(0);
    assert_eq!(list, "1 10 unused, 11 20 claimed, 21 30 unused, 31 40 claimed");
}

/// What is wrong between the servers is told.
#[test]
fn a_name_or_a_right_that_is_missing_there() {
    let central = central();
    let local = local(&central, 2, 10);
    let mut client = local.connect("postgres");
    central.execute("postgres", "REVOKE INSERT ON snowflake_ranges FROM claimer");
    let refused = |client: &mut Client| SqlError::of(&client.query(NEXT, &[]).expect_err("refused"));
    refused(&mut client).assert("42501", &["snowflake_ranges"]);
    central.execute("postgres", "GRANT INSERT ON snowflake_ranges TO claimer");
    assert_eq!(numbers(&mut client, 1).len(), 1);
    client
        .batch_execute("SELECT snowflake_range_attach('parts', 10, 'central.snowflake_ranges')")
        .expect("ok");
    let parts = client.query("SELECT snowflake_range_next('parts')", &[]).expect_err("unknown there");
    SqlError::of(&parts).assert("42704", &["\"parts\"", "snowflake_range_create"]);
    let list = client.query("SELECT snowflake_range_list('orders')", &[]).expect_err("not counted here");
    SqlError::of(&list).assert("55000", &["\"orders\"", "Ask the server"]);
    client.batch_execute("DROP FOREIGN TABLE central.snowflake_ranges").expect("dropped");
    // The range that the session has is its own.
    assert_eq!(numbers(&mut client, 9).len(), 9);
    refused(&mut client).assert("42P01", &["\"orders\"", "snowflake_range_attach"]);
}
