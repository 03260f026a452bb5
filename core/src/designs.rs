//! The layouts of the sequencer's designs: one table, and one way to put an id together and to take it apart.
//!
//! To add a design, add a `static` and its row of [`DESIGNS`]; widths that are not 63 bits in all do not compile.

mod series;

pub use series::{TrueTimeSeries, UnixSeries};

use crate::error::DesignFieldError;
use crate::foreign::{Field, ID_BITS};
use crate::layout::{Id, NODE_ID_BITS, SEQUENCE_ID_BITS, TIMESTAMP_BITS};

/// Width of a counter that stands above a node number: 53 bits.
pub const VALUE_BITS: u32 = ID_BITS - NODE_ID_BITS;
/// The largest such counter.
pub const VALUE_MAX: i64 = (1 << VALUE_BITS) - 1;
/// Width of the uncertainty of TrueTime's clock, taken from the sequence.
pub const UNCERTAINTY_BITS: u32 = 4;

/// A layout of `N` fields, which cover the 63 bits of an id, the highest first: ids compare in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design<const N: usize> {
    /// The name by which SQL lists it.
    pub name: &'static str,
    /// Its fields, from the highest bits down.
    pub fields: [Field; N],
}

impl<const N: usize> Design<N> {
    const fn new(name: &'static str, widths: [(&'static str, u32); N]) -> Self {
        let mut fields = [Field::new(0, ID_BITS, ""); N];
        let (mut shift, mut n) = (ID_BITS, 0);
        while n < N {
            let (meaning, bits) = widths[n];
            assert!(bits <= shift, "the fields fit 63 bits");
            shift -= bits;
            fields[n] = Field::new(shift, bits, meaning);
            n += 1;
        }
        assert!(shift == 0, "the fields cover 63 bits");
        Self { name, fields }
    }

    /// The id of these values, one for each field in its order.
    ///
    /// # Errors
    /// The first field whose value is not in its range. No value is ever written over its neighbour.
    pub fn compose(&self, values: [i64; N]) -> Result<Id, DesignFieldError> {
        let mut bits = 0;
        for (field, got) in self.fields.iter().zip(values) {
            if !(0..=field.max()).contains(&got) {
                return Err(DesignFieldError { field: field.meaning, max: field.max(), got });
            }
            bits |= got << field.shift;
        }
        // The sign bit belongs to no field.
        Ok(Id::new(bits).unwrap_or(Id::MIN))
    }

    /// The values of an id, one for each field in its order: the inverse of [`compose`](Self::compose).
    pub fn fields(&self, id: Id) -> [i64; N] {
        self.fields.map(|field| field.of(id))
    }
}

/// This extension's own.
pub static SNOWFLAKE: Design<3> =
    Design::new("snowflake", [("timestamp", TIMESTAMP_BITS), NODE, ("sequence", SEQUENCE_ID_BITS)]);
/// A clock that knows how wrong it may be: the earliest time it can be, and how much later it may be.
pub static TRUETIME: Design<4> = Design::new(
    "truetime",
    [
        ("earliest", TIMESTAMP_BITS),
        ("uncertainty", UNCERTAINTY_BITS),
        NODE,
        ("sequence", SEQUENCE_ID_BITS - UNCERTAINTY_BITS),
    ],
);
/// A sequence's numbers, one in each stride of the node numbers.
pub static STRIDED: Design<2> = Design::new("strided", [("value", VALUE_BITS), NODE]);
/// A Lamport clock and the node that breaks ties.
pub static LAMPORT: Design<2> = Design::new("lamport", [("value", VALUE_BITS), NODE]);
/// The Unix time in milliseconds.
pub static UNIX: Design<2> = Design::new("unix", [("value", VALUE_BITS), NODE]);
/// The counters of a vector clock, which [`vector`](crate::vector) divides, and the node whose event it is.
pub static VECTOR: Design<2> = Design::new("vector", [("counters", VALUE_BITS), NODE]);

const NODE: (&str, u32) = ("node", NODE_ID_BITS);

/// All designs: the name and the fields of each.
pub static DESIGNS: [(&str, &[Field]); 6] = [
    (SNOWFLAKE.name, &SNOWFLAKE.fields),
    (TRUETIME.name, &TRUETIME.fields),
    (STRIDED.name, &STRIDED.fields),
    (LAMPORT.name, &LAMPORT.fields),
    (UNIX.name, &UNIX.fields),
    (VECTOR.name, &VECTOR.fields),
];

/// The 63 bits of an id in the reverse order: what changes fastest comes first. Its own inverse.
pub const fn reversed(id: Id) -> Id {
    // The sign bit, which is 0, has become the lowest and goes.
    match Id::new((id.get().reverse_bits() as u64 >> (i64::BITS - ID_BITS)) as i64) {
        Ok(id) => id,
        Err(_) => Id::MIN,
    }
}

#[cfg(test)]
mod tests;
