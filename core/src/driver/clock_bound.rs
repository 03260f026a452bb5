//! Ids that are never dated ahead of the clock, of designs that say with an id what time it is.
//!
//! The same mechanism as for snowflake ids, and the same promise: a word of the last id, which only rises, below the
//! durable ceiling. What differs is what is done where the clock is behind the word: nothing but to wait. After a quick
//! restart that is as long as the ceiling led.

use super::raise::{self, Need};
use super::reserve::Patience;
use super::{Driver, Host, Reading, Refusal, Session, Settings, Wait, WordOf, ready};
use crate::ceiling::LEAD_MS;
use crate::clock_step::NS_PER_MS;
use crate::error::GenerateError;
use crate::generator::Series;
use crate::layout::{Id, NodeId};

/// How long a call waits for the clock rather than refuse: as far as an honest server's ceiling can be ahead of its
/// clock, which is the lead above an id that was itself as far ahead as may be observed.
fn longest_wait_ms(settings: &Settings) -> i64 {
    settings.max_clock_skew_ms.saturating_add(2 * LEAD_MS)
}

fn would_wait(what: &'static str) -> impl Fn(Refusal) -> Refusal {
    move |refusal| match refusal {
        Refusal::Generate(GenerateError::ClockBehind { by_ms, max_ms }) => {
            Refusal::WouldWaitTooLong { what, by_ms, max_ms }
        }
        other => other,
    }
}

/// The next id of a design, and the epoch in force. The clock is looked at again after each wait.
///
/// # Errors
/// Those of [`next`](super::next). [`Refusal::WouldWaitTooLong`] where the clock stands further behind the last id than a
/// restart accounts for.
pub fn next_of<H: Host, S: Series>(
    host: &H,
    session: &Session,
    settings: &Settings,
    word_of: WordOf,
    read: impl Fn(NodeId) -> Reading<S>,
) -> Result<(Id, i64), Refusal> {
    let in_force = Settings { sequence_spread: 0, ..ready(host, session, settings)? };
    let driver = Driver { host, session, settings: &in_force };
    let block = driver
        .reserve_block(word_of, &|| read(in_force.node), 1, longest_wait_ms(&in_force))
        .map_err(would_wait("the last id of this design"))?;
    Ok((block.last(), in_force.epoch_ms))
}

/// Waits, asleep, until a millisecond (after the epoch) has passed by the clock, of which `left_ns` says how much is
/// left, given the epoch in force. No id of the word is of that millisecond from then on, whatever the clock does.
///
/// # Errors
/// [`Refusal::WouldWaitTooLong`] where that is longer than [`next_of`] would wait.
pub fn wait_until_passed<H: Host>(
    host: &H,
    session: &Session,
    settings: &Settings,
    word_of: WordOf,
    timestamp: i64,
    left_ns: impl Fn(i64) -> i64,
) -> Result<(), Refusal> {
    let settings = &ready(host, session, settings)?;
    let driver = Driver { host, session, settings };
    // Also where there is nothing to wait for: below, the word is moved.
    let (word, _) = driver.look(word_of)?;
    let mut patience = Patience::new(longest_wait_ms(settings));
    loop {
        let left_ns = left_ns(settings.epoch_ms);
        if left_ns > 0 {
            patience.check(host, left_ns).map_err(Refusal::from).map_err(would_wait("the id to wait for"))?;
            host.sleep(Wait::Clock, left_ns.min(NS_PER_MS));
        } else if host.shared().limits.ceiling() < Id::last_of(timestamp) {
            // By the clock, which has passed the millisecond. If it has been set back since, there is more to wait for.
            raise::raise(driver, Need::Id(timestamp))?;
        } else {
            word.follow(Id::last_of(timestamp));
            return Ok(());
        }
    }
}
