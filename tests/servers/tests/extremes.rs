//! Every function of both extensions, called with the extremes of each type that it takes, on a server with little
//! memory. The functions come from the catalog, so a new one is called too.
//!
//! A call may be refused. It must not end a process, lose the session, take memory that is not PostgreSQL's, fail
//! inside (class XX), or answer with a message whose size the caller has chosen.

use std::collections::BTreeMap;

use postgres::{Client, SimpleQueryMessage};
use snowflake_servers::{Cluster, SqlError};

/// Enough for a server, one large value and a copy of it that PostgreSQL makes; a copy in Rust's memory, which takes
/// more, is refused and would end the process.
const ADDRESS_SPACE_MB: u64 = 1_400;
/// What a message of ours has at most, with a value in it.
const MESSAGE_BYTES: usize = 700;

/// Values of a type: SQL expressions. The first is the one that the other arguments have while one is varied.
struct Extremes {
    small: &'static [&'static str],
    /// Hundreds of megabytes: tried in one argument at a time.
    large: &'static [&'static str],
}

fn extremes(argument_type: &str) -> Extremes {
    let (small, large): (&[&str], &[&str]) = match argument_type {
        "bigint" => (BIGINTS, &[]),
        "integer" => (&["1", "0", "-1", "-2147483648", "2147483647", "NULL"], &[]),
        "boolean" => (&["true", "false", "NULL"], &[]),
        "uuid" => (UUIDS, &[]),
        "name" => (NAMES, &[]),
        "regclass" => (RELATIONS, &[]),
        "timestamp with time zone" => (TIMES, &[]),
        "text" => (TEXTS, &["repeat('x', 400000000)", "repeat('é', 150000000)"]),
        "bytea" => (KEYS, &["repeat('x', 100000000)::bytea"]),
        "bigint[]" => (
            ARRAYS,
            &["array_fill(1::bigint, ARRAY[40000000])", "array_fill(NULL::bigint, ARRAY[300000000])"],
        ),
        other => panic!("a function takes {other}: give its extremes here"),
    };
    Extremes { small, large }
}

const BIGINTS: &[&str] = &[
    "1",
    "NULL",
    "'-9223372036854775808'",
    "-1",
    "0",
    "2",
    "53",
    "54",
    "1023",
    "1024",
    "4095",
    "4096",
    "2199023255551",
    "2199023255552",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775807",
    // The default epoch and its neighbours, this moment, and the ids of this moment and of a minute ahead.
    "1288834974656",
    "1288834974657",
    "1288834974658",
    "(extract(epoch FROM now()) * 1000)::bigint",
    "snowflake_max_id(now())",
    "snowflake_max_id(now() + interval '1 minute')",
];
const UUIDS: &[&str] = &[
    "snowflake_to_uuid(1)",
    "NULL",
    "'00000000-0000-0000-0000-000000000000'",
    "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    "'ffffffff-ffff-7fff-bfff-ffffffffffff'",
    "'00000000-0000-7000-8000-000000000000'",
];
const NAMES: &[&str] =
    &["'id'", "NULL", "''", "'größe'", "'no such column'", "repeat('x', 63)", "'\"'", "'tableoid'"];
