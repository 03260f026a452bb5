//! Whose an id is: the bits between its time and its sequence.

use crate::layout::{Id, NodeId, SEQUENCE_ID_BITS};

/// The ids of one millisecond that are one server's own: those that differ in nothing but the sequence.
///
/// In a snowflake id that is a [`NodeId`]. Another layout may have a sequence of other width, and more than a node
/// number above it; the time is the same 41 bits.
pub trait Series: Copy {
    /// Width of the sequence.
    const SEQUENCE_BITS: u32;
    /// The highest sequence number.
    const SEQUENCE_MAX: i64 = (1 << Self::SEQUENCE_BITS) - 1;
    /// Whether an id may be returned while the clock stands behind it: where the clock was set back, say, and a
    /// millisecond of running time stands in for one of the clock. Otherwise the clock is waited for, however long that
    /// takes.
    const MAY_LEAD_CLOCK: bool;
    /// How many milliseconds that have not come may be reserved of, by calls that wait for them. A call that is cancelled
    /// leaves its millisecond used up, so this is also what others may have to wait for in vain.
    const EARLY_MS: i64;

    /// What stands between the time and the sequence.
    fn number(self) -> i64;

    /// The id of this series in a millisecond (after the epoch) that is known to be in the format.
    #[inline]
    fn id(self, timestamp: i64, sequence_id: i64) -> Id {
        debug_assert!(sequence_id >= 0 && sequence_id <= Self::SEQUENCE_MAX);
        Id::from_time_and_bits(timestamp, self.number() << Self::SEQUENCE_BITS | sequence_id)
    }

    /// Whether an id is of this series.
    #[inline]
    fn has(self, id: Id) -> bool {
        id == self.id(id.timestamp(), Self::sequence_id_of(id))
    }

    /// The sequence number of an id of any such series.
    #[inline]
    fn sequence_id_of(id: Id) -> i64 {
        id.get() & Self::SEQUENCE_MAX
    }
}

/// The snowflake ids of a node.
impl Series for NodeId {
    const SEQUENCE_BITS: u32 = SEQUENCE_ID_BITS;
    const MAY_LEAD_CLOCK: bool = true;
    const EARLY_MS: i64 = 1;

    #[inline]
    fn number(self) -> i64 {
        self.get()
    }
}
