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
mod raise;
mod refusal;

pub use clock_bound::{next_of, wait_until_passed};
pub use given::{advance, next_after, observe};
pub use raise::Given;
pub use refusal::Refusal;

use core::cell::Cell;

use crate::clock_step::NS_PER_MS;
use crate::error::GenerateError;
use crate::generator::{Answer, Block, EARLY_MS_MAX, RESERVE_MAX, Request, Series, Started, Word};
use crate::layout::{Id, NodeId};
use crate::pace::Behind;
use crate::shared::Shared;
use crate::spread;
use crate::sync::Ordering;

use raise::Need;

/// What the driver needs of the world.
///
/// **Memory.** `shared` returns the same memory for all sessions of a server, until the server stops. Nothing else is
/// shared.
///
/// **Unwinding.** Every call may end the driver's call by unwinding, or never return (a session that is killed): nothing
/// shared depends on a destructor of the driver's. A host that leaves while its session holds the raise lock releases it.
///
/// **Order.** What `make_durable` was given is durable when it returns. Clocks are read when they are asked for.
pub trait Host {
    /// The server's shared state.
    fn shared(&self) -> &Shared;

    /// The wall clock, in nanoseconds since 1970-01-01 UTC. It may be wrong, and be set at any time.
    fn wall_ns(&self) -> i64;

    /// The running time of the machine, suspension included, in nanoseconds. Nobody can set it.
    fn machine_ns(&self) -> i64;

    /// The clock that waits go by, in nanoseconds. Nobody can set it.
    fn monotonic_ns(&self) -> i64;

    /// Sleeps for 1..=1,000,000 nanoseconds, or less; then lets the session be interrupted.
    fn sleep(&self, wait: Wait, ns: i64);

    /// Whether the server is a standby, or recovering.
    fn is_in_recovery(&self) -> bool;

    /// The highest ceiling that is durable; [`Id::MIN`] on a new server.
    fn durable_ceiling(&self) -> Id;

    /// Takes the raise lock if it is free.
    fn try_lock_raise(&self) -> bool;

    /// Releases the raise lock.
    fn unlock_raise(&self);

    /// Makes a ceiling durable: whoever has a row whose WAL is written from now on has this ceiling.
    fn make_durable(&self, ceiling: Id);

    /// Tells the operator. The caller holds no lock.
    fn report(&self, event: Event);

    /// Between two accesses to shared memory with no other call in between. A host that simulates lets others run.
    #[inline]
    fn between(&self) {}
}

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The next millisecond.
    Clock,
    /// The ceiling, which another session is raising.
    Ceiling,
}

/// What the operator should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The words were started without a ceiling, as on a new server.
    NoCeiling,
    /// The clock was set back. `begins` tells a step from one that goes on: a clock that stands is seen further behind
    /// with each look, and is one event.
    SetBack {
        /// By so many nanoseconds.
        by_ns: i64,
        /// Whether the event begins.
        begins: bool,
    },
    /// The clock leapt ahead, and ids are refused.
    Leapt {
        /// By so many nanoseconds.
        by_ns: i64,
    },
    /// The last year of the format has begun; once a day.
    Ends {
        /// The days left.
        days: i64,
    },
    /// The epoch was changed, and waits for a restart; once for each value.
    EpochWaits {
        /// The epoch in force.
        fixed_ms: i64,
        /// The epoch that is set.
        set_ms: i64,
    },
}

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
/// **Liveness.** With S sessions at work, of which each takes its steps within d, the call returns within two
/// milliseconds and a multiple of d, for S up to 256: see [`Driver::reserve`].
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

/// Which word ids are taken from.
pub type WordOf = fn(&Shared) -> &Word;

fn snowflake(shared: &Shared) -> &Word {
    &shared.snowflake
}

/// That of the TrueTime ids.
pub fn truetime(shared: &Shared) -> &Word {
    &shared.truetime
}

