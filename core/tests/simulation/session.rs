//! One session: a PostgreSQL backend that runs the driver, one call of the host at a time.

use std::cell::Cell;

use snowflake_core::driver::{self, Event, Refusal, Settings};
use snowflake_core::{GenerateError, Id, NodeId};

use crate::client;
use crate::history::Context;
use crate::host::{Ask, Call, Kind, Running};
use crate::machine::NS_PER_MS;
use crate::oracle::{self, Rule, Violation, check};
use crate::server::{EPOCH_MS, World};
use crate::wal::Record;

/// What the session does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Nothing: the client decides.
    Client,
    /// The call's question is to be answered.
    Driver(Ask),
    /// The record of a ceiling is to be flushed up to here, in the call's name.
    FlushCeiling(usize),
    /// Rows are to be written; then the call goes on, if there is one.
    Insert {
        first: Id,
        last: Id,
        late: bool,
    },
    Commit {
        prepare: bool,
    },
    Flush(usize),
}

pub struct Session {
    pub number: usize,
    pub at: At,
    /// Asleep until then.
    pub wake: i64,
    /// The settings as this session has seen them.
    pub node: NodeId,
    pub epoch_ms: i64,
    pub cache: i64,
    pub max_clock_step_ms: i64,
    pub call: Call,
    running: Option<Running>,
    driver: Box<driver::Session>,
    /// The open transaction.
    pub xid: Option<u32>,
    pub prepares: bool,

    // For the oracle alone.
    pub begun_at: i64,
    pub first_of_call: bool,
    /// What held when the id at hand was asked for, and when the session last ran.
    pub before: Before,
    ran: Before,
    pub last_returned: Id,
    /// The epoch that this session has said waits for a restart, while it sees no other.
    pub said_epoch_ms: Cell<Option<i64>>,
    /// The last reading of the wall clock, and when it was taken.
    wall: (i64, i64),
}

/// The world at a moment, for what must follow it.
#[derive(Clone, Copy, Default)]
pub struct Before {
    /// The honest wall clock, and how often it had been touched.
    pub wall_ns: i64,
    pub changes: u32,
    pub returned: [i64; 3],
    pub advanced: i64,
    pub observed: i64,
    pub waited: i64,
}

impl Before {
    fn of(world: &World, ctx: &Context) -> Self {
        Self {
            wall_ns: world.machine.honest(ctx.t),
            changes: world.machine.changes(),
            returned: world.returned.map(Id::get),
            advanced: world.advanced.get(),
            observed: world.observed.get(),
            waited: world.waited,
        }
    }
}

impl Session {
    pub fn new(number: usize, node: NodeId, ctx: &mut Context) -> Self {
        Self {
            number,
            at: At::Client,
            wake: 0,
            node,
            epoch_ms: EPOCH_MS,
            cache: ctx.random.pick(ctx.plan.caches),
            max_clock_step_ms: ctx.plan.max_clock_step_ms,
            call: Call::Single,
            running: None,
            driver: Box::new(driver::Session::new()),
            xid: None,
            prepares: false,
            begun_at: 0,
            first_of_call: true,
            before: Before::default(),
            ran: Before::default(),
            last_returned: Id::MIN,
            said_epoch_ms: Cell::new(None),
            wall: (0, 0),
        }
    }

    /// The wake time of a session that has nothing more to do.
    pub const DONE: i64 = i64::MAX / 2;

    pub fn is_done(&self) -> bool {
        self.wake >= Self::DONE
    }

    pub fn step(&mut self, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
        match self.at {
            At::Client => client::next(self, world, ctx),
            At::Driver(ask) => self.answer(ask, world, ctx),
            At::FlushCeiling(position) => {
                if !ctx.has(crate::fault::Fault::PublishesUnflushed) {
                    world.wal.flush(position);
                }
                self.resume(0, world, ctx)
            }
            At::Insert { first, last, late } => {
                self.xid.get_or_insert_with(|| ctx.new_xid());
                world.wal.append(Record::Rows { first, last });
                self.go_on(late, world, ctx)
            }
            At::Commit { prepare } => {
                client::commit(self, world, ctx, prepare);
                Ok(())
            }
            At::Flush(position) => {
                world.wal.flush(position);
                self.at = At::Client;
                Ok(())
            }
        }
    }

