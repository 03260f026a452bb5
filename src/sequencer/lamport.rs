//! Lamport's clock: a number that every event raises, and the node that breaks ties.
//!
//! The clock is a PostgreSQL sequence of one database. Lamport, "Time, clocks, and the ordering of events in a
//! distributed system", 1978.

use pgrx::prelude::*;
use snowflake_core::designs::LAMPORT;
use snowflake_core::layout::Id;

use super::counter::Counter;
use crate::errors::OrRaise;
use crate::settings;
use crate::sql::row;

/// The id of an event here: `sequencer_lamport_next(clock)`. It is greater than all ids that this clock has given or
/// observed before the call.
#[pg_extern(sql = false)]
fn sequencer_lamport_next(clock: pg_sys::Oid) -> i64 {
    let node = settings::node();
    let value = Counter::rising(clock).next_value_shared();
    LAMPORT.compose([value, node.get()]).or_raise().get()
}

/// `sequencer_lamport_observe(clock, id)`: an event that came from elsewhere. Every id from now on is greater.
#[pg_extern(sql = false)]
fn sequencer_lamport_observe(clock: pg_sys::Oid, id: i64) {
    let [value, _node] = LAMPORT.fields(Id::new(id).or_raise());
    Counter::rising(clock).raise(value);
}

/// `sequencer_lamport_decode(id)`.
#[pg_extern(sql = false)]
fn sequencer_lamport_decode(
    id: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    let [value, node] = LAMPORT.fields(Id::new(id).or_raise());
    row::of(fcinfo, [value.into_datum(), (node as i32).into_datum()])
}
