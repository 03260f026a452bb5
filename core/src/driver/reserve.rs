//! Reserving ids: attempt after attempt, until there are some; then the wait for their millisecond.

use super::raise::{self, Need};
use super::{Driver, Host, Reading, Refusal, Wait, WordOf, clock_watch, snowflake};
use crate::clock_step::NS_PER_MS;
use crate::error::GenerateError;
use crate::generator::{Answer, Block, Request, Series};
use crate::layout::Id;
use crate::pace::Behind;
use crate::spread;

/// What came of one attempt.
pub(super) enum Attempt {
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
pub(super) enum Due {
    Now,
    /// When the clock says so; or in so much running time, if that counts.
    Later {
        in_ns: Option<i64>,
    },
}

impl<H: Host> Driver<'_, H> {
    /// Reserves up to `want` ids, keeps what is more than one as this session's block, and returns the first.
    ///
    /// **Liveness.** An attempt ends without an id only where another session has moved the word, or 4,096 ids of this
    /// millisecond and as many of the next are taken. Of the next, each session takes 16 at most, and sleeps then: so
    /// with 256 sessions or fewer, the session that loses every race for what is left of this millisecond gets an id of
    /// the next, which no other session is working at by then.
    pub(super) fn reserve(self, want: i64) -> Result<Id, Refusal> {
        let block =
            self.reserve_block(snowflake, &self.wall_clock(), want, self.settings.max_clock_step_ms)?;
        if block.last() > self.host.shared().limits.raise_at() {
            raise::raise(self, Need::Ahead)?;
        }
        Ok(self.keep(block))
    }

    /// Reserves ids of a word, and waits for their millisecond. The clock may stand so far behind the word.
    pub(super) fn reserve_block<S: Series>(
        self,
        word_of: WordOf,
        read: &impl Fn() -> Reading<S>,
        want: i64,
        max_behind_ms: i64,
    ) -> Result<Block, Refusal> {
        let mut patience = Patience::new(max_behind_ms);
        loop {
            match self.attempt::<false, S>(word_of, read, want, max_behind_ms)? {
                Attempt::Reserved { block, due } => {
                    if let Due::Later { in_ns } = due {
                        self.wait_for(read, block.last().timestamp(), in_ns, max_behind_ms)?;
                    }
                    return Ok(block);
                }
                Attempt::Again => {}
                Attempt::UsedUp { ns } => {
                    patience.check(self.host, ns)?;
                    self.host.sleep(Wait::Clock, ns);
                }
                Attempt::CeilingReached { timestamp } => raise::raise(self, Need::Id(timestamp))?,
            }
        }
    }

    /// One attempt to reserve ids: the only place that does. `FAST` is the attempt that gives up wherever there is
    /// more to do than to read the word and the clock.
    #[inline]
    pub(super) fn attempt<const FAST: bool, S: Series>(
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
        if request.now < request.seen.timestamp() - S::EARLY_MS - 1 {
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
        let mut patience = Patience::new(max_ms);
        loop {
            let mut left_ns = (timestamp * NS_PER_MS).saturating_sub(read().since(epoch_ms));
            if let Some(deadline_ns) = deadline_ns {
                left_ns = left_ns.min(deadline_ns - self.host.monotonic_ns());
            }
            if left_ns <= 0 {
                return Ok(());
            }
            patience.check(self.host, left_ns)?;
            self.host.sleep(Wait::Clock, left_ns.min(NS_PER_MS));
        }
    }
}

/// Sleeps take longer than they should: a clock that has not gone on for so much longer than is allowed stands still.
const GRACE_NS: i64 = 1_000 * NS_PER_MS;

/// How long a wait for the clock may be: as far as the clock may stand behind. One that stands still ends the wait, too,
/// when it has lasted so long by the monotonic clock. While the clock goes on, the length of the wait says nothing: other
/// sessions may have been faster, or this one was stopped.
pub(super) struct Patience {
    max_ms: i64,
    /// The monotonic clock, and the wall clock, when the wait began.
    since_ns: Option<(i64, i64)>,
}

impl Patience {
    pub(super) fn new(max_ms: i64) -> Self {
        Self { max_ms, since_ns: None }
    }

    /// Before a sleep, with so much left to wait for.
    ///
    /// # Errors
    /// [`GenerateError::ClockBehind`] where it would be longer than is allowed, or the clock stands still.
    pub(super) fn check<H: Host>(&mut self, host: &H, left_ns: i64) -> Result<(), GenerateError> {
        let (now_ns, wall_ns) = (host.monotonic_ns(), host.wall_ns());
        let (since_ns, wall_then_ns) = *self.since_ns.get_or_insert((now_ns, wall_ns));
        let waited_ns = now_ns - since_ns;
        let stands = wall_ns.saturating_sub(wall_then_ns) < waited_ns / 2;
        let by_ns = if stands { left_ns.max(waited_ns - GRACE_NS) } else { left_ns };
        let by_ms = by_ns / NS_PER_MS;
        if by_ms > self.max_ms {
            return Err(GenerateError::ClockBehind { by_ms, max_ms: self.max_ms });
        }
        Ok(())
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