    /// Begins a call: what is asked for now must follow what has been returned by now.
    pub fn begin(&mut self, call: Call, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
        self.call = call;
        self.max_clock_step_ms = world.max_clock_step_ms;
        self.begun_at = ctx.t;
        self.first_of_call = true;
        self.before = Before::of(world, ctx);
        let settings = Settings {
            node: self.node,
            epoch_ms: self.epoch_ms,
            cache: self.cache,
            sequence_spread: ctx.plan.sequence_spread,
            max_clock_step_ms: self.max_clock_step_ms,
            max_clock_skew_ms: ctx.plan.max_clock_skew_ms,
        };
        // SAFETY: a server's life is dropped after its sessions' calls, and this session's memory lies in a box.
        let running =
            unsafe { Running::begin(&*world.life, &*self.driver, settings, call, ctx.plan.clock_error_ns) };
        self.running = Some(running);
        self.resume(0, world, ctx)
    }

    /// After the client has done something between two ids.
    fn go_on(&mut self, late: bool, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
        self.before = if late { self.ran } else { Before::of(world, ctx) };
        self.resume(0, world, ctx)
    }

    /// Performs what the driver has asked for.
    fn answer(&mut self, ask: Ask, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
        let answer = match ask {
            Ask::Shared => 0,
            Ask::Wall => {
                self.wall = (world.machine.wall(ctx.t), ctx.t);
                self.wall.0
            }
            Ask::Monotonic => {
                // The pace of an id from outside begins with this reading.
                if let Call::Observe(id) | Call::After(id) = self.call {
                    world.machine.excuse_word_at(ctx.t, id.timestamp());
                }
                ctx.t
            }
            Ask::Machine => ctx.t,
            // Slept.
            Ask::Sleep(..) => 0,
            Ask::InRecovery => 0,
            Ask::Ceiling if ctx.has(crate::fault::Fault::StartsAtClock) => {
                Id::first_of(world.machine.wall(ctx.t).div_euclid(NS_PER_MS)).get()
            }
            Ask::Ceiling => world.register.get(),
            Ask::Lock => {
                let free = world.raise_lock.is_none();
                if free {
                    world.raise_lock = Some(self.number);
                }
                i64::from(free)
            }
            Ask::Unlock => {
                world.raise_lock = None;
                0
            }
            Ask::MakeDurable(ceiling) => {
                ctx.tally.raises += 1;
                if let Call::Advance(id) = self.call {
                    oracle::excuse_advance(id.timestamp() + 1, self, world, ctx);
                }
                oracle::ceiling_written(ceiling, self.wall.0, self.call, world, ctx)?;
                world.register = world.register.max(ceiling);
                self.at = At::FlushCeiling(world.wal.append(Record::Ceiling(ceiling)));
                return Ok(());
            }
            Ask::Report(event) => {
                self.report(event, world, ctx)?;
                0
            }
            Ask::Give(kind, first, last) => return self.give(kind, (first, last), false, world, ctx),
            Ask::GiveLate(first, last) => return self.give(Kind::Snowflake, (first, last), true, world, ctx),
        };
        self.resume(answer, world, ctx)
    }

    fn report(&self, event: Event, world: &World, ctx: &mut Context) -> Result<(), Violation> {
        let touched = world.machine.stalled() || world.machine.changes() > 0;
        match event {
            Event::SetBack { .. } | Event::Leapt { .. } => {
                ctx.tally.clock_steps_seen += 1;
                check(ctx, Rule::NoFalseStep, touched, || {
                    format!("{event:?} although nobody has touched the clock")
                })
            }
            Event::EpochWaits { set_ms, .. } => {
                let news = self.said_epoch_ms.replace(Some(set_ms)) != Some(set_ms);
                check(ctx, Rule::SaidOnce, news, || format!("{event:?} was said before"))
            }
            Event::NoCeiling | Event::Ends { .. } => Ok(()),
        }
    }

