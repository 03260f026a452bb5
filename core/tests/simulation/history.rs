//! One history: a plan drawn from the seed, and one step after the other until it is over.

use snowflake_core::Id;
use snowflake_core::layout::{NodeId, TIMESTAMP_MS_MAX};

use crate::events;
use crate::fault::Fault;
use crate::host::Call;
use crate::machine::{Machine, NS_PER_MS};
use crate::oracle::{self, Rule, Violation, check};
use crate::random::Random;
use crate::server::Server;
use crate::session::Session;

/// The node numbers that servers are given, and give to one another.
pub const NODES: [i64; 5] = [1, 512, 0, 1_023, 5];

/// What kind of history it is.
pub struct Plan {
    pub servers: usize,
    pub sessions: usize,
    pub steps: i64,
    /// An event of the world comes about once in so many steps.
    pub event_every: i64,
    pub step_ns: i64,
    pub pause_ns: i64,
    pub think_ns: i64,
    pub oversleep_ns: i64,
    pub caches: &'static [i64],
    /// A new millisecond begins with a number drawn from 0 to this one.
    pub sequence_spread: i64,
    pub max_clock_step_ms: i64,
    pub clock_trouble: bool,
    pub crashes: bool,
    pub failovers: bool,
    pub reloads: bool,
    pub advances: bool,
    /// Ids go from server to server, and are answered.
    pub messages: bool,
    pub max_clock_skew_ms: i64,
    pub batches: bool,
    /// TrueTime ids and Unix times, too.
    pub clock_bound: bool,
    pub clock_error_ns: i64,
    pub prepares: bool,
    /// A server that comes up, issues a few ids, and crashes, again and again, with a steady clock.
    pub crash_loop: bool,
    /// The clock is at an end of the format.
    pub at_an_end: bool,
    /// Where the clock stands, in milliseconds after the epoch.
    pub now_ms: i64,
}

impl Plan {
    fn draw(random: &mut Random) -> Self {
        let caches: [&[i64]; 5] = [&[1], &[1], &[1, 2, 16], &[256], &[1, 3, 256]];
        let mut plan = Self {
            servers: if random.one_in(3) { 2 } else { 1 },
            sessions: random.within(1, 5) as usize,
            steps: random.within(150, 700),
            event_every: random.pick(&[20, 40, 80]),
            step_ns: random.pick(&[30, 200, 2_000, 30_000]),
            pause_ns: random.pick(&[1_000, 300_000, 4_000_000]),
            think_ns: random.pick(&[1, 1_000, 100_000]),
            oversleep_ns: random.pick(&[1, 60_000, 2_000_000]),
            caches: random.pick(&caches),
            sequence_spread: random.pick(&[0, 0, 1, 1_023, 4_095]),
            max_clock_step_ms: random.pick(&[10_000, 86_400_000]),
            clock_trouble: random.one_in(2),
            crashes: random.one_in(2),
            failovers: random.one_in(3),
            reloads: random.one_in(3),
            advances: random.one_in(4),
            messages: random.one_in(3),
            max_clock_skew_ms: random.pick(&[0, 1_000, 10_000]),
            batches: random.one_in(3),
            clock_bound: random.one_in(4),
            clock_error_ns: random.pick(&[0, 300_000, 2_500_000]),
            prepares: random.one_in(4),
            crash_loop: false,
            at_an_end: false,
            now_ms: 400_000_000_000 + random.below(1_000_000),
        };
        if plan.clock_bound && plan.servers > 1 {
            // A node number that is handed on is free when its snowflake ids are past: the others are not looked at.
            plan.reloads = false;
        }
        if plan.reloads && plan.servers > 1 {
            // Numbers go to and fro between servers whose clocks are close.
            plan.event_every = 10;
        }
        if random.one_in(16) {
            plan.run_in_a_crash_loop(random);
        } else if random.one_in(32) {
            plan.at_an_end = true;
            plan.now_ms =
                random.pick(&[-2, 0, 3, TIMESTAMP_MS_MAX - 5, TIMESTAMP_MS_MAX, TIMESTAMP_MS_MAX + 2]);
            (plan.messages, plan.clock_bound) = (false, false);
        }
        plan
    }

