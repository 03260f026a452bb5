//! Every way a request can be refused, as data with one `Display`.
//!
//! A message carries the value that was refused and the range it had to be in; which SQLSTATE and which advice
//! belong to it is decided in one place of the extension.

use core::fmt;

use crate::base32::{self, Base32};
use crate::layout::{ID_MAX, Id, NODE_ID_MAX, SEQUENCE_ID_MAX, TIMESTAMP_BITS, TIMESTAMP_MS_MAX};
use crate::uuid::UNIX_MS_MAX;
use crate::vector::NODES_MAX;

/// A value that does not fit its field of the id. The variant carries the value received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldError {
    /// A node number outside `0..=NODE_ID_MAX`.
    NodeId(i64),
    /// A sequence number outside `0..=SEQUENCE_ID_MAX`.
    SequenceId(i64),
    /// A time that is not `0..=TIMESTAMP_MS_MAX` milliseconds after the epoch. Wide enough for the difference of
    /// any two `i64`, so that the message never shows a wrapped number.
    Timestamp(i128),
    /// A time outside the field's range, where the epoch itself is not yet possible: see
    /// [`generate`](crate::layout::generate).
    TimestampNotAfterEpoch(i128),
    /// A negative number, which is no id: the sign bit of an id is always 0.
    NegativeId(i64),
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NodeId(got) => write!(f, "node_id must be in [0, {NODE_ID_MAX}], got {got}"),
            Self::SequenceId(got) => {
                write!(f, "sequence_id must be in [0, {SEQUENCE_ID_MAX}], got {got}")
            }
            Self::Timestamp(got) => write!(
                f,
                "timestamp overflows {TIMESTAMP_BITS} bits: must be in [0, {TIMESTAMP_MS_MAX}] \
                 milliseconds after the epoch, got {got}"
            ),
            Self::TimestampNotAfterEpoch(got) => write!(
                f,
                "timestamp overflows {TIMESTAMP_BITS} bits: must be in [1, {TIMESTAMP_MS_MAX}] \
                 milliseconds after the epoch, got {got}"
            ),
            Self::NegativeId(got) => {
                write!(f, "snowflake id must be in [0, {ID_MAX}], got {got}")
            }
        }
    }
}

impl core::error::Error for FieldError {}

/// A value that does not fit its field of a design's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DesignFieldError {
    /// The name of the field.
    pub field: &'static str,
    /// The largest value it holds.
    pub max: i64,
    /// The value received.
    pub got: i64,
}

impl fmt::Display for DesignFieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, max, got } = self;
        write!(f, "{field} must be in [0, {max}], got {got}")
    }
}

impl core::error::Error for DesignFieldError {}

/// Why there is no such vector clock, or none of its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorError {
    /// A number of nodes outside `1..=NODES_MAX`.
    Nodes(i64),
    /// A node that has no counter.
    Node {
        /// The node number.
        node: i64,
        /// How many nodes have one, from 0 on.
        nodes: i64,
    },
    /// A counter that does not fit its bits.
    Counter {
        /// Whose it is.
        node: i64,
        /// The largest value it holds.
        max: i64,
        /// The value received.
        got: i64,
    },
    /// A counter at its end.
    Exhausted {
        /// Whose it is.
        node: i64,
        /// The value it has.
        max: i64,
    },
    /// An id that no clock of so many nodes has made.
    Foreign {
        /// The id.
        id: i64,
        /// How many nodes there are.
        nodes: i64,
    },
}

impl fmt::Display for VectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nodes(got) => {
                write!(f, "number of nodes of a vector clock must be in [1, {NODES_MAX}], got {got}")
            }
            Self::Node { node, nodes } => {
                write!(f, "node number {node} has no counter in a vector clock of {nodes} nodes")
            }
            Self::Counter { node, max, got } => {
                write!(f, "counter of node {node} must be in [0, {max}], got {got}")
            }
            Self::Exhausted { node, max } => {
                write!(f, "the vector clock's counter of node {node} is at its end, {max}")
            }
            Self::Foreign { id, nodes } => write!(f, "id {id} is not of a vector clock of {nodes} nodes"),
        }
    }
}

