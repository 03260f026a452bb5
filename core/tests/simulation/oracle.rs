//! What must hold, checked while a history runs. Nothing here takes part in issuing ids.

use snowflake_core::ceiling::LEAD_MS;
use snowflake_core::generator::EARLY_MS_MAX;
use snowflake_core::layout::TIMESTAMP_MS_MAX;
use snowflake_core::{Id, Shared};

use crate::history::{Context, NODES};
use crate::host::{Call, Kind};
use crate::machine::NS_PER_MS;
use crate::server::{Server, World};
use crate::session::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No id is returned twice: among all that a server has returned, through its crashes; after a failover, among
    /// all whose rows survived and all returned since; and between servers. So there are never more than 4,096 of one
    /// node and millisecond, which is all that the sequence can count.
    Distinct,
    /// Single ids without a cache, and the first of a batch: greater than all returned, or advanced over, before
    /// the call began.
    AboveWhatWasReturned,
    /// Every id, also of blocks: not of an earlier millisecond than one returned before it was asked for, and
    /// greater than an id advanced over.
    MillisecondOrder,
    /// The ids of a session rise.
    SessionOrder,
    /// After a crash, every id is greater than every id returned before; after a failover, than those of the rows
    /// that survived.
    AboveWhatSurvived,
    /// No effect before its cause: an answer is greater than what it answers, and all ids are greater than one that was
    /// observed before they were asked for, whichever server made it.
    AfterItsCause,
    /// However fast servers answer each other, no id is dated ahead of the clock that is furthest ahead, where clocks are
    /// steady.
    AnswersStayWithTheClocks,
    /// Where clocks are within the skew that is allowed, no cause is refused.
    HonestCauseTaken,
    /// An id is of the node number that its call saw.
    OwnNode,
    /// An id is not dated ahead of the clock further than a start, an advance, or the clock itself accounts for.
    NotAheadOfClock,
    /// An id is not dated before its call began.
    NotBehindClock,
    /// No step of a clock is seen that nobody has stepped.
    NoFalseStep,
    /// A clock that nobody has stepped is never a reason to refuse.
    NoFalseRefusal,
    /// No id is issued, and no ceiling published, above what is flushed.
    BelowDurable,
    /// The word never goes back.
    WordOnlyRises,
    /// The ceiling that sessions see never falls.
    CeilingOnlyRises,
    /// No ceiling is written further ahead than the lead, whatever a clock that leapt has shown.
    CeilingNotPoisoned,
    /// A trusted reading of the clock is only ever replaced by a newer one.
    TrustOnlyRenewed,
    /// Restarts, however many, do not move ids further ahead than the lead.
    NoDriftOverRestarts,
    /// Once the clock has passed the last id, ids are dated by the clock.
    Converges,
    /// Whether the clock has passed the last id, stands behind it, or stands still: every session gets an id.
    GoesOn,
    /// Every call returns, with an id or an error, within a bounded time of sessions that all take their steps.
    Returns,
    /// A TrueTime wait is over when the interval of the id has passed, and not before.
    WaitedOut,
    /// A session says once that an epoch waits for a restart.
    SaidOnce,
}

#[derive(Debug)]
pub struct Violation {
    pub rule: Rule,
    pub detail: String,
}

/// A rule as a condition. Where only one rule is looked for, the others may be broken.
pub fn check(
    ctx: &Context,
    rule: Rule,
    holds: bool,
    detail: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds || ctx.only.is_some_and(|only| only != rule) {
        return Ok(());
    }
    Err(Violation { rule, detail: detail() })
}

