//! Rows with the key as a default: a million by one statement, single rows by eight clients, COPY.

use std::io::Write as _;
use std::time::Instant;

use postgres::Client;
use snowflake_servers::Cluster;

use super::{Scale, empty_samples};
use crate::contestants::{Contestant, keys, server};
use crate::figures::Sample;
use crate::report::Report;

const CLIENTS: &str = "8";
const SECONDS: i64 = 4;
const RATE: &str = "tps = ";

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    let contestants = keys(&cluster);
    let mut client = cluster.connect("postgres");
    let (mut insert, mut copy, mut single) =
        (empty_samples(&contestants), empty_samples(&contestants), empty_samples(&contestants));
    for _ in 0..scale.long_rounds {
        for (contestant, sample) in contestants.iter().zip(&mut insert) {
            make_table(&mut client, contestant);
            sample.extend([insert_rows(&mut client, scale.rows)]);
        }
        for (contestant, sample) in contestants.iter().zip(&mut copy) {
            make_table(&mut client, contestant);
            sample.extend([copy_rows(&mut client, scale.rows)]);
        }
        for (contestant, sample) in contestants.iter().zip(&mut single) {
            make_table(&mut client, contestant);
            sample.extend([single_rows(&cluster, contestant, (SECONDS / scale.divisor).max(1))]);
        }
    }
    for (number, contestant) in contestants.iter().enumerate() {
        let mut record = |metric, unit, samples: &[Sample]| {
            report.of(("insert", contestant), (metric, unit), samples[number].clone());
        };
        record("insert of a million rows", "s", &insert);
        record("copy of a million rows", "s", &copy);
        record("single-row inserts", "a second", &single);
    }
}

/// An empty table `filled` with the contestant's key, and a checkpoint behind it.
pub fn make_table(client: &mut Client, contestant: &Contestant) {
    let Contestant { call, column, settings, .. } = contestant;
    let table = format!("CREATE TABLE filled (id {column} PRIMARY KEY DEFAULT {call}, payload integer)");
    for statement in ["DROP TABLE IF EXISTS filled", &table, "CHECKPOINT", "RESET ALL", settings] {
        client.batch_execute(statement).expect("a table");
    }
}

/// Seconds.
fn insert_rows(client: &mut Client, rows: i64) -> f64 {
    let began = Instant::now();
    let insert = "INSERT INTO filled (payload) SELECT generate_series(1, $1::bigint)";
    client.execute(insert, &[&rows]).expect("rows");
    began.elapsed().as_secs_f64()
}

/// Seconds.
fn copy_rows(client: &mut Client, rows: i64) -> f64 {
    let lines: String = (1..=rows).map(|row| format!("{row}\n")).collect();
    let began = Instant::now();
    let mut copy = client.copy_in("COPY filled (payload) FROM STDIN").expect("a copy");
    copy.write_all(lines.as_bytes()).expect("rows");
    copy.finish().expect("rows");
    began.elapsed().as_secs_f64()
}

/// Rows a second, each in a transaction of its own, by pgbench.
fn single_rows(cluster: &Cluster, contestant: &Contestant, seconds: i64) -> f64 {
    let script = cluster.write_file("single.sql", "INSERT INTO filled (payload) VALUES (1);\n");
    // A server's setting, since pgbench has no session to set it in.
    let settings = format!("ALTER DATABASE postgres RESET ALL; {}", as_default(contestant.settings));
    cluster.execute("postgres", &settings);
    let seconds = seconds.to_string();
    let script = script.to_str().expect("paths are UTF-8");
    let said = cluster.run(
        "pgbench",
        &["-n", "-M", "prepared", "-c", CLIENTS, "-j", "2", "-T", &seconds, "-f", script, "postgres"],
    );
    cluster.execute("postgres", "ALTER DATABASE postgres RESET ALL");
    let rate = said.lines().find_map(|line| line.strip_prefix(RATE));
    rate.and_then(|rate| rate.split_whitespace().next()?.parse().ok()).expect("pgbench tells the rate")
}

fn as_default(settings: &str) -> String {
    if settings.is_empty() { String::new() } else { format!("ALTER DATABASE postgres {settings}") }
}
