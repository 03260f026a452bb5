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
use snowflake_core::layout::Id;
use snowflake_core::{Ceiling, GenerateError};

use crate::clock::ComparedClock;
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

/// Begins the next ceiling, unless another session is at it.
pub fn raise_ahead(shared: &Shared, epoch_ms: i64) {
    if shared.raise_lock.try_acquire() {
        raise_and_release(shared, epoch_ms, 0);
    }
}

/// Raises the ceiling to cover a millisecond (counted from the epoch), or waits a moment while another session
/// raises it. The caller looks again.
pub fn raise_to_cover(shared: &Shared, epoch_ms: i64, timestamp: i64) {
    if shared.raise_lock.try_acquire() {
        raise_and_release(shared, epoch_ms, timestamp);
    } else {
        wait::sleep(shared, WaitFor::Ceiling, NS_PER_MS);
    }
}

/// The caller holds the raise lock, and has started the word.
fn raise_and_release(shared: &Shared, epoch_ms: i64, timestamp: i64) {
    let last = shared.word.last().unwrap_or(Id::MIN);
    let published = shared.limits.ceiling();
    let covered = timestamp <= published.timestamp() && last <= shared.limits.raise_at();
    if covered {
        // Another session has raised it since the caller looked.
        shared.raise_lock.release();
        return;
    }
    let clock = ComparedClock::now();
    if let Err(leap) = clock_watch::check_leap(shared, &clock, settings::max_clock_step_ns()) {
        shared.raise_lock.release();
        refuse_leap(shared, leap);
    }
    let now = clock.wall.unix_ms() - epoch_ms;
    let uptime_ms = (clock.machine_ns - shared.clock.started_ns.load(Ordering::Relaxed)) / NS_PER_MS;
    let ceiling = Ceiling::above(now.max(timestamp).max(last.timestamp()), uptime_ms);
    make_durable(ceiling.id);
    shared.limits.publish(&ceiling);
    shared.raise_lock.release();
    clock_watch::trust(shared, &clock);
    clock_watch::warn_of_the_end(shared, now);
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

#[cold]
fn refuse_leap(shared: &Shared, leap: clock_watch::Leap) -> ! {
    clock_watch::report_leap(shared, &leap);
    let by_ms = leap.by_ns / NS_PER_MS;
    Err(GenerateError::ClockLeapt { by_ms, max_ms: settings::max_clock_step_ms() }).or_raise()
}
