//! The rows of a span of time: through `snowflake_min_id` on the primary key, against a `created_at` column with an
//! index of its own.

use std::time::Instant;

use super::Scale;
use crate::contestants::{EMPTY, SNOWFLAKE, server};
use crate::figures::{Figure, Sample};
use crate::report::Report;

/// The time of the first row, in Unix milliseconds: in 2027.
const FROM_MS: i64 = 1_800_000_000_000;
/// Rows a query finds, one a millisecond.
const SPAN_MS: i64 = 10_000;
const BY_ID: &str = "SELECT count(payload) FROM events
    WHERE id >= snowflake_min_id($1::text::timestamptz) AND id < snowflake_min_id($2::text::timestamptz)";
const BY_COLUMN: &str = "SELECT count(payload) FROM events
    WHERE created_at >= $1::text::timestamptz AND created_at < $2::text::timestamptz";

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    let mut client = cluster.connect("postgres");
    // A row a millisecond, from a fixed time on.
    client
        .batch_execute(&format!(
            "CREATE TABLE events (id bigint PRIMARY KEY, created_at timestamptz, payload integer);
             INSERT INTO events
                 SELECT id, snowflake_decode_timestamp(id), row
                 FROM (SELECT snowflake_compose({FROM_MS} + row, 1, 0) AS id, row
                       FROM generate_series(1, {rows}) row) rows;
             CREATE INDEX events_created_at ON events (created_at)",
            rows = scale.rows
        ))
        .expect("a table");
    client.batch_execute("VACUUM ANALYZE events").expect("a vacuum");
    let span = SPAN_MS / scale.divisor;
    let (mut by_id, mut by_column) = (Sample::default(), Sample::default());
    for round in 0..scale.short_rounds as i64 {
        // Another part of the table each round.
        let from = FROM_MS + 1 + (round * 7_919 * 13) % (scale.rows - span);
        let bound = |client: &mut postgres::Client, ms: i64| -> String {
            let query = "SELECT snowflake_decode_timestamp(snowflake_compose($1::bigint, 0, 0))::text";
            client.query_one(query, &[&ms]).expect("a time").get(0)
        };
        let bounds = (bound(&mut client, from), bound(&mut client, from + span));
        for (query, sample) in [(BY_ID, &mut by_id), (BY_COLUMN, &mut by_column)] {
            let statement = client.prepare(query).expect("a statement");
            // The first warms the cache for the second.
            for warm in [false, true] {
                let began = Instant::now();
                let rows: i64 =
                    client.query_one(&statement, &[&bounds.0, &bounds.1]).expect("a count").get(0);
                assert_eq!(rows, span, "rows of the span");
                if warm {
                    sample.extend([began.elapsed().as_secs_f64() * 1e3]);
                }
            }
        }
    }
    report.of(("range", &SNOWFLAKE), ("rows of ten seconds", "ms"), by_id);
    let column = crate::contestants::Contestant { name: "created_at with an index", ..EMPTY };
    report.of(("range", &column), ("rows of ten seconds", "ms"), by_column);
    let saved: i64 =
        client.query_one("SELECT pg_relation_size('events_created_at')", &[]).expect("a size").get(0);
    report.record(Figure {
        experiment: "range",
        contestant: "snowflake_next()".to_owned(),
        parameter: None,
        metric: "index saved",
        unit: "MB",
        sample: Sample::from_iter([saved as f64 / 1e6]),
    });
}
