//! Reading a million ids: CPU time an id, net of counting them.

use super::{Scale, empty_samples};
use crate::contestants::server;
use crate::figures::{Figure, Sample};
use crate::report::Report;
use crate::session::Session;

/// The first is what the others are net of.
const READINGS: [(&str, &str); 8] = [
    ("the id itself", "id"),
    ("shift", "id >> 22"),
    ("shift and add", "(id >> 22) + 1288834974657"),
    ("snowflake_decode_timestamp_ms", "snowflake_decode_timestamp_ms(id)"),
    ("the same behind pgrx's guard", "bench_guarded_decode(id)"),
    ("snowflake_decode_timestamp", "snowflake_decode_timestamp(id)"),
    ("snowflake_decode_node_id", "snowflake_decode_node_id(id)"),
    ("to_timestamp in SQL", "to_timestamp(((id >> 22) + 1288834974657) / 1000.0)"),
];

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    let mut session = Session::open(&cluster, "");
    session
        .client
        .batch_execute(&format!(
            "CREATE TABLE ids AS SELECT snowflake_next() AS id FROM generate_series(1, {})",
            scale.rows
        ))
        .expect("ids");
    session.client.batch_execute("VACUUM ANALYZE ids").expect("a vacuum");
    let mut samples = empty_samples(&READINGS);
    for _ in 0..scale.short_rounds {
        for ((_, reading), sample) in READINGS.iter().zip(&mut samples) {
            let before = session.cpu();
            session.client.query(&format!("SELECT count({reading}) FROM ids"), &[]).expect("a count");
            let cpu = session.cpu() - before;
            sample.extend([cpu.as_nanos() as f64 / scale.rows as f64]);
        }
    }
    let counting = &samples[0];
    for ((name, _), sample) in READINGS.iter().zip(&samples).skip(1) {
        let sample: Sample = sample.net_of(counting);
        let (contestant, parameter) = ((*name).to_owned(), None);
        report.record(Figure {
            experiment: "decode",
            contestant,
            parameter,
            metric: "CPU",
            unit: "ns",
            sample,
        });
    }
}
