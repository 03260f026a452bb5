//! What must hold, checked while a history runs. Nothing here takes part in issuing ids.

use snowflake_core::ceiling::LEAD_MS;
use snowflake_core::layout::TIMESTAMP_MS_MAX;
use snowflake_core::{Ceiling, Id};

use crate::history::Context;
use crate::machine::NS_PER_MS;
use crate::server::{Server, Shared};
use crate::session::{Call, Session};

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
    /// However fast servers answer each other, no id is dated more than a millisecond ahead of the clock that is
    /// furthest ahead, where clocks are steady.
    AnswersStayWithTheClocks,
    /// Where clocks are within the skew that is allowed, no cause is refused.
    HonestCauseTaken,
    /// An id is of the node number that its call saw.
    OwnNode,
    /// An id is not dated ahead of the clock further than a start, an advance, or the clock itself accounts for.
    NotAheadOfClock,
    /// An id is not dated before its call began.
    NotBehindClock,
    /// The word, read before the clock, is never ahead of it without a reason.
    NoFalseRegression,
    /// No step of a clock is seen that nobody has stepped.
    NoFalseStep,
    /// A clock that nobody has stepped is never a reason to refuse.
    NoFalseRefusal,
    /// No id is issued, and no ceiling published, above what is flushed.
    BelowDurable,
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
    shared: &Shared,
    ctx: &Context,
    first: Id,
    last: Id,
) -> Result<(), Violation> {
    let show = |what: &str, than: Id| describe(ctx, session, shared, first, what, than);
    let strict = match session.call {
        Call::Single => session.cache == 1,
        Call::Batch { .. } => session.first_of_call,
        Call::After(_) => true,
        Call::Advance(_) | Call::Observe(_) => false,
    };
    let node = session.node;
    check(ctx, Rule::OwnNode, first.node_id() == node.get() && last.node_id() == node.get(), || {
        format!("{first:?} is not of {node:?}")
    })?;
    check(ctx, Rule::AboveWhatSurvived, first > shared.survived, || {
        show("survived before the start", shared.survived)
    })?;
    check(ctx, Rule::AboveWhatWasReturned, !strict || first > session.returned_before, || {
        show("was returned before the call", session.returned_before)
    })?;
    check(ctx, Rule::AboveWhatWasReturned, !strict || first > session.advanced_before, || {
        show("was advanced over before the call", session.advanced_before)
    })?;
    let after = if let Call::After(cause) = session.call { cause } else { Id::MIN };
    check(ctx, Rule::AfterItsCause, first > after, || show("is its cause", after))?;
    check(ctx, Rule::AfterItsCause, first > session.observed_before, || {
        show("was observed before the call", session.observed_before)
    })?;
    let in_order =
        first.timestamp() >= session.returned_before.timestamp() && first > session.advanced_before;
    check(ctx, Rule::MillisecondOrder, in_order, || show("came before", session.returned_before))?;
    check(ctx, Rule::SessionOrder, first > session.last_returned, || {
        show("this session had before", session.last_returned)
    })?;
    check(ctx, Rule::BelowDurable, last <= shared.wal.durable(), || {
        show("is durable", shared.wal.durable())
    })?;
    let ahead = last.timestamp() * NS_PER_MS - shared.machine.honest(ctx.t);
    let excuse = shared.machine.excuse(ctx.t);
    check(ctx, Rule::NotAheadOfClock, ahead <= excuse, || {
        format!("{last:?} is {ahead} ns ahead of the clock, where {excuse} ns are accounted for")
    })?;
    let (wall, changes) = session.begun_wall;
    let touched = shared.machine.changes() != changes || shared.machine.leapt();
    check(ctx, Rule::NotBehindClock, touched || (first.timestamp() + 1) * NS_PER_MS > wall, || {
        format!("{first:?} is dated before {wall} ns, when its call began")
    })?;
    let of_all = last.timestamp() * NS_PER_MS - ctx.t - ctx.furthest_offset;
    check(ctx, Rule::AnswersStayWithTheClocks, !ctx.plan.is_steady() || of_all <= NS_PER_MS, || {
        format!("{last:?} is {of_all} ns ahead of every clock")
    })?;
    let allowed = if ctx.went_ahead { NS_PER_MS } else { 0 };
    check(ctx, Rule::Converges, !ctx.clock_has_passed || ahead <= allowed, || {
        format!("{last:?} is still {ahead} ns ahead of the clock")
    })
}

