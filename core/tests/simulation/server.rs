//! One server: what its sessions share in memory, what survives on disk, and its lives.

use snowflake_core::{Id, NodeId, Word};

use crate::history::Context;
use crate::machine::{Machine, NS_PER_MS};
use crate::oracle::{self, Violation};
use crate::session::Session;
use crate::wal::Wal;

pub struct Server {
    pub shared: Shared,
    pub sessions: Vec<Session>,
}

pub struct Shared {
    pub number: usize,
    /// The node number that the configuration file says.
    pub node: NodeId,
    pub max_clock_step_ms: i64,
    pub machine: Machine,
    pub wal: Wal,
    /// How much of the log the standby has received.
    pub received: usize,

    // Shared memory: gone with each life.
    pub word: Word,
    pub ceiling: Id,
    pub raise_at: Id,
    pub raise_lock: Option<usize>,
    /// The register in which the ceiling lives: in memory, as PostgreSQL has it, ahead of what is flushed.
    pub register: Id,
    pub trusted: Option<Trusted>,
    pub up_since: i64,
    pub prepared: Vec<u32>,

    // For the oracle alone.
    pub lives: i64,
    /// The highest id returned in this life.
    pub returned: Id,
    /// The highest id that an advance which has returned was given.
    pub advanced: Id,
    /// The highest id that was observed in this life, by a call that has returned.
    pub observed: Id,
    /// What this life must stay above.
    pub survived: Id,
    /// Ranges of ids that somebody may still hold.
    pub kept: Vec<(Id, Id)>,
}

/// The offset of a trusted reading of the clock.
#[derive(Clone, Copy)]
pub struct Trusted {
    pub offset_ns: i64,
    pub read_at: i64,
    /// How often the clock had been touched then.
    pub changes: u32,
}

impl Server {
    pub fn new(number: usize, node: NodeId, machine: Machine, ctx: &mut Context) -> Self {
        let shared = Shared {
            number,
            node,
            max_clock_step_ms: ctx.plan.max_clock_step_ms,
            machine,
            wal: Wal::default(),
            received: 0,
            word: Word::new(),
            ceiling: Id::MIN,
            raise_at: Id::MIN,
            raise_lock: None,
            register: Id::MIN,
            trusted: None,
            up_since: ctx.t,
            prepared: Vec::new(),
            lives: 0,
            returned: Id::MIN,
            advanced: Id::MIN,
            observed: Id::MIN,
            survived: Id::MIN,
            kept: Vec::new(),
        };
        let sessions = (0..ctx.plan.sessions).map(|number| Session::new(number, node, ctx)).collect();
        Self { shared, sessions }
    }

    /// The server stops at once and comes up again after `gap`: shared memory and the unflushed log are lost.
    pub fn crash(&mut self, ctx: &mut Context, gap: i64) -> Result<(), Violation> {
        ctx.tally.crashes += 1;
        ctx.tally.crashes_in_a_raise += i64::from(self.shared.raise_lock.is_some());
        self.shared.wal.crash(&mut ctx.random);
        // Whatever a client has seen counts, with or without its row.
        self.shared.survived = self
            .shared
            .survived
            .max(self.shared.returned)
            .max(self.shared.advanced)
            .max(self.shared.observed);
        self.shared.machine.reboot(ctx.t);
        self.boot(ctx, gap, 0)
    }

    /// The server is gone for good, and its standby takes over, on another machine, with what it has received.
    pub fn fail_over(&mut self, ctx: &mut Context) -> Result<(), Violation> {
        let shared = &mut self.shared;
        shared.wal = shared.wal.received(shared.received);
        shared.received = 0;
        shared.kept.clear();
        shared.kept.extend(shared.wal.rows());
        shared.survived = shared.kept.iter().map(|range| range.1).max().unwrap_or(Id::MIN);
        shared.machine.reboot(ctx.t);
        let behind = ctx.random.within(-1_000, 10 * 60 * 1_000) * NS_PER_MS;
        shared.machine = Machine::new(shared.machine.wall(ctx.t) - ctx.t - behind);
        let up = ctx.random.pick(&[0, 500 * NS_PER_MS, 3_600_000 * NS_PER_MS]);
        self.boot(ctx, 0, up)
    }

    fn boot(&mut self, ctx: &mut Context, gap: i64, up: i64) -> Result<(), Violation> {
        let shared = &mut self.shared;
        shared.word = Word::new();
        shared.ceiling = Id::MIN;
        shared.raise_at = Id::MIN;
        shared.raise_lock = None;
        shared.register = shared.wal.recovered();
        shared.trusted = None;
        shared.up_since = ctx.t + gap - up;
        shared.prepared = shared.wal.prepared();
        shared.returned = shared.survived;
        shared.advanced = Id::MIN;
        shared.observed = Id::MIN;
        shared.lives += 1;
        for session in &mut self.sessions {
            *session = Session::new(session.number, shared.node, ctx);
            session.wake = ctx.t + gap;
        }
        oracle::recovered(shared, ctx)
    }

    /// A session is terminated, wherever it is: PostgreSQL releases the lock it holds.
    pub fn kill(&mut self, session: usize, ctx: &mut Context) {
        if self.shared.raise_lock == Some(session) {
            self.shared.raise_lock = None;
            ctx.tally.killed_raisers += 1;
        }
        self.sessions[session] = Session::new(session, self.shared.node, ctx);
        self.sessions[session].wake = ctx.t;
    }

    /// Whether a call of this server may still issue ids of a node number.
    pub fn uses(&self, node: NodeId) -> bool {
        self.shared.node == node || self.sessions.iter().any(|session| session.node == node)
    }
}
