//! Causality: ids that are greater than one from another server.

use pgrx::prelude::*;
use snowflake_core::Id;

use crate::errors::OrRaise;
use crate::generator;

/// Every id from now on is greater than `id`: `snowflake_observe(id)`.
#[pg_extern(volatile, parallel_safe, strict)]
fn snowflake_observe(id: i64) {
    generator::observe(Id::new(id).or_raise());
}

/// The next id, greater than `after`: `snowflake_next(after)`. NULL is no constraint: who has no cause follows none.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_next("after" bigint) RETURNS bigint
VOLATILE PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_next_after(after: Option<i64>) -> i64 {
    match after {
        Some(after) => generator::next_after(Id::new(after).or_raise()),
        None => generator::next(),
    }
    .get()
}
