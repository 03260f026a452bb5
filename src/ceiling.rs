//! The ceiling: no id above it is issued before a WAL record with a higher one is flushed.
//!
//! The WAL of a row that holds an id therefore follows the record of a ceiling that covers the id, so whoever has
//! the row has the ceiling: after a crash, on a promoted standby, after point-in-time recovery.
//!
//! It lives in a replication origin's progress, with a fixed id and no catalog row: PostgreSQL's own cluster-wide,
//! WAL-logged, checkpointed 64-bit register that only rises. Writing it needs no transaction id and no write
//! transaction. `pg_replication_origin_status` shows it as a row without a name.
//!
//! Locking: one session raises at a time, by [`RaiseLock`](crate::shared::RaiseLock); the others go on below the
//! ceiling, and at it sleep. Errors of our own are raised after the lock is released; where PostgreSQL raises one,
//! it releases the lock.

use std::sync::atomic::Ordering;

use pgrx::PgSqlErrorCode;
use pgrx::prelude::*;
use snowflake_core::ceiling::LEAD_MS;
use snowflake_core::generator::check_clock_in_format;
use snowflake_core::layout::Id;
use snowflake_core::{Ceiling, GenerateError};

use crate::clock_watch::Look;
use crate::errors::{self, OrRaise};
use crate::shared::Shared;
use crate::wait::{self, WaitFor};
use crate::{clock_watch, settings};

/// The replication origin: the last id that `pg_replication_origin_create` would hand out (65535 means "do not
/// replicate"). CREATE EXTENSION refuses where somebody has it.
pub const ORIGIN: pg_sys::RepOriginId = 65_534;

const NS_PER_MS: i64 = 1_000_000;

/// The setting that limits how many replication origins can have progress at once, and its value.
pub fn origin_slots() -> (&'static str, i32) {
    #[cfg(feature = "pg18")]
    // SAFETY: a plain variable of this process, set when the server starts.
    return ("max_active_replication_origins", unsafe { pg_sys::max_active_replication_origins });
    #[cfg(not(feature = "pg18"))]
    // SAFETY: as above.
    return ("max_replication_slots", unsafe { pg_sys::max_replication_slots });
}

/// The highest ceiling that is durable: `Id::MIN` on a new server.
pub fn durable() -> Id {
    // SAFETY: reads shared memory under PostgreSQL's own lock; an origin without progress gives 0.
    let progress = unsafe { pg_sys::replorigin_get_progress(ORIGIN, false) };
    i64::try_from(progress)
        .ok()
        .and_then(|id| Id::new(id).ok())
        .unwrap_or_else(|| errors::ceiling_not_an_id(progress, ORIGIN))
}

/// What a ceiling is raised for.
#[derive(Clone, Copy)]
pub enum Need {
    /// Half of the lead is left: begin the next.
    Ahead,
    /// An id of this millisecond was refused. The millisecond tells whether there still is something to do, and not
    /// how high to go: it may come from a clock that had leapt, and has been set right since.
    Id(i64),
    /// No id up to this one may be issued any more.
    Given(Given),
}

impl Need {
    /// The millisecond that the ceiling has to reach.
    fn timestamp(self) -> i64 {
        match self {
            Self::Ahead => 0,
            Self::Id(timestamp) => timestamp,
            Self::Given(given) => given.id().timestamp() + 1,
        }
    }
}

/// An id that came from outside, and what it is for.
#[derive(Clone, Copy)]
pub enum Given {
    /// An operator moves the generator over it.
    Advance(Id),
    /// It came in a message: an id of any server.
    Observe(Id),
}

impl Given {
    /// The id.
    pub fn id(self) -> Id {
        let (Self::Advance(id) | Self::Observe(id)) = self;
        id
    }

    /// How far ahead of the clock it may be. The word will stand at it, or a millisecond after it, and must not be
    /// further ahead than generation allows.
    fn most_ahead_ms(self) -> i64 {
        let generated = settings::max_clock_step_ms() - 1;
        match self {
            Self::Advance(_) => generated,
            // The clocks are apart, and an honest server that has been restarted is as far ahead of its own as the
            // ceiling led. After a crash this one begins at a ceiling that leads by as much again.
            Self::Observe(_) => (settings::max_clock_skew_ms() + LEAD_MS).min(generated - LEAD_MS),
        }
    }
}

/// Raises the ceiling, unless another session is at it. The caller looks again.
///
/// # Errors
/// Where the clock is not to be trusted with a ceiling, which is durable. Then nothing is raised.
pub fn raise(shared: &Shared, epoch_ms: i64, need: Need) {
    if shared.raise_lock.try_acquire() {
        raise_and_release(shared, epoch_ms, need);
    } else if !matches!(need, Need::Ahead) {
        wait::sleep(shared, WaitFor::Ceiling, NS_PER_MS);
    }
}

