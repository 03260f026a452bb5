//! Moving the word by hand, over an id that was seen elsewhere.

use snowflake_core::Id;

use crate::fault::Fault;
use crate::history::Context;
use crate::machine::NS_PER_MS;
use crate::oracle::Violation;
use crate::raise::{Raise, Then};
use crate::server::Shared;
use crate::session::{At, Call, Session};

impl Session {
    /// Raises the ceiling over the id first, then the word: so the word never stands above what is durable.
    pub fn advance(&mut self, shared: &mut Shared, ctx: &mut Context) -> Result<(), Violation> {
        let Call::Advance(id) = self.call else { unreachable!() };
        let target = id.timestamp() + 1;
        let started = shared.word.last().is_some() || ctx.has(Fault::AdvanceBeforeStart);
        match self.at {
            At::AdvanceWord if !started => self.at = At::Register,
            At::AdvanceWord if shared.word.last().is_some_and(|last| last.timestamp() > id.timestamp()) => {
                self.advanced(shared, ctx, id);
            }
            At::AdvanceWord => self.at = At::AdvanceWall,
            At::AdvanceWall => {
                let now = shared.machine.wall(ctx.t).div_euclid(NS_PER_MS);
                let too_far = now < 0 || target - now > self.max_clock_step_ms;
                if too_far {
                    self.refused(ctx);
                } else {
                    self.at = At::AdvanceCeiling;
                }
            }
            At::AdvanceCeiling => {
                self.at = if ctx.has(Fault::AdvanceNotDurable) || shared.ceiling >= Id::first_of(target) {
                    At::AdvanceRaise
                } else {
                    At::Raise(Raise::begin(target, Then::Advance))
                };
            }
            _ => {
                shared.machine.excuse_word_at(ctx.t, target);
                match shared.word.raise(id) {
                    Ok(()) => self.advanced(shared, ctx, id),
                    Err(_) => self.refused(ctx),
                }
            }
        }
        Ok(())
    }

    fn advanced(&mut self, shared: &mut Shared, ctx: &mut Context, id: Id) {
        ctx.tally.advances += 1;
        shared.advanced = shared.advanced.max(id);
        self.at = At::Client;
    }
}
