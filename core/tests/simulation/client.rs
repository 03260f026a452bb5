//! What clients do between calls: which they call next, and what becomes of the ids in their transactions.

use snowflake_core::Id;

use crate::history::Context;
use crate::host::Call;
use crate::machine::NS_PER_MS;
use crate::oracle::Violation;
use crate::server::World;
use crate::session::{At, Session};
use crate::wal::Record;

/// Between two commands: settings are seen, and the next call begins.
pub fn next(session: &mut Session, world: &mut World, ctx: &mut Context) -> Result<(), Violation> {
    if let Some(since) = ctx.settling_since {
        if session.begun_at >= since {
            session.wake = Session::DONE;
            return Ok(());
        }
        session.node = world.node;
        session.cache = 1;
        return session.begin(Call::Single, world, ctx);
    }
    if session.node != world.node && !ctx.random.one_in(4) {
        session.node = world.node;
    }
    if session.epoch_ms != world.epoch_ms && !ctx.random.one_in(4) {
        session.epoch_ms = world.epoch_ms;
        session.said_epoch_ms.set(None);
    }
    if ctx.random.one_in(12) {
        session.cache = ctx.random.pick(ctx.plan.caches);
    }
    let open = session.xid.is_some();
    if open && ctx.random.one_in(4) {
        session.prepares = ctx.plan.prepares && ctx.random.one_in(3);
        session.at = At::Commit { prepare: session.prepares };
        return Ok(());
    }
    let call = if ctx.plan.advances && ctx.random.one_in(10) {
        Call::Advance(somewhere(world, ctx))
    } else if ctx.plan.messages && ctx.random.one_in(2) {
        let id = ctx.random.pick(&ctx.said);
        if ctx.random.one_in(3) { Call::Observe(id) } else { Call::After(id) }
    } else if ctx.plan.batches && ctx.random.one_in(3) {
        Call::Batch(ctx.random.pick(&[0, 2, 5, 256, 700, 4_096, 4_500]))
    } else if ctx.plan.clock_bound && ctx.random.one_in(2) {
        match ctx.random.below(4) {
            0 => Call::Unix,
            1 if world.last_truetime > Id::MIN => Call::TrueTimeWait(world.last_truetime),
            _ => Call::TrueTime,
        }
    } else {
        Call::Single
    };
    session.begin(call, world, ctx)
}

/// An id for an advance: near the clock, or an id that was seen, or further ahead than is allowed.
fn somewhere(world: &World, ctx: &mut Context) -> Id {
    let now = world.machine.wall(ctx.t).div_euclid(NS_PER_MS);
    let by = match ctx.random.below(4) {
        0 => ctx.random.within(-3, 3),
        1 => ctx.random.within(-3_000, 3_000),
        2 => world.returned[0].timestamp() - now + ctx.random.within(-1, 50),
        _ => ctx.random.within(0, 2) * world.max_clock_step_ms.min(86_400_000),
    };
    Id::new(Id::first_of(now.saturating_add(by)).get() | ctx.random.below(1 << 22)).unwrap()
}

/// Thinks for a moment.
pub fn rest(session: &mut Session, ctx: &mut Context) {
    session.wake = ctx.t + ctx.random.below(ctx.plan.think_ns);
}

pub fn commit(session: &mut Session, world: &mut World, ctx: &mut Context, prepare: bool) {
    let Some(xid) = session.xid.take() else {
        session.at = At::Client;
        return;
    };
    let record = if prepare { Record::Prepare(xid) } else { Record::Commit };
    let position = world.wal.append(record);
    if prepare {
        world.prepared.push(xid);
        ctx.tally.prepared += 1;
    }
    session.at = At::Flush(position);
}