    /// Goes on to the next question. What the driver does to shared memory on the way is looked at here.
    fn resume(&mut self, answer: i64, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
        self.ran = Before::of(world, ctx);
        let before = oracle::Memory::of(&world.life.shared);
        world.life.wall_ns.set(world.machine.wall(ctx.t));
        world.life.now_ns.set(ctx.t);
        let running = self.running.as_mut().expect("there is a call");
        let next = running.resume(answer);
        if world.life.wall_read.take() {
            self.wall = (world.life.wall_ns.get(), ctx.t);
        }
        oracle::memory_changed(before, self.call, self.wall.1, world, ctx)?;
        match next {
            Ok(ask) => {
                self.at = At::Driver(ask);
                if let Ask::Sleep(_, ns) = ask {
                    ctx.tally.sleeps += 1;
                    let late = ctx.random.below(ctx.plan.oversleep_ns);
                    ctx.latest_step = ctx.latest_step.max(late);
                    self.wake = ctx.t + ns + late;
                }
                Ok(())
            }
            Err(end) => {
                self.running = None;
                self.end(end, world, ctx)
            }
        }
    }

    fn end(
        &mut self,
        end: Result<(), Refusal>,
        world: &mut World,
        ctx: &mut Context,
    ) -> Result<(), Violation> {
        oracle::call_took(self, world, ctx)?;
        self.at = At::Client;
        if let Err(refusal) = end {
            return self.refused(refusal, world, ctx);
        }
        match self.call {
            Call::Advance(id) => {
                ctx.tally.advances += 1;
                world.advanced = world.advanced.max(id);
            }
            Call::Observe(id) => {
                ctx.tally.observed += 1;
                world.observed = world.observed.max(id);
            }
            Call::TrueTimeWait(id) => {
                ctx.tally.commit_waits += 1;
                world.waited = world.waited.max(id.timestamp());
                oracle::waited(self, id, world, ctx)?;
            }
            _ => {}
        }
        client::rest(self, ctx);
        Ok(())
    }

    /// The call ends with an error: the client may try again.
    fn refused(&mut self, refusal: Refusal, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
        ctx.tally.refused += 1;
        match refusal {
            Refusal::Generate(error) => {
                let reason = ctx.plan.at_an_end
                    || world.machine.changes() > 0
                    || world.machine.excuse(ctx.t) > 0
                    || matches!((self.call, error), (Call::Advance(_), GenerateError::PastEnd { .. }));
                check(ctx, Rule::NoFalseRefusal, reason, || format!("refused: {error}"))?;
            }
            Refusal::TooFarAhead { given, .. } => {
                if let driver::Given::Observe(id) = given {
                    oracle::cause_refused(id, world, ctx)?;
                }
            }
            Refusal::WouldWaitTooLong { .. } => {
                let reason = world.machine.changes() > 0 || world.machine.excuse(ctx.t) > 0;
                check(ctx, Rule::NoFalseRefusal, reason, || format!("refused: {refusal:?}"))?;
            }
            Refusal::InRecovery => unreachable!("no standby is asked"),
        }
        self.begun_at = 0;
        self.xid = None;
        self.wake = ctx.t + ctx.random.below(NS_PER_MS);
        Ok(())
    }

    fn give(
        &mut self,
        kind: Kind,
        (first, last): (Id, Id),
        late: bool,
        world: &mut World,
        ctx: &mut Context,
    ) -> Result<(), Violation> {
        oracle::returned(self, kind, first, last, world, ctx)?;
        let count = last.get() - first.get() + 1;
        ctx.tally.ids[kind as usize] += count;
        world.returned[kind as usize] = world.returned[kind as usize].max(last);
        world.kept[kind as usize].push((first, last));
        if kind == Kind::Snowflake {
            ctx.issued(world.number, last);
            ctx.tally.answers += i64::from(matches!(self.call, Call::After(_)));
            let place = ctx.random.below(ctx.said.len() as i64) as usize;
            ctx.said[place] = last;
            self.last_returned = last;
        } else if kind == Kind::TrueTime {
            world.last_truetime = last;
        }
        self.first_of_call = false;
        if kind == Kind::Snowflake && !ctx.random.one_in(4) {
            self.at = At::Insert { first, last, late };
            return Ok(());
        }
        self.go_on(late, world, ctx)
    }
}
