//! What clients do between calls: which they call next, and what becomes of the ids in their transactions.

use snowflake_core::{Block, Id};

use crate::fault::Fault;
use crate::history::Context;
use crate::machine::NS_PER_MS;
use crate::server::Shared;
use crate::session::{At, Call, Session};
use crate::wal::Record;

/// Between two commands: settings are seen, and the next call begins.
pub fn next(session: &mut Session, shared: &mut Shared, ctx: &mut Context) {
    if matches!(session.call, Call::Batch { left: 1.., .. }) && !session.first_of_call {
        // Still within the command.
        session.begin(shared, ctx);
        return;
    }
    session.first_of_call = true;
    if let Some(since) = ctx.settling_since {
        if session.begun_at >= since {
            session.wake = Session::DONE;
            return;
        }
        session.node = shared.node;
        session.cache = 1;
        session.call = Call::Single;
        session.begin(shared, ctx);
        return;
    }
    if session.node != shared.node && !ctx.random.one_in(4) {
        session.node = shared.node;
    }
    if ctx.random.one_in(12) {
        session.cache = ctx.random.pick(ctx.plan.caches);
    }
    let open = session.xid.is_some();
    if open && ctx.random.one_in(4) {
        session.prepares = ctx.plan.prepares && ctx.random.one_in(3);
        session.at = At::Commit { prepare: session.prepares };
        return;
    }
    session.call = if ctx.plan.advances && ctx.random.one_in(10) {
        Call::Advance(somewhere(shared, ctx))
    } else if ctx.plan.messages && ctx.random.one_in(2) {
        let id = ctx.random.pick(&ctx.said);
        if ctx.random.one_in(3) { Call::Observe(id) } else { Call::After(id) }
    } else if ctx.plan.batches && ctx.random.one_in(3) {
        let left = ctx.random.pick(&[2, 5, 256, 700, 4_096, 4_500]);
        Call::Batch { left, one_by_one: left < 10 }
    } else {
        Call::Single
    };
    if matches!(session.call, Call::Batch { .. }) && !ctx.has(Fault::BlockOutlivesReservation) {
        // What a former batch left would be older than ids returned since.
        session.block = Block::EMPTY;
    }
    session.begin(shared, ctx);
}

/// An id for an advance: near the clock, or an id that was seen, or further ahead than is allowed.
fn somewhere(shared: &Shared, ctx: &mut Context) -> Id {
    let now = shared.machine.wall(ctx.t).div_euclid(NS_PER_MS);
    let by = match ctx.random.below(4) {
        0 => ctx.random.within(-3, 3),
        1 => ctx.random.within(-3_000, 3_000),
        2 => shared.returned.timestamp() - now + ctx.random.within(-1, 50),
        _ => ctx.random.within(0, 2) * shared.max_clock_step_ms.min(86_400_000),
    };
    Id::new(Id::first_of(now.saturating_add(by)).get() | ctx.random.below(1 << 22)).unwrap()
}

/// Ids have reached the client, which mostly stores them.
pub fn received(session: &mut Session, ctx: &mut Context, first: Id, last: Id) {
    session.at = if ctx.random.one_in(4) { At::Client } else { At::Insert { first, last } };
    session.first_of_call = false;
    if session.at == At::Client {
        rest(session, ctx);
    }
}

/// The WAL of a row is written after its id was returned, and long before it is flushed.
pub fn insert(session: &mut Session, shared: &mut Shared, ctx: &mut Context, first: Id, last: Id) {
    session.xid.get_or_insert_with(|| ctx.new_xid());
    shared.wal.append(Record::Rows { first, last });
    session.at = At::Client;
    rest(session, ctx);
}

/// A batch goes on; everybody else thinks for a moment.
fn rest(session: &mut Session, ctx: &mut Context) {
    session.wake = ctx.t + ctx.random.below(ctx.plan.think_ns);
}

pub fn commit(session: &mut Session, shared: &mut Shared, ctx: &mut Context, prepare: bool) {
    let Some(xid) = session.xid.take() else {
        session.at = At::Client;
        return;
    };
    let record = if prepare { Record::Prepare(xid) } else { Record::Commit };
    let position = shared.wal.append(record);
    if prepare {
        shared.prepared.push(xid);
        ctx.tally.prepared += 1;
    }
    session.at = At::Flush(position);
}

pub fn flush(session: &mut Session, shared: &mut Shared, position: usize) {
    shared.wal.flush(position);
    session.at = At::Client;
}
