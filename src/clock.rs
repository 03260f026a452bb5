//! The clocks: the one reader of the wall clock, and the two that nobody can set.
//!
//! The wall clock is read through libc's `clock_gettime(CLOCK_REALTIME)`, which on Linux is a call into the vDSO
//! and no system call, and which tests can move with libfaketime.

use snowflake_core::clock_step::NS_PER_MS;

const NS_PER_S: i64 = 1_000_000_000;

/// The clock of the machine's own running time, suspension included. It never steps.
#[cfg(target_os = "linux")]
const MACHINE_CLOCK: libc::clockid_t = libc::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const MACHINE_CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// The wall clock, in Unix nanoseconds.
#[inline]
pub fn wall_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// The wall clock, in Unix milliseconds, rounded down, also before 1970.
#[inline]
pub fn wall_ms() -> i64 {
    wall_ns().div_euclid(NS_PER_MS)
}

/// The machine's running time in nanoseconds.
pub fn machine_ns() -> i64 {
    read(MACHINE_CLOCK)
}

/// The monotonic clock in nanoseconds, for measuring waits.
pub fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

#[inline]
fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result. The call fails only for a clock that the system does not
    // have, and every system PostgreSQL runs on has these.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    debug_assert_eq!(failed, 0);
    time.tv_sec * NS_PER_S + time.tv_nsec
}
