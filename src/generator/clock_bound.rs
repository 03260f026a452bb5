//! Ids that are never dated ahead of the clock, of designs that say with an id what time it is.
//!
//! The same mechanism as for snowflake ids, and the same promise: a word of the last id, which only rises, below the
//! durable ceiling. What differs is what is done where the word is not behind the clock: nothing but to wait. After a
//! quick restart that is as long as the ceiling led.

use snowflake_core::ceiling::LEAD_MS;
use snowflake_core::generator::Series;
use snowflake_core::layout::Id;
use snowflake_core::{Answer, GenerateError, NodeId, Request, Word};

use super::{Generator, start};
use crate::ceiling::{self, Need};
use crate::errors::{self, OrRaise};
use crate::shared::Shared;
use crate::wait::{self, WaitFor};
use crate::{clock_watch, settings};

const NS_PER_MS: i64 = 1_000_000;

/// What a design makes of one look at the clock.
pub struct Reading<S> {
    /// The time that an id of this moment is to have, in Unix milliseconds.
    pub unix_ms: i64,
    /// How long it is until that is the next millisecond: 1..=1,000,000.
    pub ns_to_next_ms: i64,
    /// Whose ids they are.
    pub series: S,
}

/// The next id of a design, and the epoch in force. The clock is looked at again after each wait.
///
/// # Errors
/// Those of [`super::next`], and those of the reading. 55000 where the clock stands further behind the last id than a
/// restart accounts for.
pub fn next_of<S: Series>(word_of: fn(&Shared) -> &Word, read: impl Fn(NodeId) -> Reading<S>) -> (Id, i64) {
    let Generator { shared, node, epoch_ms } = Generator::ready();
    let word = word_of(shared);
    loop {
        let Some(seen) = word.last() else {
            start(shared, epoch_ms);
            continue;
        };
        let Reading { unix_ms, ns_to_next_ms, series } = read(node);
        let now = unix_ms - epoch_ms;
        if now < seen.timestamp() {
            clock_watch::look_back(shared, epoch_ms);
        }
        let request = Request {
            seen,
            now,
            node: series,
            ceiling: shared.limits.ceiling(),
            max_clock_step_ms: longest_wait_ms(),
            want: 1,
            waited_for: None,
            first_sequence_id: 0,
        };
        match word.reserve(&request) {
            Ok(Answer::Reserved(block)) => return (block.last(), epoch_ms),
            Ok(Answer::LostRace) => {}
            Ok(Answer::UsedUp) => {
                let ns = if now == seen.timestamp() { ns_to_next_ms } else { NS_PER_MS };
                wait::sleep(shared, WaitFor::Clock, ns);
            }
            Ok(Answer::CeilingReached { timestamp }) => {
                ceiling::raise(shared, epoch_ms, Need::Id(timestamp));
            }
            Err(GenerateError::ClockBehind { by_ms, max_ms }) => {
                errors::would_wait_too_long("the last id of this design", by_ms, max_ms)
            }
            Err(error) => Err(error).or_raise(),
        }
    }
}

/// How long a call waits for the clock rather than refuse: as far as an honest server's ceiling can be ahead of its
/// clock, which is the lead above an id that was itself as far ahead as may be observed.
fn longest_wait_ms() -> i64 {
    settings::max_clock_skew_ms() + 2 * LEAD_MS
}

/// Waits, asleep, until a millisecond (after the epoch) has passed by the clock, of which `left_ns` says how much is
/// left, given the epoch in force. No id of the word is of that millisecond from then on, whatever the clock does.
///
/// # Errors
/// 55000 where that is longer than [`next_of`] would wait.
pub fn wait_until_passed(word_of: fn(&Shared) -> &Word, timestamp: i64, left_ns: impl Fn(i64) -> i64) {
    let generator = Generator::ready();
    let Generator { shared, epoch_ms, .. } = generator;
    loop {
        let left = left_ns(epoch_ms);
        if left <= 0 {
            break;
        }
        let (by_ms, max_ms) = (left / NS_PER_MS, longest_wait_ms());
        if by_ms > max_ms {
            errors::would_wait_too_long("the id to wait for", by_ms, max_ms);
        }
        wait::sleep(shared, WaitFor::Clock, left.min(NS_PER_MS));
    }
    while shared.limits.ceiling().timestamp() < timestamp {
        ceiling::raise(shared, epoch_ms, Need::Id(timestamp));
    }
    word_of(shared).follow(Id::last_of(timestamp));
}
