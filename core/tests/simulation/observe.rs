//! Causality: an id that came in a message from another server, or from this one.

use snowflake_core::Id;
use snowflake_core::ceiling::LEAD_MS;

use crate::fault::Fault;
use crate::history::Context;
use crate::machine::NS_PER_MS;
use crate::oracle::{self, Violation};
use crate::raise::{Raise, Then};
use crate::server::Shared;
use crate::session::{At, Call, Session};

impl Session {
    /// Raises the ceiling over the id where the word has not passed it, then the word. For `After` that is all that is
    /// needed: what is reserved next is greater. `Observe` also ends the blocks.
    pub fn observe(&mut self, shared: &mut Shared, ctx: &mut Context) -> Result<(), Violation> {
        let (id, every) = match self.call {
            Call::Observe(id) => (id, true),
            Call::After(id) => (id, false),
            _ => unreachable!(),
        };
        match self.at {
            At::ObserveWord => match shared.word.last() {
                None => self.at = At::Register,
                Some(_) if every && shared.word.has_passed(id) => self.observed(shared, ctx, id),
                // Only blocks are to be ended, if that.
                Some(last) if last >= id => self.at = if every { At::ObserveBlocks } else { At::Word },
                Some(_) => self.at = At::ObserveWall,
            },
            At::ObserveWall => {
                let now = shared.machine.wall(ctx.t).div_euclid(NS_PER_MS);
                if now < 0 || id.timestamp() - now > self.most_ahead_ms(ctx) {
                    oracle::cause_refused(id, shared, ctx)?;
                    self.refused(ctx);
                } else {
                    self.at = At::ObserveCeiling;
                }
            }
            At::ObserveCeiling => {
                let covered = shared.ceiling.timestamp() > id.timestamp();
                self.at = if covered || ctx.has(Fault::ObservedNotDurable) {
                    At::ObserveFollow
                } else {
                    At::Raise(Raise::begin(id.timestamp() + 1, Then::Observe))
                };
            }
            At::ObserveFollow => {
                let timestamp = id.timestamp() + i64::from(ctx.has(Fault::ObservedMillisecondLeft));
                shared.machine.excuse_word_at(ctx.t, timestamp);
                if ctx.has(Fault::ObservedMillisecondLeft) {
                    // At the format's end, where it does nothing, there are no messages.
                    shared.word.raise(id).unwrap_or_default();
                } else if !ctx.has(Fault::CauseForgotten) {
                    shared.word.follow(id);
                }
                self.at = if every { At::ObserveBlocks } else { At::Word };
            }
            _ => {
                if !ctx.has(Fault::ObservedBelowBlocks) {
                    shared.word.observe(id);
                }
                self.observed(shared, ctx, id);
            }
        }
        Ok(())
    }

    /// How far ahead of the clock an id may be: never as far as generation would refuse, by a ceiling above it.
    pub fn most_ahead_ms(&self, ctx: &Context) -> i64 {
        if ctx.has(Fault::NoSkewAllowed) {
            return 0;
        }
        (ctx.plan.max_clock_skew_ms + LEAD_MS).min(self.max_clock_step_ms - 1 - LEAD_MS)
    }

    fn observed(&mut self, shared: &mut Shared, ctx: &mut Context, id: Id) {
        ctx.tally.observed += 1;
        shared.observed = shared.observed.max(id);
        self.at = At::Client;
    }
}
