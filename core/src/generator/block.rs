//! What a session keeps of a reservation.

use super::{RESERVE_MAX, Series};
use crate::layout::Id;

/// Consecutive ids of one node and one millisecond that were reserved in one step and are handed out one by one.
///
/// It belongs to one session and is never shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    last: Id,
    remaining: i64,
}

impl Block {
    /// A block with nothing in it.
    pub const EMPTY: Self = Self { last: Id::MIN, remaining: 0 };

    /// Up to `want` ids from `first` on, as many as its millisecond has left.
    #[inline]
    pub(super) fn starting_at<S: Series>(first: Id, want: i64) -> Self {
        let left = S::SEQUENCE_MAX - S::sequence_id_of(first) + 1;
        let remaining = want.clamp(1, RESERVE_MAX).min(left);
        Self { last: first.plus(remaining - 1), remaining }
    }

    /// The next id of a block, whatever time it is: for the caller who has only just reserved it.
    #[inline]
    pub fn take_reserved(&mut self) -> Option<Id> {
        (self.remaining > 0).then(|| {
            self.remaining -= 1;
            self.last.minus(self.remaining)
        })
    }

    /// The next id, while the block is still valid: the word stands in the block's millisecond, the clock has not
    /// passed it nor stands too far behind it nor before the epoch, the node number is still this server's, and no id
    /// of the block or above it was [observed](super::Word::observe). Otherwise the caller reserves anew, which
    /// replaces the block.
    ///
    /// **Ordering.** Ids of a block rise. While the word stands in the block's millisecond, no id of a later one
    /// has been issued by any session, so none is returned after an id of a later millisecond.
    #[inline]
    pub fn take<S: Series>(
        &mut self,
        seen: Id,
        observed: Id,
        now: i64,
        node: S,
        max_clock_step_ms: i64,
    ) -> Option<Id> {
        let timestamp = self.last.timestamp();
        // A clock before the epoch ends the block, as one too far behind does: `reserve` then says so.
        let valid = seen.timestamp() == timestamp
            && (0..=timestamp).contains(&now)
            && timestamp - now <= max_clock_step_ms
            && node.has(self.last)
            && observed.get() <= self.last.get() - self.remaining;
        if valid { self.take_reserved() } else { None }
    }

    /// The highest id of the block.
    #[inline]
    pub const fn last(&self) -> Id {
        self.last
    }

    /// How many ids are left.
    #[inline]
    pub const fn remaining(&self) -> i64 {
        self.remaining
    }
}
