//! Faults that a host could have, to see that the simulation finds them. Those that the driver could have are
//! mutations of the driver itself.

use crate::oracle::Rule;

/// Each leaves out, or does at the wrong time, one thing that the promise rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A ceiling is said to be durable before its record is flushed.
    PublishesUnflushed,
    /// The durable ceiling is not looked for: ids begin with the clock.
    StartsAtClock,
    /// A server takes a node number while ids of it that another server has issued are still ahead of its own.
    NodeTakenTooEarly,
}

impl Fault {
    /// Each fault, with the rule that it must be seen to break.
    pub const ALL: [(Self, Rule); 3] = [
        (Self::PublishesUnflushed, Rule::AboveWhatSurvived),
        (Self::StartsAtClock, Rule::AboveWhatSurvived),
        (Self::NodeTakenTooEarly, Rule::Distinct),
    ];
}
