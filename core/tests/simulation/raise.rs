//! Raising the ceiling: one session at a time, the others go on below it.

use snowflake_core::clock_step::TOLERANCE_NS;
use snowflake_core::generator::check_clock_in_format;
use snowflake_core::{Ceiling, ClockStep, Id};

use crate::fault::Fault;
use crate::history::Context;
use crate::machine::NS_PER_MS;
use crate::oracle::{self, Rule, Violation, check};
use crate::server::{Shared, Trusted};
use crate::session::{At, Session};
use crate::wal::Record;

/// A raise under way, with what has been read for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raise {
    stage: Stage,
    then: Then,
    /// The millisecond that has to be covered: of the id that was refused, or of an advance; 0 where the ceiling is
    /// only begun early.
    timestamp: i64,
    before: i64,
    wall: i64,
    read_at: i64,
    changes: u32,
    /// The wall clock minus the running time, which is the time of the simulation.
    offset: (i64, i64),
}

/// What the session goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Again,
    Advance,
    Observe,
    Return { first: Id, last: Id },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Lock,
    Check,
    MachineBefore,
    Wall,
    MachineAfter,
    Append,
    Flush(Ceiling, usize),
    Publish(Ceiling),
    Trust,
    Unlock,
    TrustLate,
}

impl Raise {
    pub fn begin(timestamp: i64, then: Then) -> Self {
        Self {
            stage: Stage::Lock,
            then,
            timestamp,
            before: 0,
            wall: 0,
            read_at: 0,
            changes: 0,
            offset: (0, 0),
        }
    }

    pub fn step(
        mut self,
        session: &mut Session,
        shared: &mut Shared,
        ctx: &mut Context,
    ) -> Result<(), Violation> {
        match self.stage {
            Stage::Lock if shared.raise_lock.is_none() => {
                shared.raise_lock = Some(session.number);
                self.stage = Stage::Check;
            }
            Stage::Lock => {
                // Whoever only begins early leaves it to the one who is at it.
                if !matches!(self.then, Then::Return { .. }) {
                    session.wake = ctx.t + NS_PER_MS;
                }
                self.finish(session);
                return Ok(());
            }
            Stage::Check => {
                let last = shared.word.last().unwrap_or(Id::MIN);
                let covered = self.timestamp <= shared.ceiling.timestamp() && last <= shared.raise_at;
                let looks = !ctx.has(Fault::PublishesLower);
                self.stage = if covered && looks { Stage::Unlock } else { Stage::MachineBefore };
            }
            Stage::MachineBefore => {
                self.before = ctx.t;
                self.stage = Stage::Wall;
            }
            Stage::Wall => {
                self.wall = shared.machine.wall(ctx.t);
                self.read_at = ctx.t;
                self.changes = shared.machine.changes();
                self.stage = Stage::MachineAfter;
            }
            Stage::MachineAfter => {
                self.offset = (self.wall - ctx.t, self.wall - self.before);
                // Put to sleep between the readings, they say too little to be trusted from now on.
                let wide = ctx.t - self.before > TOLERANCE_NS && !ctx.has(Fault::TrustsWideReading);
                self.stage = if wide { Stage::MachineBefore } else { Stage::Append };
                if !wide && self.is_refused(session, shared, ctx)? {
                    shared.raise_lock = None;
                    session.refused(ctx);
                    return Ok(());
                }
            }
            Stage::Append => {
                let ceiling = self.ceiling(shared, ctx);
                if self.is_asked_for() {
                    oracle::excuse_advance(self.timestamp, session, shared, ctx);
                }
                oracle::ceiling_written(&ceiling, self.wall, shared, ctx)?;
                shared.register = shared.register.max(ceiling.id);
                let position = shared.wal.append(Record::Ceiling(ceiling.id));
                self.stage = Stage::Flush(ceiling, position);
            }
            Stage::Flush(ceiling, position) => {
                if !ctx.has(Fault::PublishesUnflushed) {
                    shared.wal.flush(position);
                }
                self.stage = Stage::Publish(ceiling);
            }
            Stage::Publish(ceiling) => {
                ctx.tally.raises += 1;
                self.publish(ceiling, shared, ctx)?;
                self.stage = if ctx.has(Fault::TrustsAfterRelease) { Stage::Unlock } else { Stage::Trust };
            }
            Stage::Trust | Stage::TrustLate => {
                self.trust(shared, ctx)?;
                if self.stage == Stage::TrustLate {
                    self.finish(session);
                    return Ok(());
                }
                self.stage = Stage::Unlock;
            }
            Stage::Unlock => {
                shared.raise_lock = None;
                if ctx.has(Fault::TrustsAfterRelease) && self.read_at > 0 {
                    self.stage = Stage::TrustLate;
                } else {
                    self.finish(session);
                    return Ok(());
                }
            }
        }
        session.at = At::Raise(self);
        Ok(())
    }

    fn finish(self, session: &mut Session) {
        session.at = match self.then {
            Then::Again => At::Word,
            Then::Advance => At::AdvanceCeiling,
            Then::Observe => At::ObserveCeiling,
            Then::Return { first, last } => At::Return { first, last },
        };
    }

