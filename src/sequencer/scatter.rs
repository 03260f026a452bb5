//! Ids that rise, spread over the whole range of keys, and back.

use pgrx::prelude::*;
use snowflake_core::designs;
use snowflake_core::layout::Id;

use crate::errors::OrRaise;

/// `sequencer_scatter(id)`.
#[pg_extern(sql = false)]
fn sequencer_scatter(id: i64) -> i64 {
    designs::reversed(Id::new(id).or_raise()).get()
}

/// `sequencer_unscatter(scattered)`: the same reversal.
#[pg_extern(sql = false)]
fn sequencer_unscatter(scattered: i64) -> i64 {
    designs::reversed(Id::new(scattered).or_raise()).get()
}
