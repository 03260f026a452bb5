//! TrueTime: ids that say between which two instants they were made, by a clock that knows how wrong it may be.
//!
//! The idea and the name are those of Spanner (Corbett et al., OSDI 2012). The interval is `[earliest, latest]`, in
//! milliseconds; an id carries the first and the difference.

use pgrx::prelude::*;
use snowflake_core::NodeId;
use snowflake_core::clock_step::NS_PER_MS;
use snowflake_core::designs::{TRUETIME, TrueTimeSeries};
use snowflake_core::driver::{self, Reading};
use snowflake_core::layout::Id;

use super::{clock_error, errors};
use crate::errors::{OrRaise, timestamp_out_of_range};
use crate::sql::{row, timestamptz_of_us};
use crate::{clock, generator};

const NS_PER_US: i64 = 1_000;
const US_PER_MS: i64 = 1_000;

/// The interval that the present lies in, in Unix nanoseconds.
struct Now {
    earliest_ns: i64,
    latest_ns: i64,
}

impl Now {
    /// The error is asked for first: it grows, and the clock is the newer of the two.
    fn read() -> Self {
        let error_ns = clock_error::greatest_us().saturating_mul(NS_PER_US);
        let now_ns = clock::wall_ns();
        Self { earliest_ns: now_ns.saturating_sub(error_ns), latest_ns: now_ns.saturating_add(error_ns) }
    }

    /// The first millisecond that it may be.
    fn earliest_ms(&self) -> i64 {
        self.earliest_ns.div_euclid(NS_PER_MS)
    }

    /// From the first to the last millisecond that it may be.
    fn uncertainty_ms(&self) -> i64 {
        self.latest_ns.div_euclid(NS_PER_MS) - self.earliest_ms()
    }

    /// What the generator needs to know.
    fn reading(&self, node: NodeId) -> Reading<TrueTimeSeries> {
        let uncertainty_ms = self.uncertainty_ms();
        let series = TrueTimeSeries::new(uncertainty_ms, node)
            .unwrap_or_else(|error| errors::clock_too_uncertain(uncertainty_ms, error.max));
        Reading { unix_ns: self.earliest_ns, series }
    }
}

/// An id's interval, in milliseconds after its epoch.
struct Interval {
    earliest: i64,
    latest: i64,
}

impl Interval {
    fn of(id: i64) -> Self {
        let [earliest, uncertainty, ..] = TRUETIME.fields(Id::new(id).or_raise());
        Self { earliest, latest: earliest + uncertainty }
    }

    fn is_before(&self, other: &Self) -> bool {
        self.latest < other.earliest
    }
}

/// `sequencer_truetime_next()`.
#[pg_extern(sql = false)]
fn sequencer_truetime_next() -> i64 {
    let (id, _) = generator::next_of(driver::truetime, |node| Now::read().reading(node));
    id.get()
}

/// `sequencer_truetime_wait(id)`: the commit wait. It is over when the id's interval has passed for certain.
#[pg_extern(sql = false)]
fn sequencer_truetime_wait(id: i64) {
    let Interval { latest, .. } = Interval::of(id);
    generator::wait_until_passed(driver::truetime, latest, |epoch_ms| {
        let passed_ns = (i128::from(latest) + i128::from(epoch_ms) + 1) * i128::from(NS_PER_MS);
        i64::try_from(passed_ns - i128::from(Now::read().earliest_ns)).unwrap_or(i64::MAX)
    });
}

/// `sequencer_truetime_compare(a, b)`: by their intervals.
#[pg_extern(sql = false)]
fn sequencer_truetime_compare(a: i64, b: i64) -> &'static str {
    let (a, b) = (Interval::of(a), Interval::of(b));
    if a.is_before(&b) {
        "before"
    } else if b.is_before(&a) {
        "after"
    } else {
        "concurrent"
    }
}

/// `sequencer_truetime_decode(id)`, with the epoch in force.
#[pg_extern(sql = false)]
fn sequencer_truetime_decode(
    id: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    sequencer_truetime_decode_epoch(id, generator::epoch_ms(), fcinfo)
}

/// `sequencer_truetime_decode(id, epoch_ms)`.
#[pg_extern(sql = false)]
fn sequencer_truetime_decode_epoch(
    id: i64,
    epoch_ms: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    let Interval { earliest, latest } = Interval::of(id);
    let [_, _, node_id, sequence_id] = TRUETIME.fields(Id::new(id).or_raise());
    let instant = |ms: i64| {
        let unix_ms = i128::from(ms) + i128::from(epoch_ms);
        let unix_us = i64::try_from(unix_ms * i128::from(US_PER_MS));
        timestamptz_of_us(unix_us.unwrap_or_else(|_| timestamp_out_of_range(unix_ms)))
    };
    row::of(
        fcinfo,
        [
            instant(earliest).into_datum(),
            instant(latest).into_datum(),
            (node_id as i32).into_datum(),
            (sequence_id as i32).into_datum(),
        ],
    )
}
