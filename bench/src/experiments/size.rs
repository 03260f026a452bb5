//! What a million keys leave behind: table and index after they were inserted, and after half of them were deleted at
//! random and as many were inserted again; and how much WAL the keys alone write.

use postgres::Client;

use super::Scale;
use super::insert::make_table;
use crate::contestants::{Contestant, NEXTVAL, NEXTVAL_CACHE, SNOWFLAKE, SNOWFLAKE_CACHE, keys, server};
use crate::figures::Sample;
use crate::report::Report;
use crate::session::Session;

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    let mut client = cluster.connect("postgres");
    for contestant in keys(&cluster) {
        make_table(&mut client, &contestant);
        let mut record = |metric, sample| report.of(("size", &contestant), (metric, "MB"), sample);
        insert(&mut client, scale.rows);
        record("table", size(&mut client, "filled"));
        record("index", size(&mut client, "filled_pkey"));
        // The same rows are deleted of every contestant: by the payload, which is in the order of insertion.
        client
            .batch_execute("SELECT setseed(0.5); DELETE FROM filled WHERE random() < 0.5")
            .expect("deletes");
        client.batch_execute("VACUUM filled").expect("a vacuum");
        insert(&mut client, scale.rows / 2);
        record("table, half replaced", size(&mut client, "filled"));
        record("index, half replaced", size(&mut client, "filled_pkey"));
    }
    for contestant in [SNOWFLAKE, SNOWFLAKE_CACHE, NEXTVAL, NEXTVAL_CACHE] {
        let sample: Sample = (0..scale.long_rounds)
            .map(|_| {
                let mut session = Session::open(&cluster, contestant.settings);
                let before = wal(&mut session.client);
                calls(&mut session, &contestant, scale.rows);
                (wal(&mut session.client) - before) as f64 / scale.rows as f64
            })
            .collect();
        report.of(("size", &contestant), ("WAL an id", "bytes"), sample);
    }
}

fn insert(client: &mut Client, rows: i64) {
    client
        .execute("INSERT INTO filled (payload) SELECT generate_series(1, $1::bigint)", &[&rows])
        .expect("rows");
}

fn calls(session: &mut Session, contestant: &Contestant, calls: i64) {
    let statement = session.prepare_calls(contestant.call);
    session.client.query(&statement, &[&calls]).expect("calls");
}

fn size(client: &mut Client, relation: &str) -> Sample {
    let bytes: i64 =
        client.query_one("SELECT pg_relation_size($1::text::regclass)", &[&relation]).expect("a size").get(0);
    Sample::from_iter([bytes as f64 / 1e6])
}

/// The end of the WAL, in bytes from its beginning.
fn wal(client: &mut Client) -> i64 {
    client
        .query_one("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", &[])
        .expect("a position in the WAL")
        .get(0)
}