/// Ids `first..=last` have reached the client.
pub fn returned(
    session: &Session,
    kind: Kind,
    first: Id,
    last: Id,
    world: &World,
    ctx: &Context,
) -> Result<(), Violation> {
    let show = |what: &str, than: Id| describe(ctx, session, world, first, what, than);
    let survived = world.survived[kind as usize];
    let at_hand = session.before;
    let id = |number| Id::new(number).unwrap();
    let (before, advanced) = (id(at_hand.returned[kind as usize]), id(at_hand.advanced));
    let observed = id(at_hand.observed);
    check(ctx, Rule::AboveWhatSurvived, first > survived, || show("survived before the start", survived))?;
    check(ctx, Rule::BelowDurable, last <= world.wal.durable(), || show("is durable", world.wal.durable()))?;
    let strict = match session.call {
        Call::Single => session.cache == 1,
        Call::Batch(_) => session.first_of_call,
        _ => true,
    };
    check(ctx, Rule::AboveWhatWasReturned, !strict || first > before, || {
        show("was returned before the call", before)
    })?;
    check(ctx, Rule::AboveWhatWasReturned, first > advanced, || {
        show("was advanced over before the call", advanced)
    })?;
    if kind != Kind::Snowflake {
        return of_the_clock(session, kind, first, world, ctx);
    }
    let node = session.node;
    check(ctx, Rule::OwnNode, first.node_id() == node.get() && last.node_id() == node.get(), || {
        format!("{first:?} is not of {node:?}")
    })?;
    let after = if let Call::After(cause) = session.call { cause } else { Id::MIN };
    check(ctx, Rule::AfterItsCause, first > after, || show("is its cause", after))?;
    check(ctx, Rule::AfterItsCause, first > observed, || show("was observed before the call", observed))?;
    check(ctx, Rule::MillisecondOrder, first.timestamp() >= before.timestamp(), || {
        show("came before", before)
    })?;
    check(ctx, Rule::SessionOrder, first > session.last_returned, || {
        show("this session had before", session.last_returned)
    })?;
    let ahead = last.timestamp() * NS_PER_MS - world.machine.honest(ctx.t);
    // A clock that is set ahead while an id that was reserved early is waited for ends the wait.
    let early = if world.machine.changes() > 0 { EARLY_MS_MAX * NS_PER_MS } else { 0 };
    let excuse = world.machine.excuse(ctx.t) + early;
    check(ctx, Rule::NotAheadOfClock, ahead <= excuse, || {
        format!("{last:?} is {ahead} ns ahead of the clock, where {excuse} ns are accounted for")
    })?;
    not_behind_clock(session, first, 0, world, ctx)?;
    let of_all = last.timestamp() * NS_PER_MS - ctx.t - ctx.furthest_offset;
    check(ctx, Rule::AnswersStayWithTheClocks, !ctx.plan.is_steady() || of_all <= 0, || {
        format!("{last:?} is {of_all} ns ahead of every clock")
    })?;
    check(ctx, Rule::Converges, !ctx.clock_has_passed || ahead <= 0, || {
        format!("{last:?} is still {ahead} ns ahead of the clock")
    })
}

/// An id of a design that is bound to the clock: never ahead of it, unless that was set back since it was read.
fn of_the_clock(
    session: &Session,
    kind: Kind,
    id: Id,
    world: &World,
    ctx: &Context,
) -> Result<(), Violation> {
    let error = if kind == Kind::TrueTime { ctx.plan.clock_error_ns } else { 0 };
    let ahead = id.timestamp() * NS_PER_MS - (world.machine.wall(ctx.t) - error);
    let touched = world.machine.changes() != session.before.changes;
    check(ctx, Rule::NotAheadOfClock, touched || ahead <= 0, || {
        format!("{id:?} of {kind:?} is {ahead} ns ahead of the clock")
    })?;
    let waited = kind == Kind::TrueTime && id.timestamp() <= session.before.waited;
    check(ctx, Rule::WaitedOut, !waited, || {
        format!("{id:?} is of a millisecond that was waited out, {}", session.before.waited)
    })?;
    not_behind_clock(session, id, error, world, ctx)
}

fn not_behind_clock(
    session: &Session,
    id: Id,
    error: i64,
    world: &World,
    ctx: &Context,
) -> Result<(), Violation> {
    let (wall, changes) = (session.before.wall_ns, session.before.changes);
    let touched = world.machine.changes() != changes || world.machine.leapt();
    check(ctx, Rule::NotBehindClock, touched || (id.timestamp() + 1) * NS_PER_MS > wall - error, || {
        format!("{id:?} is dated before {wall} ns, when its call began")
    })
}

