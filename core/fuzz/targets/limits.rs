//! The ceiling to write next, and what a look at the clock says.

use snowflake_core::ceiling::{LEAD_MIN_MS, LEAD_MS};
use snowflake_core::clock_step::TOLERANCE_NS;
use snowflake_core::layout::TIMESTAMP_MS_MAX;
use snowflake_core::{Ceiling, ClockStep};

use super::bytes::Bytes;

pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    ceiling(bytes.number(), bytes.number());
    let (a, b) = (bytes.number(), bytes.number());
    clock_step(bytes.number(), (a.min(b), a.max(b)));
}

/// It covers what it was asked to, leads by no more than the server has lived or the longest lead, and is begun anew
/// before it is reached.
fn ceiling(from: i64, uptime_ms: i64) {
    let Ceiling { id, raise_at } = Ceiling::above(from, uptime_ms);
    let field = |timestamp: i128| timestamp.clamp(0, i128::from(TIMESTAMP_MS_MAX)) as i64;
    let lead = i128::from(uptime_ms).clamp(i128::from(LEAD_MIN_MS), i128::from(LEAD_MS));
    assert_eq!(id.timestamp(), field(i128::from(from) + lead));
    assert!(field(i128::from(from)) <= raise_at.timestamp() && raise_at <= id);
    let last_of_its_millisecond = 0x3f_ffff;
    assert_eq!(id.get() & last_of_its_millisecond, last_of_its_millisecond);
}

/// Only what cannot be the time between two readings is a step, and its size is that from the nearer bound.
fn clock_step(trusted_ns: i64, now_ns: (i64, i64)) {
    let tolerance = i128::from(TOLERANCE_NS);
    let (low, high) =
        (i128::from(now_ns.0) - i128::from(trusted_ns), i128::from(now_ns.1) - i128::from(trusted_ns));
    let size = |ns: i128| i64::try_from(ns).unwrap_or(i64::MAX);
    let expected = if high < -tolerance {
        ClockStep::Back(size(-high))
    } else if low > tolerance {
        ClockStep::Ahead(size(low))
    } else {
        ClockStep::None
    };
    assert_eq!(ClockStep::between(trusted_ns, now_ns), expected);
}
