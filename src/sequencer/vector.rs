//! Vector clocks: what is computed of the counters. The clock itself is an array of them in a table of the user's.

use std::cmp::Ordering;

use pgrx::Array;
use pgrx::prelude::*;
use snowflake_core::VectorError;
use snowflake_core::layout::Id;
use snowflake_core::vector::{NODES_MAX, VectorClock};

use super::errors;
use crate::errors::OrRaise;
use crate::settings;
use crate::sql::row;

/// The array may be of any size: no more of it is copied than a clock can have.
fn clock(counters: Array<i64>) -> VectorClock {
    let mut known = [0; NODES_MAX];
    let nodes = counters.len();
    let Some(known) = known.get_mut(..nodes) else {
        return Err(VectorError::Nodes(nodes as i64)).or_raise();
    };
    for (node, (known, counter)) in known.iter_mut().zip(counters.iter()).enumerate() {
        *known = counter.unwrap_or_else(|| errors::null_counter(node));
    }
    // SAFETY: an array of PostgreSQL's.
    let dimensions = unsafe { (*counters.into_array_type()).ndim };
    if dimensions > 1 {
        errors::several_dimensions(dimensions);
    }
    VectorClock::new(known).or_raise()
}

fn clock_of(id: i64, nodes: i64) -> (VectorClock, i64) {
    VectorClock::of(Id::new(id).or_raise(), nodes).or_raise()
}

/// The counters after one more event of this server.
#[pg_extern(sql = false)]
fn sequencer_vector_tick(counters: Array<i64>) -> Vec<i64> {
    clock(counters).tick(settings::node()).or_raise().counters().to_vec()
}

/// The counters that know of what an id knows, too.
#[pg_extern(sql = false)]
fn sequencer_vector_merge(counters: Array<i64>, id: i64) -> Vec<i64> {
    let clock = clock(counters);
    clock.merge(&clock_of(id, clock.counters().len() as i64).0).counters().to_vec()
}

/// The id of these counters, for an event of this server.
#[pg_extern(sql = false)]
fn sequencer_vector_id(counters: Array<i64>) -> i64 {
    clock(counters).id(settings::node()).or_raise().get()
}

/// `sequencer_vector_compare(a, b, nodes)`: what is known of the order of two events.
#[pg_extern(sql = false)]
fn sequencer_vector_compare(a: i64, b: i64, nodes: i64) -> &'static str {
    match clock_of(a, nodes).0.partial_cmp(&clock_of(b, nodes).0) {
        Some(Ordering::Less) => "before",
        Some(Ordering::Greater) => "after",
        Some(Ordering::Equal) => "equal",
        None => "concurrent",
    }
}

/// `sequencer_vector_decode(id, nodes)`.
#[pg_extern(sql = false)]
fn sequencer_vector_decode(
    id: i64,
    nodes: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    let (clock, node) = clock_of(id, nodes);
    row::of(fcinfo, [clock.counters().to_vec().into_datum(), (node as i32).into_datum()])
}

/// The counters of a clock of so many nodes that has seen nothing.
#[pg_extern(sql = false)]
fn sequencer_vector_zero(nodes: i64) -> Vec<i64> {
    VectorClock::zero(nodes).or_raise().counters().to_vec()
}
