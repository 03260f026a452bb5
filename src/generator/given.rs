//! Ids from outside, which ids from now on must be greater than: advanced over by an operator, or observed in a message.
//!
//! The ceiling is raised before the word, so that what was promised of an id holds through a crash.

use snowflake_core::layout::Id;

use super::Generator;
use crate::ceiling::{self, Given, Need};
use crate::errors::OrRaise;
use crate::settings;

/// Makes every id from now on greater than `id`, through restart and failover, and drops all sessions' blocks. So do the
/// designs that are bound to the clock, whose ids of the same millisecond may be there with those that were loaded.
///
/// # Errors
/// 22023 where `id` is further ahead of the clock than `snowflake.max_clock_step`, and those of [`next`](super::next).
pub fn advance(id: Id) {
    let generator = Generator::ready();
    if generator.last().timestamp() <= id.timestamp() {
        generator.cover(Given::Advance(id));
    }
    for word in generator.shared.words() {
        word.raise(id).or_raise();
    }
}

/// Makes every id from now on greater than `id`, whichever server made it, through a restart too.
///
/// One load where the word has left the id's millisecond, or the id was observed before.
///
/// # Errors
/// 22023 where `id` is above this server's last, and further ahead of the clock than an honest server can be; and those of
/// [`next`](super::next).
pub fn observe(id: Id) {
    let generator = Generator::ready();
    let word = &generator.shared.word;
    // `last` starts the word where it is not.
    if generator.last() < id {
        generator.cover(Given::Observe(id));
    } else if word.has_passed(id) {
        return;
    }
    word.observe(id);
}

/// The next id, greater than `after`, whichever server made that. It is never one of this session's block.
///
/// # Errors
/// Those of [`observe`].
pub fn next_after(after: Id) -> Id {
    let generator = Generator::ready();
    if generator.last() < after {
        generator.cover(Given::Observe(after));
        generator.shared.word.follow(after);
    }
    generator.reserve(settings::cache())
}

impl Generator {
    /// Raises the ceiling over the millisecond after an id: the next id is of the id's own, or of that one.
    #[cold]
    fn cover(&self, given: Given) {
        let Self { shared, epoch_ms, .. } = *self;
        ceiling::check_distance(shared, epoch_ms, given);
        while shared.limits.ceiling().timestamp() <= given.id().timestamp() {
            ceiling::raise(shared, epoch_ms, Need::Given(given));
        }
    }
}