/// A TrueTime wait is over.
pub fn waited(session: &Session, id: Id, world: &World, ctx: &Context) -> Result<(), Violation> {
    let earliest = world.machine.wall(ctx.t) - ctx.plan.clock_error_ns;
    let touched = world.machine.changes() != session.before.changes;
    check(ctx, Rule::WaitedOut, touched || earliest >= (id.timestamp() + 1) * NS_PER_MS, || {
        format!("the wait for {id:?} is over at {earliest} ns")
    })
}

/// How long a call may take, in nanoseconds, apart from what sessions leave undone: a sleep while another session raises
/// the ceiling; as much as the pace may be short of, where the clock was set back; and as early as an id may be reserved.
const CALL_NS: i64 = (1 + EARLY_MS_MAX + EARLY_MS_MAX) * NS_PER_MS;
/// How many steps of sessions, each as late as the latest of the history, a call may have to wait for.
const CALL_STEPS: i64 = 100;

/// A call has ended.
pub fn call_took(session: &Session, world: &World, ctx: &Context) -> Result<(), Violation> {
    let parts = match session.call {
        Call::Batch(n) => 1 + n / 256,
        // Where the clock stands behind, these wait for it; and a session in line waits for those before it.
        Call::TrueTime | Call::TrueTimeWait(_) | Call::Unix => {
            if world.machine.changes() > 0 || world.machine.excuse(ctx.t) > 0 || ctx.plan.clock_error_ns > 0 {
                return Ok(());
            }
            4
        }
        _ => 1,
    };
    // Each node number that is at work has its turn.
    let turns = if ctx.plan.reloads { NODES.len() as i64 } else { 1 };
    let took = ctx.t - session.begun_at;
    let bound = parts * turns * (CALL_NS + CALL_STEPS * ctx.latest_step);
    check(ctx, Rule::Returns, took <= bound, || {
        format!(
            "{:?} of server {} took {took} ns, where no step was later than {} ns",
            session.call, world.number, ctx.latest_step
        )
    })
}

fn describe(ctx: &Context, session: &Session, world: &World, id: Id, what: &str, than: Id) -> String {
    format!(
        "at {} ns, {:?} of session {} of server {} returned {:?}; {what}: {:?}",
        ctx.t,
        session.call,
        session.number,
        world.number,
        id.fields(),
        than.fields()
    )
}

/// What the driver may have changed between two calls of its host.
#[derive(Clone, Copy)]
pub struct Memory {
    word: Option<Id>,
    ceiling: Id,
    trusted: Option<i64>,
}

impl Memory {
    pub fn of(shared: &Shared) -> Self {
        Self {
            word: shared.snowflake.last(),
            ceiling: shared.limits.ceiling(),
            trusted: shared.clock.trusted_offset_ns(),
        }
    }
}

/// A session has run on from one call of its host to the next.
pub fn memory_changed(
    before: Memory,
    call: Call,
    wall_read_at: i64,
    world: &mut World,
    ctx: &Context,
) -> Result<(), Violation> {
    let now = Memory::of(&world.life.shared);
    let moved = now.word.filter(|_| now.word != before.word);
    if let Some(word) = moved {
        // Moved by other means than issuing ids.
        let given = match call {
            _ if before.word.is_none() => true,
            Call::Advance(_) => true,
            Call::Observe(id) | Call::After(id) => word == id,
            _ => false,
        };
        if given {
            world.machine.excuse_word_at(ctx.t, word.timestamp());
        }
        check(ctx, Rule::WordOnlyRises, before.word.is_none_or(|last| last < word), || {
            format!("the word went from {:?} to {word:?}", before.word)
        })?;
    }
    if now.ceiling != before.ceiling {
        check(ctx, Rule::CeilingOnlyRises, now.ceiling >= before.ceiling, || {
            format!("{:?} is published over {:?}", now.ceiling, before.ceiling)
        })?;
        check(ctx, Rule::BelowDurable, now.ceiling <= world.wal.durable(), || {
            format!("{:?} is published, and only {:?} is flushed", now.ceiling, world.wal.durable())
        })?;
    }
    if now.trusted != before.trusted {
        check(ctx, Rule::TrustOnlyRenewed, wall_read_at >= world.trusted_read_at, || {
            format!("a reading of {wall_read_at} ns replaces a newer one")
        })?;
        world.trusted_read_at = wall_read_at;
    }
    Ok(())
}

