//! Databases that are not in UTF-8: names in messages, and functions that take or find names.

use postgres::Client;
use snowflake_servers::{Cluster, SqlError};

const ENCODINGS: [&str; 3] = ["LATIN1", "SQL_ASCII", "EUC_JP"];

fn database(cluster: &Cluster, encoding: &str) -> Client {
    let name = encoding.to_lowercase();
    let create = format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
    cluster.execute("postgres", &create);
    let mut client = cluster.connect(&name);
    client
        .batch_execute(
            "CREATE EXTENSION sequencer CASCADE; CREATE SEQUENCE größe INCREMENT 2 MAXVALUE 2;
             CREATE TABLE maß (höhe serial PRIMARY KEY, \"länge\" text)",
        )
        .expect("made");
    client
}

fn refused(client: &mut Client, statement: &str) -> SqlError {
    let error = client.simple_query(statement).expect_err(statement);
    SqlError::of(&error)
}

/// What we say, and what PostgreSQL says where it is called from here.
#[test]
fn names_in_messages() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE ROLE nobody");
    for encoding in ENCODINGS {
        let mut client = database(&cluster, encoding);
        let mut check = |statement: &str, code: &str, text: &str| {
            let error = refused(&mut client, statement);
            error.assert(code, &[]);
            assert_eq!(error.message, text, "{encoding}");
        };
        check(
            "SELECT sequencer_lamport_next('größe')",
            "55000",
            "sequence \"größe\" has INCREMENT 2, which must be 1",
        );
        check("SELECT snowflake_decode_as(1, 'größe')", "22023", "unknown layout of ids \"größe\"");
        check(
            "SET ROLE nobody; SELECT sequencer_strided_next('größe')",
            "42501",
            "permission denied for sequence größe",
        );
        check(
            "SELECT sequencer_strided_next('größe') FROM generate_series(1, 2)",
            "2200H",
            "nextval: reached maximum value of sequence \"größe\" (2)",
        );
        for statement in ["SELECT snowflake_adopt('maß', 'größe')", "SELECT snowflake_audit('maß', 'größe')"]
        {
            refused(&mut client, statement).assert("42703", &["\"größe\"", "maß"]);
        }
    }
}

/// 64 bytes of a value at most, in whole characters.
#[test]
fn a_long_value() {
    let cluster = Cluster::builder().start();
    for (encoding, characters) in [("LATIN1", 64), ("SQL_ASCII", 32), ("EUC_JP", 21)] {
        let mut client = database(&cluster, encoding);
        for (shown, more) in [(characters, 0), (characters, 1), (characters, 150_000_000)] {
            let statement = format!("SELECT snowflake_decode_as(1, repeat('é', {}))", shown + more);
            let end = if more == 0 { "" } else { "..." };
            let expected = format!("unknown layout of ids \"{}{end}\"", "é".repeat(shown));
            assert_eq!(refused(&mut client, &statement).message, expected, "{encoding}");
        }
    }
}

/// A database of SQL_ASCII takes bytes that are no characters of the client's.
#[test]
fn bytes_that_are_no_characters() {
    let cluster = Cluster::builder().start();
    let mut client = database(&cluster, "SQL_ASCII");
    client
        .batch_execute("DO $$BEGIN EXECUTE 'CREATE SEQUENCE gr' || chr(246) || 'n INCREMENT 2'; END$$")
        .expect("made");
    let statement = "SELECT sequencer_lamport_next(oid) FROM pg_class WHERE relname ~ '^gr.n$'";
    refused(&mut client, statement).assert("55000", &["sequence \"gr\\xf6n\" has INCREMENT 2"]);
}

/// A setting's bytes are in no known encoding.
#[test]
fn a_setting_that_was_refused() {
    let cluster = Cluster::builder().set("snowflake.node", "größe").start();
    for encoding in ENCODINGS {
        let mut client = database(&cluster, encoding);
        refused(&mut client, "SELECT snowflake_node()")
            .assert("55000", &["setting \"snowflake.node\" is \"gr"]);
    }
}

/// Tables, columns, servers and settings with such names.
#[test]
fn functions_that_find_names() {
    let cluster = Cluster::builder().start();
    for encoding in ENCODINGS {
        let mut client = database(&cluster, encoding);
        client.batch_execute("INSERT INTO maß DEFAULT VALUES").expect("a row");
        let done = client.query("SELECT snowflake_adopt('maß', 'höhe')", &[]).expect("adopted");
        let said: Vec<String> = done.iter().map(|row| row.get(0)).collect();
        assert!(said.iter().any(|line| line.contains("ALTER TABLE public.\"maß\"")), "{encoding}: {said:?}");
        client.batch_execute("INSERT INTO maß (\"länge\") VALUES ('größe')").expect("a row");
        let row = client.query_one("SELECT sum(ids)::int FROM snowflake_audit('maß', 'höhe')", &[]);
        assert_eq!(row.expect("audited").get::<_, i32>(0), 2, "{encoding}");
        let node: i32 =
            client.query_one("SELECT snowflake_node_claim('größe')", &[]).expect("claimed").get(0);
        let released: i32 =
            client.query_one("SELECT snowflake_node_release('größe')", &[]).expect("released").get(0);
        assert_eq!(node, released, "{encoding}");
        let layouts = client.query_one("SELECT count(*) FROM snowflake_layouts()", &[]).expect("layouts");
        assert!(layouts.get::<_, i64>(0) > 0);
    }
}
