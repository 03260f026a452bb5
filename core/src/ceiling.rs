//! The ceiling: no id above it is issued before a higher one is durable.
//!
//! This module decides how high a ceiling to write and when to begin. The [host](crate::driver::Host) makes
//! it durable; the [driver](crate::driver) publishes it. The two numbers trade a flush against a jump: a long lead means fewer flushes, a short one
//! means that ids after a crash start less far ahead of the clock.

use crate::layout::Id;

/// How far ahead a ceiling is written, in milliseconds. Begun when half is left, this makes about one flush a
/// second under any load, and bounds by two seconds how far ahead of the clock ids are dated after a crash.
pub const LEAD_MS: i64 = 2_000;
/// The lead of a server that has only just started. A server that lives for less than the lead it writes would
/// move its ids ahead with every start. One that leads by no more than it has lived does not, as long as its lives
/// are further apart than this, and each leaves the clock room to catch up: below half of the format's ceiling.
pub const LEAD_MIN_MS: i64 = 50;

/// A ceiling to be made durable, and what to do with it then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// The highest id that may be issued once the ceiling is durable.
    pub id: Id,
    /// The id past which the next ceiling is begun: half the lead.
    pub raise_at: Id,
}

impl Ceiling {
    /// The ceiling for a server that has been up for `uptime_ms` and is about to issue ids from millisecond
    /// `from` on (milliseconds after the epoch: the clock's, or the word's where that is ahead).
    ///
    /// The ceiling covers at least `from` and the [`LEAD_MIN_MS`] after it, so it never comes out too low to be
    /// of use.
    ///
    /// # Overflow
    /// At the format's end both ids stop at the highest id there is.
    pub fn above(from: i64, uptime_ms: i64) -> Self {
        let lead = uptime_ms.clamp(LEAD_MIN_MS, LEAD_MS);
        Self {
            id: Id::last_of(from.saturating_add(lead)),
            raise_at: Id::last_of(from.saturating_add(lead / 2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::TIMESTAMP_MS_MAX;

    #[test]
    fn leads_by_the_uptime_within_its_bounds() {
        for (uptime, lead) in [(0, 50), (49, 50), (51, 51), (1_999, 1_999), (2_001, 2_000)] {
            let ceiling = Ceiling::above(1_000_000, uptime);
            assert_eq!(ceiling.id, Id::last_of(1_000_000 + lead));
            assert_eq!(ceiling.raise_at, Id::last_of(1_000_000 + lead / 2));
        }
    }

    #[test]
    fn stops_at_the_end_of_the_format() {
        let ceiling = Ceiling::above(TIMESTAMP_MS_MAX - 10, i64::MAX);
        assert_eq!(ceiling.id, Id::MAX);
        assert_eq!(ceiling.raise_at, Id::MAX);
        assert_eq!(Ceiling::above(i64::MAX, 0).id, Id::MAX);
    }
}
