//! The designs whose ids the generator makes: what stands between their time and their sequence.
//!
//! Both are bound to the clock: an id that was dated ahead of it would say what is not true.

use super::{TRUETIME, UNIX};
use crate::error::DesignFieldError;
use crate::generator::Series;
use crate::layout::{Id, NODE_ID_BITS, NodeId};

/// [`TRUETIME`]: how uncertain the clock is, and the node. An uncertainty of its own is a series of its own, so that
/// the ids of a node stay distinct whatever the clock's error does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrueTimeSeries(i64);

impl TrueTimeSeries {
    /// The series of a node while its clock is this uncertain.
    ///
    /// # Errors
    /// An uncertainty that does not fit its field.
    pub fn new(uncertainty_ms: i64, node: NodeId) -> Result<Self, DesignFieldError> {
        let low_bits = TRUETIME.compose([0, uncertainty_ms, node.get(), 0])?;
        Ok(Self(low_bits.get() >> Self::SEQUENCE_BITS))
    }
}

impl Series for TrueTimeSeries {
    const SEQUENCE_BITS: u32 = TRUETIME.fields[3].bits;
    const MAY_LEAD_CLOCK: bool = false;
    const EARLY_MS: i64 = 1;

    #[inline]
    fn number(self) -> i64 {
        self.0
    }
}

/// [`UNIX`]: the node alone. There is no sequence, so there is one id a millisecond.
///
/// The generator counts milliseconds from the epoch, in 41 bits, and the layout from 1970, in 53.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixSeries(pub NodeId);

impl UnixSeries {
    /// The id that one of the generator's stands for.
    ///
    /// # Errors
    /// A time before 1970, or past the layout's end: the epoch says so.
    pub fn in_layout(id: Id, epoch_ms: i64) -> Result<Id, DesignFieldError> {
        let unix_ms = i64::try_from(id.unix_ms(epoch_ms)).unwrap_or(i64::MAX);
        UNIX.compose([unix_ms, id.get() & ((1 << NODE_ID_BITS) - 1)])
    }
}

impl Series for UnixSeries {
    const SEQUENCE_BITS: u32 = 0;
    const MAY_LEAD_CLOCK: bool = false;
    /// One id a millisecond: so many sessions stand in line for theirs, and beyond that they race.
    const EARLY_MS: i64 = 16;

    #[inline]
    fn number(self) -> i64 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::designs::UNCERTAINTY_BITS;
    use crate::layout::{EPOCH_MS_DEFAULT, NODE_ID_MAX, TIMESTAMP_MS_MAX};

    fn node(node_id: i64) -> NodeId {
        NodeId::new(node_id).unwrap()
    }

    #[test]
    fn the_ids_of_truetime_are_in_its_layout() {
        for (timestamp, uncertainty, node_id, sequence_id) in [
            (0, 0, 0, 0),
            (7, 3, 5, 9),
            (TIMESTAMP_MS_MAX, 15, NODE_ID_MAX, 255),
            (1, 15, 0, 0),
            (1, 0, 1023, 0),
        ] {
            let series = TrueTimeSeries::new(uncertainty, node(node_id)).unwrap();
            let id = series.id(timestamp, sequence_id);
            assert_eq!(TRUETIME.fields(id), [timestamp, uncertainty, node_id, sequence_id]);
            assert!(series.has(id));
        }
    }

    #[test]
    fn an_uncertainty_that_does_not_fit_is_refused() {
        for uncertainty in [-1, 1 << UNCERTAINTY_BITS, i64::MAX] {
            let error = TrueTimeSeries::new(uncertainty, node(1)).unwrap_err();
            assert_eq!((error.field, error.max, error.got), ("uncertainty", 15, uncertainty));
        }
    }

    #[test]
    fn the_ids_of_unix_time_are_in_its_layout() {
        for (timestamp, node_id) in [(0, 0), (5, 7), (TIMESTAMP_MS_MAX, NODE_ID_MAX)] {
            let id = UnixSeries(node(node_id)).id(timestamp, 0);
            let in_layout = UnixSeries::in_layout(id, EPOCH_MS_DEFAULT).unwrap();
            assert_eq!(UNIX.fields(in_layout), [timestamp + EPOCH_MS_DEFAULT, node_id]);
        }
        let id = UnixSeries(node(1)).id(5, 0);
        assert!(UnixSeries::in_layout(id, -6).is_err());
        assert!(UnixSeries::in_layout(id, i64::MAX).is_err());
    }
}
