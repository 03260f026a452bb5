//! The world, as the driver needs it.

use crate::layout::Id;
use crate::shared::Shared;

/// What the driver needs of the world.
///
/// **Memory.** `shared` returns the same memory for all sessions of a server, until the server stops. Nothing else is
/// shared.
///
/// **Unwinding.** Every call may end the driver's call by unwinding, or never return (a session that is killed): nothing
/// shared depends on a destructor of the driver's. A host that leaves while its session holds the raise lock releases it.
///
/// **Order.** What `make_durable` was given is durable when it returns. Clocks are read when they are asked for.
pub trait Host {
    /// The server's shared state.
    fn shared(&self) -> &Shared;

    /// The wall clock, in nanoseconds since 1970-01-01 UTC. It may be wrong, and be set at any time.
    fn wall_ns(&self) -> i64;

    /// The running time of the machine, suspension included, in nanoseconds. Nobody can set it.
    fn machine_ns(&self) -> i64;

    /// The clock that waits go by, in nanoseconds. Nobody can set it.
    fn monotonic_ns(&self) -> i64;

    /// Sleeps for 1..=1,000,000 nanoseconds, or less; then lets the session be interrupted.
    fn sleep(&self, wait: Wait, ns: i64);

    /// Whether the server is a standby, or recovering.
    fn is_in_recovery(&self) -> bool;

    /// The highest ceiling that is durable; [`Id::MIN`] on a new server.
    fn durable_ceiling(&self) -> Id;

    /// Takes the raise lock if it is free.
    fn try_lock_raise(&self) -> bool;

    /// Releases the raise lock.
    fn unlock_raise(&self);

    /// Makes a ceiling durable: whoever has a row whose WAL is written from now on has this ceiling.
    fn make_durable(&self, ceiling: Id);

    /// Tells the operator. The caller holds no lock.
    fn report(&self, event: Event);

    /// Between two accesses to shared memory with no other call in between. A host that simulates lets others run.
    #[inline]
    fn between(&self) {}
}

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The next millisecond.
    Clock,
    /// The ceiling, which another session is raising.
    Ceiling,
}

/// What the operator should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The words were started without a ceiling, as on a new server.
    NoCeiling,
    /// The clock was set back. `begins` tells a step from one that goes on: a clock that stands is seen further behind
    /// with each look, and is one event.
    SetBack {
        /// By so many nanoseconds.
        by_ns: i64,
        /// Whether the event begins.
        begins: bool,
    },
    /// The clock leapt ahead, and ids are refused.
    Leapt {
        /// By so many nanoseconds.
        by_ns: i64,
    },
    /// The last year of the format has begun; once a day.
    Ends {
        /// The days left.
        days: i64,
    },
    /// The epoch was changed, and waits for a restart; once for each value.
    EpochWaits {
        /// The epoch in force.
        fixed_ms: i64,
        /// The epoch that is set.
        set_ms: i64,
    },
}
