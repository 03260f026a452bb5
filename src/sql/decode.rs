//! Reading the fields of an id.

use pgrx::heap_tuple::PgHeapTuple;
use pgrx::prelude::*;
use snowflake_core::layout::Id;

use super::row;
use super::time::{timestamptz, unix_ms};
use crate::errors::OrRaise;
use crate::generator;

fn id(id: i64) -> Id {
    Id::new(id).or_raise()
}

/// `snowflake_decode_timestamp_ms(id)`, with the epoch in force.
#[pg_extern(name = "snowflake_decode_timestamp_ms", stable, parallel_safe, strict)]
fn snowflake_decode_timestamp_ms(id: i64) -> i64 {
    snowflake_decode_timestamp_ms_epoch(id, generator::epoch_ms())
}

/// `snowflake_decode_timestamp_ms(id, epoch_ms)`.
#[pg_extern(name = "snowflake_decode_timestamp_ms", immutable, parallel_safe, strict)]
fn snowflake_decode_timestamp_ms_epoch(id: i64, epoch_ms: i64) -> i64 {
    unix_ms(self::id(id), epoch_ms)
}

/// `snowflake_decode_timestamp(id)`, with the epoch in force.
#[pg_extern(name = "snowflake_decode_timestamp", stable, parallel_safe, strict)]
fn snowflake_decode_timestamp(id: i64) -> TimestampWithTimeZone {
    snowflake_decode_timestamp_epoch(id, generator::epoch_ms())
}

/// `snowflake_decode_timestamp(id, epoch_ms)`.
#[pg_extern(name = "snowflake_decode_timestamp", immutable, parallel_safe, strict)]
fn snowflake_decode_timestamp_epoch(id: i64, epoch_ms: i64) -> TimestampWithTimeZone {
    timestamptz(self::id(id), epoch_ms)
}

/// `snowflake_decode_node_id(id)`.
#[pg_extern(immutable, parallel_safe, strict)]
fn snowflake_decode_node_id(id: i64) -> i32 {
    self::id(id).node_id() as i32
}

/// `snowflake_decode_sequence_id(id)`.
#[pg_extern(immutable, parallel_safe, strict)]
fn snowflake_decode_sequence_id(id: i64) -> i32 {
    self::id(id).sequence_id() as i32
}

/// `snowflake_decode(id)`, with the epoch in force.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode(
    id bigint,
    OUT created_at timestamptz, OUT timestamp_ms bigint, OUT node_id integer, OUT sequence_id integer
) STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_decode(id: i64, fcinfo: pg_sys::FunctionCallInfo) -> pgrx::composite_type!('static, "record") {
    fields(id, generator::epoch_ms(), fcinfo)
}

/// `snowflake_decode(id, epoch_ms)`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode(
    id bigint, epoch_ms bigint,
    OUT created_at timestamptz, OUT timestamp_ms bigint, OUT node_id integer, OUT sequence_id integer
) IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_decode_epoch(
    id: i64,
    epoch_ms: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    fields(id, epoch_ms, fcinfo)
}

fn fields(
    id: i64,
    epoch_ms: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> PgHeapTuple<'static, pgrx::AllocatedByRust> {
    let id = self::id(id);
    row::of(
        fcinfo,
        [
            timestamptz(id, epoch_ms).into_datum(),
            unix_ms(id, epoch_ms).into_datum(),
            (id.node_id() as i32).into_datum(),
            (id.sequence_id() as i32).into_datum(),
        ],
    )
}
