//! The format: 41 bits of milliseconds since an epoch, 10 bits of node number, 12 bits of sequence.
//!
//! ```text
//!  63  62                                        22 21        12 11          0
//! +---+---------------------------------------------+------------+-------------+
//! | 0 | milliseconds since the epoch                | node number| sequence    |
//! +---+---------------------------------------------+------------+-------------+
//! ```
//!
//! Everything here is a pure function of its arguments. Ids compare as numbers in the order of
//! `(timestamp, node, sequence)`, because the fields stand in that order from the highest bit down.
//!
//! The layout is Twitter's: <https://github.com/twitter-archive/snowflake/tree/snowflake-2010>.

use crate::error::FieldError;

/// Width of the timestamp: 41 bits of milliseconds are 69.7 years.
pub const TIMESTAMP_BITS: u32 = 41;
/// Width of the node number.
pub const NODE_ID_BITS: u32 = 10;
/// Width of the sequence number within a millisecond.
pub const SEQUENCE_ID_BITS: u32 = 12;

/// Bits an id may use: a PostgreSQL `bigint` has 64, and the sign bit stays 0.
const ID_BITS: u32 = i64::BITS - 1;
const _: () =
    assert!(TIMESTAMP_BITS + NODE_ID_BITS + SEQUENCE_ID_BITS <= ID_BITS, "the three fields must fit 63 bits");
const _: () =
    assert!(TIMESTAMP_BITS > 0 && NODE_ID_BITS > 0 && SEQUENCE_ID_BITS > 0, "no field may be empty");
const _: () = assert!(NODE_ID_BITS <= u16::BITS, "NodeId is a u16");

/// The largest timestamp: 2^41 - 1 milliseconds after the epoch.
pub const TIMESTAMP_MS_MAX: i64 = (1 << TIMESTAMP_BITS) - 1;
/// The largest node number.
pub const NODE_ID_MAX: i64 = (1 << NODE_ID_BITS) - 1;
/// The largest sequence number.
pub const SEQUENCE_ID_MAX: i64 = (1 << SEQUENCE_ID_BITS) - 1;
/// Ids that one node can issue in one millisecond: the format's ceiling.
pub const IDS_PER_MS: i64 = SEQUENCE_ID_MAX + 1;

/// How far the node number is shifted: past the sequence.
pub const NODE_ID_SHIFT: u32 = SEQUENCE_ID_BITS;
/// How far the timestamp is shifted: past the sequence and the node number.
pub const TIMESTAMP_SHIFT: u32 = SEQUENCE_ID_BITS + NODE_ID_BITS;
/// The bits of the sequence.
pub const SEQUENCE_ID_MASK: i64 = SEQUENCE_ID_MAX;
/// The bits of the node number, in place.
pub const NODE_ID_MASK: i64 = NODE_ID_MAX << NODE_ID_SHIFT;
/// The bits of the timestamp, in place.
pub const TIMESTAMP_MASK: i64 = TIMESTAMP_MS_MAX << TIMESTAMP_SHIFT;
/// The largest id: all bits but the sign.
pub const ID_MAX: i64 = TIMESTAMP_MASK | NODE_ID_MASK | SEQUENCE_ID_MASK;

/// The default epoch, in Unix milliseconds: 2010-11-04 01:42:54.657 UTC, Twitter's.
pub const EPOCH_MS_DEFAULT: i64 = 1_288_834_974_657;
/// The default node number.
pub const NODE_ID_DEFAULT: i64 = 1;

/// A node number that fits its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(u16);

impl NodeId {
    /// The node number, if it is in `0..=NODE_ID_MAX`.
    ///
    /// # Errors
    /// [`FieldError::NodeId`] with the value otherwise.
    #[inline]
    pub const fn new(node_id: i64) -> Result<Self, FieldError> {
        if node_id < 0 || node_id > NODE_ID_MAX {
            return Err(FieldError::NodeId(node_id));
        }
        Ok(Self(node_id as u16))
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0 as i64
    }
}

/// An id: a number in `0..=ID_MAX`, of which each field can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(i64);

/// The fields of an id, each within its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Milliseconds after the epoch, `0..=TIMESTAMP_MS_MAX`.
    pub timestamp: i64,
    /// Node number, `0..=NODE_ID_MAX`.
    pub node_id: i64,
    /// Sequence number, `0..=SEQUENCE_ID_MAX`.
    pub sequence_id: i64,
}

