//! Whether the wall clock has been stepped, told apart from time going by.
//!
//! The wall clock and the machine's own running time (`CLOCK_BOOTTIME`) are read together; their difference, the
//! *offset*, stays the same however long nothing happens, and however the clock is slewed, since slewing speeds up
//! both. It changes only when somebody sets the clock. Offsets are nanoseconds.

/// Nanoseconds in a millisecond.
pub const NS_PER_MS: i64 = 1_000_000;

/// Two readings cannot be taken in one instant. A difference below this is taken for the time between them: one
/// millisecond, the format's own resolution, below which a step cannot change an id's timestamp by more than one.
pub const TOLERANCE_NS: i64 = NS_PER_MS;

/// What the offset says about the clock since a trusted reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockStep {
    /// Nobody set the clock.
    None,
    /// It was set back by this many nanoseconds.
    Back(i64),
    /// It was set ahead by this many nanoseconds.
    Ahead(i64),
}

impl ClockStep {
    /// The step between a trusted offset and one read now.
    ///
    /// `now_ns` is a pair of bounds on the present offset, `(low, high)`, from a machine-time reading after and
    /// before that of the wall clock: a session that is put to sleep between the two readings widens the bounds
    /// and does not invent a step.
    #[inline]
    pub fn between(trusted_ns: i64, now_ns: (i64, i64)) -> Self {
        let (low, high) = now_ns;
        if high < trusted_ns.saturating_sub(TOLERANCE_NS) {
            Self::Back(trusted_ns.saturating_sub(high))
        } else if low > trusted_ns.saturating_add(TOLERANCE_NS) {
            Self::Ahead(low.saturating_sub(trusted_ns))
        } else {
            Self::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_step_from_a_slow_reading() {
        assert_eq!(ClockStep::between(100, (100, 100)), ClockStep::None);
        // Put to sleep for a day between the readings: the bounds are a day apart, and nothing is known.
        let day = 86_400_000_000_000;
        assert_eq!(ClockStep::between(0, (-day, 0)), ClockStep::None);
        assert_eq!(ClockStep::between(0, (0, day)), ClockStep::None);
    }

    #[test]
    fn measures_a_step_from_the_nearer_bound() {
        let ms = 1_000_000;
        assert_eq!(ClockStep::between(0, (-6 * ms, -5 * ms)), ClockStep::Back(5 * ms));
        assert_eq!(ClockStep::between(0, (5 * ms, 6 * ms)), ClockStep::Ahead(5 * ms));
        assert_eq!(ClockStep::between(0, (-ms, -ms)), ClockStep::None);
        assert_eq!(ClockStep::between(0, (-ms - 1, -ms - 1)), ClockStep::Back(ms + 1));
        assert_eq!(ClockStep::between(0, (ms, ms)), ClockStep::None);
        assert_eq!(ClockStep::between(0, (ms + 1, ms + 1)), ClockStep::Ahead(ms + 1));
    }

    #[test]
    fn extreme_offsets_do_not_overflow() {
        assert!(matches!(ClockStep::between(i64::MIN, (i64::MAX, i64::MAX)), ClockStep::Ahead(_)));
        assert!(matches!(ClockStep::between(i64::MAX, (i64::MIN, i64::MIN)), ClockStep::Back(_)));
    }
}
