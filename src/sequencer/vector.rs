//! Vector clocks. The clock of a database is a row of `snowflake_vector_clock`, of which the SQL functions update the
//! array of counters; here is what they compute.

use std::cmp::Ordering;

use pgrx::prelude::*;
use snowflake_core::layout::Id;
use snowflake_core::vector::VectorClock;

use super::errors;
use crate::errors::OrRaise;
use crate::settings;
use crate::sql::row;

fn clock(counters: &[Option<i64>]) -> VectorClock {
    let known =
        |(node, counter): (usize, &Option<i64>)| counter.unwrap_or_else(|| errors::null_counter(node));
    let counters: Vec<i64> = counters.iter().enumerate().map(known).collect();
    VectorClock::new(&counters).or_raise()
}

fn clock_of(id: i64, nodes: i64) -> (VectorClock, i64) {
    VectorClock::of(Id::new(id).or_raise(), nodes).or_raise()
}

/// The counters after one more event of this server.
#[pg_extern(sql = false)]
fn snowflake_vector_tick(counters: Vec<Option<i64>>) -> Vec<i64> {
    clock(&counters).tick(settings::node()).or_raise().counters().to_vec()
}

/// The counters that know of what an id knows, too.
#[pg_extern(sql = false)]
fn snowflake_vector_merge(counters: Vec<Option<i64>>, id: i64) -> Vec<i64> {
    let clock = clock(&counters);
    clock.merge(&clock_of(id, counters.len() as i64).0).counters().to_vec()
}

/// The id of these counters, for an event of this server.
#[pg_extern(sql = false)]
fn snowflake_vector_id(counters: Vec<Option<i64>>) -> i64 {
    clock(&counters).id(settings::node()).or_raise().get()
}

/// `snowflake_vector_compare(a, b, nodes)`: what is known of the order of two events.
#[pg_extern(sql = false)]
fn snowflake_vector_compare_nodes(a: i64, b: i64, nodes: i64) -> &'static str {
    match clock_of(a, nodes).0.partial_cmp(&clock_of(b, nodes).0) {
        Some(Ordering::Less) => "before",
        Some(Ordering::Greater) => "after",
        Some(Ordering::Equal) => "equal",
        None => "concurrent",
    }
}

/// `snowflake_vector_decode(id, nodes)`.
#[pg_extern(sql = false)]
fn snowflake_vector_decode_nodes(
    id: i64,
    nodes: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    let (clock, node) = clock_of(id, nodes);
    row::of(fcinfo, [clock.counters().to_vec().into_datum(), (node as i32).into_datum()])
}

/// The counters of a clock of so many nodes that has seen nothing.
#[pg_extern(sql = false)]
fn snowflake_vector_zero(nodes: i64) -> Vec<i64> {
    VectorClock::zero(nodes).or_raise().counters().to_vec()
}