impl Id {
    /// The lowest id there is.
    pub const MIN: Self = Self(0);
    /// The highest id there is.
    pub const MAX: Self = Self(ID_MAX);

    /// What the generator of a new server starts at, so that no server issues it, nor the id 0.
    pub const FIRST_START: Self = Self(1);

    /// The id with this number.
    ///
    /// # Errors
    /// [`FieldError::NegativeId`] where the sign bit is set.
    #[inline]
    pub const fn new(id: i64) -> Result<Self, FieldError> {
        if id < 0 {
            return Err(FieldError::NegativeId(id));
        }
        Ok(Self(id & ID_MAX))
    }

    /// The number of the id, as it is stored in a `bigint`.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Milliseconds after the epoch.
    #[inline]
    pub const fn timestamp(self) -> i64 {
        self.0 >> TIMESTAMP_SHIFT
    }

    /// Node number.
    #[inline]
    pub const fn node_id(self) -> i64 {
        (self.0 & NODE_ID_MASK) >> NODE_ID_SHIFT
    }

    /// Sequence number within the millisecond.
    #[inline]
    pub const fn sequence_id(self) -> i64 {
        self.0 & SEQUENCE_ID_MASK
    }

    /// All three fields.
    pub const fn fields(self) -> Fields {
        Fields { timestamp: self.timestamp(), node_id: self.node_id(), sequence_id: self.sequence_id() }
    }

    /// The Unix time in milliseconds at which the id was made.
    ///
    /// # Overflow
    /// None in `i128`: any epoch is accepted, also one whose sum with the timestamp is past `i64`.
    pub const fn unix_ms(self, epoch_ms: i64) -> i128 {
        epoch_ms as i128 + self.timestamp() as i128
    }

    /// The lowest id of a millisecond, given in milliseconds after the epoch; times outside the field clamp.
    #[inline]
    pub const fn first_of(timestamp: i64) -> Self {
        Self(clamp_timestamp(timestamp) << TIMESTAMP_SHIFT)
    }

    /// The highest id of a millisecond, given in milliseconds after the epoch; times outside the field clamp.
    #[inline]
    pub const fn last_of(timestamp: i64) -> Self {
        Self(Self::first_of(timestamp).0 | NODE_ID_MASK | SEQUENCE_ID_MASK)
    }

    /// The id of three fields that are known to be in range. Only the generator may use it: what comes from
    /// outside goes through [`compose`].
    #[inline]
    pub(crate) const fn from_parts(timestamp: i64, node: NodeId, sequence_id: i64) -> Self {
        debug_assert!(timestamp >= 0 && timestamp <= TIMESTAMP_MS_MAX);
        debug_assert!(sequence_id >= 0 && sequence_id <= SEQUENCE_ID_MAX);
        Self(timestamp << TIMESTAMP_SHIFT | node.get() << NODE_ID_SHIFT | sequence_id)
    }

    /// The id of a time and the bits below it, which the caller knows to be in range.
    #[inline]
    pub(crate) const fn from_time_and_bits(timestamp: i64, low_bits: i64) -> Self {
        debug_assert!(timestamp >= 0 && timestamp <= TIMESTAMP_MS_MAX);
        debug_assert!(low_bits >= 0 && low_bits < 1 << TIMESTAMP_SHIFT);
        Self(timestamp << TIMESTAMP_SHIFT | low_bits)
    }

    /// The id `n` numbers on, which the caller knows to be in the same millisecond and of the same node.
    #[inline]
    pub(crate) const fn plus(self, n: i64) -> Self {
        debug_assert!(n >= 0 && n <= SEQUENCE_ID_MAX - self.sequence_id());
        Self(self.0 + n)
    }

    /// The id `n` numbers before, which the caller knows to be in the same millisecond and of the same node.
    #[inline]
    pub(crate) const fn minus(self, n: i64) -> Self {
        debug_assert!(n >= 0 && n <= self.sequence_id());
        Self(self.0 - n)
    }

    /// The id whose bits an atomic word holds.
    #[inline]
    pub(crate) const fn from_word(word: u64) -> Self {
        Self(word as i64 & ID_MAX)
    }
}

