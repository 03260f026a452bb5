//! Watching the wall clock: counts and reports each time somebody set it back, and each leap ahead that is refused.
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

use crate::clock::ComparedClock;
use crate::shared::Shared;

const NS_PER_MS: i64 = 1_000_000;

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
        shared.clock.trust_offset_ns(Some(trusted), offset)
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
    let trusted = shared.clock.trusted_offset_ns();
    let step = trusted.map(|trusted| ClockStep::between(trusted, clock.offset_ns));
    if step == Some(ClockStep::None) {
        return;
    }
    let changed = shared.clock.trust_offset_ns(trusted, clock.offset_ns.1);
    if let (true, Some(ClockStep::Back(by_ns))) = (changed, step)
        && is_news(shared, clock.offset_ns.1)
    {
        count_regression(shared, by_ns);
    }
    shared.clock.reported_offset_ns.store(clock.offset_ns.1, Ordering::Relaxed);
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

/// True for the one session that is to report an offset which differs from the one reported last.
fn is_news(shared: &Shared, offset_ns: i64) -> bool {
    let reported = shared.clock.reported_offset_ns.load(Ordering::Acquire);
    let known = reported.abs_diff(offset_ns) <= 2 * TOLERANCE_NS as u64;
    !known
        && shared
            .clock
            .reported_offset_ns
            .compare_exchange(reported, offset_ns, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
}
