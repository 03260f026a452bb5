//! What the world does to servers and their clocks, between any two steps of their sessions.

use snowflake_core::layout::{Id, NodeId};

use crate::fault::Fault;
use crate::history::{Context, NODES};
use crate::machine::NS_PER_MS;
use crate::oracle::Violation;
use crate::server::{EPOCH_MS, Server, World};
use crate::wal::Record;

const NS_PER_S: i64 = 1_000 * NS_PER_MS;

pub fn happen(servers: &mut [Server], ctx: &mut Context, trace: bool) -> Result<(), Violation> {
    let number = ctx.random.below(servers.len() as i64) as usize;
    let kind = ctx.random.below(12);
    if trace {
        println!("{} event {kind} of server {number}", ctx.t);
    }
    match kind {
        0 | 1 if ctx.plan.clock_trouble => disturb_clock(&mut servers[number].world, ctx),
        2 | 3 if ctx.plan.crashes => crash(&mut servers[number], ctx)?,
        4 if ctx.plan.failovers => fail_over(&mut servers[number], ctx)?,
        5 | 10 | 11 if ctx.plan.reloads => change_node(servers, number, ctx),
        9 if ctx.plan.reloads => change_epoch(&mut servers[number].world, ctx),
        6 => {
            let session = ctx.random.below(ctx.plan.sessions as i64) as usize;
            ctx.tally.kills += 1;
            servers[number].kill(session, ctx);
        }
        7 => finish_prepared(&mut servers[number].world, ctx),
        8 => ctx.t += ctx.random.pick(&[1, 20, 400, 3_000]) * ctx.random.below(NS_PER_MS),
        _ => write_in_background(&mut servers[number].world, ctx),
    }
    Ok(())
}

fn disturb_clock(world: &mut World, ctx: &mut Context) {
    ctx.tally.clock_events += 1;
    let max = world.max_clock_step_ms * NS_PER_MS;
    let (machine, t) = (&mut world.machine, ctx.t);
    let (ahead, back) = match ctx.random.below(6) {
        0 => (NS_PER_MS / 2, NS_PER_MS / 2),
        1 => (5 * NS_PER_MS, 5 * NS_PER_MS),
        2 => (3 * NS_PER_S, 3 * NS_PER_S),
        // Up to what is allowed, and beyond it: ids are refused until the clock comes back.
        3 => (max, max),
        4 => (0, max + max / 4),
        _ => (max / 2, 0),
    };
    let by = ctx.random.within(-back, ahead);
    match ctx.random.below(8) {
        0 if machine.stalled() => machine.resume(t, true),
        0 => machine.stall(t),
        1 => {
            let catching_up = ctx.random.one_in(2);
            machine.resume(t, catching_up);
        }
        2 | 3 if machine.leapt() => machine.leap(0),
        // Beyond what is allowed from wherever the clock may have been trusted, and beyond every ceiling: below it, a
        // leap is not looked for. Where nothing has been trusted yet, it cannot be told from time that has gone by.
        2 | 3 if world.life.shared.clock.trusted_offset_ns().is_some() => {
            let far = 20 * max + machine.excuse(t);
            machine.leap(far + ctx.random.below(max));
        }
        4 if by < 0 && machine.leapt() => {}
        _ => machine.step(t, by),
    }
}

fn crash(server: &mut Server, ctx: &mut Context) -> Result<(), Violation> {
    if ctx.random.one_in(5) {
        // Shut down as it should be: everything is flushed.
        let end = server.world.wal.len();
        server.world.wal.flush(end);
    }
    let gap = if ctx.plan.crash_loop {
        let longest = ctx.random.pick(&[60, 300, 1_500]);
        ctx.random.within(50, longest)
    } else {
        ctx.random.pick(&[0, 1, 30, 2_000])
    };
    if ctx.plan.clock_trouble && ctx.random.one_in(2) {
        let back = ctx.random.pick(&[1, 100, 5_000]) * NS_PER_MS;
        server.world.machine.step(ctx.t, -ctx.random.below(back));
    }
    server.crash(ctx, gap * NS_PER_MS)
}

fn fail_over(server: &mut Server, ctx: &mut Context) -> Result<(), Violation> {
    let world = &server.world;
    if ctx.plan.servers > 1 {
        // A number that was taken from another server only a moment ago: the standby does not know of it yet.
        let recovered = world.wal.received(world.received).recovered();
        let other = ctx.highest_of_other(world.number, world.node);
        if other > Id::MIN && other >= recovered {
            return Ok(());
        }
    }
    ctx.tally.failovers += 1;
    server.fail_over(ctx)
}

/// The configuration is reloaded with another node number. One that another server has had is free once none of its
/// sessions can still issue ids of it, and this server's ids are past those that were.
fn change_node(servers: &mut [Server], number: usize, ctx: &mut Context) {
    let nodes = if servers.len() > 1 { &NODES[..3] } else { &NODES };
    let node = NodeId::new(ctx.random.pick(nodes)).unwrap();
    let in_use = servers.iter().any(|other| other.world.number != number && other.uses(node));
    let last = servers[number].world.life.shared.snowflake.last().unwrap_or(Id::MIN);
    let behind = last < ctx.highest_of_other(number, node);
    if in_use || (behind && !ctx.has(Fault::NodeTakenTooEarly)) {
        return;
    }
    ctx.tally.nodes_changed += 1;
    servers[number].world.node = node;
}

/// The configuration is reloaded with another epoch, which waits for a restart that never comes in these histories.
fn change_epoch(world: &mut World, ctx: &mut Context) {
    if world.life.shared.limits.epoch_ms() == Some(EPOCH_MS) {
        world.epoch_ms = EPOCH_MS - ctx.random.below(3);
    }
}

fn finish_prepared(world: &mut World, ctx: &mut Context) {
    let Some(xid) = world.prepared.pop() else { return };
    let position = world.wal.append(Record::CommitPrepared(xid));
    world.wal.flush(position);
    ctx.tally.prepared_committed += 1;
}

fn write_in_background(world: &mut World, ctx: &mut Context) {
    match ctx.random.below(3) {
        0 => world.wal.checkpoint(world.register),
        1 => {
            let position = ctx.random.within(world.wal.flushed() as i64, world.wal.len() as i64);
            world.wal.flush(position as usize);
        }
        _ => {
            let more = ctx.random.within(0, (world.wal.flushed() - world.received) as i64);
            world.received += more as usize;
        }
    }
}