/// An id from a message was refused as too far ahead.
pub fn cause_refused(id: Id, world: &World, ctx: &Context) -> Result<(), Violation> {
    let apart = ctx.t + ctx.furthest_offset - world.machine.honest(ctx.t);
    let within = ctx.plan.is_steady() && apart <= ctx.plan.max_clock_skew_ms * NS_PER_MS;
    check(ctx, Rule::HonestCauseTaken, !within, || {
        format!("{id:?} was refused, with clocks {apart} ns apart")
    })
}

/// The ceiling is raised for an advance, which may move the word as far ahead as is allowed.
pub fn excuse_advance(timestamp: i64, session: &Session, world: &mut World, ctx: &Context) {
    let ahead = timestamp * NS_PER_MS - world.machine.honest(ctx.t);
    let allowed = session.max_clock_step_ms.saturating_mul(NS_PER_MS);
    if ahead - world.machine.excuse(ctx.t) <= allowed {
        world.machine.excuse_word_at(ctx.t, timestamp);
    }
}

/// A ceiling is written to the log, by a reading of the clock.
pub fn ceiling_written(
    ceiling: Id,
    wall: i64,
    call: Call,
    world: &World,
    ctx: &Context,
) -> Result<(), Violation> {
    check(ctx, Rule::CeilingNotPoisoned, wall.div_euclid(NS_PER_MS) <= TIMESTAMP_MS_MAX, || {
        format!("{ceiling:?} is written by a clock at {wall} ns, beyond the format")
    })?;
    let ahead = ceiling.timestamp() * NS_PER_MS - world.machine.honest(ctx.t);
    // For an id from outside, the millisecond after it; and ids may be reserved a millisecond early.
    let given = if let Call::Observe(id) | Call::After(id) = call {
        ((id.timestamp() + 1) * NS_PER_MS - wall).clamp(0, most_observed_ns(ctx))
    } else {
        0
    };
    let allowed = world.machine.excuse(ctx.t) + given + (LEAD_MS + EARLY_MS_MAX) * NS_PER_MS;
    check(ctx, Rule::CeilingNotPoisoned, ahead <= allowed, || {
        format!("at {} ns, {ceiling:?} is written {ahead} ns ahead of the clock", ctx.t)
    })
}

/// How far ahead of the clock an id may be that is observed, and the millisecond after it.
fn most_observed_ns(ctx: &Context) -> i64 {
    (ctx.plan.max_clock_skew_ms + LEAD_MS + 1) * NS_PER_MS
}

/// A server has recovered.
pub fn recovered(world: &World, ctx: &Context) -> Result<(), Violation> {
    let survived = world.survived.into_iter().max().unwrap_or(Id::MIN);
    check(ctx, Rule::AboveWhatSurvived, world.register >= survived, || {
        format!("the register recovered to {:?}, and {survived:?} survived", world.register)
    })?;
    if !ctx.plan.crash_loop {
        return Ok(());
    }
    let ahead = world.register.timestamp() * NS_PER_MS - world.machine.honest(world.up_since);
    // Each start waits a millisecond at most for the one after the ceiling.
    let allowed = (LEAD_MS + world.lives) * NS_PER_MS;
    check(ctx, Rule::NoDriftOverRestarts, ahead <= allowed, || {
        format!("life {} starts {ahead} ns ahead of the clock", world.lives)
    })
}

/// The history is over: all ids that anybody may still hold.
pub fn all_distinct(servers: &[Server], ctx: &Context) -> Result<(), Violation> {
    for kind in Kind::ALL {
        let mut kept: Vec<(Id, Id)> =
            servers.iter().flat_map(|server| server.world.kept[kind as usize].iter().copied()).collect();
        kept.sort_unstable();
        let twice = kept.windows(2).find(|pair| pair[1].0 <= pair[0].1);
        check(ctx, Rule::Distinct, twice.is_none(), || format!("returned twice of {kind:?}: {twice:?}"))?;
    }
    Ok(())
}
