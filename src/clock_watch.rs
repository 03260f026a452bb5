//! Watching the wall clock: counts and reports each time somebody set it back, and each leap ahead that is refused,
//! and warns of the day on which the format ends.
//!
//! Nothing here decides about an id: the word does. This is for the operator, and for rule 5 of the generator: a
//! clock that leaps ahead by more than is allowed must not date the ids of months.
//!
//! A step that comes and goes between two looks is not seen; a look is taken at each raise of the ceiling, and with
//! each id that finds the clock behind the last one.

use std::sync::atomic::Ordering;

use pgrx::prelude::*;
use snowflake_core::ClockStep;
use snowflake_core::clock_step::TOLERANCE_NS;
use snowflake_core::layout::TIMESTAMP_MS_MAX;

use crate::clock::ComparedClock;
use crate::shared::Shared;

const NS_PER_MS: i64 = 1_000_000;
const MS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;
/// From a year before the format's end on, the log warns of it once a day.
const END_WARNING_MS: i64 = 365 * MS_PER_DAY;

/// A leap of the clock that was refused.
pub struct Leap {
    /// How far.
    pub by_ns: i64,
    /// The offset it leapt to.
    offset_ns: i64,
}

/// Whether the clock leapt ahead by more than is allowed since ids were last issued. After a start there is
/// nothing to compare with.
pub fn check_leap(shared: &Shared, clock: &ComparedClock, max_ns: i64) -> Result<(), Leap> {
    let Some(trusted) = shared.clock.trusted_offset_ns() else { return Ok(()) };
    match ClockStep::between(trusted, clock.offset_ns) {
        ClockStep::Ahead(by_ns) if by_ns > max_ns => Err(Leap { by_ns, offset_ns: clock.offset_ns.1 }),
        _ => Ok(()),
    }
}

/// Counts a leap and writes it to the log, once for each.
pub fn report_leap(shared: &Shared, leap: &Leap) {
    if is_news(shared, leap.offset_ns) {
        shared.stats.leaps.fetch_add(1, Ordering::Relaxed);
        ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("snowflake: the clock leapt {} ms ahead; no ids are generated", leap.by_ns / NS_PER_MS)
        );
    }
}

/// Looks at a clock that stands behind the last id: it may have been set back, or the id may be ahead for another
/// reason (the server has just been started, say).
#[cold]
pub fn look_back(shared: &Shared, max_ns: i64) {
    let clock = ComparedClock::now();
    let Some(trusted) = shared.clock.trusted_offset_ns() else { return };
    let ClockStep::Back(by_ns) = ClockStep::between(trusted, clock.offset_ns) else { return };
    let offset = clock.offset_ns.1;
    // A step that may pass is trusted from now on, so that the next is measured from it. One that may not leaves
    // the trusted offset where it was: the clock's way back is then no leap.
    let first = if by_ns <= max_ns {
        let reported_when_refused = is_reported(shared, trusted, offset);
        shared.clock.trust_offset_ns(Some(trusted), offset) && !reported_when_refused
    } else {
        is_news(shared, offset)
    };
    if first {
        shared.clock.reported_offset_ns.store(offset, Ordering::Relaxed);
        count_regression(shared, by_ns);
    }
}

/// Trusts the clock that a ceiling was raised by. A step back that nobody has met yet is counted here.
pub fn trust(shared: &Shared, clock: &ComparedClock) {
    let offset = clock.offset_ns.1;
    let trusted = shared.clock.trusted_offset_ns();
    let step = trusted.map(|trusted| ClockStep::between(trusted, clock.offset_ns));
    if step == Some(ClockStep::None) {
        return;
    }
    let reported = trusted.is_some_and(|trusted| is_reported(shared, trusted, offset));
    let changed = shared.clock.trust_offset_ns(trusted, offset);
    if let (true, Some(ClockStep::Back(by_ns))) = (changed && !reported, step) {
        count_regression(shared, by_ns);
    }
    shared.clock.reported_offset_ns.store(offset, Ordering::Relaxed);
}

/// Warns of the format's end, once a day in its last year. `now` is in milliseconds after the epoch.
pub fn warn_of_the_end(shared: &Shared, now: i64) {
    let left = TIMESTAMP_MS_MAX - now;
    if !(0..=END_WARNING_MS).contains(&left) {
        return;
    }
    let day = now / MS_PER_DAY;
    if shared.clock.warned_day.swap(day, Ordering::AcqRel) != day {
        ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_WARNING,
            format!("snowflake: the timestamps of this epoch end in {} days", left / MS_PER_DAY)
        );
    }
}

fn count_regression(shared: &Shared, by_ns: i64) {
    shared.stats.regressions.fetch_add(1, Ordering::Relaxed);
    shared.stats.largest_regression_ns.fetch_max(by_ns, Ordering::Relaxed);
    ereport!(
        PgLogLevel::WARNING,
        PgSqlErrorCode::ERRCODE_WARNING,
        format!("snowflake: the clock was set back by {} ms", by_ns / NS_PER_MS)
    );
}

/// Whether a step to this offset was reported when it was refused. While nothing is refused, the offset reported
/// is the trusted one.
fn is_reported(shared: &Shared, trusted_ns: i64, offset_ns: i64) -> bool {
    let reported = shared.clock.reported_offset_ns.load(Ordering::Acquire);
    reported != trusted_ns && same_step(reported, offset_ns)
}

/// True for the one session that is to report an offset which differs from the one reported last.
fn is_news(shared: &Shared, offset_ns: i64) -> bool {
    let reported = shared.clock.reported_offset_ns.load(Ordering::Acquire);
    !same_step(reported, offset_ns)
        && shared
            .clock
            .reported_offset_ns
            .compare_exchange(reported, offset_ns, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
}

/// Whether two offsets are two readings of one: each is exact to the tolerance.
fn same_step(a_ns: i64, b_ns: i64) -> bool {
    a_ns.abs_diff(b_ns) <= 2 * TOLERANCE_NS as u64
}
