//! The driver: gives the generator what it needs to know, and does what it answers, until there is an id.
//!
//! It performs nothing itself. Clocks, sleep, the raise lock and the durable ceiling are a [`Host`]'s: PostgreSQL's in
//! the extension, simulated ones in the tests, so that what is tested is what runs.
//!
//! **The order of readings.** The word is read before the clock, and both again after a lost race: so a steady clock
//! never looks as if it had been set back. Only the fast path reads the clock first, which leaves less time for a race
//! to be lost in; it gives up where the clock looks set back.
//!
//! **An id is never returned before its millisecond has come**, by the wall clock or, where ids are ahead of that, by the
//! [pace](crate::Pace). Where a millisecond is used up, a call reserves of the next one and waits for it with the id in
//! hand, so that no other session can be faster again and again.

mod clock_bound;
mod clock_watch;
mod given;
mod host;
mod raise;
mod refusal;
mod reserve;

pub use clock_bound::{next_of, wait_until_passed};
pub use given::{advance, next_after, observe};
pub use host::{Event, Host, Wait};
pub use raise::Given;
pub use refusal::Refusal;

pub use crate::shared::{WordOf, truetime, unix};

use core::cell::Cell;

use crate::clock_step::NS_PER_MS;
use crate::generator::{Block, RESERVE_MAX, Started};
use crate::layout::{Id, NodeId};
use crate::shared::snowflake;
use crate::sync::Ordering;

use reserve::Attempt;

/// The settings as one call sees them.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The node number.
    pub node: NodeId,
    /// The epoch, in Unix milliseconds.
    pub epoch_ms: i64,
    /// How many ids a session reserves at once: 1..=[`RESERVE_MAX`].
    pub cache: i64,
    /// The highest sequence number that a new millisecond may begin with.
    pub sequence_spread: i64,
    /// How far the clock may stand behind the last id, or leap ahead, in milliseconds.
    pub max_clock_step_ms: i64,
    /// How far apart the clocks of servers that exchange ids may be, in milliseconds.
    pub max_clock_skew_ms: i64,
}

/// What a session keeps between its calls.
#[derive(Debug)]
pub struct Session {
    /// The ids it has reserved and not handed out. A new reservation replaces the rest of the last one, so the ids of a
    /// session rise.
    block: Cell<Block>,
    /// The epoch that it has last seen set and not in force.
    waiting_epoch_ms: Cell<Option<i64>>,
}

impl Session {
    /// A session that has nothing.
    #[allow(clippy::new_without_default, reason = "a default cannot be made at compile time")]
    pub const fn new() -> Self {
        Self { block: Cell::new(Block::EMPTY), waiting_epoch_ms: Cell::new(None) }
    }
}

/// One look at a clock, by whoever makes ids of it.
#[derive(Debug, Clone, Copy)]
pub struct Reading<S> {
    /// The time that an id of this moment is to have, in Unix nanoseconds.
    pub unix_ns: i64,
    /// Whose ids they are.
    pub series: S,
}

impl<S> Reading<S> {
    /// In nanoseconds after the epoch.
    #[inline]
    fn since(&self, epoch_ms: i64) -> i64 {
        self.unix_ns.saturating_sub(epoch_ms.saturating_mul(NS_PER_MS))
    }

    /// In milliseconds after the epoch.
    #[inline]
    fn ms_since(&self, epoch_ms: i64) -> i64 {
        self.unix_ns.div_euclid(NS_PER_MS).saturating_sub(epoch_ms)
    }
}

/// The next id where nothing stands in the way, as nearly always: the word and the clock are read once, and the
/// compare-exchange succeeds.
///
/// It calls nothing of the host's but `shared` and `wall_ns`. `None` where there is more to do, the raise of the ceiling
/// ahead of its need included: [`next`] does it, from the beginning.
#[inline]
pub fn next_fast<H: Host>(host: &H, session: &Session, settings: &Settings) -> Option<Id> {
    if host.shared().limits.epoch_ms()? != settings.epoch_ms {
        return None;
    }
    let driver = Driver { host, session, settings };
    if let Some(id) = driver.take_cached() {
        return Some(id);
    }
    let Settings { cache, max_clock_step_ms, .. } = *settings;
    let attempt = driver.attempt::<true, _>(snowflake, &driver.wall_clock(), cache, max_clock_step_ms);
    match attempt {
        Ok(Attempt::Reserved { block, .. }) => Some(driver.keep(block)),
        _ => None,
    }
}

/// The next id.
///
/// **Guarantee.** It is greater than every id returned before the call began (with a cache of 1), is returned by no
/// other call, and is at or below a ceiling that is durable.
///
/// **Liveness.** With S sessions at work, of which each takes its steps within d, the call returns within 5 ms + 100 d,
/// for S up to 256 (the simulation checks it): see [`Driver::reserve`].
///
/// # Errors
/// [`Refusal`]. No id is issued then.
pub fn next<H: Host>(host: &H, session: &Session, settings: &Settings) -> Result<Id, Refusal> {
    let settings = &ready(host, session, settings)?;
    let driver = Driver { host, session, settings };
    match driver.take_cached() {
        Some(id) => Ok(id),
        None => driver.reserve(settings.cache),
    }
}