const RELATIONS: &[&str] = &[
    "'t'",
    "NULL",
    "0",
    "4294967295",
    "'größe'",
    "'s'",
    "'s_cycle'",
    "'s_down'",
    "'s_end'",
    "'s_unlogged'",
    "'s_temporary'",
    "'t_partitioned'",
    "'t_temporary'",
    "'t_pkey'",
    "'t_partitioned_pkey'",
    "'v'",
    "'m'",
    "'f'",
    "'c'",
    "'pg_class'",
    "'pg_toast.pg_toast_1255'",
    "'information_schema.tables'",
    "'snowflake_nodes'",
];
const TIMES: &[&str] = &[
    "now()",
    "NULL",
    "'-infinity'",
    "'infinity'",
    "'4714-11-24 00:00:00+00 BC'",
    "'294276-12-31 23:59:59.999999+00'",
    "'epoch'",
    "'2010-11-04 01:42:54.656999+00'",
    "'2010-11-04 01:42:54.657+00'",
];
const TEXTS: &[&str] = &[
    "'id'",
    "NULL",
    "''",
    "'twitter'",
    "'7ZZZZZZZZZZZZ'",
    "'8000000000000'",
    "'größe'",
    "repeat('é', 33)",
    "repeat('x', 64)",
    "repeat('x', 65)",
    "repeat('x', 3000)",
    r#"E'\x01\n\r\t''\\"%s%n{}'"#,
];
const KEYS: &[&str] = &[
    r"'\x0000000000000000000000000000000000000000000000000000000000000000'",
    "NULL",
    "''",
    "repeat('x', 31)::bytea",
    "repeat('x', 33)::bytea",
];
const ARRAYS: &[&str] = &[
    "'{1,2,3}'",
    "NULL",
    "'{}'",
    "'{1}'",
    "'{NULL}'",
    "'{1,NULL,3}'",
    "'{-1,0}'",
    "'{9223372036854775807,-9223372036854775808}'",
    "'[5:6]={1,2}'",
    "'{{1,2},{3,4}}'",
    "'{{NULL},{1}}'",
    "array_fill(1::bigint, ARRAY[53])",
    "array_fill(1::bigint, ARRAY[54])",
    "array_fill(NULL::bigint, ARRAY[53])",
    "array_fill(1::bigint, ARRAY[7, 7])",
];

/// A relation of each kind, and sequences of each.
const RELATIONS_OF_EACH_KIND: &str = "
    CREATE TABLE t (id bigint PRIMARY KEY, x text);
    CREATE TABLE größe (id serial PRIMARY KEY, größe int);
    CREATE TABLE t_partitioned (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TEMPORARY TABLE t_temporary (id bigint);
    CREATE VIEW v AS SELECT 1::bigint AS first, 10::bigint AS last;
    CREATE MATERIALIZED VIEW m AS SELECT 1::bigint AS id;
    CREATE TYPE c AS (id bigint);
    CREATE FOREIGN DATA WRAPPER none; CREATE SERVER nowhere FOREIGN DATA WRAPPER none;
    CREATE FOREIGN TABLE f (id bigint) SERVER nowhere;
    CREATE SEQUENCE s; CREATE SEQUENCE s_cycle MAXVALUE 3 CYCLE; CREATE SEQUENCE s_down INCREMENT -1000;
    CREATE SEQUENCE s_end START 9223372036854775807 INCREMENT 1000;
    CREATE UNLOGGED SEQUENCE s_unlogged; CREATE TEMPORARY SEQUENCE s_temporary;";

struct Function {
    name: String,
    types: Vec<String>,
}

impl Function {
    /// Those that move the generator come last.
    fn all(client: &mut Client) -> Vec<Self> {
        let query = "SELECT format('%I.%I', pronamespace::regnamespace, proname),
                ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) type)
            FROM pg_depend
            JOIN pg_extension e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
            JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
            WHERE deptype = 'e' AND extname IN ('snowflake', 'sequencer')
                AND 'internal'::regtype <> ALL (proargtypes)
            ORDER BY proname ~ 'advance|observe' OR coalesce('after' = ANY (proargnames), false), p.oid";
        let rows = client.query(query, &[]).expect("the catalog");
        rows.iter().map(|row| Self { name: row.get(0), types: row.get(1) }).collect()
    }

    fn call(&self, values: &[&str]) -> String {
        let arguments: Vec<String> =
            values.iter().zip(&self.types).map(|(value, of_type)| format!("({value})::{of_type}")).collect();
        format!("SELECT {}({}) LIMIT 3", self.name, arguments.join(", "))
    }

    /// Each pair of small values, and each large one.
    fn calls(&self) -> Vec<String> {
        let extremes: Vec<Extremes> = self.types.iter().map(|name| extremes(name)).collect();
        let defaults: Vec<&str> = extremes.iter().map(|of_type| of_type.small[0]).collect();
        let mut calls = vec![self.call(&defaults)];
        let mut vary = |changes: &[(usize, &'static str)]| {
            let mut values = defaults.clone();
            for &(argument, value) in changes {
                values[argument] = value;
            }
            calls.push(self.call(&values));
        };
        for (a, of_a) in extremes.iter().enumerate() {
            for value in of_a.small.iter().skip(1).chain(of_a.large) {
                vary(&[(a, value)]);
            }
            for (b, of_b) in extremes.iter().enumerate().skip(a + 1) {
                for value_a in &of_a.small[1..] {
                    for value_b in &of_b.small[1..] {
                        vary(&[(a, value_a), (b, value_b)]);
                    }
                }
            }
        }
        calls
    }
}