/// Refuses an id that is too far ahead, also where the ceiling need not be raised for it.
///
/// # Errors
/// 22023 and the id where it is too far ahead of the clock; 54000 past the format's end.
pub fn check_distance(shared: &Shared, epoch_ms: i64, given: Given) {
    let look = Look::now(shared);
    let now = look.clock.wall.unix_ms() - epoch_ms;
    if let Err(refusal) = check_given(given, now) {
        refusal.raise(shared, &look);
    }
}

/// The caller holds the raise lock, and has started the word.
fn raise_and_release(shared: &Shared, epoch_ms: i64, need: Need) {
    let last = shared.word.last().unwrap_or(Id::MIN);
    let reached = need.timestamp() <= shared.limits.ceiling().timestamp();
    if reached && last <= shared.limits.raise_at() {
        // Another session has raised it since the caller looked.
        shared.raise_lock.release();
        return;
    }
    let look = Look::now(shared);
    let now = look.clock.wall.unix_ms() - epoch_ms;
    if let Err(refusal) = check(shared, &look, now, need) {
        shared.raise_lock.release();
        refusal.raise(shared, &look);
    }
    let asked_for = if let Need::Given(_) = need { need.timestamp() } else { 0 };
    let uptime_ms = (look.clock.machine_ns - shared.clock.started_ns.load(Ordering::Relaxed)) / NS_PER_MS;
    let ceiling = Ceiling::above(now.max(last.timestamp()).max(asked_for), uptime_ms);
    make_durable(ceiling.id);
    shared.limits.publish(&ceiling);
    let stepped_back = clock_watch::trust(shared, &look, epoch_ms);
    shared.raise_lock.release();

    if let Some(by_ns) = stepped_back {
        clock_watch::count_regression(shared, &look, by_ns);
    }
    clock_watch::warn_of_the_end(shared, now);
}

/// Why a ceiling is not raised. Whatever is judged here, it is by the reading that the ceiling would be made from.
enum Refusal {
    Clock(GenerateError),
    Leap { by_ns: i64 },
    TooFar { given: Given, ahead_ms: i64, most_ms: i64 },
}

fn check(shared: &Shared, look: &Look, now: i64, need: Need) -> Result<(), Refusal> {
    if let Some(by_ns) = look.leap(shared) {
        return Err(Refusal::Leap { by_ns });
    }
    // A ceiling stops at the last id there is: raised by a clock beyond the format, it would be the end of a server
    // whose clock is only wrong.
    check_clock_in_format(now).map_err(Refusal::Clock)?;
    match need {
        Need::Given(given) => check_given(given, now),
        Need::Ahead | Need::Id(_) => Ok(()),
    }
}

fn check_given(given: Given, now: i64) -> Result<(), Refusal> {
    let ahead_ms = given.id().timestamp() - now;
    let most_ms = given.most_ahead_ms();
    if ahead_ms > most_ms {
        return Err(Refusal::TooFar { given, ahead_ms, most_ms });
    }
    // There has to be a millisecond for the word to go to.
    let timestamp = Need::Given(given).timestamp();
    check_clock_in_format(timestamp).map_err(Refusal::Clock)
}

impl Refusal {
    #[cold]
    fn raise(self, shared: &Shared, look: &Look) -> ! {
        let max_ms = settings::max_clock_step_ms();
        match self {
            Self::Clock(error) => Err(error).or_raise(),
            Self::Leap { by_ns } => {
                clock_watch::report_leap(shared, look, by_ns);
                Err(GenerateError::ClockLeapt { by_ms: by_ns / NS_PER_MS, max_ms }).or_raise()
            }
            Self::TooFar { given: Given::Advance(id), ahead_ms, .. } => {
                errors::advance_too_far(id.get(), ahead_ms, max_ms)
            }
            Self::TooFar { given: Given::Observe(id), ahead_ms, most_ms } => {
                errors::observed_too_far(id.get(), ahead_ms, most_ms)
            }
        }
    }
}

/// Writes a ceiling to the WAL and flushes it.
///
/// # Errors
/// 53400 where PostgreSQL has no slot for the origin: then nothing is written.
fn make_durable(ceiling: Id) {
    let ceiling = ceiling.get() as pg_sys::XLogRecPtr;
    PgTryBuilder::new(|| {
        // The two flags: never backwards, and with a WAL record.
        // SAFETY: not in recovery, since the word is started only outside it.
        unsafe { pg_sys::replorigin_advance(ORIGIN, ceiling, 0, false, true) }
    })
    .catch_when(PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED, |_| {
        let (setting, slots) = origin_slots();
        errors::no_origin_slot(setting, slots)
    })
    .execute();
    // SAFETY: the end of the record that has just been inserted by this session.
    let record_end = unsafe { pg_sys::XactLastRecEnd };
    // SAFETY: a position in the WAL that exists; PostgreSQL panics where it cannot be flushed.
    unsafe { pg_sys::XLogFlush(record_end) };
}
