//! Why a call of the driver ends without an id.

use super::Given;
use crate::error::GenerateError;

/// Why a call of the driver ends without an id. All times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The clock, or the format, does not allow an id.
    Generate(GenerateError),
    /// The server is a standby: it shares its primary's node number.
    InRecovery,
    /// An id from outside is too far ahead of the clock.
    TooFarAhead {
        /// The id, and what it is for.
        given: Given,
        /// How far ahead it is.
        ahead_ms: i64,
        /// The limit that this exceeds.
        most_ms: i64,
    },
    /// An id that is never dated ahead of the clock, which the clock will not reach for long.
    WouldWaitTooLong {
        /// What the clock is behind of.
        what: &'static str,
        /// By how much.
        by_ms: i64,
        /// The limit that this exceeds.
        max_ms: i64,
    },
}

impl From<GenerateError> for Refusal {
    fn from(error: GenerateError) -> Self {
        Self::Generate(error)
    }
}
