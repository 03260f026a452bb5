//! Waiting: asleep, cancellable, visible in `pg_stat_activity`, and counted.

use std::sync::atomic::Ordering;

use pgrx::{check_for_interrupts, pg_sys};

use crate::clock;
use crate::shared::Shared;

/// What a session waits for, as `pg_stat_activity` names it on PostgreSQL 17 and newer.
#[derive(Debug, Clone, Copy)]
pub enum WaitFor {
    /// The next millisecond.
    Clock,
    /// The ceiling, which another session is raising.
    Ceiling,
}

/// Sleeps for the time given, or until a signal arrives, and then lets PostgreSQL cancel the statement.
///
/// No lock may be held. The time is at most a millisecond, so that a signal between the check for interrupts and
/// the sleep delays nobody.
pub fn sleep(shared: &Shared, wait_for: WaitFor, ns: i64) {
    debug_assert!((1..=1_000_000).contains(&ns));
    let request = libc::timespec { tv_sec: 0, tv_nsec: ns };
    let start = clock::monotonic_ns();
    report_wait(wait_event(wait_for));
    // SAFETY: `request` is a valid timespec; the remaining time is not asked for.
    unsafe { libc::nanosleep(&request, std::ptr::null_mut()) };
    report_wait(0);
    shared.stats.waits.fetch_add(1, Ordering::Relaxed);
    shared.stats.wait_ns.fetch_add((clock::monotonic_ns() - start) as u64, Ordering::Relaxed);
    check_for_interrupts!();
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
fn wait_event(wait_for: WaitFor) -> u32 {
    use std::sync::atomic::AtomicU32;
    static CLOCK: AtomicU32 = AtomicU32::new(0);
    static CEILING: AtomicU32 = AtomicU32::new(0);

    let (known, name) = match wait_for {
        WaitFor::Clock => (&CLOCK, c"SnowflakeClock"),
        WaitFor::Ceiling => (&CEILING, c"SnowflakeCeiling"),
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
fn wait_event(_: WaitFor) -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}
