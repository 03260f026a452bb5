//! One server: what its sessions share in memory, what survives on disk, and its lives.

use std::cell::Cell;

use snowflake_core::{Id, NodeId, Shared};

use crate::history::Context;
use crate::host::Life;
use crate::machine::{Machine, NS_PER_MS};
use crate::oracle::{self, Violation};
use crate::session::Session;
use crate::wal::Wal;

/// Sessions come before the world, whose memory their calls use: they are dropped first.
pub struct Server {
    pub sessions: Vec<Session>,
    pub world: World,
}

/// What a server's sessions share, and what survives it.
pub struct World {
    pub number: usize,
    /// What the configuration file says.
    pub node: NodeId,
    pub epoch_ms: i64,
    pub max_clock_step_ms: i64,
    pub machine: Machine,
    pub wal: Wal,
    /// How much of the log the standby has received.
    pub received: usize,

    // Shared memory: gone with each life.
    pub life: Box<Life>,
    pub raise_lock: Option<usize>,
    /// The register in which the ceiling lives: in memory, as PostgreSQL has it, ahead of what is flushed.
    pub register: Id,
    pub up_since: i64,
    pub prepared: Vec<u32>,

    // For the oracle alone.
    pub lives: i64,
    /// When the reading was taken whose offset is trusted.
    pub trusted_read_at: i64,
    /// The highest id of each kind that was returned in this life.
    pub returned: [Id; 3],
    /// The highest id that an advance which has returned was given.
    pub advanced: Id,
    /// The highest id that was observed in this life, by a call that has returned.
    pub observed: Id,
    /// The last millisecond whose commit wait is over.
    pub waited: i64,
    pub last_truetime: Id,
    /// What this life must stay above, of each kind.
    pub survived: [Id; 3],
    /// Ranges of ids that somebody may still hold, of each kind.
    pub kept: [Vec<(Id, Id)>; 3],
}

/// The epoch of every server's run, which the clocks of the simulation count from.
pub const EPOCH_MS: i64 = 0;

fn life(started_ns: i64) -> Box<Life> {
    Box::new(Life {
        shared: Shared::new(started_ns),
        wall_ns: Cell::new(0),
        now_ns: Cell::new(0),
        wall_read: Cell::new(false),
    })
}

impl Server {
    pub fn new(number: usize, node: NodeId, machine: Machine, ctx: &mut Context) -> Self {
        let world = World {
            number,
            node,
            epoch_ms: EPOCH_MS,
            max_clock_step_ms: ctx.plan.max_clock_step_ms,
            machine,
            wal: Wal::default(),
            received: 0,
            life: life(ctx.t),
            raise_lock: None,
            register: Id::MIN,
            up_since: ctx.t,
            prepared: Vec::new(),
            lives: 0,
            trusted_read_at: 0,
            returned: [Id::MIN; 3],
            advanced: Id::MIN,
            observed: Id::MIN,
            waited: -1,
            last_truetime: Id::MIN,
            survived: [Id::MIN; 3],
            kept: Default::default(),
        };
        let sessions = (0..ctx.plan.sessions).map(|number| Session::new(number, node, ctx)).collect();
        Self { sessions, world }
    }

    /// The server stops at once and comes up again after `gap`: shared memory and the unflushed log are lost.
    pub fn crash(&mut self, ctx: &mut Context, gap: i64) -> Result<(), Violation> {
        let world = &mut self.world;
        ctx.tally.crashes += 1;
        ctx.tally.crashes_in_a_raise += i64::from(world.raise_lock.is_some());
        world.wal.crash(&mut ctx.random);
        // Whatever a client has seen counts, with or without its row.
        for (kind, survived) in world.survived.iter_mut().enumerate() {
            *survived = (*survived).max(world.returned[kind]).max(world.advanced);
        }
        world.survived[0] = world.survived[0].max(world.observed);
        if world.waited >= 0 {
            world.survived[1] = world.survived[1].max(Id::last_of(world.waited));
        }
        world.machine.reboot(ctx.t);
        self.boot(ctx, gap, 0)
    }

    /// The server is gone for good, and its standby takes over, on another machine, with what it has received.
    pub fn fail_over(&mut self, ctx: &mut Context) -> Result<(), Violation> {
        let world = &mut self.world;
        world.wal = world.wal.received(world.received);
        world.received = 0;
        world.kept = Default::default();
        world.kept[0].extend(world.wal.rows());
        world.survived = [Id::MIN; 3];
        world.survived[0] = world.kept[0].iter().map(|range| range.1).max().unwrap_or(Id::MIN);
        world.machine.reboot(ctx.t);
        let behind = ctx.random.within(-1_000, 10 * 60 * 1_000) * NS_PER_MS;
        world.machine = Machine::new(world.machine.wall(ctx.t) - ctx.t - behind);
        let up = ctx.random.pick(&[0, 500 * NS_PER_MS, 3_600_000 * NS_PER_MS]);
        self.boot(ctx, 0, up)
    }

    fn boot(&mut self, ctx: &mut Context, gap: i64, up: i64) -> Result<(), Violation> {
        // Their calls are abandoned before the memory that they use is gone.
        self.sessions.clear();
        let world = &mut self.world;
        world.up_since = ctx.t + gap - up;
        world.life = life(world.up_since);
        world.raise_lock = None;
        world.register = world.wal.recovered();
        world.prepared = world.wal.prepared();
        world.trusted_read_at = 0;
        world.epoch_ms = EPOCH_MS;
        world.returned = world.survived;
        world.advanced = Id::MIN;
        world.observed = Id::MIN;
        world.waited = -1;
        world.last_truetime = Id::MIN;
        world.lives += 1;
        for number in 0..ctx.plan.sessions {
            let mut session = Session::new(number, world.node, ctx);
            session.wake = ctx.t + gap;
            self.sessions.push(session);
        }
        oracle::recovered(world, ctx)
    }

    /// A session is terminated, wherever it is: PostgreSQL releases the lock it holds.
    pub fn kill(&mut self, session: usize, ctx: &mut Context) {
        if self.world.raise_lock == Some(session) {
            self.world.raise_lock = None;
            ctx.tally.killed_raisers += 1;
        }
        self.sessions[session] = Session::new(session, self.world.node, ctx);
        self.sessions[session].wake = ctx.t;
    }

    /// Whether a call of this server may still issue ids of a node number.
    pub fn uses(&self, node: NodeId) -> bool {
        self.world.node == node || self.sessions.iter().any(|session| session.node == node)
    }
}
