//! Ids from outside, which ids from now on must be greater than: advanced over by an operator, or observed in a message.
//!
//! The ceiling is raised before the word, so that what was promised of an id holds through a crash.

use super::raise::{self, Given, Need};
use super::{Driver, Host, Refusal, Session, Settings, ready, snowflake};
use crate::layout::Id;
use crate::shared::Shared;

/// Makes every id from now on greater than `id`, through restart and failover, and ends all sessions' blocks. So do the
/// designs that are bound to the clock, whose ids of the same millisecond may be there with those that were loaded.
///
/// # Errors
/// [`Refusal::TooFarAhead`] where `id` is further ahead of the clock than `max_clock_step_ms`, and those of
/// [`next`](super::next).
pub fn advance<H: Host>(host: &H, session: &Session, settings: &Settings, id: Id) -> Result<(), Refusal> {
    let settings = &ready(host, session, settings)?;
    let driver = Driver { host, session, settings };
    if driver.look(snowflake)?.1.timestamp() <= id.timestamp() {
        driver.cover(Given::Advance(id))?;
    }
    for word_of in Shared::WORDS {
        driver.look(word_of)?.0.raise(id)?;
    }
    Ok(())
}

/// Makes every id from now on greater than `id`, whichever server made it, through a restart too.
///
/// One load where the word has left the id's millisecond, or the id was observed before.
///
/// # Errors
/// [`Refusal::TooFarAhead`] where `id` is above this server's last, and further ahead of the clock than an honest server
/// can be; and those of [`next`](super::next).
pub fn observe<H: Host>(host: &H, session: &Session, settings: &Settings, id: Id) -> Result<(), Refusal> {
    let settings = &ready(host, session, settings)?;
    let driver = Driver { host, session, settings };
    let (word, last) = driver.look(snowflake)?;
    if last < id {
        driver.cover(Given::Observe(id))?;
        driver.set_pace(id);
    } else if word.has_passed(id) {
        return Ok(());
    }
    word.follow(id);
    host.between();
    word.observe(id);
    Ok(())
}

/// The next id, greater than `after`, whichever server made that. It is never one of this session's block.
///
/// # Errors
/// Those of [`observe`].
pub fn next_after<H: Host>(
    host: &H,
    session: &Session,
    settings: &Settings,
    after: Id,
) -> Result<Id, Refusal> {
    let settings = &ready(host, session, settings)?;
    let driver = Driver { host, session, settings };
    let (word, last) = driver.look(snowflake)?;
    if last < after {
        driver.cover(Given::Observe(after))?;
        driver.set_pace(after);
        word.follow(after);
    }
    driver.reserve(settings.cache)
}

impl<H: Host> Driver<'_, H> {
    /// Raises the ceiling over the millisecond after an id: the next id is of the id's own, or of that one.
    #[cold]
    fn cover(self, given: Given) -> Result<(), Refusal> {
        raise::check_distance(self, given)?;
        while self.host.shared().limits.ceiling().timestamp() <= given.id().timestamp() {
            raise::raise(self, Need::Given(given))?;
        }
        Ok(())
    }

    /// Before the word follows an id of another server, whose clock has shown it.
    fn set_pace(self, id: Id) {
        let monotonic_ns = self.host.monotonic_ns();
        self.host.shared().pace.observe(id.timestamp(), monotonic_ns);
    }
}
