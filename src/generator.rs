//! Drives the generator of the core: gives it the word, the clock, the node and the ceiling, and does what it
//! answers, until there is an id.
//!
//! The order of the readings matters: the word, then the clock; both again after a lost race. So a steady clock never
//! looks as if it had been set back. Only the attempt that is made at once reads them the other way round, which leaves
//! less time for a race to be lost in, and gives up where the clock looks set back.

mod clock_bound;
mod given;

pub use clock_bound::{Reading, next_of, wait_until_passed};
pub use given::{advance, next_after, observe};

use std::cell::Cell;
use std::sync::atomic::Ordering;

use pgrx::prelude::*;
use snowflake_core::generator::RESERVE_MAX;
use snowflake_core::layout::Id;
use snowflake_core::{Answer, Block, NodeId, Request};

use crate::ceiling::{self, Need};
use crate::clock::{self, WallClock};
use crate::errors::{self, OrRaise};
use crate::shared::{self, Shared};
use crate::wait::{self, WaitFor};
use crate::{clock_watch, settings, spread};

const NS_PER_MS: i64 = 1_000_000;

thread_local! {
    /// The ids this session has reserved and not handed out. A new reservation replaces the rest of the last one,
    /// so the ids of a session rise. (A parallel worker has a block of its own, as a session has.)
    static BLOCK: Cell<Block> = const { Cell::new(Block::EMPTY) };
    /// The epoch that this session has last seen set and not in force.
    static WAITING_EPOCH_MS: Cell<Option<i64>> = const { Cell::new(None) };
}

/// The next id where nothing stands in the way, as nearly always: the word and the clock are read once, and the
/// compare-exchange succeeds.
///
/// Nothing is raised here and nothing of PostgreSQL's called, so the caller needs no guard. `None` where there is
/// more to do, the raise of the ceiling ahead of its need included: [`next`] does it, from the beginning.
#[inline]
pub fn next_at_once() -> Option<Id> {
    let shared = shared::known()?;
    let epoch_ms = shared.limits.epoch_ms()?;
    if settings::trusted_epoch_ms()? != epoch_ms {
        return None;
    }
    let generator = Generator { shared, node: settings::trusted_node()?, epoch_ms };
    match settings::cache() {
        1 => generator.reserve_at_once(1),
        cache => generator.take().or_else(|| generator.reserve_at_once(cache)),
    }
}

/// The next id.
///
/// # Errors
/// Not preloaded, settings refused, in recovery, clock or epoch not to be trusted, format at its end: see
/// [`errors`]. No id is issued then.
pub fn next() -> Id {
    let generator = Generator::ready();
    match settings::cache() {
        1 => generator.reserve(1),
        cache => generator.take().unwrap_or_else(|| generator.reserve(cache)),
    }
}

/// The ids of a batch, reserved step by step as they are asked for.
///
/// The first is greater than every id returned before the call. They rise; and none is from an earlier
/// millisecond than an id that some session returned before this one was asked for.
pub fn batch(n: i64) -> impl Iterator<Item = Id> {
    // What a former batch left would be older than ids returned since.
    BLOCK.set(Block::EMPTY);
    (0..n).rev().map(|still_wanted| {
        let generator = Generator::ready();
        generator.take().unwrap_or_else(|| generator.reserve((still_wanted + 1).min(RESERVE_MAX)))
    })
}

/// The epoch in force: that of this server's run where ids have been generated, else the one that is set.
///
/// # Errors
/// 55000 where neither is known, because the value that was set was refused.
pub fn epoch_ms() -> i64 {
    epoch_of_this_run().unwrap_or_else(settings::epoch_ms)
}

/// The epoch that this server's run is bound to, once ids have been generated.
pub fn epoch_of_this_run() -> Option<i64> {
    shared::find().and_then(|shared| shared.limits.epoch_ms())
}

/// What a call needs: the shared state, and the settings in force for this command.
struct Generator {
    shared: &'static Shared,
    node: NodeId,
    epoch_ms: i64,
}

impl Generator {
    #[inline]
    fn ready() -> Self {
        let shared = shared::get();
        let node = settings::node();
        let set = settings::epoch_ms();
        let epoch_ms = match shared.limits.epoch_ms() {
            Some(fixed) if fixed == set => fixed,
            Some(fixed) => epoch_waits_for_restart(shared, fixed, set),
            None => start(shared, set),
        };
        Self { shared, node, epoch_ms }
    }

    /// The next id of this session's block, while it is valid.
    #[inline]
    fn take(&self) -> Option<Id> {
        let mut block = BLOCK.get();
        if block.remaining() == 0 {
            return None;
        }
        let seen = self.shared.word.last()?;
        let now = WallClock::now().unix_ms() - self.epoch_ms;
        let observed = self.shared.word.observed();
        let id = block.take(seen, observed, now, self.node, settings::max_clock_step_ms());
        BLOCK.set(block);
        id
    }