/// The next ids of a call, reserved step by step as they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    left: i64,
    begun: bool,
}

impl Batch {
    /// A batch of `n` ids; of none where `n` is not positive.
    pub const fn new(n: i64) -> Self {
        Self { left: n, begun: false }
    }

    /// The next id, or `None` where all have been given.
    ///
    /// **Ordering.** The first is greater than every id returned before it was asked for. They rise; and none is from an
    /// earlier millisecond than an id that some session returned before this one was asked for.
    ///
    /// # Errors
    /// Those of [`next`].
    pub fn next<H: Host>(
        &mut self,
        host: &H,
        session: &Session,
        settings: &Settings,
    ) -> Option<Result<Id, Refusal>> {
        (self.left > 0).then(|| {
            if !self.begun {
                // What is left of an earlier reservation would be older than ids returned since.
                session.block.set(Block::EMPTY);
                self.begun = true;
            }
            let settings = &ready(host, session, settings)?;
            let driver = Driver { host, session, settings };
            let id = match driver.take() {
                Some(id) => id,
                None => driver.reserve(self.left.min(RESERVE_MAX))?,
            };
            self.left -= 1;
            Ok(id)
        })
    }
}

/// A call under way.
#[derive(Debug)]
struct Driver<'a, H> {
    host: &'a H,
    session: &'a Session,
    settings: &'a Settings,
}

impl<H> Clone for Driver<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for Driver<'_, H> {}

/// Makes the settings those in force: starts the words where they are not, and sees to the epoch.
fn ready<H: Host>(host: &H, session: &Session, settings: &Settings) -> Result<Settings, Refusal> {
    let set_ms = settings.epoch_ms;
    let epoch_ms = match host.shared().limits.epoch_ms() {
        Some(fixed_ms) => {
            if fixed_ms != set_ms {
                epoch_waits(host, session, fixed_ms, set_ms);
            }
            fixed_ms
        }
        None => start(host, set_ms)?,
    };
    Ok(Settings { epoch_ms, ..*settings })
}

/// Fixes the epoch, and lets every id up to the durable ceiling count as issued. The epoch comes first, so that no
/// session goes on with another once there is a word. The one in force is returned.
#[cold]
fn start<H: Host>(host: &H, epoch_ms: i64) -> Result<i64, Refusal> {
    if host.is_in_recovery() {
        return Err(Refusal::InRecovery);
    }
    let epoch_ms = host.shared().limits.fix_epoch_ms(epoch_ms);
    let ceiling = host.durable_ceiling();
    if host.shared().start_words(ceiling) {
        // Read after the start, so that the pace is at the word now at the most.
        let monotonic_ns = host.monotonic_ns();
        host.shared().pace.observe(ceiling.timestamp(), monotonic_ns);
        if ceiling == Id::MIN {
            host.report(Event::NoCeiling);
        }
    }
    Ok(epoch_ms)
}

/// The epoch was changed while the server runs: it goes on with the one its ids began with, and the log says so once for
/// each new value. A session that has not seen the newest says nothing of the one before again.
#[cold]
fn epoch_waits<H: Host>(host: &H, session: &Session, fixed_ms: i64, set_ms: i64) {
    let news = session.waiting_epoch_ms.replace(Some(set_ms)) != Some(set_ms);
    if news && host.shared().clock.reported_epoch_ms.swap(set_ms, Ordering::AcqRel) != set_ms {
        host.report(Event::EpochWaits { fixed_ms, set_ms });
    }
}

impl<'a, H: Host> Driver<'a, H> {
    /// Reads the wall clock, for snowflake ids.
    #[inline]
    fn wall_clock(self) -> impl Fn() -> Reading<NodeId> + 'a {
        move || Reading { unix_ns: self.host.wall_ns(), series: self.settings.node }
    }

    /// The word and the last id. The session that fixed the epoch may not have come to start the words.
    #[inline]
    fn look(self, word_of: WordOf) -> Result<(Started<'a>, Id), Refusal> {
        loop {
            match word_of(self.host.shared()).look() {
                Some(found) => return Ok(found),
                None => start(self.host, self.settings.epoch_ms)?,
            };
        }
    }

    /// The next id of this session's block, where blocks are used.
    #[inline]
    fn take_cached(self) -> Option<Id> {
        if self.settings.cache == 1 { None } else { self.take() }
    }

    /// The next id of this session's block, while it is valid.
    #[inline]
    fn take(self) -> Option<Id> {
        let Self { host, session, settings } = self;
        let mut block = session.block.get();
        if block.remaining() == 0 {
            return None;
        }
        let (word, seen) = host.shared().snowflake.look()?;
        let now = self.wall_clock()().ms_since(settings.epoch_ms);
        let id = block.take(seen, word.observed(), now, settings.node, settings.max_clock_step_ms);
        session.block.set(block);
        id
    }

    /// Keeps the rest of a reservation as this session's block, and returns its first id.
    #[inline]
    fn keep(self, mut block: Block) -> Id {
        let first = block.take_reserved().unwrap_or(block.last());
        self.session.block.set(block);
        first
    }
}

#[cfg(test)]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
