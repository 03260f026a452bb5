//! What is in force.

use pgrx::prelude::*;
use snowflake_core::FieldError;
use snowflake_core::layout::TIMESTAMP_MS_MAX;

use crate::errors::OrRaise;
use crate::{clock, generator, settings};

/// `snowflake_node()`.
#[pg_extern(stable, parallel_safe, strict)]
fn snowflake_node() -> i32 {
    settings::node().get() as i32
}

/// `snowflake_epoch_ms()`.
#[pg_extern(stable, parallel_safe, strict)]
fn snowflake_epoch_ms() -> i64 {
    generator::epoch_ms()
}

/// `snowflake_current_millis()`, from the epoch in force.
#[pg_extern(name = "snowflake_current_millis", volatile, parallel_safe, strict)]
fn snowflake_current_millis() -> i64 {
    snowflake_current_millis_epoch(generator::epoch_ms())
}

/// `snowflake_current_millis(epoch_ms)`.
#[pg_extern(name = "snowflake_current_millis", volatile, parallel_safe, strict)]
fn snowflake_current_millis_epoch(epoch_ms: i64) -> i64 {
    let millis = i128::from(clock::wall_ms()) - i128::from(epoch_ms);
    match i64::try_from(millis) {
        Ok(millis @ 0..=TIMESTAMP_MS_MAX) => Ok(millis),
        _ => Err(FieldError::Timestamp(millis)),
    }
    .or_raise()
}
