//! Watching the wall clock: counts and reports each time somebody set it back, and each leap ahead that is refused,
//! and warns of the day on which the format ends.
//!
//! Nothing here decides about an id: the word does. This is for the operator, and for rule 5 of the generator: a
//! clock that leaps ahead by more than is allowed must not date the ids of months.
//!
//! A step that comes and goes between two looks is not seen; a look is taken at each raise of the ceiling, and with
//! each id that finds the clock behind the last one.

use std::sync::atomic::{AtomicI64, Ordering};

use pgrx::prelude::*;
use snowflake_core::ClockStep;
use snowflake_core::clock_step::TOLERANCE_NS;
use snowflake_core::layout::TIMESTAMP_MS_MAX;

use crate::clock::ComparedClock;
use crate::shared::Shared;

const NS_PER_MS: i64 = 1_000_000;
/// Two steps of the clock this close together are one event: a second, so that whatever happens, the log gets no more
/// than a line a second.
const EVENT_GAP_NS: i64 = 1_000_000_000;
const MS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;
/// From a year before the format's end on, the log warns of it once a day.
const END_WARNING_MS: i64 = 365 * MS_PER_DAY;

/// A reading of the clock, and the offset that was trusted before it.
pub struct Look {
    /// The reading.
    pub clock: ComparedClock,
    trusted_ns: Option<i64>,
}

impl Look {
    /// Reads the clock, after what is trusted: if that changes meanwhile, this reading may be the older one, and
    /// changes nothing.
    pub fn now(shared: &Shared) -> Self {
        let trusted_ns = shared.clock.trusted_offset_ns();
        Self { clock: ComparedClock::now(), trusted_ns }
    }

    /// What has happened to the clock since ids were last issued. After a start there is nothing to compare with.
    pub fn step(&self) -> ClockStep {
        match self.trusted_ns {
            Some(trusted) => ClockStep::between(trusted, self.clock.offset_ns),
            None => ClockStep::None,
        }
    }

    /// Trusts this reading from now on. True for the one session that made the change.
    fn trust(&self, shared: &Shared) -> bool {
        shared.clock.trust_offset_ns(self.trusted_ns, self.clock.offset_ns())
    }

    /// Whether this step was reported when it was refused. While nothing is refused, the offset reported is the
    /// trusted one.
    fn is_reported(&self, shared: &Shared) -> bool {
        let reported = shared.clock.reported_offset_ns.load(Ordering::Acquire);
        Some(reported) != self.trusted_ns && same_step(reported, self.clock.offset_ns())
    }
}

/// Counts a leap that was refused and writes it to the log, once for each.
pub fn report_leap(shared: &Shared, look: &Look, by_ns: i64) {
    if is_news(shared, look.clock.offset_ns()) && begins(&shared.clock.last_leap_ns, look) {
        shared.stats.leaps.fetch_add(1, Ordering::Relaxed);
        ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("snowflake: the clock leapt {} ms ahead; no ids are generated", by_ns / NS_PER_MS)
        );
    }
}

/// Looks at a clock that stands behind the last id: it may have been set back, or the id may be ahead for another
/// reason (the server has just been started, say). `may_pass` tells whether ids are generated all the same.
#[cold]
pub fn look_back(shared: &Shared, may_pass: bool) {
    let look = Look::now(shared);
    let ClockStep::Back(by_ns) = look.step() else { return };
    // A step that may pass is trusted from now on, so that the next is measured from it. One that may not leaves
    // the trusted offset where it was: the clock's way back is then no leap.
    let first = if may_pass {
        let reported_when_refused = look.is_reported(shared);
        look.trust(shared) && !reported_when_refused
    } else {
        is_news(shared, look.clock.offset_ns())
    };
    if first {
        shared.clock.reported_offset_ns.store(look.clock.offset_ns(), Ordering::Relaxed);
        count_regression(shared, &look, by_ns);
    }
}

/// Trusts the clock that a ceiling is raised by, unless nothing has changed: a step below the tolerance is kept to
/// be seen with the next. A step back that nobody has met yet is counted: its size comes back, to be reported when
/// no lock is held.
pub fn trust(shared: &Shared, look: &Look) -> Option<i64> {
    if let (Some(trusted), ClockStep::None) = (look.trusted_ns, look.step()) {
        // What was refused is over: the next time is another.
        shared.clock.reported_offset_ns.store(trusted, Ordering::Relaxed);
        return None;
    }
    let reported = look.is_reported(shared);
    let changed = look.trust(shared);
    if changed {
        shared.clock.reported_offset_ns.store(look.clock.offset_ns(), Ordering::Relaxed);
    }
    match look.step() {
        ClockStep::Back(by_ns) if changed && !reported => Some(by_ns),
        _ => None,
    }
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

/// Counts a step back and writes it to the log. A clock that stands, or goes too slowly, is seen further behind with
/// each look, and is one event.
pub fn count_regression(shared: &Shared, look: &Look, by_ns: i64) {
    shared.stats.largest_regression_ns.fetch_max(by_ns, Ordering::Relaxed);
    if begins(&shared.clock.last_regression_ns, look) {
        shared.stats.regressions.fetch_add(1, Ordering::Relaxed);
        ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_WARNING,
            format!("snowflake: the clock was set back by {} ms", by_ns / NS_PER_MS)
        );
    }
}

/// Whether an event begins with this look, or goes on: it was last seen less than [`EVENT_GAP_NS`] ago.
fn begins(last_seen_ns: &AtomicI64, look: &Look) -> bool {
    let now = look.clock.machine_ns;
    now.saturating_sub(last_seen_ns.swap(now, Ordering::AcqRel)) >= EVENT_GAP_NS
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