#[inline]
const fn clamp_timestamp(timestamp: i64) -> i64 {
    if timestamp < 0 {
        0
    } else if timestamp > TIMESTAMP_MS_MAX {
        TIMESTAMP_MS_MAX
    } else {
        timestamp
    }
}

/// An epoch given as text: decimal digits, Unix milliseconds. Nothing else is guessed at: no sign, no space, no date.
///
/// # Overflow
/// `None` past `i64`.
pub fn parse_epoch_ms(text: &str) -> Option<i64> {
    // `parse` would take a leading plus sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The id of three fields: the exact inverse of decoding. No field is ever OR-ed over its neighbour.
///
/// `unix_ms` and `epoch_ms` are Unix milliseconds; the difference is the timestamp field.
///
/// # Errors
/// The first that fails decides: [`FieldError::NodeId`], then [`FieldError::SequenceId`], then
/// [`FieldError::Timestamp`].
///
/// ```
/// use snowflake_core::layout::{EPOCH_MS_DEFAULT, compose};
/// // A public tweet id.
/// let id = compose(1_668_772_220_644, 378, 2, EPOCH_MS_DEFAULT).unwrap();
/// assert_eq!(id.get(), 1_593_572_310_593_806_338);
/// ```
pub const fn compose(unix_ms: i64, node_id: i64, sequence_id: i64, epoch_ms: i64) -> Result<Id, FieldError> {
    let node = match NodeId::new(node_id) {
        Ok(node) => node,
        Err(error) => return Err(error),
    };
    if sequence_id < 0 || sequence_id > SEQUENCE_ID_MAX {
        return Err(FieldError::SequenceId(sequence_id));
    }
    let timestamp = unix_ms as i128 - epoch_ms as i128;
    if timestamp < 0 || timestamp > TIMESTAMP_MS_MAX as i128 {
        return Err(FieldError::Timestamp(timestamp));
    }
    Ok(Id::from_parts(timestamp as i64, node, sequence_id))
}

/// The id of this moment for a caller who owns the sequence: the result is in (0, 2^63).
///
/// The same as [`compose`] with the time of the call, but for one case: the epoch must be past, because the
/// epoch's own millisecond would give node 0 the id 0.
///
/// # Errors
/// In the order of [`compose`]; a time out of range is [`FieldError::TimestampNotAfterEpoch`].
pub const fn generate(
    sequence_id: i64,
    node_id: i64,
    epoch_ms: i64,
    now_unix_ms: i64,
) -> Result<Id, FieldError> {
    match compose(now_unix_ms, node_id, sequence_id, epoch_ms) {
        Ok(id) if id.timestamp() > 0 => Ok(id),
        Ok(_) => Err(FieldError::TimestampNotAfterEpoch(0)),
        Err(FieldError::Timestamp(timestamp)) => Err(FieldError::TimestampNotAfterEpoch(timestamp)),
        Err(error) => Err(error),
    }
}

/// The lowest id that an instant's millisecond can hold: `id >= min_id(t)` selects what was made at or after `t`.
///
/// # Overflow
/// Before the epoch it is 0, past the format's end it is the highest id there is.
pub const fn min_id(unix_ms: i64, epoch_ms: i64) -> i64 {
    let timestamp = unix_ms as i128 - epoch_ms as i128;
    if timestamp < 0 {
        Id::MIN.get()
    } else if timestamp > TIMESTAMP_MS_MAX as i128 {
        Id::MAX.get()
    } else {
        Id::first_of(timestamp as i64).get()
    }
}

/// The highest id that an instant's millisecond can hold: `id <= max_id(t)` selects what was made at or before
/// that millisecond.
///
/// # Overflow
/// Before the epoch it is -1, so that `id <= max_id(t)` selects nothing; past the format's end it is the highest
/// id there is.
pub const fn max_id(unix_ms: i64, epoch_ms: i64) -> i64 {
    let timestamp = unix_ms as i128 - epoch_ms as i128;
    if timestamp < 0 {
        -1
    } else if timestamp > TIMESTAMP_MS_MAX as i128 {
        Id::MAX.get()
    } else {
        Id::last_of(timestamp as i64).get()
    }
}

#[cfg(test)]
mod tests;
