//! The pace of ids that are ahead of the wall clock: one millisecond for each millisecond of running time.
//!
//! The wall clock may stand behind the last id: it was set back, it stands still, the server has just been started, or
//! an id of a server whose clock is ahead was observed. Ids go on then, and something has to say which millisecond has
//! come. That is the pace: an offset to the monotonic clock, one for the whole server.
//!
//! **Guarantee.** The pace never shows more than the furthest of: the wall clock when it was last seen in the word's own
//! millisecond, the word, and an observed id, each with the time that has gone by since. So ids that are ahead of the
//! clock do not get further ahead, however many sessions step and however often ids are observed; and servers that
//! answer each other stay with the clock that is furthest ahead.
//!
//! A look that is late (a session asleep between its readings) can only set the pace too low, which costs the ids that
//! follow a wait of a millisecond or two.

use crate::clock_step::NS_PER_MS;
use crate::generator::EARLY_MS_MAX;
use crate::sync::{AtomicI64, Ordering};

/// No pace yet.
const UNSET: i64 = i64::MIN;

/// What the pace shows minus the monotonic clock, in nanoseconds; what it shows counts from the epoch.
#[repr(C)]
#[derive(Debug)]
pub struct Pace(AtomicI64);

/// A look at the word that the wall clock has not passed. Times are nanoseconds after the epoch.
#[derive(Debug, Clone, Copy)]
pub struct Behind {
    /// Where the millisecond of the word begins.
    pub word_ns: i64,
    /// The wall clock, which is in that millisecond or before it.
    pub wall_ns: i64,
    /// The monotonic clock, read after the wall clock.
    pub monotonic_ns: i64,
    /// Whether the next id is of the millisecond after the word's.
    pub steps: bool,
}

impl Pace {
    #[allow(clippy::new_without_default, reason = "it is placed in shared memory, not made at will")]
    /// Without a pace.
    pub fn new() -> Self {
        Self(AtomicI64::new(UNSET))
    }

    /// Brings the pace in line with the word, and returns what it shows now.
    pub fn settle(&self, look: &Behind) -> i64 {
        loop {
            // Only this word is shared.
            let offset = self.0.load(Ordering::Relaxed);
            let shows = look.monotonic_ns.saturating_add(offset);
            let right = look.right(shows);
            if right == shows {
                return shows;
            }
            let new = right.saturating_sub(look.monotonic_ns);
            if self.0.compare_exchange(offset, new, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return right;
            }
        }
    }

    /// An id of this millisecond has come from a server whose clock showed it: the pace is there by now.
    pub fn observe(&self, timestamp: i64, monotonic_ns: i64) {
        self.0.fetch_max((timestamp * NS_PER_MS).saturating_sub(monotonic_ns), Ordering::Relaxed);
    }
}

impl Behind {
    /// What the pace has to show, where it shows `shows`.
    fn right(&self, shows: i64) -> i64 {
        let Self { word_ns, wall_ns, steps, .. } = *self;
        if wall_ns >= word_ns {
            // In the clock's own millisecond the clock is waited for. If it stands still, the time goes on from here.
            return if steps { wall_ns } else { shows };
        }
        // A word that was reserved early is so far ahead of the pace; one further ahead got there otherwise.
        let lowest = word_ns - EARLY_MS_MAX * NS_PER_MS;
        if shows < lowest {
            lowest
        } else if steps && shows >= word_ns + NS_PER_MS {
            // Nobody has stepped for a while. What was not used then is not made up for.
            word_ns
        } else {
            shows
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = NS_PER_MS;

    fn shows(before: i64, look: Behind) -> i64 {
        let pace = Pace(AtomicI64::new(if before == UNSET { UNSET } else { before - look.monotonic_ns }));
        let shows = pace.settle(&look);
        assert_eq!(pace.0.load(Ordering::Relaxed).saturating_add(look.monotonic_ns), shows);
        shows
    }

    fn behind(steps: bool) -> Behind {
        Behind { word_ns: 100 * MS, wall_ns: 40 * MS, monotonic_ns: 7_777, steps }
    }

    #[test]
    fn begins_as_far_below_the_word_as_that_may_be_ahead() {
        for steps in [false, true] {
            assert_eq!(shows(UNSET, behind(steps)), 98 * MS);
            assert_eq!(shows(5 * MS, behind(steps)), 98 * MS);
            assert_eq!(shows(98 * MS - 1, behind(steps)), 98 * MS);
        }
    }

    #[test]
    fn stays_where_it_is_beside_the_word() {
        for steps in [false, true] {
            for right in [98 * MS, 99 * MS, 100 * MS - 1, 100 * MS, 101 * MS - 1] {
                assert_eq!(shows(right, behind(steps)), right);
            }
        }
    }

    // Otherwise a burst after a quiet time would use the milliseconds that nobody has used.
    #[test]
    fn is_taken_back_to_the_word_by_a_step_and_by_nothing_else() {
        for far in [101 * MS, 5_000 * MS] {
            assert_eq!(shows(far, behind(true)), 100 * MS);
            assert_eq!(shows(far, behind(false)), far);
        }
    }

    #[test]
    fn goes_on_from_a_clock_that_stands_in_the_words_millisecond() {
        let own = |steps| Behind { wall_ns: 100 * MS + 300_000, ..behind(steps) };
        for before in [UNSET, 99 * MS, 100 * MS + 1, 5_000 * MS] {
            assert_eq!(shows(before, own(true)), 100 * MS + 300_000);
        }
        assert_eq!(shows(5_000 * MS, own(false)), 5_000 * MS);
    }

    #[test]
    fn an_observed_id_raises_it_and_never_lowers_it() {
        let pace = Pace::new();
        pace.observe(100, 30);
        assert_eq!(pace.settle(&Behind { monotonic_ns: 30, ..behind(true) }), 100 * MS);
        pace.observe(99, 30);
        assert_eq!(pace.settle(&Behind { monotonic_ns: 40, ..behind(true) }), 100 * MS + 10);
    }
}
