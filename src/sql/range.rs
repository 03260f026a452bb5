//! The ids of an instant, for queries by time and for partition bounds.

use pgrx::prelude::*;
use snowflake_core::layout;

use super::time::millisecond_of;
use crate::generator;

/// `snowflake_min_id(instant)`, with the epoch in force.
#[pg_extern(name = "snowflake_min_id", stable, parallel_safe, strict)]
fn snowflake_min_id(instant: TimestampWithTimeZone) -> i64 {
    snowflake_min_id_epoch(instant, generator::epoch_ms())
}

/// `snowflake_min_id(instant, epoch_ms)`.
#[pg_extern(name = "snowflake_min_id", immutable, parallel_safe, strict)]
fn snowflake_min_id_epoch(instant: TimestampWithTimeZone, epoch_ms: i64) -> i64 {
    layout::min_id(millisecond_of(instant), epoch_ms)
}

/// `snowflake_max_id(instant)`, with the epoch in force.
#[pg_extern(name = "snowflake_max_id", stable, parallel_safe, strict)]
fn snowflake_max_id(instant: TimestampWithTimeZone) -> i64 {
    snowflake_max_id_epoch(instant, generator::epoch_ms())
}

/// `snowflake_max_id(instant, epoch_ms)`.
#[pg_extern(name = "snowflake_max_id", immutable, parallel_safe, strict)]
fn snowflake_max_id_epoch(instant: TimestampWithTimeZone, epoch_ms: i64) -> i64 {
    layout::max_id(millisecond_of(instant), epoch_ms)
}
