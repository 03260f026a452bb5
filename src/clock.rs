//! The clocks: the one reader of the wall clock, and the two that nobody can set.
//!
//! The wall clock is read through libc's `clock_gettime(CLOCK_REALTIME)`, which on Linux is a call into the vDSO
//! and no system call, and which tests can move with libfaketime.

use snowflake_core::clock_step::TOLERANCE_NS;

const NS_PER_MS: i64 = 1_000_000;
const NS_PER_S: i64 = 1_000_000_000;
/// How often two readings are tried to be taken in one millisecond, by a session that cannot be cancelled meanwhile.
const MAX_TRIES: u32 = 1_000;

/// The clock of the machine's own running time, suspension included. It never steps.
#[cfg(target_os = "linux")]
const MACHINE_CLOCK: libc::clockid_t = libc::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const MACHINE_CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// One reading of the wall clock: nanoseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    unix_ns: i64,
}

impl WallClock {
    /// Reads the wall clock.
    #[inline]
    pub fn now() -> Self {
        Self { unix_ns: read(libc::CLOCK_REALTIME) }
    }

    /// Unix milliseconds, rounded down, also before 1970.
    #[inline]
    pub fn unix_ms(self) -> i64 {
        self.unix_ns.div_euclid(NS_PER_MS)
    }

    /// Unix nanoseconds.
    #[inline]
    pub fn unix_ns(self) -> i64 {
        self.unix_ns
    }

    /// How long it is until this clock shows the next millisecond: 1..=1,000,000 nanoseconds.
    pub fn ns_to_next_ms(self) -> i64 {
        NS_PER_MS - self.unix_ns.rem_euclid(NS_PER_MS)
    }
}

/// The wall clock together with what the machine's running time says about it.
#[derive(Debug, Clone, Copy)]
pub struct ComparedClock {
    /// The wall clock.
    pub wall: WallClock,
    /// The running time of the machine, read before the wall clock.
    pub machine_ns: i64,
    /// Bounds on wall clock minus running time, `(low, high)`: see `snowflake_core::ClockStep`.
    pub offset_ns: (i64, i64),
}

impl ComparedClock {
    /// Reads the wall clock between two readings of the machine's running time, again until they are so close
    /// together that the offset can be trusted from now on: a session put to sleep in between learns nothing. On a
    /// machine where they never are, the last try has to do.
    pub fn now() -> Self {
        let mut tries = MAX_TRIES;
        loop {
            let before = machine_ns();
            let wall = WallClock::now();
            let after = machine_ns();
            tries -= 1;
            if after - before <= TOLERANCE_NS || tries == 0 {
                let offset_ns = (wall.unix_ns - after, wall.unix_ns - before);
                return Self { wall, machine_ns: before, offset_ns };
            }
        }
    }

    /// The offset to remember.
    pub fn offset_ns(&self) -> i64 {
        self.offset_ns.1
    }
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
