//! Raising the ceiling: one session at a time, by the host's raise lock. The others go on below the published ceiling;
//! whoever reaches it sleeps, and looks again.
//!
//! What the driver decides against is returned after the lock is released; where the host leaves, it releases the lock.

use super::clock_watch::{self, Look};
use super::{Driver, Host, Refusal, Wait};
use crate::ceiling::{Ceiling, LEAD_MS};
use crate::clock_step::NS_PER_MS;
use crate::error::GenerateError;
use crate::generator::check_clock_in_format;
use crate::layout::Id;

/// What a ceiling is raised for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Need {
    /// Half of the lead is left: begin the next.
    Ahead,
    /// An id of this millisecond was refused. The millisecond tells whether there still is something to do, and not
    /// how high to go: it may come from a clock that had leapt, and has been set right since.
    Id(i64),
    /// No id up to this one may be issued any more.
    Given(Given),
}

impl Need {
    /// The millisecond that the ceiling has to reach.
    fn timestamp(self) -> i64 {
        match self {
            Self::Ahead => 0,
            Self::Id(timestamp) => timestamp,
            Self::Given(given) => given.id().timestamp() + 1,
        }
    }
}

/// An id that came from outside, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// An operator moves the generator over it.
    Advance(Id),
    /// It came in a message: an id of any server.
    Observe(Id),
}

impl Given {
    /// The id.
    pub fn id(self) -> Id {
        let (Self::Advance(id) | Self::Observe(id)) = self;
        id
    }
}

/// Raises the ceiling, unless another session is at it. The caller looks again.
///
/// # Errors
/// Where the clock is not to be trusted with a ceiling, which is durable. Then nothing is raised.
#[cold]
pub(super) fn raise<H: Host>(driver: Driver<'_, H>, need: Need) -> Result<(), Refusal> {
    if driver.host.try_lock_raise() {
        return raise_and_unlock(driver, need);
    }
    if !matches!(need, Need::Ahead) {
        driver.host.sleep(Wait::Ceiling, NS_PER_MS);
    }
    Ok(())
}

/// Refuses an id that is too far ahead, also where the ceiling need not be raised for it.
///
/// # Errors
/// [`Refusal::TooFarAhead`], and [`GenerateError::PastEnd`] past the format's end.
pub(super) fn check_distance<H: Host>(driver: Driver<'_, H>, given: Given) -> Result<(), Refusal> {
    let now = Look::now(driver.host).clock.ms_since(driver.settings.epoch_ms);
    check_given(driver, given, now)
}

/// The caller holds the raise lock, and the words are started.
fn raise_and_unlock<H: Host>(driver: Driver<'_, H>, need: Need) -> Result<(), Refusal> {
    let Driver { host, settings, .. } = driver;
    let last = host.shared().snowflake.last().unwrap_or(Id::MIN);
    let reached = need.timestamp() <= host.shared().limits.ceiling().timestamp();
    if reached && last <= host.shared().limits.raise_at() {
        // Another session has raised it since the caller looked.
        host.unlock_raise();
        return Ok(());
    }
    let look = Look::now(host);
    let now = look.clock.ms_since(settings.epoch_ms);
    let leapt_ns = look.leap(host.shared(), settings.max_clock_step_ms.saturating_mul(NS_PER_MS));
    if let Err(refusal) = check(driver, leapt_ns, now, need) {
        host.unlock_raise();
        if let Some(by_ns) = leapt_ns {
            clock_watch::report_leap(host, &look, by_ns);
        }
        return Err(refusal);
    }
    let asked_for = if let Need::Given(_) = need { need.timestamp() } else { 0 };
    let uptime_ms = (look.clock.machine_ns - host.shared().clock.started_ns()) / NS_PER_MS;
    let ceiling = Ceiling::above(now.max(last.timestamp()).max(asked_for), uptime_ms);
    host.make_durable(ceiling.id);
    host.shared().limits.publish(&ceiling);
    let stepped_back = clock_watch::trust(driver, &look);
    host.unlock_raise();

    if let Some(by_ns) = stepped_back {
        clock_watch::report_step_back(host, &look, by_ns);
    }
    clock_watch::warn_of_the_end(host, now);
    Ok(())
}

/// Whatever is judged here, it is by the reading that the ceiling would be made from.
fn check<H: Host>(driver: Driver<'_, H>, leapt_ns: Option<i64>, now: i64, need: Need) -> Result<(), Refusal> {
    if let Some(by_ns) = leapt_ns {
        let max_ms = driver.settings.max_clock_step_ms;
        return Err(GenerateError::ClockLeapt { by_ms: by_ns / NS_PER_MS, max_ms }.into());
    }
    // A ceiling stops at the last id there is: raised by a clock beyond the format, it would be the end of a server
    // whose clock is only wrong.
    check_clock_in_format(now)?;
    match need {
        Need::Given(given) => check_given(driver, given, now),
        Need::Ahead | Need::Id(_) => Ok(()),
    }
}

fn check_given<H: Host>(driver: Driver<'_, H>, given: Given, now: i64) -> Result<(), Refusal> {
    let ahead_ms = given.id().timestamp().saturating_sub(now);
    let most_ms = most_ahead_ms(driver, given);
    if ahead_ms > most_ms {
        return Err(Refusal::TooFarAhead { given, ahead_ms, most_ms });
    }
    // There has to be a millisecond for the word to go to.
    Ok(check_clock_in_format(Need::Given(given).timestamp())?)
}

/// How far ahead of the clock an id may be. The word will stand at it, or a millisecond after it, and must not be
/// further ahead than generation allows.
fn most_ahead_ms<H: Host>(driver: Driver<'_, H>, given: Given) -> i64 {
    let generated = driver.settings.max_clock_step_ms - 1;
    match given {
        Given::Advance(_) => generated,
        // The clocks are apart, and an honest server that has been restarted is as far ahead of its own as the
        // ceiling led. After a crash this one begins at a ceiling that leads by as much again.
        Given::Observe(_) => {
            driver.settings.max_clock_skew_ms.saturating_add(LEAD_MS).min(generated - LEAD_MS)
        }
    }
}
