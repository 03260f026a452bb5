//! The driver's host: PostgreSQL.
//!
//! The ceiling lives in a replication origin's progress, with a fixed id and no catalog row: PostgreSQL's own
//! cluster-wide, WAL-logged, checkpointed 64-bit register that only rises. Writing it needs no transaction id and no
//! write transaction. `pg_replication_origin_status` shows it as a row without a name. The WAL of a row that holds an id
//! follows the record of a ceiling that covers the id, so whoever has the row has the ceiling: after a crash, on a
//! promoted standby, after point-in-time recovery.
//!
//! The raise lock is PostgreSQL's: where its holder raises an error, PostgreSQL releases it with the transaction.

use std::sync::atomic::Ordering;

use pgrx::prelude::*;
use pgrx::{PgSqlErrorCode, check_for_interrupts};
use snowflake_core::clock_step::NS_PER_MS;
use snowflake_core::driver::{Event, Host, Wait};
use snowflake_core::{Id, Shared};

use crate::shared::{self, Segment};
use crate::{clock, errors};

/// The replication origin: the last id that `pg_replication_origin_create` would hand out (65535 means "do not
/// replicate"). CREATE EXTENSION refuses where somebody has it.
pub const ORIGIN: pg_sys::RepOriginId = 65_534;

/// This server, as a session sees it.
#[derive(Clone, Copy)]
pub struct Server(&'static Segment);

impl Server {
    /// This server, where this process has its shared state already.
    #[inline]
    pub fn known() -> Option<Self> {
        shared::known().map(Self)
    }

    /// This server.
    ///
    /// # Errors
    /// 55000 where the library had to be preloaded and is not.
    #[inline]
    pub fn get() -> Self {
        Self(shared::get())
    }
}

impl Host for Server {
    #[inline]
    fn shared(&self) -> &Shared {
        &self.0.core
    }

    #[inline]
    fn wall_ns(&self) -> i64 {
        clock::wall_ns()
    }

    fn machine_ns(&self) -> i64 {
        clock::machine_ns()
    }

    fn monotonic_ns(&self) -> i64 {
        clock::monotonic_ns()
    }

    /// A signal ends the sleep. One that arrives between the check for interrupts and the sleep is seen a millisecond later
    /// at most.
    fn sleep(&self, wait: Wait, ns: i64) {
        let request = libc::timespec { tv_sec: 0, tv_nsec: ns };
        let start = clock::monotonic_ns();
        report_wait(wait_event(wait));
        // SAFETY: `request` is a valid timespec; the remaining time is not asked for.
        unsafe { libc::nanosleep(&request, std::ptr::null_mut()) };
        report_wait(0);
        let stats = &self.0.stats;
        stats.waits.fetch_add(1, Ordering::Relaxed);
        stats.wait_ns.fetch_add((clock::monotonic_ns() - start) as u64, Ordering::Relaxed);
        check_for_interrupts!();
    }

    fn is_in_recovery(&self) -> bool {
        // SAFETY: reads shared memory.
        unsafe { pg_sys::RecoveryInProgress() }
    }

    fn durable_ceiling(&self) -> Id {
        durable_ceiling()
    }

    fn try_lock_raise(&self) -> bool {
        self.0.raise_lock.try_acquire()
    }

    fn unlock_raise(&self) {
        self.0.raise_lock.release();
    }

    /// # Errors
    /// 53400 where PostgreSQL has no slot for the origin: then nothing is written.
    fn make_durable(&self, ceiling: Id) {
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

    fn report(&self, event: Event) {
        let stats = &self.0.stats;
        let (level, code, message) = match event {
            Event::NoCeiling => (
                PgLogLevel::LOG,
                PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
                "there is no ceiling, as on a new server: ids begin with the clock".to_owned(),
            ),
            Event::SetBack { by_ns, begins } => {
                stats.largest_regression_ns.fetch_max(by_ns, Ordering::Relaxed);
                if !begins {
                    return;
                }
                stats.regressions.fetch_add(1, Ordering::Relaxed);
                (
                    PgLogLevel::WARNING,
                    PgSqlErrorCode::ERRCODE_WARNING,
                    format!("the clock was set back by {} ms", by_ns / NS_PER_MS),
                )
            }
            Event::Leapt { by_ns } => {
                stats.leaps.fetch_add(1, Ordering::Relaxed);
                (
                    PgLogLevel::WARNING,
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("the clock leapt {} ms ahead; no ids are generated", by_ns / NS_PER_MS),
                )
            }
            Event::Ends { days } => (
                PgLogLevel::WARNING,
                PgSqlErrorCode::ERRCODE_WARNING,
                format!("the timestamps of this epoch end in {days} days"),
            ),
            Event::EpochWaits { fixed_ms, set_ms } => (
                PgLogLevel::LOG,
                PgSqlErrorCode::ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
                format!(
                    "epoch {fixed_ms} stays in force until the server restarts, then it will be {set_ms}"
                ),
            ),
        };
        ereport!(level, code, format!("snowflake: {message}"));
    }
}

/// The setting that limits how many replication origins can have progress at once, and its value.
pub fn origin_slots() -> (&'static str, i32) {
    #[cfg(feature = "pg18")]
    // SAFETY: a plain variable of this process, set when the server starts.
    return ("max_active_replication_origins", unsafe { pg_sys::max_active_replication_origins });
    #[cfg(not(feature = "pg18"))]
    // SAFETY: as above.
    return ("max_replication_slots", unsafe { pg_sys::max_replication_slots });
}

/// The highest ceiling that is durable: [`Id::MIN`] on a new server.
pub fn durable_ceiling() -> Id {
    // SAFETY: reads shared memory under PostgreSQL's own lock; an origin without progress gives 0.
    let progress = unsafe { pg_sys::replorigin_get_progress(ORIGIN, false) };
    i64::try_from(progress)
        .ok()
        .and_then(|id| Id::new(id).ok())
        .unwrap_or_else(|| errors::ceiling_not_an_id(progress, ORIGIN))
}

/// Shows the wait event of this session to others; 0 shows none.
fn report_wait(event: u32) {
    // SAFETY: PostgreSQL points this at the session's own entry, or at a dummy before there is one; it is never
    // null, and one 4-byte write is what `pgstat_report_wait_start` does.
    let place = unsafe { pg_sys::my_wait_event_info };
    // SAFETY: as above.
    unsafe { place.write_volatile(event) };
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn wait_event(wait: Wait) -> u32 {
    use std::sync::atomic::AtomicU32;
    static CLOCK: AtomicU32 = AtomicU32::new(0);
    static CEILING: AtomicU32 = AtomicU32::new(0);

    let (known, name) = match wait {
        Wait::Clock => (&CLOCK, c"SnowflakeClock"),
        Wait::Ceiling => (&CEILING, c"SnowflakeCeiling"),
    };
    match known.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the name is a C string, which PostgreSQL copies; the same name gives the same event.
            let event = unsafe { pg_sys::WaitEventExtensionNew(name.as_ptr()) };
            known.store(event, Ordering::Relaxed);
            event
        }
        event => event,
    }
}

/// Before PostgreSQL 17 an extension cannot name its waits: they show as `Extension`.
#[cfg(any(feature = "pg15", feature = "pg16"))]
fn wait_event(_: Wait) -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}
