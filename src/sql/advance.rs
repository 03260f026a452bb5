//! Moving the generator by hand.

use pgrx::prelude::*;
use snowflake_core::Id;

use crate::errors::OrRaise;
use crate::generator;

/// No id at or below `id` from now on: `snowflake_advance(id)`.
#[pg_extern(volatile, parallel_unsafe, strict)]
fn snowflake_advance(id: i64) {
    generator::advance(Id::new(id).or_raise());
}
