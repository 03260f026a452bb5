//! A sequence's numbers, one in each stride of the node numbers: no clock, and each server its own residue.

use pgrx::prelude::*;
use snowflake_core::designs::STRIDED;

use super::counter::Counter;
use crate::errors::OrRaise;
use crate::settings;

/// `sequencer_strided_next(sequence)`: `nextval(sequence) * 1024 + node`.
#[pg_extern(sql = false)]
fn sequencer_strided_next(sequence: pg_sys::Oid) -> i64 {
    let node = settings::node();
    let value = Counter::of(sequence).next_value();
    STRIDED.compose([value, node.get()]).or_raise().get()
}
