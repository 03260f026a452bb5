//! One session: the driver of the core, as a PostgreSQL backend runs it, one step at a time.
//!
//! Each step touches what is shared, or reads a clock, at most once; between any two of them everybody else may run,
//! and the session may be put to sleep, be killed, or the server crash.

use snowflake_core::generator::RESERVE_MAX;
use snowflake_core::{Answer, Block, Id, NodeId, Request, Word};

use crate::client;
use crate::fault::Fault;
use crate::history::Context;
use crate::machine::NS_PER_MS;
use crate::oracle::{self, Rule, Violation, check};
use crate::raise::{Raise, Then};
use crate::server::Shared;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Single,
    /// Ids in order, in steps. Either a step's ids are returned at once, or one by one as rows are asked for.
    Batch {
        left: i64,
        one_by_one: bool,
    },
    Advance(Id),
    /// Every id from now on is to be greater.
    Observe(Id),
    /// One id, greater than this one.
    After(Id),
}

/// What the session does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Client,
    BlockWord,
    BlockWall,
    Word,
    Register,
    Start(Id),
    Waited,
    Wall,
    WordLate,
    Ceiling,
    Reserve,
    Store(Block),
    Since,
    Return { first: Id, last: Id },
    Raise(Raise),
    AdvanceWord,
    AdvanceWall,
    AdvanceCeiling,
    AdvanceRaise,
    ObserveWord,
    ObserveWall,
    ObserveCeiling,
    ObserveFollow,
    ObserveBlocks,
    Insert { first: Id, last: Id },
    Commit { prepare: bool },
    Flush(usize),
}

pub struct Session {
    pub number: usize,
    pub at: At,
    /// Asleep until then.
    pub wake: i64,
    /// The node number as this session has seen it.
    pub node: NodeId,
    pub cache: i64,
    /// The limit as this call has seen it.
    pub max_clock_step_ms: i64,
    pub call: Call,
    pub block: Block,
    /// The open transaction.
    pub xid: Option<u32>,
    pub prepares: bool,
    /// The attempt without a guard: no step of it may need one.
    at_once: bool,

    // The readings of this turn.
    seen: Id,
    wall: i64,
    waited_for: Option<Id>,
    ceiling: Id,
    first_sequence_id: i64,
    /// A word that was seen used up, and since when.
    used_up: Option<(Id, i64)>,

    // For the oracle alone.
    pub begun_at: i64,
    /// The honest wall clock then, and how often it had been touched.
    pub begun_wall: (i64, u32),
    pub first_of_call: bool,
    pub returned_before: Id,
    pub advanced_before: Id,
    pub observed_before: Id,
    pub last_returned: Id,
}

impl Session {
    pub fn new(number: usize, node: NodeId, ctx: &mut Context) -> Self {
        Self {
            number,
            at: At::Client,
            wake: 0,
            node,
            cache: ctx.random.pick(ctx.plan.caches),
            max_clock_step_ms: ctx.plan.max_clock_step_ms,
            call: Call::Single,
            block: Block::EMPTY,
            xid: None,
            prepares: false,
            at_once: false,
            seen: Id::MIN,
            wall: 0,
            waited_for: None,
            ceiling: Id::MIN,
            first_sequence_id: 0,
            used_up: None,
            begun_at: 0,
            begun_wall: (0, 0),
            first_of_call: true,
            returned_before: Id::MIN,
            advanced_before: Id::MIN,
            observed_before: Id::MIN,
            last_returned: Id::MIN,
        }
    }

    /// The wake time of a session that has nothing more to do.
    pub const DONE: i64 = i64::MAX / 2;

    pub fn is_done(&self) -> bool {
        self.wake >= Self::DONE
    }