fn describe(ctx: &Context, session: &Session, shared: &Shared, id: Id, what: &str, than: Id) -> String {
    format!(
        "at {} ns, session {} of server {} returned {:?}; {what}: {:?}",
        ctx.t,
        session.number,
        shared.number,
        id.fields(),
        than.fields()
    )
}

/// An id from a message was refused as too far ahead.
pub fn cause_refused(id: Id, shared: &Shared, ctx: &Context) -> Result<(), Violation> {
    let apart = ctx.t + ctx.furthest_offset - shared.machine.honest(ctx.t);
    let within = ctx.plan.is_steady() && apart <= ctx.plan.max_clock_skew_ms * NS_PER_MS;
    check(ctx, Rule::HonestCauseTaken, !within, || {
        format!("{id:?} was refused, with clocks {apart} ns apart")
    })
}

/// The clock has been read, after the word.
pub fn word_and_clock(seen: Id, shared: &Shared, ctx: &Context) -> Result<(), Violation> {
    let ahead = seen.timestamp() * NS_PER_MS - shared.machine.honest(ctx.t);
    check(ctx, Rule::NoFalseRegression, ahead <= shared.machine.excuse(ctx.t), || {
        format!("the word {seen:?} looks {ahead} ns ahead of a clock that has not been stepped so far")
    })
}

/// The ceiling is raised for an advance, which may move the word as far ahead as is allowed.
pub fn excuse_advance(timestamp: i64, session: &Session, shared: &mut Shared, ctx: &Context) {
    let ahead = timestamp * NS_PER_MS - shared.machine.honest(ctx.t);
    let allowed = session.max_clock_step_ms.saturating_mul(NS_PER_MS);
    if ahead - shared.machine.excuse(ctx.t) <= allowed {
        shared.machine.excuse_word_at(ctx.t, timestamp);
    }
}

/// A ceiling is written to the log, by a reading of the clock.
pub fn ceiling_written(
    ceiling: &Ceiling,
    wall: i64,
    shared: &Shared,
    ctx: &Context,
) -> Result<(), Violation> {
    check(ctx, Rule::CeilingNotPoisoned, wall.div_euclid(NS_PER_MS) <= TIMESTAMP_MS_MAX, || {
        format!("{ceiling:?} is written by a clock at {wall} ns, beyond the format")
    })?;
    let ahead = ceiling.id.timestamp() * NS_PER_MS - shared.machine.honest(ctx.t);
    let allowed = shared.machine.excuse(ctx.t) + LEAD_MS * NS_PER_MS;
    check(ctx, Rule::CeilingNotPoisoned, ahead <= allowed, || {
        format!("at {} ns, {ceiling:?} is written {ahead} ns ahead of the clock", ctx.t)
    })
}

/// A server has recovered.
pub fn recovered(shared: &Shared, ctx: &Context) -> Result<(), Violation> {
    check(ctx, Rule::AboveWhatSurvived, shared.register >= shared.survived, || {
        format!("the register recovered to {:?}, and {:?} survived", shared.register, shared.survived)
    })?;
    if !ctx.plan.crash_loop {
        return Ok(());
    }
    let ahead = shared.register.timestamp() * NS_PER_MS - shared.machine.honest(shared.up_since);
    // Each start waits a millisecond at most for the one after the ceiling.
    let allowed = (LEAD_MS + shared.lives) * NS_PER_MS;
    check(ctx, Rule::NoDriftOverRestarts, ahead <= allowed, || {
        format!("life {} starts {ahead} ns ahead of the clock", shared.lives)
    })
}

/// The history is over: all ids that anybody may still hold.
pub fn all_distinct(servers: &[Server], ctx: &Context) -> Result<(), Violation> {
    let mut kept: Vec<(Id, Id)> =
        servers.iter().flat_map(|server| server.shared.kept.iter().copied()).collect();
    kept.sort_unstable();
    let twice = kept.windows(2).find(|pair| pair[1].0 <= pair[0].1);
    check(ctx, Rule::Distinct, twice.is_none(), || format!("returned twice: {twice:?}"))
}
