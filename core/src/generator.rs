//! The generator: one atomic word, the last id issued, and what to do next.
//!
//! **Guarantee.** Every id a [`Word`] gives out is greater than the word was, and becomes the word, in one
//! compare-exchange. So no id is given out twice, and every id is greater than all that were given out before
//! the word was read. Uniqueness, order, a node number that changes under load and ids learnt from elsewhere are
//! all that one comparison.
//!
//! The [driver](crate::driver) reads the word *before* the clock, and both again after a lost race: then a steady clock
//! never looks as if it had been set back. (Where it gives up as soon as the clock looks set back, it may read them the
//! other way round.)
//!
//! Only the last id decides. The orderings below are nevertheless acquire and release, which costs nothing on common
//! machines and spares the reader a proof.
//!
//! The generator is written once for every layout of 63 bits that begins with 41 bits of milliseconds: what the bits
//! below them are, a [`Series`] says.

mod block;
mod series;

pub use block::Block;
pub use series::Series;

use crate::error::GenerateError;
use crate::layout::{Id, NodeId, TIMESTAMP_MS_MAX};
use crate::sync::{AtomicU64, Ordering};

/// The most ids one reservation takes, so that nobody is starved by one large request: a sixteenth of a
/// millisecond's 4,096.
pub const RESERVE_MAX: i64 = 256;

/// The most ids that one reservation takes of a millisecond that has not begun: a 256th of a millisecond's 4,096, so that
/// 256 sessions find an id in the next millisecond however many each of them wants.
pub const RESERVE_EARLY_MAX: i64 = 16;

/// How many milliseconds ahead of the last that has come snowflake ids can be reserved: of the next one, and one more for
/// a session with a lower node number beside others with a higher one (it was changed, and not all sessions have seen it),
/// which would have to be the first of all in each otherwise.
pub const EARLY_MS_MAX: i64 = NodeId::EARLY_MS + 1;

/// The last id issued; all that decides whether an id is unique.
///
/// Zeroed memory is a word that is not started.
#[repr(C)]
#[derive(Debug)]
pub struct Word {
    last: AtomicU64,
    /// The highest id that was observed: what sessions still have in blocks below it is void.
    observed: AtomicU64,
}

