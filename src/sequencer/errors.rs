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
                Some("Pass a value within the range. sequencer_designs() lists the fields of each design."),
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
            "Nodes are numbered from 0. Give this server a lower snowflake.node, or begin a clock of more nodes.",
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
            "Run a daemon that synchronises the clock, or set sequencer.clock_max_error to what you know its error \
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
            "Have the clock synchronised more closely, or set sequencer.clock_max_error if you know better than the \
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

/// A sequence that counts down.
#[cold]
pub fn descends(sequence: Shown, increment: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("sequence \"{sequence}\" has INCREMENT {increment}, which must be at least 1"),
        Some("The increment of a sequence is the size of its ranges.".to_owned()),
        Some("ALTER SEQUENCE ... INCREMENT 1000, or as many numbers as a session shall claim at once."),
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

/// A relation that was dropped.
#[cold]
pub fn no_relation(oid: u32) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
        format!("relation with OID {oid} does not exist"),
        Some("It was dropped.".to_owned()),
        Some("Name the one that takes its place, also in the defaults of columns."),
    )
}

/// A relation that is no sequence.
#[cold]
pub fn no_sequence(relation: Shown) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("relation \"{relation}\" is not a sequence"),
        None,
        Some("Name a sequence."),
    )
}

/// A relation that ranges do not come from.
#[cold]
pub fn no_source(relation: Shown) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("relation \"{relation}\" is not a source of ranges"),
        Some("To read a table claims nothing: every session would get the same numbers.".to_owned()),
        Some("Name a sequence, or a view or foreign table that claims a range by being read."),
    )
}

/// A relation without the columns of a range.
#[cold]
pub fn no_columns(relation: Shown) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("relation \"{relation}\" must have the columns first and last of type bigint"),
        None,
        Some("Create the view or foreign table anew with these columns."),
    )
}

/// A relation that was read and gave no range.
#[cold]
pub fn no_range(relation: Shown, gave: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        format!("relation \"{relation}\" did not give a range but {gave}"),
        None,
        Some("It must give one row with two numbers, first and last, of which first is not the greater."),
    )
}

/// A relation in a schema that a role owns which the caller could become.
#[cold]
pub fn schema_of_another(relation: Shown) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("schema of relation \"{relation}\" belongs to another role"),
        Some("Its owner could rename it meanwhile, and have code of theirs run with your rights.".to_owned()),
        Some("Connect as another role, or give the schema to a superuser or to the owner of the relation."),
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

/// An array of several dimensions.
#[cold]
pub fn several_dimensions(got: i32) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("counters of a vector clock must have one dimension, got {got}"),
        None,
        Some("Pass a counter for each node, node 0 first."),
    )
}