/// What is wrong with the answer to a call, if anything.
fn fault(client: &mut Client, call: &str) -> Option<String> {
    let mut run = |statement: &str| client.simple_query(statement).map_err(|error| SqlError::of(&error));
    run("BEGIN").err().map(|error| format!("before: {error}")).or_else(|| {
        let answer = run(call);
        let fault = match &answer {
            Ok(_) => None,
            Err(error) if error.code.starts_with("XX") || error.code == "08006" => Some(error.to_string()),
            Err(SqlError { message, detail, hint, .. }) => [message, detail, hint]
                .iter()
                .find(|text| text.len() > MESSAGE_BYTES)
                .map(|text| format!("{} bytes of message", text.len())),
        };
        fault.or_else(|| match run("ROLLBACK; SELECT 'usable'") {
            Ok(answer) if matches!(answer.last(), Some(SimpleQueryMessage::CommandComplete(1))) => None,
            Ok(_) => Some("the session is not usable".to_owned()),
            Err(error) => Some(format!("afterwards: {error}")),
        })
    })
}

fn server_with(encoding: &str) -> Cluster {
    let cluster = Cluster::builder()
        .address_space_mb(ADDRESS_SPACE_MB)
        .set("jit", "off")
        // Nothing waits for long, nor writes values of megabytes to the log.
        .set("statement_timeout", "20s")
        .set("log_min_error_statement", "panic")
        .start();
    cluster.execute(
        "postgres",
        &format!("CREATE DATABASE extremes ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"),
    );
    cluster.execute("extremes", "CREATE EXTENSION sequencer CASCADE");
    cluster
}

fn every_function_in(encoding: &str) {
    let cluster = server_with(encoding);
    let mut client = cluster.connect("extremes");
    client.batch_execute("SET client_min_messages = error; SELECT snowflake_next()").expect("an id");
    client.batch_execute(RELATIONS_OF_EACH_KIND).expect("relations");
    let mut faults: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    let functions = Function::all(&mut client);
    let mut number = 0;
    for function in &functions {
        for call in function.calls() {
            number += 1;
            if let Some(fault) = fault(&mut client, &call) {
                // The server has ended its sessions, or this one is lost.
                assert!(!fault.contains("08006"), "{call}: {fault}; before: {faults:#?}");
                faults.entry((&function.name, fault)).or_default().push(call);
            }
        }
    }
    println!("{number} calls of {} functions", functions.len());
    let shown: Vec<String> = faults
        .iter()
        .map(|((_, fault), calls)| {
            format!("{fault:.400}\n    {} calls, the first: {}", calls.len(), calls[0])
        })
        .collect();
    assert!(faults.is_empty(), "{}", shown.join("\n"));
    assert_eq!(cluster.count_in_log("terminated by signal"), 0);
    assert!(number > 1_000, "{number} calls");
}

#[test]
fn in_utf8() {
    every_function_in("UTF8");
}

#[test]
fn in_sql_ascii() {
    every_function_in("SQL_ASCII");
}

#[test]
fn in_latin1() {
    every_function_in("LATIN1");
}

/// What a view runs when a range is claimed from it is a user's code, with messages of any size: as large as here, they
/// are more than the server has memory for.
#[test]
fn an_error_of_a_users() {
    let cluster = server_with("LATIN1");
    let mut client = cluster.connect("extremes");
    client
        .batch_execute(
            "CREATE FUNCTION loud(n int) RETURNS bigint LANGUAGE plpgsql
                 AS $$BEGIN RAISE EXCEPTION 'größe%', repeat('é', n); END$$;
             CREATE VIEW small AS SELECT loud(1) AS first, 1::bigint AS last;
             CREATE VIEW large AS SELECT loud(200000000) AS first, 1::bigint AS last",
        )
        .expect("views");
    let mut refused = |source: &str| {
        let statement = format!("SELECT sequencer_range_next('{source}')");
        SqlError::of(&client.simple_query(&statement).expect_err("the view's error"))
    };
    refused("large").assert("53200", &[]);
    assert_eq!(refused("small").message, "größeé");
    assert_eq!(cluster.count_in_log("terminated by signal"), 0);
}
