//! The generator: one atomic word, the last id issued, and what to do next.
//!
//! **Guarantee.** Every id a [`Word`] gives out is greater than the word was, and becomes the word, in one
//! compare-exchange. So no id is given out twice, and every id is greater than all that were given out before
//! the word was read. Uniqueness, order, a node number that changes under load and ids learnt from elsewhere are
//! all that one comparison.
//!
//! The driver's part (`src/generator.rs` of the extension) is to read the word *before* the clock, and both again
//! after a lost race: then a steady clock never looks as if it had been set back. (Where it gives up as soon as the
//! clock looks set back, it may read them the other way round.)
//!
//! Only the word decides; no other memory is published through it. The orderings below are nevertheless
//! acquire and release, which costs nothing on common machines and spares the reader a proof.

use crate::error::GenerateError;
use crate::layout::{Id, NodeId, SEQUENCE_ID_MAX, TIMESTAMP_MS_MAX};
use crate::sync::{AtomicU64, Ordering};

/// The most ids one reservation takes, so that nobody is starved by one large request: a sixteenth of a
/// millisecond's 4,096.
pub const RESERVE_MAX: i64 = 256;

/// The last id issued; all that decides whether an id is unique.
///
/// Zeroed memory is a word that is not started.
#[repr(transparent)]
#[derive(Debug)]
pub struct Word(AtomicU64);

/// What one attempt to reserve ids needs to know. Times are milliseconds after the epoch.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The word. Read before `now`, so that a steady clock does not look set back.
    pub seen: Id,
    /// The clock. May be out of range: the generator says so.
    pub now: i64,
    /// This server's node number.
    pub node: NodeId,
    /// The highest id that may be issued.
    pub ceiling: Id,
    /// How far the clock may stand behind the last id.
    pub max_clock_step_ms: i64,
    /// How many ids are wanted; fewer may come. Clamped to `1..=RESERVE_MAX`.
    pub want: i64,
    /// A word that was seen used up at least one millisecond of the monotonic clock ago. While `seen` is still
    /// that word, it may step to the next millisecond without the clock.
    pub waited_for: Option<Id>,
    /// The sequence number that a millisecond begins with where the clock has passed the word: 0, or one drawn by the
    /// driver so that `id % k` is even at low traffic. Clamped to `0..=SEQUENCE_ID_MAX`.
    pub first_sequence_id: i64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// These ids are reserved: they are the caller's alone.
    Reserved(Block),
    /// Another session was faster. Read the word and the clock again.
    LostRace,
    /// The word's millisecond has no id left for this node. Wait until the clock has passed it, or for a
    /// millisecond of the monotonic clock, and ask again with [`Request::waited_for`].
    UsedUp,
    /// The next id is above the ceiling. Raise it, at least to cover this millisecond, and ask again.
    CeilingReached {
        /// The millisecond of the next id.
        timestamp: i64,
    },
}

impl Word {
    /// A word that is not started.
    #[cfg(not(all(test, loom)))]
    #[allow(clippy::new_without_default, reason = "a word is placed in shared memory, not made at will")]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A word that is not started; loom's atomics cannot be made at compile time.
    #[cfg(all(test, loom))]
    #[allow(clippy::new_without_default, reason = "as above")]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The last id issued, or `None` before the start.
    #[inline]
    pub fn last(&self) -> Option<Id> {
        // Acquire pairs with the release of `start`, `reserve` and `raise`.
        match self.0.load(Ordering::Acquire) {
            0 => None,
            word => Some(Id::from_word(word)),
        }
    }