/// What one attempt to reserve ids needs to know. Times are milliseconds after the epoch.
#[derive(Debug, Clone, Copy)]
pub struct Request<S: Series = NodeId> {
    /// The word. Read before `now`, so that a steady clock does not look set back.
    pub seen: Id,
    /// The clock. May be out of range: the generator says so.
    pub now: i64,
    /// This server's node number, or what else marks the ids that are its own.
    pub node: S,
    /// The highest id that may be issued.
    pub ceiling: Id,
    /// How far the clock may stand behind the last id.
    pub max_clock_step_ms: i64,
    /// How many ids are wanted; fewer may come. Clamped to `1..=RESERVE_MAX`.
    pub want: i64,
    /// The millisecond that has come by the [pace](crate::Pace), where ids are ahead of the clock; [`i64::MIN`] where the
    /// clock alone counts.
    pub paced: i64,
    /// Whether the caller waits for an id's millisecond: then it may be one that has not come, up to [`EARLY_MS_MAX`].
    pub waits: bool,
    /// The sequence number that a millisecond begins with where the clock has passed the word: 0, or one drawn by the
    /// driver so that `id % k` is even at low traffic. Clamped to what the sequence can count.
    pub first_sequence_id: i64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// These ids are reserved: they are the caller's alone. Where their millisecond has not come, the caller waits for it
    /// before it returns one.
    Reserved(Block),
    /// Another session was faster. Read the word and the clock again.
    LostRace,
    /// The next id would be of a millisecond that is too far ahead, or the caller does not wait. Wait until another
    /// millisecond has come, and ask again.
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
        Self { last: AtomicU64::new(0), observed: AtomicU64::new(0) }
    }

    /// A word that is not started; loom's atomics cannot be made at compile time.
    #[cfg(all(test, loom))]
    #[allow(clippy::new_without_default, reason = "as above")]
    pub fn new() -> Self {
        Self { last: AtomicU64::new(0), observed: AtomicU64::new(0) }
    }

    /// The last id issued, or `None` before the start.
    #[inline]
    pub fn last(&self) -> Option<Id> {
        self.look().map(|(_, last)| last)
    }

    /// The word, where it is started. Nothing but a started word can be moved.
    #[inline]
    pub fn started(&self) -> Option<Started<'_>> {
        self.look().map(|(started, _)| started)
    }

    /// The word and the last id issued, by one load; `None` before the start.
    #[inline]
    pub fn look(&self) -> Option<(Started<'_>, Id)> {
        // Acquire pairs with the release of `start`, `reserve`, `follow` and `raise`.
        match self.last.load(Ordering::Acquire) {
            0 => None,
            word => Some((Started(self), Id::from_word(word))),
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
        // A failed exchange means that somebody else has started it. Release pairs with `look`.
        self.last.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A word that is started: the proof that every id up to the durable ceiling counts as issued.
#[derive(Debug, Clone, Copy)]
pub struct Started<'a>(&'a Word);

impl Started<'_> {
    /// The last id issued.
    #[inline]
    pub fn last(self) -> Id {
        // As in `look`.
        Id::from_word(self.0.last.load(Ordering::Acquire))
    }

    /// Reserves ids, or says what has to happen first.
    ///
    /// **Guarantee.** The ids of an [`Answer::Reserved`] are all greater than `seen`, of the request's node, of
    /// one millisecond, not above the ceiling, and reserved for nobody else.
    ///
    /// # Errors
    /// [`GenerateError`] where the clock, or the format, does not allow another id.
    #[inline]
    pub fn reserve<S: Series>(self, request: &Request<S>) -> Result<Answer, GenerateError> {
        let Some(first) = next_id(request)? else {
            return Ok(Answer::UsedUp);
        };
        let want = if first.timestamp() > request.come() {
            request.want.min(RESERVE_EARLY_MAX)
        } else {
            request.want
        };
        let block = Block::starting_at::<S>(first, want);
        if block.last() > request.ceiling {
            return Ok(Answer::CeilingReached { timestamp: first.timestamp() });
        }
        // The one step that issues ids. Release pairs with the acquire of `look`; on failure nothing is used of
        // what was read.
        let exchanged = self.0.last.compare_exchange(
            request.seen.get() as u64,
            block.last().get() as u64,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        Ok(match exchanged {
            Ok(_) => Answer::Reserved(block),
            Err(_) => Answer::LostRace,
        })
    }

    /// Raises the word to `id`, if it is lower: whatever is reserved from now on is greater. Blocks that were reserved
    /// before are left as they are.
    ///
    /// No time is jumped over: where the clock has not passed `id`, the next id is of the same millisecond or waits for
    /// the one after, as after an id of this server's own. So servers that answer each other, however fast, do not run
    /// ahead of the clock.
    ///
    /// The driver raises the ceiling over `id` before.
    #[inline]
    pub fn follow(self, id: Id) {
        // Release pairs with the acquire of `look`.
        self.0.last.fetch_max(id.get() as u64, Ordering::AcqRel);
    }

    /// [`follow`](Self::follow), which also ends what blocks have left below `id`: every id from now on is greater.
    pub fn observe(self, id: Id) {
        self.follow(id);
        // After the word, since `has_passed` looks at this alone. Release pairs with the acquire of `observed`.
        self.0.observed.fetch_max(id.get() as u64, Ordering::AcqRel);
    }

    /// Whether there is nothing to [`observe`](Self::observe): every id from now on is greater than `id` anyway.
    #[inline]
    pub fn has_passed(self, id: Id) -> bool {
        // A block ends when the word has left its millisecond.
        self.last().timestamp() > id.timestamp() || self.observed() >= id
    }

    /// The highest id that was observed, for [`Block::take`].
    #[inline]
    pub fn observed(self) -> Id {
        // Acquire pairs with the release of `observe`.
        Id::from_word(self.0.observed.load(Ordering::Acquire))
    }

    /// Raises the word, if it is lower, so that every id up to `id` counts as issued. Never lowers it.
    ///
    /// It goes to the first id of the millisecond after `id`, which ends every [`Block`] there is.
    ///
    /// The driver raises the ceiling over the word's new millisecond before.
    ///
    /// # Errors
    /// [`GenerateError::PastEnd`] where there is no millisecond after `id`.
    pub fn raise(self, id: Id) -> Result<(), GenerateError> {
        let timestamp = id.timestamp() + 1;
        if timestamp > TIMESTAMP_MS_MAX {
            return Err(GenerateError::PastEnd { timestamp });
        }
        // Release pairs with the acquire of `look`.
        self.0.last.fetch_max(Id::first_of(timestamp).get() as u64, Ordering::AcqRel);
        Ok(())
    }
}

impl<S: Series> Request<S> {
    /// The last millisecond that has come.
    #[inline]
    fn come(&self) -> i64 {
        if S::MAY_LEAD_CLOCK { self.now.max(self.paced) } else { self.now }
    }

    /// Whether the word's millisecond has no id left for this node.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        successor_within_millisecond(self.seen, self.node).is_none()
    }
}

/// The lowest id that may be issued next, or `None` where its millisecond is not to be had yet.
#[inline]
fn next_id<S: Series>(request: &Request<S>) -> Result<Option<Id>, GenerateError> {
    let Request { seen, now, node, max_clock_step_ms, waits, first_sequence_id, .. } = *request;
    check_clock_in_format(now)?;
    // The common case first: the clock has passed the last id. Only here may numbers be left out: the cases below are
    // those of a generator at its limit, or of one ahead of the clock, which needs them all.
    if now > seen.timestamp() {
        return Ok(Some(node.id(now, first_sequence_id.clamp(0, S::SEQUENCE_MAX))));
    }
    check_clock_behind(seen, now, max_clock_step_ms)?;
    let within = successor_within_millisecond(seen, node);
    let timestamp = seen.timestamp() + i64::from(within.is_none());
    let most_early = match within {
        _ if !waits => 0,
        None if !node.has(seen) => S::EARLY_MS + 1,
        _ => S::EARLY_MS,
    };
    if timestamp - request.come() > most_early {
        return Ok(None);
    }
    if timestamp > TIMESTAMP_MS_MAX {
        return Err(GenerateError::PastEnd { timestamp });
    }
    Ok(Some(within.unwrap_or_else(|| node.id(timestamp, 0))))
}

/// The lowest id of `node` in the millisecond of `seen` that is greater than `seen`.
#[inline]
fn successor_within_millisecond<S: Series>(seen: Id, node: S) -> Option<Id> {
    let lowest = node.id(seen.timestamp(), 0);
    if lowest > seen {
        return Some(lowest);
    }
    let sequence_id = S::sequence_id_of(seen);
    (node.has(seen) && sequence_id < S::SEQUENCE_MAX).then(|| node.id(seen.timestamp(), sequence_id + 1))
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

#[cfg(test)]
mod tests;