    pub fn step(&mut self, shared: &mut Shared, ctx: &mut Context) -> Result<(), Violation> {
        match self.at {
            At::Client => client::next(self, shared, ctx),
            At::Insert { first, last } => client::insert(self, shared, ctx, first, last),
            At::Commit { prepare } => client::commit(self, shared, ctx, prepare),
            At::Flush(position) => client::flush(self, shared, position),
            At::BlockWord => self.read_word_for_block(shared),
            At::BlockWall => self.take_from_block(shared, ctx),
            At::Word => self.read_word(shared, ctx),
            At::Register => self.at = At::Start(shared.register),
            At::Start(ceiling) => self.start(shared, ctx, ceiling),
            At::Waited => self.measure_wait(ctx),
            At::Wall => return self.read_wall(shared, ctx),
            At::WordLate => self.read_word_late(shared, ctx),
            At::Ceiling => self.read_ceiling(shared, ctx),
            At::Reserve => return self.reserve(shared, ctx),
            At::Store(block) => {
                shared.word = word_at(block.last());
                self.keep(shared, ctx, block);
            }
            At::Since => self.sleep_until_next(shared, ctx),
            At::Return { first, last } => return self.give(shared, ctx, first, last),
            At::Raise(raise) => return raise.step(self, shared, ctx),
            At::AdvanceWord | At::AdvanceWall | At::AdvanceCeiling | At::AdvanceRaise => {
                return self.advance(shared, ctx);
            }
            At::ObserveWord
            | At::ObserveWall
            | At::ObserveCeiling
            | At::ObserveFollow
            | At::ObserveBlocks => return self.observe(shared, ctx),
        }
        Ok(())
    }

    /// A call begins, or a batch goes on: what is asked for now must follow what has been returned by now.
    pub fn begin(&mut self, shared: &Shared, ctx: &Context) {
        self.begun_at = ctx.t;
        self.begun_wall = (shared.machine.honest(ctx.t), shared.machine.changes());
        if self.first_of_call {
            self.max_clock_step_ms = shared.max_clock_step_ms;
        }
        self.returned_before = shared.returned;
        self.advanced_before = shared.advanced;
        self.observed_before = shared.observed;
        self.used_up = None;
        self.at_once = self.call == Call::Single;
        let from_block = match self.call {
            Call::Single => self.cache > 1 || ctx.has(Fault::BlockOutlivesCache),
            Call::Batch { .. } => !self.first_of_call,
            Call::Advance(_) | Call::Observe(_) | Call::After(_) => false,
        };
        self.at = match self.call {
            Call::Advance(_) => At::AdvanceWord,
            Call::Observe(_) | Call::After(_) => At::ObserveWord,
            _ if from_block && self.block.remaining() > 0 => At::BlockWord,
            _ => At::Word,
        };
    }

    fn read_word_for_block(&mut self, shared: &Shared) {
        match shared.word.last() {
            Some(seen) => (self.seen, self.at) = (seen, At::BlockWall),
            None => self.at = At::Word,
        }
    }

    fn take_from_block(&mut self, shared: &Shared, ctx: &Context) {
        let now = shared.machine.wall(ctx.t).div_euclid(NS_PER_MS);
        let taken = if ctx.has(Fault::BlockNeverEnds) {
            self.block.take_reserved()
        } else {
            self.block.take(self.seen, shared.word.observed(), now, self.node, self.max_clock_step_ms)
        };
        self.at = taken.map_or(At::Word, |id| At::Return { first: id, last: id });
    }

    fn read_word(&mut self, shared: &Shared, ctx: &Context) {
        match shared.word.last() {
            None => (self.at_once, self.at) = (false, At::Register),
            Some(_) if self.reads_word_late(ctx) => self.at = At::Wall,
            Some(seen) => {
                self.seen = seen;
                self.at = if self.used_up.is_some() { At::Waited } else { At::Wall };
                self.waited_for = None;
            }
        }
    }

