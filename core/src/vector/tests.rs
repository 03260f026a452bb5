//! Shapes, ends, and the order of clocks.

use std::string::ToString;

use super::*;
use crate::designs::VALUE_MAX;

fn node(node: i64) -> NodeId {
    NodeId::new(node).unwrap()
}

fn clock(counters: &[i64]) -> VectorClock {
    VectorClock::new(counters).unwrap()
}

#[test]
fn the_bits_are_divided_evenly() {
    for (nodes, max) in [(1, VALUE_MAX), (2, (1 << 26) - 1), (3, (1 << 17) - 1), (5, 1023), (26, 3), (53, 1)]
    {
        assert_eq!(VectorClock::zero(nodes).unwrap().counter_max(), max, "{nodes} nodes");
    }
    for nodes in [i64::MIN, -1, 0, 54, i64::MAX] {
        assert_eq!(VectorClock::zero(nodes), Err(VectorError::Nodes(nodes)));
    }
}

#[test]
fn node_0_stands_highest() {
    assert_eq!(clock(&[1, 2, 3]).id(node(2)).unwrap().get(), (1 << 34 | 2 << 17 | 3) << 10 | 2);
    assert_eq!(clock(&[VALUE_MAX]).id(node(0)).unwrap().get(), VALUE_MAX << 10);
}

#[test]
fn an_event_counts_for_its_node_alone() {
    assert_eq!(clock(&[1, 2, 3]).tick(node(1)).unwrap().counters(), [1, 3, 3]);
}

#[test]
fn a_counter_at_its_end_never_starts_over() {
    let full = clock(&[7, 1023, 0, 0, 0]);
    assert_eq!(full.tick(node(1)), Err(VectorError::Exhausted { node: 1, max: 1023 }));
    assert_eq!(full.tick(node(0)).unwrap().counters(), [8, 1023, 0, 0, 0]);
    assert_eq!(clock(&[1; 53]).tick(node(52)), Err(VectorError::Exhausted { node: 52, max: 1 }));
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(VectorClock::new(&[]), Err(VectorError::Nodes(0)));
    assert_eq!(VectorClock::new(&[0; 54]), Err(VectorError::Nodes(54)));
    let (node_1, max) = (1, (1 << 26) - 1);
    for got in [-1, max + 1] {
        assert_eq!(VectorClock::new(&[0, got]), Err(VectorError::Counter { node: node_1, max, got }));
    }
    let two = clock(&[0, 0]);
    assert_eq!(two.tick(node(2)), Err(VectorError::Node { node: 2, nodes: 2 }));
    assert_eq!(two.id(node(2)), Err(VectorError::Node { node: 2, nodes: 2 }));
    let error = two.tick(node(2)).unwrap_err();
    assert_eq!(error.to_string(), "node number 2 has no counter in a vector clock of 2 nodes");
}

#[test]
fn an_id_of_another_number_of_nodes_is_no_clock() {
    let foreign = |id: i64, nodes| Err(VectorError::Foreign { id, nodes });
    // The 53rd bit is nobody's where there are two nodes of 26.
    let highest = 1 << 62;
    assert_eq!(VectorClock::of(Id::new(highest).unwrap(), 2), foreign(highest, 2));
    assert_eq!(VectorClock::of(Id::new(2).unwrap(), 2), foreign(2, 2));
    assert!(VectorClock::of(Id::new(1).unwrap(), 2).is_ok());
}

#[test]
fn clocks_compare_as_what_they_know() {
    let compare = |a: &[i64], b: &[i64]| clock(a).partial_cmp(&clock(b));
    assert_eq!(compare(&[1, 2], &[1, 2]), Some(Ordering::Equal));
    assert_eq!(compare(&[1, 2], &[1, 3]), Some(Ordering::Less));
    assert_eq!(compare(&[2, 2], &[1, 2]), Some(Ordering::Greater));
    assert_eq!(compare(&[2, 1], &[1, 2]), None);
    assert_eq!(compare(&[0, 5, 5], &[1, 5, 4]), None);
    assert_eq!(compare(&[0, 0], &[5, 5]), Some(Ordering::Less));
}