    /// Starts the word at the durable ceiling: every id up to it counts as issued.
    ///
    /// Any number of callers agree: the first sets it, and what the word is then never goes back. Id 0 is not
    /// issued by any server (the word counts it as "not started"), so a new server starts at 1.
    ///
    /// True for the one caller who has started it.
    pub fn start(&self, ceiling: Id) -> bool {
        let first = ceiling.max(Id::FIRST_START).get() as u64;
        // A failed exchange means that somebody else has started it. Release pairs with `last`.
        self.0.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Reserves ids, or says what has to happen first.
    ///
    /// **Guarantee.** The ids of an [`Answer::Reserved`] are all greater than `seen`, of the request's node, of
    /// one millisecond, not above the ceiling, and reserved for nobody else.
    ///
    /// # Errors
    /// [`GenerateError`] where the clock, or the format, does not allow another id.
    #[inline]
    pub fn reserve(&self, request: &Request) -> Result<Answer, GenerateError> {
        let Some(first) = next_id(request)? else {
            return Ok(Answer::UsedUp);
        };
        let block = Block::starting_at(first, request.want);
        if block.last > request.ceiling {
            return Ok(Answer::CeilingReached { timestamp: first.timestamp() });
        }
        // The one step that issues ids. Release pairs with the acquire of `last`; on failure nothing is used of
        // what was read.
        let exchanged = self.0.compare_exchange(
            request.seen.get() as u64,
            block.last.get() as u64,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        Ok(match exchanged {
            Ok(_) => Answer::Reserved(block),
            Err(_) => Answer::LostRace,
        })
    }

    /// Raises the word, if it is lower, so that every id up to `id` counts as issued. Never lowers it.
    ///
    /// It goes to the first id of the millisecond after `id`, which ends every [`Block`] there is.
    ///
    /// The driver starts the word before, and raises the ceiling over the word's new millisecond.
    ///
    /// # Errors
    /// [`GenerateError::PastEnd`] where there is no millisecond after `id`.
    pub fn raise(&self, id: Id) -> Result<(), GenerateError> {
        let timestamp = id.timestamp() + 1;
        if timestamp > TIMESTAMP_MS_MAX {
            return Err(GenerateError::PastEnd { timestamp });
        }
        // Release pairs with the acquire of `last`.
        self.0.fetch_max(Id::first_of(timestamp).get() as u64, Ordering::AcqRel);
        Ok(())
    }
}

/// The lowest id that may be issued next, or `None` where the word's millisecond is used up.
#[inline]
fn next_id(request: &Request) -> Result<Option<Id>, GenerateError> {
    let Request { seen, now, node, max_clock_step_ms, waited_for, first_sequence_id, .. } = *request;
    check_clock_in_format(now)?;
    // The common case first: the clock has passed the last id. Only here may numbers be left out: the cases below are
    // those of a generator at its limit, or of one ahead of the clock, which needs them all.
    if now > seen.timestamp() {
        return Ok(Some(Id::from_parts(now, node, first_sequence_id.clamp(0, SEQUENCE_ID_MAX))));
    }
    check_clock_behind(seen, now, max_clock_step_ms)?;
    if let Some(id) = successor_within_millisecond(seen, node) {
        return Ok(Some(id));
    }
    if waited_for != Some(seen) && !is_outranked(seen, now, node) {
        return Ok(None);
    }
    let timestamp = seen.timestamp() + 1;
    if timestamp > TIMESTAMP_MS_MAX {
        return Err(GenerateError::PastEnd { timestamp });
    }
    Ok(Some(Id::from_parts(timestamp, node, 0)))
}

/// The lowest id of `node` in the millisecond of `seen` that is greater than `seen`.
#[inline]
fn successor_within_millisecond(seen: Id, node: NodeId) -> Option<Id> {
    let lowest = Id::from_parts(seen.timestamp(), node, 0);
    if lowest > seen {
        return Some(lowest);
    }
    let same_node = seen.node_id() == node.get();
    (same_node && seen.sequence_id() < SEQUENCE_ID_MAX)
        .then(|| Id::from_parts(seen.timestamp(), node, seen.sequence_id() + 1))
}

/// Whether a higher node number stands in the way in the clock's own millisecond: the number was changed, and sessions
/// with either are at work. Sessions with the lower would get an id only where they are the first in a millisecond,
/// and none beside a busy session with the higher. So they go a millisecond ahead of the clock, and no further.
#[inline]
fn is_outranked(seen: Id, now: i64, node: NodeId) -> bool {
    seen.node_id() > node.get() && seen.timestamp() == now
}

/// Whether an id can hold this time (milliseconds after the epoch) at all.
///
/// # Errors
/// [`GenerateError::BeforeEpoch`] and [`GenerateError::PastEnd`].
#[inline]
pub const fn check_clock_in_format(now: i64) -> Result<(), GenerateError> {
    if now < 0 {
        return Err(GenerateError::BeforeEpoch { by_ms: now.saturating_neg() });
    }
    if now > TIMESTAMP_MS_MAX {
        return Err(GenerateError::PastEnd { timestamp: now });
    }
    Ok(())
}

#[inline]
fn check_clock_behind(seen: Id, now: i64, max_ms: i64) -> Result<(), GenerateError> {
    let by_ms = seen.timestamp() - now;
    if by_ms > max_ms {
        return Err(GenerateError::ClockBehind { by_ms, max_ms });
    }
    Ok(())
}

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
    fn starting_at(first: Id, want: i64) -> Self {
        let left = SEQUENCE_ID_MAX - first.sequence_id() + 1;
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
    /// passed it nor stands too far behind it nor before the epoch, and the node number is still this server's.
    /// Otherwise the caller reserves anew, which replaces the block.
    ///
    /// **Ordering.** Ids of a block rise. While the word stands in the block's millisecond, no id of a later one
    /// has been issued by any session, so none is returned after an id of a later millisecond.
    #[inline]
    pub fn take(&mut self, seen: Id, now: i64, node: NodeId, max_clock_step_ms: i64) -> Option<Id> {
        let timestamp = self.last.timestamp();
        // A clock before the epoch ends the block, as one too far behind does: `reserve` then says so.
        let valid = seen.timestamp() == timestamp
            && (0..=timestamp).contains(&now)
            && timestamp - now <= max_clock_step_ms
            && self.last.node_id() == node.get();
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

#[cfg(test)]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