    fn start(&mut self, shared: &mut Shared, ctx: &Context, ceiling: Id) {
        let ceiling = if ctx.has(Fault::StartsAtClock) {
            Id::first_of(shared.machine.wall(ctx.t).div_euclid(NS_PER_MS))
        } else {
            ceiling
        };
        if shared.word.last().is_none() {
            shared.machine.excuse_word_at(ctx.t, ceiling.timestamp());
        }
        shared.word.start(ceiling);
        self.at = match self.call {
            Call::Advance(_) => At::AdvanceWord,
            Call::Observe(_) | Call::After(_) => At::ObserveWord,
            _ => At::Word,
        };
    }

    /// Read before the wall clock, while `since` is read after it: so the wall clock, where it is steady, has
    /// passed the word's millisecond when this says that a millisecond has gone by.
    fn measure_wait(&mut self, ctx: &Context) {
        self.waited_for = self.waited(ctx);
        self.at = At::Wall;
    }

    fn waited(&self, ctx: &Context) -> Option<Id> {
        let (word, since) = self.used_up?;
        (ctx.t - since >= NS_PER_MS).then_some(word)
    }

    fn read_wall(&mut self, shared: &Shared, ctx: &mut Context) -> Result<(), Violation> {
        self.wall = shared.machine.wall(ctx.t);
        if ctx.plan.sequence_spread > 0 {
            self.first_sequence_id = ctx.random.within(0, ctx.plan.sequence_spread);
        }
        let late = self.reads_word_late(ctx);
        self.at = if late { At::WordLate } else { At::Ceiling };
        if late { Ok(()) } else { oracle::word_and_clock(self.seen, shared, ctx) }
    }

    /// The attempt at once gives up where the clock looks set back, so it may.
    fn reads_word_late(&self, ctx: &Context) -> bool {
        self.at_once || ctx.has(Fault::WordAfterClock)
    }

    fn read_word_late(&mut self, shared: &Shared, ctx: &Context) {
        self.seen = shared.word.last().unwrap_or(Id::MIN);
        self.waited_for = self.waited(ctx);
        self.at = At::Ceiling;
    }

    fn read_ceiling(&mut self, shared: &Shared, ctx: &Context) {
        self.ceiling = match self.at_once {
            _ if ctx.has(Fault::NoCeilingCheck) => Id::MAX,
            // Past it, the next ceiling is to be raised.
            true => shared.raise_at,
            false => shared.ceiling,
        };
        self.at = At::Reserve;
    }

    fn want(&self) -> i64 {
        match self.call {
            Call::Batch { left, .. } => left.min(RESERVE_MAX),
            _ => self.cache,
        }
    }

    fn reserve(&mut self, shared: &mut Shared, ctx: &mut Context) -> Result<(), Violation> {
        let now = self.wall.div_euclid(NS_PER_MS);
        if self.at_once && now < self.seen.timestamp() {
            self.go_the_whole_way();
            return Ok(());
        }
        if ctx.has(Fault::WordAfterClock) {
            check(
                ctx,
                Rule::NoFalseRegression,
                self.seen.timestamp() <= now || shared.machine.excuse(ctx.t) > 0,
                || format!("the word {:?} looks ahead of the steady clock {now}", self.seen),
            )?;
        }
        let request = Request {
            seen: self.seen,
            now,
            node: self.node,
            ceiling: self.ceiling,
            max_clock_step_ms: self.max_clock_step_ms,
            want: self.want(),
            waited_for: if ctx.has(Fault::NoWait) { Some(self.seen) } else { self.waited_for },
            first_sequence_id: self.first_sequence_id,
        };
        let answer = if ctx.has(Fault::LoadThenStore) {
            word_at(self.seen).reserve(&request)
        } else {
            shared.word.reserve(&request)
        };
        match answer {
            Ok(Answer::LostRace | Answer::UsedUp | Answer::CeilingReached { .. }) | Err(_)
                if self.at_once =>
            {
                self.go_the_whole_way();
            }
            Ok(Answer::Reserved(block)) if ctx.has(Fault::LoadThenStore) => self.at = At::Store(block),
            Ok(Answer::Reserved(block)) => {
                // Beside sessions with a higher node number, it goes a millisecond ahead.
                if self.node.get() < self.seen.node_id() && self.seen.timestamp() == now {
                    shared.machine.excuse_word_at(ctx.t, block.last().timestamp());
                    ctx.went_ahead = true;
                }
                self.keep(shared, ctx, block);
            }
            Ok(Answer::LostRace) => {
                ctx.tally.lost_races += 1;
                self.at = At::Word;
            }
            Ok(Answer::UsedUp) => self.at = At::Since,
            Ok(Answer::CeilingReached { timestamp }) => {
                self.at = At::Raise(Raise::begin(timestamp, Then::Again));
            }
            Err(error) => {
                let reason =
                    ctx.plan.at_an_end || shared.machine.changes() > 0 || shared.machine.excuse(ctx.t) > 0;
                check(ctx, Rule::NoFalseRefusal, reason, || format!("refused: {error}"))?;
                self.refused(ctx);
            }
        }
        Ok(())
    }

