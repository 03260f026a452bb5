//! Reading the fields of an id.

use pgrx::heap_tuple::PgHeapTuple;
use pgrx::prelude::*;
use snowflake_core::layout::Id;

use super::at_once::{Arguments, at_once};
use super::row;
use super::time::{timestamptz, timestamptz_at_once, unix_ms, unix_ms_at_once};
use crate::errors::OrRaise;
use crate::generator;

fn id(id: i64) -> Id {
    Id::new(id).or_raise()
}

/// The id that is the only argument, or the first.
fn first(arguments: &Arguments) -> Option<Id> {
    // SAFETY: every function here has an id as its first argument.
    Id::new(unsafe { arguments.bigint(0) }).ok()
}

/// The epoch that is the second argument.
fn second(arguments: &Arguments) -> i64 {
    // SAFETY: asked only by functions that have an epoch there.
    unsafe { arguments.bigint(1) }
}

/// `snowflake_decode_timestamp_ms(id)`, with the epoch in force.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_timestamp_ms(id bigint) RETURNS bigint
STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_decode_timestamp_ms_at_once';
"#)]
fn snowflake_decode_timestamp_ms(id: i64) -> i64 {
    snowflake_decode_timestamp_ms_epoch(id, generator::epoch_ms())
}

at_once!(
    snowflake_decode_timestamp_ms_at_once,
    pg_finfo_snowflake_decode_timestamp_ms_at_once,
    |arguments| unix_ms_at_once(first(&arguments)?, generator::epoch_ms_fast()?),
    else snowflake_decode_timestamp_ms_wrapper
);

/// `snowflake_decode_timestamp_ms(id, epoch_ms)`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_timestamp_ms(id bigint, epoch_ms bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_decode_timestamp_ms_epoch_at_once';
"#)]
fn snowflake_decode_timestamp_ms_epoch(id: i64, epoch_ms: i64) -> i64 {
    unix_ms(self::id(id), epoch_ms)
}

at_once!(
    snowflake_decode_timestamp_ms_epoch_at_once,
    pg_finfo_snowflake_decode_timestamp_ms_epoch_at_once,
    |arguments| unix_ms_at_once(first(&arguments)?, second(&arguments)),
    else snowflake_decode_timestamp_ms_epoch_wrapper
);

/// `snowflake_decode_timestamp(id)`, with the epoch in force.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_timestamp(id bigint) RETURNS timestamptz
STABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_decode_timestamp_at_once';
"#)]
fn snowflake_decode_timestamp(id: i64) -> TimestampWithTimeZone {
    snowflake_decode_timestamp_epoch(id, generator::epoch_ms())
}

at_once!(
    snowflake_decode_timestamp_at_once,
    pg_finfo_snowflake_decode_timestamp_at_once,
    |arguments| timestamptz_at_once(first(&arguments)?, generator::epoch_ms_fast()?),
    else snowflake_decode_timestamp_wrapper
);

/// `snowflake_decode_timestamp(id, epoch_ms)`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_timestamp(id bigint, epoch_ms bigint) RETURNS timestamptz
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_decode_timestamp_epoch_at_once';
"#)]
fn snowflake_decode_timestamp_epoch(id: i64, epoch_ms: i64) -> TimestampWithTimeZone {
    timestamptz(self::id(id), epoch_ms)
}

at_once!(
    snowflake_decode_timestamp_epoch_at_once,
    pg_finfo_snowflake_decode_timestamp_epoch_at_once,
    |arguments| timestamptz_at_once(first(&arguments)?, second(&arguments)),
    else snowflake_decode_timestamp_epoch_wrapper
);

/// `snowflake_decode_node_id(id)`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_node_id(id bigint) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_decode_node_id_at_once';
"#)]
fn snowflake_decode_node_id(id: i64) -> i32 {
    self::id(id).node_id() as i32
}

at_once!(
    snowflake_decode_node_id_at_once,
    pg_finfo_snowflake_decode_node_id_at_once,
    |arguments| Some(first(&arguments)?.node_id() as i32),
    else snowflake_decode_node_id_wrapper
);

/// `snowflake_decode_sequence_id(id)`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_sequence_id(id bigint) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_decode_sequence_id_at_once';
"#)]
fn snowflake_decode_sequence_id(id: i64) -> i32 {
    self::id(id).sequence_id() as i32
}

at_once!(
    snowflake_decode_sequence_id_at_once,
    pg_finfo_snowflake_decode_sequence_id_at_once,
    |arguments| Some(first(&arguments)?.sequence_id() as i32),
    else snowflake_decode_sequence_id_wrapper
);

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
