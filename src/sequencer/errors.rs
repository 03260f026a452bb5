//! What the user of a design reads when something is refused: its SQLSTATEs, as [`crate::errors`] has those of
//! snowflake ids.

use pgrx::prelude::*;
use snowflake_core::designs::VALUE_MAX;
use snowflake_core::{DesignFieldError, VectorError};

use crate::errors::{OrRaise, raise};
use crate::shown::Shown;

impl<T> OrRaise<T> for Result<T, DesignFieldError> {
    fn or_raise(self) -> T {
        self.unwrap_or_else(|error| {
            raise(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                error.to_string(),
                None,
                Some("Pass a value within the range. snowflake_designs() lists the fields of each design."),
            )
        })
    }
}

impl<T> OrRaise<T> for Result<T, VectorError> {
    fn or_raise(self) -> T {
        self.unwrap_or_else(|error| vector(error))
    }
}

#[cold]
fn vector(error: VectorError) -> ! {
    let (code, hint) = match error {
        VectorError::Nodes(_) => (
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "Each node needs a counter of at least one bit, of 53.",
        ),
        VectorError::Node { .. } => (
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "Nodes are numbered from 0. Give this server a lower snowflake.node, or configure more nodes.",
        ),
        VectorError::Counter { .. } => (
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "53 bits are divided among the nodes: more nodes, smaller counters.",
        ),
        VectorError::Exhausted { .. } => (
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "A counter never starts over. Fewer nodes have larger counters: see \"Vector clocks\" in docs/designs.md.",
        ),
        VectorError::Foreign { .. } => (
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "Look for where this number was made, and for how many nodes.",
        ),
    };
    raise(code, error.to_string(), None, Some(hint))
}

/// Nobody has told the kernel how wrong the clock may be.
#[cold]
pub fn clock_not_synchronised() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "clock is not synchronised".to_owned(),
        Some("The kernel does not know how wrong the clock may be, so no interval can be given.".to_owned()),
        Some(
            "Run a daemon that synchronises the clock, or set snowflake.clock_max_error to what you know its error \
             to be at most.",
        ),
    )
}

/// A clock whose interval does not fit an id.
#[cold]
pub fn clock_too_uncertain(uncertainty_ms: i64, max_ms: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("clock is uncertain by {uncertainty_ms} ms, must be at most {max_ms} ms"),
        Some(
            "That is twice the clock's greatest error, in whole milliseconds; an id has four bits for it."
                .to_owned(),
        ),
        Some(
            "Have the clock synchronised more closely, or set snowflake.clock_max_error if you know better than the \
             kernel.",
        ),
    )
}

/// A sequence whose number does not fit 53 bits any more, or is negative.
#[cold]
pub fn value_out_of_range(sequence: Shown, got: i64) -> ! {
    let code = if got < 0 {
        PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
    } else {
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED
    };
    raise(
        code,
        format!("value of sequence \"{sequence}\" must be in [0, {VALUE_MAX}], got {got}"),
        Some("The other bits of the id are the node number.".to_owned()),
        Some("Use a sequence within this range that is for ids alone."),
    )
}

/// A sequence that cannot be a clock or a counter.
#[cold]
pub fn no_counter(sequence: Shown, option: &str, got: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("sequence \"{sequence}\" has {option} {got}, which must be 1"),
        Some(
            "A session would hand out numbers that are older than what the sequence has been raised to."
                .to_owned(),
        ),
        Some(&format!("ALTER SEQUENCE ... {option} 1.")),
    )
}

/// A sequence that starts over.
#[cold]
pub fn cycles(sequence: Shown) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("sequence \"{sequence}\" may start over"),
        Some("It would give the same numbers again.".to_owned()),
        Some("ALTER SEQUENCE ... NO CYCLE."),
    )
}

/// A counter that has not so many numbers left.
#[cold]
pub fn used_up(sequence: Shown, first: i64, n: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
        format!("sequence \"{sequence}\" has no {n} numbers left from {first} on"),
        Some(format!("The last number of all is {}.", i64::MAX)),
        Some("Take fewer."),
    )
}

/// A number of numbers that is none.
#[cold]
pub fn bad_count(n: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("number of numbers must be at least 1, got {n}"),
        None,
        Some("Pass 1 or more."),
    )
}

/// A sequence that a crash sets back, or that one session has.
#[cold]
pub fn not_permanent(sequence: Shown, temporary: bool) -> ! {
    let (kind, detail, hint) = if temporary {
        ("temporary", "Each session would have numbers of its own.", "Use a sequence that is not temporary.")
    } else {
        ("unlogged", "After a crash it would give the same numbers again.", "ALTER SEQUENCE ... SET LOGGED.")
    };
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("sequence \"{sequence}\" is {kind}"),
        Some(detail.to_owned()),
        Some(hint),
    )
}

/// A sequence that was dropped: for a transaction that sees an old state, since then.
#[cold]
pub fn no_sequence(sequence: u32, old_state: bool) -> ! {
    let code = if old_state {
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE
    } else {
        PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE
    };
    raise(
        code,
        format!("sequence with OID {sequence} does not exist"),
        Some("It was dropped.".to_owned()),
        Some(
            "Try the transaction again. Where it counted a range name: snowflake_range_drop(), and create the name \
             anew above what was given.",
        ),
    )
}

/// A table of ranges that there is not, or that is another's.
#[cold]
pub fn no_table_of_ranges() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        "ranges are claimed from a foreign table, or from the extension's own".to_owned(),
        None,
        Some("See the table snowflake_range_names: snowflake_range_drop(), then snowflake_range_attach()."),
    )
}

/// A claim that was inserted and gave no first number, or one that cannot be.
#[cold]
pub fn no_range() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_NO_DATA_FOUND,
        "the table of ranges gave no range".to_owned(),
        None,
        Some(
            "It must be the snowflake_ranges of the server that counts, whose trigger gives the first number.",
        ),
    )
}

/// An array of counters with a NULL in it.
#[cold]
pub fn null_counter(node: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("counter of node {node} must not be NULL"),
        None,
        Some("Pass a counter for each node, node 0 first."),
    )
}