    /// From the beginning.
    fn go_the_whole_way(&mut self) {
        (self.at_once, self.at) = (false, At::Word);
    }

    /// The call ends with an error: the client may try again.
    pub fn refused(&mut self, ctx: &mut Context) {
        ctx.tally.refused += 1;
        self.at = At::Client;
        self.call = Call::Single;
        self.begun_at = 0;
        self.xid = None;
        self.wake = ctx.t + ctx.random.below(NS_PER_MS);
    }

    /// Notes since when this word is used up, and sleeps until it should be over.
    fn sleep_until_next(&mut self, shared: &Shared, ctx: &mut Context) {
        ctx.tally.waits += 1;
        let since = match self.used_up {
            Some((word, since)) if word == self.seen || ctx.has(Fault::WaitOfAnotherWord) => since,
            _ => ctx.t,
        };
        self.used_up = Some((self.seen, since));
        let ns = if self.wall.div_euclid(NS_PER_MS) == self.seen.timestamp() {
            NS_PER_MS - self.wall.rem_euclid(NS_PER_MS)
        } else {
            (NS_PER_MS - (ctx.t - since)).clamp(1, NS_PER_MS)
        };
        self.wake = ctx.t + ns + ctx.random.below(ctx.plan.oversleep_ns);
        self.at = At::Word;
        debug_assert!(shared.word.last().is_some());
    }

    /// The ids of a block are reserved: they are returned at once in a batch by steps, else the first, and the rest
    /// is kept for the next calls.
    fn keep(&mut self, shared: &Shared, ctx: &Context, mut block: Block) {
        let reserved = block.last();
        let first = block.take_reserved().unwrap_or(reserved);
        let (last, rest) = match self.call {
            Call::Batch { one_by_one: false, .. } => (reserved, Block::EMPTY),
            _ => (first, block),
        };
        if !(ctx.has(Fault::BlockOutlivesReservation) && self.block.remaining() > 0) {
            self.block = rest;
        }
        self.at = if reserved > shared.raise_at {
            At::Raise(Raise::begin(0, Then::Return { first, last }))
        } else {
            At::Return { first, last }
        };
    }

    fn give(&mut self, shared: &mut Shared, ctx: &mut Context, first: Id, last: Id) -> Result<(), Violation> {
        oracle::returned(self, shared, ctx, first, last)?;
        let count = last.get() - first.get() + 1;
        ctx.tally.ids += count;
        ctx.issued(shared.number, last);
        ctx.tally.answers += i64::from(matches!(self.call, Call::After(_)));
        let place = ctx.random.below(ctx.said.len() as i64) as usize;
        ctx.said[place] = last;
        shared.returned = shared.returned.max(last);
        shared.kept.push((first, last));
        self.last_returned = last;
        if let Call::Batch { left, .. } = &mut self.call {
            *left -= count;
        }
        client::received(self, ctx, first, last);
        Ok(())
    }
}

fn word_at(last: Id) -> Word {
    let word = Word::new();
    word.start(last);
    word
}