    fn run_in_a_crash_loop(&mut self, random: &mut Random) {
        self.crash_loop = true;
        self.servers = 1;
        self.crashes = true;
        self.event_every = 15;
        self.step_ns = random.pick(&[10_000, 100_000]);
        (self.clock_trouble, self.failovers, self.reloads) = (false, false, false);
        // Where a millisecond is used up again and again, what is ahead of the clock stays ahead.
        (self.advances, self.messages, self.batches, self.caches) = (false, false, false, &[1]);
        self.clock_bound = false;
    }

    /// Whether nothing happens that takes a word away from its clock but messages.
    pub fn is_steady(&self) -> bool {
        !(self.clock_trouble || self.crashes || self.failovers || self.advances)
    }
}

/// What happened, summed over all histories.
#[derive(Default, Debug, Clone, Copy)]
pub struct Tally {
    pub histories: i64,
    pub steps: i64,
    /// Snowflakes, TrueTime ids, Unix times.
    pub ids: [i64; 3],
    pub sleeps: i64,
    pub commit_waits: i64,
    pub raises: i64,
    pub refused: i64,
    pub advances: i64,
    pub observed: i64,
    pub answers: i64,
    pub prepared: i64,
    pub prepared_committed: i64,
    pub clock_events: i64,
    pub clock_steps_seen: i64,
    pub crashes: i64,
    pub crashes_in_a_raise: i64,
    pub failovers: i64,
    pub kills: i64,
    pub killed_raisers: i64,
    pub nodes_changed: i64,
}

/// What every step of a history has at hand.
pub struct Context<'a> {
    /// The running time of all machines, in nanoseconds.
    pub t: i64,
    pub random: Random,
    pub plan: Plan,
    pub tally: &'a mut Tally,
    /// The one rule that is looked at; all of them without.
    pub only: Option<Rule>,
    /// The history is over but for one last id for everybody.
    pub settling_since: Option<i64>,
    /// How late the latest step of a session was.
    pub latest_step: i64,
    /// Whether the clocks have passed the last id by then.
    pub clock_has_passed: bool,
    fault: Option<Fault>,
    xids: u32,
    /// The highest id that each server has issued of each node number.
    highest: [[Id; NODES.len()]; 2],
    /// The last ids that clients of any server have told of.
    pub said: [Id; 4],
    /// The wall clock that is furthest ahead, minus the running time, where nobody touches a clock.
    pub furthest_offset: i64,
}

impl Context<'_> {
    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub fn new_xid(&mut self) -> u32 {
        self.xids += 1;
        self.xids
    }

    pub fn issued(&mut self, server: usize, id: Id) {
        if let Some(place) = NODES.iter().position(|node| *node == id.node_id()) {
            let highest = &mut self.highest[server][place];
            *highest = id.max(*highest);
        }
    }

    /// The highest id of a node number that the other server has issued.
    pub fn highest_of_other(&self, server: usize, node: NodeId) -> Id {
        let place = NODES.iter().position(|other| *other == node.get());
        place.map_or(Id::MIN, |place| self.highest[1 - server][place])
    }
}

/// Runs the history of a seed.
pub fn run(
    seed: u64,
    fault: Option<Fault>,
    only: Option<Rule>,
    trace: bool,
    tally: &mut Tally,
) -> Result<(), Violation> {
    let mut random = Random::new(seed);
    let plan = Plan::draw(&mut random);
    let t = 1_000_000_000_000 + random.below(NS_PER_MS);
    let highest = [[Id::MIN; NODES.len()]; 2];
    let mut ctx = Context {
        t,
        random,
        plan,
        tally,
        only,
        settling_since: None,
        latest_step: 0,
        clock_has_passed: false,
        fault,
        xids: 0,
        highest,
        said: [Id::MIN; 4],
        furthest_offset: i64::MIN,
    };
    let mut servers: Vec<Server> = (0..ctx.plan.servers)
        .map(|number| {
            let apart = ctx.random.pick(&[0, 1, 20, 3_000]) * number as i64;
            let apart = ctx.random.within(-apart, apart) * NS_PER_MS;
            let offset = ctx.plan.now_ms * NS_PER_MS - ctx.t + apart;
            ctx.furthest_offset = ctx.furthest_offset.max(offset);
            let machine = Machine::new(offset);
            Server::new(number, NodeId::new(NODES[number]).unwrap(), machine, &mut ctx)
        })
        .collect();
    for _ in 0..ctx.plan.steps {
        if ctx.random.one_in(ctx.plan.event_every) {
            events::happen(&mut servers, &mut ctx, trace)?;
        }
        step(&mut servers, &mut ctx, trace)?;
    }
    settle(&mut servers, &mut ctx, trace)?;
    ctx.tally.histories += 1;
    oracle::all_distinct(&servers, &ctx)
}