    /// One attempt of [`reserve`](Self::reserve), below the id past which a ceiling is raised.
    #[inline]
    fn reserve_at_once(&self, want: i64) -> Option<Id> {
        let Self { shared, node, epoch_ms } = *self;
        let clock = WallClock::now();
        let now = clock.unix_ms() - epoch_ms;
        let seen = shared.word.last()?;
        if now < seen.timestamp() {
            return None;
        }
        // Not above the ceiling, and durable as that is.
        let ceiling = shared.limits.raise_at();
        let max_clock_step_ms = settings::max_clock_step_ms();
        let request = Request {
            seen,
            now,
            node,
            ceiling,
            max_clock_step_ms,
            want,
            waited_for: None,
            first_sequence_id: spread::first_sequence_id(clock),
        };
        match shared.word.reserve(&request) {
            Ok(Answer::Reserved(block)) => Some(keep(block)),
            _ => None,
        }
    }

    /// Reserves up to `want` ids, keeps what is more than one as this session's block, and returns the first.
    #[inline]
    fn reserve(&self, want: i64) -> Id {
        let Self { shared, node, epoch_ms } = *self;
        let mut used_up: Option<UsedUp> = None;
        loop {
            let seen = self.last();
            let waited_for = used_up.and_then(UsedUp::waited_for);
            let clock = WallClock::now();
            let now = clock.unix_ms() - epoch_ms;
            let max_clock_step_ms = settings::max_clock_step_ms();
            if now < seen.timestamp() {
                clock_watch::look_back(shared, epoch_ms);
            }
            let ceiling = shared.limits.ceiling();
            let first_sequence_id = spread::first_sequence_id(clock);
            let request =
                Request { seen, now, node, ceiling, max_clock_step_ms, want, waited_for, first_sequence_id };
            match shared.word.reserve(&request).or_raise() {
                Answer::Reserved(block) => {
                    if block.last() > shared.limits.raise_at() {
                        ceiling::raise(shared, epoch_ms, Need::Ahead);
                    }
                    return keep(block);
                }
                Answer::LostRace => {}
                Answer::UsedUp => used_up = Some(UsedUp::wait(shared, used_up, seen, clock, now)),
                Answer::CeilingReached { timestamp } => {
                    ceiling::raise(shared, epoch_ms, Need::Id(timestamp));
                }
            }
        }
    }

    /// The last id issued by this server.
    #[inline]
    fn last(&self) -> Id {
        loop {
            match self.shared.word.last() {
                Some(last) => return last,
                // The session that fixed the epoch has not come to start the word.
                None => start(self.shared, self.epoch_ms),
            };
        }
    }
}

/// Keeps the rest of a reservation as this session's block, and returns its first id.
#[inline]
fn keep(mut block: Block) -> Id {
    let first = block.take_reserved().unwrap_or(block.last());
    BLOCK.set(block);
    first
}

/// The epoch of this server's run, where that is known without a call.
#[inline]
pub fn epoch_ms_at_once() -> Option<i64> {
    shared::known()?.limits.epoch_ms()
}

/// Starts the generator of this server: fixes the epoch, and lets every id up to the durable ceiling count as issued.
/// The epoch comes first, so that no session goes on with another once there is a word. The one in force is returned.
#[cold]
fn start(shared: &Shared, epoch_ms: i64) -> i64 {
    // SAFETY: reads shared memory.
    if unsafe { pg_sys::RecoveryInProgress() } {
        errors::in_recovery();
    }
    let epoch_ms = shared.limits.fix_epoch_ms(epoch_ms);
    let ceiling = ceiling::durable();
    if shared.start_words(ceiling) && ceiling == Id::MIN {
        log!("snowflake: there is no ceiling, as on a new server: ids begin with the clock");
    }
    epoch_ms
}

/// A millisecond that this session has seen used up, and since when.
#[derive(Clone, Copy)]
struct UsedUp {
    word: Id,
    since_ns: i64,
}

impl UsedUp {
    /// Sleeps until the clock should have passed the word's millisecond. Where it stands behind, for what is left
    /// of a millisecond of the monotonic clock since this word was first seen used up.
    #[cold]
    fn wait(shared: &Shared, before: Option<Self>, word: Id, clock: WallClock, now: i64) -> Self {
        // Read after the wall clock, and `waited_for` before it: so where the clock is steady, it has always passed
        // the word's millisecond when this says that a millisecond has gone by.
        let monotonic = clock::monotonic_ns();
        let this = match before {
            Some(before) if before.word == word => before,
            _ => Self { word, since_ns: monotonic },
        };
        let ns = if now == word.timestamp() {
            clock.ns_to_next_ms()
        } else {
            (NS_PER_MS - (monotonic - this.since_ns)).clamp(1, NS_PER_MS)
        };
        wait::sleep(shared, WaitFor::Clock, ns);
        this
    }

    /// The word, once a millisecond of the monotonic clock has gone by since it was seen used up.
    fn waited_for(self) -> Option<Id> {
        (clock::monotonic_ns() - self.since_ns >= NS_PER_MS).then_some(self.word)
    }
}

/// The epoch was changed while the server runs: it goes on with the one its ids began with, and the log says so
/// once for each new value. A session that has not seen the newest says nothing of the one before again.
#[cold]
fn epoch_waits_for_restart(shared: &Shared, fixed: i64, set: i64) -> i64 {
    let news = WAITING_EPOCH_MS.replace(Some(set)) != Some(set);
    if news && shared.clock.reported_epoch_ms.swap(set, Ordering::AcqRel) != set {
        ereport!(
            PgLogLevel::LOG,
            PgSqlErrorCode::ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
            format!(
                "snowflake: epoch {fixed} stays in force until the server restarts, then it will be {set}"
            )
        );
    }
    fixed
}
