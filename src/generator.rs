//! The generator of this server, for the SQL functions: the core's driver with this session's state and settings.

use snowflake_core::driver::{self, Batch, Reading, Refusal, Session, Settings, WordOf};
use snowflake_core::generator::Series;
use snowflake_core::{Id, NodeId};

use crate::errors::OrRaise;
use crate::host::Server;
use crate::{settings, shared};

thread_local! {
    /// What this session keeps between its calls. A parallel worker is a session of its own.
    static SESSION: Session = const { Session::new() };
}

/// The next id where nothing stands in the way, as nearly always. It calls nothing of PostgreSQL's, so the caller needs
/// no guard. `None` where there is more to do: [`next`] does it, from the beginning.
#[inline]
pub fn next_fast() -> Option<Id> {
    let (server, settings) = (Server::known()?, settings::trusted()?);
    SESSION.with(|session| driver::next_fast(&server, session, &settings))
}

/// Calls the driver for this session, with the settings as they are now.
///
/// # Errors
/// Not preloaded, settings refused, in recovery, clock or epoch not to be trusted, format at its end: see
/// [`errors`](crate::errors). No id is issued then. So do all functions below that call it.
fn drive<T>(call: impl FnOnce(&Server, &Session, &Settings) -> Result<T, Refusal>) -> T {
    let (server, settings) = (Server::get(), settings::in_force());
    SESSION.with(|session| call(&server, session, &settings)).or_raise()
}

/// The next id.
pub fn next() -> Id {
    drive(driver::next)
}

/// The ids of a batch, reserved step by step as they are asked for.
pub fn batch(n: i64) -> impl Iterator<Item = Id> {
    let mut batch = Batch::new(n);
    std::iter::from_fn(move || {
        drive(|server, session, settings| batch.next(server, session, settings).transpose())
    })
}

/// Makes every id from now on greater than `id`, through restart and failover.
pub fn advance(id: Id) {
    drive(|server, session, settings| driver::advance(server, session, settings, id));
}

/// Makes every id from now on greater than `id`, whichever server made it.
pub fn observe(id: Id) {
    drive(|server, session, settings| driver::observe(server, session, settings, id));
}

/// The next id, greater than `after`, whichever server made that.
pub fn next_after(after: Id) -> Id {
    drive(|server, session, settings| driver::next_after(server, session, settings, after))
}

/// The next id of a design that is bound to the clock, and the epoch in force.
pub fn next_of<S: Series>(word_of: WordOf, read: impl Fn(NodeId) -> Reading<S>) -> (Id, i64) {
    drive(|server, session, settings| driver::next_of(server, session, settings, word_of, read))
}

/// Waits until a millisecond has passed: see [`driver::wait_until_passed`].
pub fn wait_until_passed(word_of: WordOf, timestamp: i64, left_ns: impl Fn(i64) -> i64) {
    drive(|server, session, settings| {
        driver::wait_until_passed(server, session, settings, word_of, timestamp, left_ns)
    });
}

/// The epoch in force: that of this server's run where ids have been generated, else the one that is set.
///
/// # Errors
/// 55000 where neither is known, because the value that was set was refused.
pub fn epoch_ms() -> i64 {
    epoch_of_this_run().unwrap_or_else(settings::epoch_ms)
}

/// The epoch that this server's run is bound to, once ids have been generated.
pub fn epoch_of_this_run() -> Option<i64> {
    shared::find().and_then(|segment| segment.core.limits.epoch_ms())
}

/// The epoch of this server's run, where that is known without a call.
#[inline]
pub fn epoch_ms_fast() -> Option<i64> {
    shared::known()?.core.limits.epoch_ms()
}