/// One session, chosen by chance among those that are awake, takes one step.
fn step(servers: &mut [Server], ctx: &mut Context, trace: bool) -> Result<(), Violation> {
    let bits = ctx.random.bits();
    let sessions = ctx.plan.sessions;
    let all = servers.len() * sessions;
    let start = (bits >> 32) as usize % all;
    let wake = |n: usize, servers: &[Server]| servers[n / sessions].sessions[n % sessions].wake;
    let awake = (start..start + all).map(|n| n % all).find(|n| wake(*n, servers) <= ctx.t);
    let chosen = awake.unwrap_or_else(|| {
        let first = (0..all).min_by_key(|n| wake(*n, servers)).unwrap_or(0);
        ctx.t = wake(first, servers);
        first
    });
    let Server { world, sessions } = &mut servers[chosen / sessions];
    let session = &mut sessions[chosen % ctx.plan.sessions];
    if trace {
        let (wall, word) = (world.machine.wall(ctx.t), world.life.shared.snowflake.last().map(Id::fields));
        println!(
            "{} wall {wall} word {word:?} server {} session {} {:?}",
            ctx.t, world.number, session.number, session.at
        );
    }
    if session.wake > 0 {
        ctx.latest_step = ctx.latest_step.max(ctx.t - session.wake);
    }
    session.step(world, ctx)?;
    ctx.tally.steps += 1;
    let length = ((bits & 0xffff) as i64 * ctx.plan.step_ns) >> 15;
    ctx.latest_step = ctx.latest_step.max(length);
    ctx.t += length;
    session.wake = session.wake.max(ctx.t);
    // Put to sleep in the middle of whatever it does.
    if (bits >> 16) & 0x7f == 0 {
        let pause = ctx.random.below(ctx.plan.pause_ns);
        ctx.latest_step = ctx.latest_step.max(pause);
        session.wake += pause;
    }
    Ok(())
}

/// Everybody gets one more id: with the clocks set right and past the last id, or as they are.
fn settle(servers: &mut [Server], ctx: &mut Context, trace: bool) -> Result<(), Violation> {
    if ctx.plan.at_an_end {
        return Ok(());
    }
    ctx.clock_has_passed = ctx.random.one_in(2);
    for server in &mut *servers {
        // No more calls that take their time.
        for number in 0..ctx.plan.sessions {
            if server.sessions[number].call != Call::Single {
                server.kill(number, ctx);
            }
        }
        let Server { world, sessions } = server;
        if world.machine.leapt() {
            world.machine.leap(0);
        }
        // As an operator does who knows that the clock is right.
        world.max_clock_step_ms = i64::MAX;
        ctx.t = ctx.t.max(sessions.iter().map(|session| session.wake).max().unwrap_or(0));
        if ctx.clock_has_passed {
            world.machine.resume(ctx.t, true);
            let last = world.life.shared.snowflake.last().unwrap_or(Id::MIN).max(world.register);
            let ahead = (last.timestamp() + 2) * NS_PER_MS - world.machine.wall(ctx.t);
            // A session may still have a reading in hand from before a step back, which the word has not seen: it is
            // not further ahead than the word could be.
            ctx.t += ahead.max(world.machine.excuse(ctx.t)).max(0);
        }
    }
    (ctx.plan.step_ns, ctx.plan.pause_ns, ctx.plan.think_ns, ctx.plan.oversleep_ns) =
        (1_000, 1_000, 1, 60_000);
    ctx.settling_since = Some(ctx.t);
    for _ in 0..40_000 {
        if servers.iter().flat_map(|server| &server.sessions).all(Session::is_done) {
            return Ok(());
        }
        step(servers, ctx, trace)?;
    }
    check(ctx, Rule::GoesOn, false, || "a session gets no id".into())
}