/// That of the Unix times.
pub fn unix(shared: &Shared) -> &Word {
    &shared.unix
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

/// What came of one attempt.
enum Attempt {
    /// These ids are the caller's, once their millisecond has come.
    Reserved { block: Block, due: Due },
    /// Another session was faster, or the attempt was a fast one and there is more to do.
    Again,
    /// The millisecond of the next id is too far ahead; the next comes in so many nanoseconds.
    UsedUp { ns: i64 },
    /// The next id is above the ceiling.
    CeilingReached { timestamp: i64 },
}

/// When the millisecond of a reservation has come.
enum Due {
    Now,
    /// When the clock says so; or in so much running time, if that counts.
    Later {
        in_ns: Option<i64>,
    },
}

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

    /// Reserves up to `want` ids, keeps what is more than one as this session's block, and returns the first.
    ///
    /// **Liveness.** An attempt ends without an id only where another session has moved the word, or 4,096 ids of this
    /// millisecond and as many of the next are taken. Of the next, each session takes 16 at most, and sleeps then: so
    /// with 256 sessions or fewer, the session that loses every race for what is left of this millisecond gets an id of
    /// the next, which no other session is working at by then.
    fn reserve(self, want: i64) -> Result<Id, Refusal> {
        let block =
            self.reserve_block(snowflake, &self.wall_clock(), want, self.settings.max_clock_step_ms)?;
        if block.last() > self.host.shared().limits.raise_at() {
            raise::raise(self, Need::Ahead)?;
        }
        Ok(self.keep(block))
    }

    /// Reserves ids of a word, and waits for their millisecond. The clock may stand so far behind the word.
    fn reserve_block<S: Series>(
        self,
        word_of: WordOf,
        read: &impl Fn() -> Reading<S>,
        want: i64,
        max_behind_ms: i64,
    ) -> Result<Block, Refusal> {
        loop {
            match self.attempt::<false, S>(word_of, read, want, max_behind_ms)? {
                Attempt::Reserved { block, due } => {
                    if let Due::Later { in_ns } = due {
                        self.wait_for(read, block.last().timestamp(), in_ns, max_behind_ms)?;
                    }
                    return Ok(block);
                }
                Attempt::Again => {}
                Attempt::UsedUp { ns } => self.host.sleep(Wait::Clock, ns),
                Attempt::CeilingReached { timestamp } => raise::raise(self, Need::Id(timestamp))?,
            }
        }
    }

    /// One attempt to reserve ids: the only place that does. `FAST` is the attempt that gives up wherever there is
    /// more to do than to read the word and the clock.
    #[inline]
    fn attempt<const FAST: bool, S: Series>(
        self,
        word_of: WordOf,
        read: &impl Fn() -> Reading<S>,
        want: i64,
        max_behind_ms: i64,
    ) -> Result<Attempt, Refusal> {
        let Self { host, settings, .. } = self;
        let epoch_ms = settings.epoch_ms;
        let (word, seen, clock) = if FAST {
            let clock = read();
            let Some((word, seen)) = word_of(host.shared()).look() else { return Ok(Attempt::Again) };
            (word, seen, clock)
        } else {
            let (word, seen) = self.look(word_of)?;
            (word, seen, read())
        };
        let now = clock.ms_since(epoch_ms);
        if FAST && now < seen.timestamp() {
            return Ok(Attempt::Again);
        }
        let mut request = Request {
            seen,
            now,
            paced: i64::MIN,
            waits: !FAST,
            node: clock.series,
            // Beyond the one, the next ceiling is to be begun.
            ceiling: if FAST { host.shared().limits.raise_at() } else { host.shared().limits.ceiling() },
            max_clock_step_ms: max_behind_ms,
            want,
            first_sequence_id: spread::first_sequence_id(clock.unix_ns, settings.sequence_spread),
        };
        let shows = if FAST { None } else { self.pace(&mut request, &clock) };
        host.between();
        Ok(match word.reserve(&request) {
            Ok(Answer::Reserved(block)) => Attempt::Reserved { block, due: due(block, now, shows) },
            Ok(Answer::LostRace) => Attempt::Again,
            Ok(Answer::UsedUp) => Attempt::UsedUp { ns: until_next(&clock, epoch_ms, shows) },
            Ok(Answer::CeilingReached { timestamp }) => Attempt::CeilingReached { timestamp },
            // Told apart again, and said, on the whole way.
            Err(_) if FAST => Attempt::Again,
            Err(error) => return Err(Refusal::Generate(error)),
        })
    }

    /// Where the clock has not passed the word: sets the request's pace, and returns what it shows, if it counts.
    #[inline]
    fn pace<S: Series>(self, request: &mut Request<S>, clock: &Reading<S>) -> Option<i64> {
        if request.now > request.seen.timestamp() || request.now < 0 {
            return None;
        }
        self.pace_behind(request, clock)
    }

    #[cold]
    fn pace_behind<S: Series>(self, request: &mut Request<S>, clock: &Reading<S>) -> Option<i64> {
        if request.now < request.seen.timestamp() - EARLY_MS_MAX {
            clock_watch::look_back(self);
        }
        if !S::MAY_LEAD_CLOCK {
            return None;
        }
        let shows = self.host.shared().pace.settle(&Behind {
            word_ns: request.seen.timestamp() * NS_PER_MS,
            wall_ns: clock.since(self.settings.epoch_ms),
            monotonic_ns: self.host.monotonic_ns(),
            steps: request.is_used_up(),
        });
        request.paced = shows.div_euclid(NS_PER_MS);
        Some(shows)
    }

    /// Waits until a millisecond has come by the clock, or in so much running time, if that counts.
    #[cold]
    fn wait_for<S>(
        self,
        read: &impl Fn() -> Reading<S>,
        timestamp: i64,
        in_ns: Option<i64>,
        max_ms: i64,
    ) -> Result<(), Refusal> {
        let epoch_ms = self.settings.epoch_ms;
        let deadline_ns = in_ns.map(|in_ns| self.host.monotonic_ns() + in_ns);
        loop {
            let mut left_ns = (timestamp * NS_PER_MS).saturating_sub(read().since(epoch_ms));
            if let Some(deadline_ns) = deadline_ns {
                left_ns = left_ns.min(deadline_ns - self.host.monotonic_ns());
            }
            if left_ns <= 0 {
                return Ok(());
            }
            let by_ms = left_ns / NS_PER_MS;
            if by_ms > max_ms {
                return Err(Refusal::Generate(GenerateError::ClockBehind { by_ms, max_ms }));
            }
            self.host.sleep(Wait::Clock, left_ns.min(NS_PER_MS));
        }
    }
}

/// When a block's millisecond comes, by a clock in this one and a pace that shows so much, if that counts.
#[inline]
fn due(block: Block, now: i64, shows: Option<i64>) -> Due {
    let timestamp = block.last().timestamp();
    if timestamp <= now {
        return Due::Now;
    }
    let in_ns = shows.map(|shows| timestamp * NS_PER_MS - shows);
    if in_ns.is_some_and(|in_ns| in_ns <= 0) { Due::Now } else { Due::Later { in_ns } }
}

/// How long it is, a millisecond at most, until another millisecond has come.
#[cold]
fn until_next<S: Series>(clock: &Reading<S>, epoch_ms: i64, shows: Option<i64>) -> i64 {
    let come_ns = clock.since(epoch_ms).max(shows.unwrap_or(i64::MIN));
    NS_PER_MS - come_ns.rem_euclid(NS_PER_MS)
}

#[cfg(test)]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
