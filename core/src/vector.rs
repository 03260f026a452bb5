//! Vector clocks in an id: a counter for each node, side by side in 53 bits, and the node whose event it is.
//!
//! Each of `n` nodes has `53 / n` bits, rounded down, node 0 the highest; what is left above them is 0. The clock of
//! an event holds how many events of each node it knows of, itself included.
//!
//! The clocks are Fidge's and Mattern's: <https://en.wikipedia.org/wiki/Vector_clock>.

use core::cmp::Ordering;

use crate::designs::{VALUE_BITS, VECTOR};
use crate::error::VectorError;
use crate::layout::{Id, NodeId};

/// The most nodes there can be: each with a counter of one bit.
pub const NODES_MAX: usize = VALUE_BITS as usize;

/// The counters of a clock, one for each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorClock {
    nodes: usize,
    /// Those past `nodes` are 0.
    counters: [i64; NODES_MAX],
}

impl VectorClock {
    /// The clock with these counters, of as many nodes as there are.
    ///
    /// # Errors
    /// No counter or more than [`NODES_MAX`], or a counter that does not fit its bits.
    pub fn new(counters: &[i64]) -> Result<Self, VectorError> {
        let mut clock = Self::zero(counters.len() as i64)?;
        let max = clock.counter_max();
        for (node, &got) in counters.iter().enumerate() {
            if !(0..=max).contains(&got) {
                return Err(VectorError::Counter { node: node as i64, max, got });
            }
            clock.counters[node] = got;
        }
        Ok(clock)
    }

    /// The clock that has seen nothing.
    ///
    /// # Errors
    /// `nodes` not in `1..=NODES_MAX`.
    pub fn zero(nodes: i64) -> Result<Self, VectorError> {
        if !(1..=NODES_MAX as i64).contains(&nodes) {
            return Err(VectorError::Nodes(nodes));
        }
        Ok(Self { nodes: nodes as usize, counters: [0; NODES_MAX] })
    }

    /// The clock of an id, and the node whose event it is.
    ///
    /// # Errors
    /// `nodes` not in `1..=NODES_MAX`, or an id that no clock of that many nodes has made.
    pub fn of(id: Id, nodes: i64) -> Result<(Self, i64), VectorError> {
        let mut clock = Self::zero(nodes)?;
        let [mut left, node] = VECTOR.fields(id);
        for counter in clock.counters[..clock.nodes].iter_mut().rev() {
            *counter = left & clock_max(nodes);
            left >>= bits(nodes);
        }
        if left != 0 || node >= nodes {
            return Err(VectorError::Foreign { id: id.get(), nodes });
        }
        Ok((clock, node))
    }

    /// The id of this clock, for an event of a node.
    ///
    /// # Errors
    /// A node that has no counter.
    pub fn id(&self, node: NodeId) -> Result<Id, VectorError> {
        self.index(node)?;
        let bits = bits(self.nodes as i64);
        let value = self.counters().iter().fold(0, |value, counter| value << bits | counter);
        Ok(VECTOR.compose([value, node.get()]).unwrap_or(Id::MIN))
    }

    /// The counters, node 0 first.
    pub fn counters(&self) -> &[i64] {
        &self.counters[..self.nodes]
    }

    /// The largest value of a counter.
    pub const fn counter_max(&self) -> i64 {
        clock_max(self.nodes as i64)
    }

    /// The clock after one more event of a node.
    ///
    /// # Errors
    /// A node that has no counter, or whose counter is at its end: it never starts over.
    pub fn tick(mut self, node: NodeId) -> Result<Self, VectorError> {
        let index = self.index(node)?;
        if self.counters[index] >= self.counter_max() {
            return Err(VectorError::Exhausted { node: node.get(), max: self.counter_max() });
        }
        self.counters[index] += 1;
        Ok(self)
    }

    /// The clock that knows of all events that either knows of. Both have the same number of nodes.
    pub fn merge(mut self, other: &Self) -> Self {
        debug_assert_eq!(self.nodes, other.nodes);
        for (mine, theirs) in self.counters.iter_mut().zip(other.counters) {
            *mine = (*mine).max(theirs);
        }
        self
    }

    fn index(&self, node: NodeId) -> Result<usize, VectorError> {
        let index = node.get() as usize;
        if index >= self.nodes {
            return Err(VectorError::Node { node: node.get(), nodes: self.nodes as i64 });
        }
        Ok(index)
    }
}

/// Less is before, greater is after, and `None` is concurrent: neither knows of the other.
impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let mut so_far = Ordering::Equal;
        for (mine, theirs) in self.counters.iter().zip(&other.counters) {
            match (so_far, mine.cmp(theirs)) {
                (_, Ordering::Equal) => {}
                (Ordering::Equal, order) => so_far = order,
                (before, order) if before == order => {}
                _ => return None,
            }
        }
        Some(so_far)
    }
}

const fn bits(nodes: i64) -> u32 {
    VALUE_BITS / nodes as u32
}

const fn clock_max(nodes: i64) -> i64 {
    (1 << bits(nodes)) - 1
}

#[cfg(test)]
mod tests;
