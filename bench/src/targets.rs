//! What the project has set itself, as ratios of medians of one run.

use crate::contestants::{NEXTVAL, SNOWFLAKE, UUID};
use crate::report::Report;

/// A limit and what was measured.
pub struct Target {
    /// In words.
    pub what: String,
    /// How the limit is meant.
    pub bound: &'static str,
    /// The limit.
    pub limit: f64,
    /// The figure.
    pub measured: f64,
}

impl Target {
    /// Whether it is met.
    pub fn holds(&self) -> bool {
        if self.bound == AT_LEAST { self.measured >= self.limit } else { self.measured <= self.limit }
    }
}

const AT_MOST: &str = "at most";
const AT_LEAST: &str = "at least";

/// The targets whose figures are there.
pub fn all(report: &Report) -> Vec<Target> {
    let at = |experiment, metric, contestant: &str, parameter| {
        report.median(experiment, metric, contestant, parameter)
    };
    let of = |experiment, metric, contestant: &str| at(experiment, metric, contestant, None);
    let ratio = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
    let snowflake = SNOWFLAKE.name;
    let insert = |contestant| of("insert", "insert of a million rows", contestant);

    let mut targets = vec![
        (
            "net cost of an id, of `nextval`'s".to_owned(),
            AT_MOST,
            0.35,
            ratio(of("cost", "net CPU", snowflake), of("cost", "net CPU", NEXTVAL.name)),
        ),
        (
            "INSERT of a million rows, of the time with bigserial".to_owned(),
            AT_MOST,
            0.95,
            ratio(insert(snowflake), insert(NEXTVAL.name)),
        ),
        (
            "INSERT of a million rows, of the time with uuid v4".to_owned(),
            AT_MOST,
            0.40,
            ratio(insert(snowflake), insert(UUID.name)),
        ),
    ];
    for sessions in [1, 2, 8] {
        targets.push((
            format!("of the ceiling reached, sessions: {sessions}"),
            AT_LEAST,
            0.99,
            at("ceiling", "share of the ceiling", snowflake, Some(sessions)),
        ));
    }
    for sessions in [1, 2, 8, 32] {
        targets.push((
            format!("cores used by waiting at the ceiling, sessions: {sessions}"),
            AT_MOST,
            0.5,
            at("ceiling", "cores used to wait", snowflake, Some(sessions)),
        ));
    }
    targets.extend([
        (
            "cost of an id with 8 sessions, of that with one".to_owned(),
            AT_MOST,
            1.3,
            ratio(
                at("sessions", "net CPU", snowflake, Some(8)),
                at("sessions", "net CPU", snowflake, Some(1)),
            ),
        ),
        ("bytes of WAL an id".to_owned(), AT_MOST, 0.01, of("size", "WAL an id", snowflake)),
        (
            "size of the index, of bigserial's".to_owned(),
            AT_MOST,
            1.0,
            ratio(of("size", "index", snowflake), of("size", "index", NEXTVAL.name)),
        ),
        (
            "decoding a time, of an integer shift's cost".to_owned(),
            AT_MOST,
            2.0,
            ratio(of("decode", "CPU", "snowflake_decode_timestamp_ms"), of("decode", "CPU", "shift and add")),
        ),
        ("first call in a new session, ms".to_owned(), AT_MOST, 1.0, of("latency", "first call", snowflake)),
        (
            "memory of a session for its first id, KiB".to_owned(),
            AT_MOST,
            4.0,
            of("latency", "memory for the first call", snowflake),
        ),
    ]);
    targets
        .into_iter()
        .filter_map(|(what, bound, limit, measured)| Some(Target { what, bound, limit, measured: measured? }))
        .collect()
}