    fn is_refused(&self, session: &Session, shared: &Shared, ctx: &mut Context) -> Result<bool, Violation> {
        Ok(self.leapt(session.max_clock_step_ms, shared, ctx)?
            || self.is_outside_the_format(ctx)
            || self.goes_too_far(session, ctx))
    }

    /// A ceiling stops at the last id there is: written by a clock beyond the format, it would be the end of a server
    /// whose clock is only wrong.
    fn is_outside_the_format(&self, ctx: &Context) -> bool {
        let now = self.wall.div_euclid(NS_PER_MS);
        check_clock_in_format(now).is_err() && !ctx.has(Fault::RaisesOutsideTheFormat)
    }

    /// Whether the clock leapt further than is allowed since the last trusted reading.
    fn leapt(&self, max_ms: i64, shared: &Shared, ctx: &mut Context) -> Result<bool, Violation> {
        let Some(trusted) = shared.trusted else { return Ok(false) };
        let step = ClockStep::between(trusted.offset_ns, self.offset);
        let touched = shared.machine.stalled() || shared.machine.changes() != trusted.changes;
        check(ctx, Rule::NoFalseStep, touched || step == ClockStep::None, || {
            format!("{step:?} although nobody has touched the clock")
        })?;
        if step != ClockStep::None {
            ctx.tally.clock_steps_seen += 1;
        }
        let max = max_ms.saturating_mul(NS_PER_MS);
        Ok(matches!(step, ClockStep::Ahead(by) if by > max) && !ctx.has(Fault::NoLeapCheck))
    }

    /// Whether the ceiling is to cover an id that was not this server's to make.
    fn is_asked_for(&self) -> bool {
        matches!(self.then, Then::Advance | Then::Observe)
    }

    /// Whether an id given goes further than is allowed, by the clock that has just been found not to have leapt. The
    /// reading that the call began with may have come from a clock that had.
    fn goes_too_far(&self, session: &Session, ctx: &Context) -> bool {
        let ahead = self.timestamp - self.wall.div_euclid(NS_PER_MS);
        let most = match self.then {
            Then::Advance => session.max_clock_step_ms,
            // The millisecond to cover is the one after the id.
            Then::Observe => session.most_ahead_ms(ctx) + 1,
            Then::Again | Then::Return { .. } => i64::MAX,
        };
        ahead > most && !ctx.has(Fault::AdvanceJudgedByOldReading)
    }

    /// Led from the clock that was compared, or from the word where that is ahead. The millisecond of a refused id
    /// says nothing here: it may come from a clock that has leapt, and has been set right since.
    fn ceiling(&self, shared: &Shared, ctx: &Context) -> Ceiling {
        let wall =
            if ctx.has(Fault::LeapCheckedOnAnotherReading) { shared.machine.wall(ctx.t) } else { self.wall };
        let now = wall.div_euclid(NS_PER_MS);
        let last = shared.word.last().map_or(0, Id::timestamp);
        let asked_for =
            if self.is_asked_for() || ctx.has(Fault::CeilingFromAnswer) { self.timestamp } else { 0 };
        let uptime_ms =
            if ctx.has(Fault::FullLeadAtStart) { i64::MAX } else { (ctx.t - shared.up_since) / NS_PER_MS };
        Ceiling::above(now.max(last).max(asked_for), uptime_ms)
    }

    fn publish(&self, ceiling: Ceiling, shared: &mut Shared, ctx: &Context) -> Result<(), Violation> {
        check(ctx, Rule::BelowDurable, ceiling.id <= shared.wal.durable(), || {
            format!("{ceiling:?} is published, and only {:?} is flushed", shared.wal.durable())
        })?;
        if ctx.has(Fault::PublishesLower) {
            check(ctx, Rule::CeilingOnlyRises, ceiling.id >= shared.ceiling, || {
                format!("{ceiling:?} is published over {:?}", shared.ceiling)
            })?;
            (shared.ceiling, shared.raise_at) = (ceiling.id, ceiling.raise_at);
        } else {
            shared.ceiling = shared.ceiling.max(ceiling.id);
            shared.raise_at = shared.raise_at.max(ceiling.raise_at);
        }
        Ok(())
    }

    /// Notes the offset, unless it is the one that is trusted already.
    fn trust(&self, shared: &mut Shared, ctx: &Context) -> Result<(), Violation> {
        let newer = shared.trusted.is_none_or(|trusted| trusted.read_at <= self.read_at);
        check(ctx, Rule::TrustOnlyRenewed, newer, || {
            format!("a reading of {} ns replaces a newer one", self.read_at)
        })?;
        // Kept where it still holds: a step below the tolerance is not seen, and must be seen with the next.
        let kept = shared
            .trusted
            .filter(|trusted| ClockStep::between(trusted.offset_ns, self.offset) == ClockStep::None);
        let new = Trusted { offset_ns: self.offset.1, changes: self.changes, read_at: self.read_at };
        shared.trusted = Some(Trusted { read_at: self.read_at, ..kept.unwrap_or(new) });
        Ok(())
    }
}