impl core::error::Error for VectorError {}

/// Why the generator refuses to issue ids at the moment. All times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerateError {
    /// The clock stands before the epoch, by `by_ms`.
    BeforeEpoch {
        /// How far before the epoch the clock stands.
        by_ms: i64,
    },
    /// The next id would be past the last millisecond that the timestamp field can hold.
    PastEnd {
        /// The millisecond, counted from the epoch, that does not fit.
        timestamp: i64,
    },
    /// The clock stands further behind the last id than is allowed: it was set back, or the epoch moved later.
    ClockBehind {
        /// How far behind the last id's millisecond the clock stands.
        by_ms: i64,
        /// The limit it exceeds.
        max_ms: i64,
    },
    /// The clock went ahead of the time the machine has run by more than is allowed.
    ClockLeapt {
        /// How far it went ahead.
        by_ms: i64,
        /// The limit it exceeds.
        max_ms: i64,
    },
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BeforeEpoch { by_ms } => {
                write!(f, "the clock is {by_ms} ms before the snowflake epoch")
            }
            Self::PastEnd { timestamp } => write!(
                f,
                "snowflake timestamp overflows {TIMESTAMP_BITS} bits: must be in \
                 [0, {TIMESTAMP_MS_MAX}] milliseconds after the epoch, got {timestamp}"
            ),
            Self::ClockBehind { by_ms, max_ms } => write!(
                f,
                "the clock is {by_ms} ms behind the last snowflake id, more than the {max_ms} ms allowed"
            ),
            Self::ClockLeapt { by_ms, max_ms } => {
                write!(f, "the clock leapt {by_ms} ms ahead, more than the {max_ms} ms allowed")
            }
        }
    }
}

impl core::error::Error for GenerateError {}

/// Why a text is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base32Error {
    /// Not a character of the alphabet, nor one that is taken for it.
    Character {
        /// The first such byte.
        byte: u8,
        /// Which byte of the text it is, counted from 1.
        position: usize,
    },
    /// Another number of characters, hyphens not counted.
    Length(usize),
    /// More than 63 bits.
    Overflow(u128),
}

impl fmt::Display for Base32Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = base32::LENGTH;
        match *self {
            // A byte of another encoding is shown by its number, so that the message is valid in every encoding.
            Self::Character { byte, position } => {
                let shown = [byte];
                let shown = shown.escape_ascii();
                write!(f, "invalid base32 character \"{shown}\" at position {position}")
            }
            Self::Length(got) => {
                write!(f, "base32 of a snowflake id must have {length} characters, got {got}")
            }
            Self::Overflow(got) => {
                let highest = Base32::encode(Id::MAX);
                write!(f, "base32 of a snowflake id must not be above {highest} ({ID_MAX}), got {got}")
            }
        }
    }
}

impl core::error::Error for Base32Error {}

/// Why an id has no UUID, or a UUID no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UuidError {
    /// A time, in Unix milliseconds, that a UUID of version 7 cannot hold.
    Timestamp(i128),
    /// A UUID that was not made of an id: it has another version or variant, or more bits than an id.
    Foreign(u128),
    /// A UUID whose time is none of this epoch.
    Field(FieldError),
}

impl fmt::Display for UuidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Timestamp(got) => {
                write!(
                    f,
                    "time of a version 7 UUID must be in [0, {UNIX_MS_MAX}] Unix milliseconds, got {got}"
                )
            }
            Self::Foreign(uuid) => {
                let group = |shift: u32, digits: u32| uuid >> shift & ((1 << (4 * digits)) - 1);
                let (a, b, c, d, e) = (group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12));
                write!(f, "UUID {a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x} was not made from a snowflake id")
            }
            Self::Field(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for UuidError {}
