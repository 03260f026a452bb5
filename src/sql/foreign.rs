//! Ids that other generators made.

use pgrx::prelude::*;
use snowflake_core::foreign::{Field, LAYOUTS, Layout};
use snowflake_core::layout::Id;

use super::row;
use super::time::timestamptz_of_us;
use crate::errors::{self, OrRaise};
use crate::shown::Shown;

/// `snowflake_decode_as(id, layout)`. The name is looked at as bytes: it may be of any encoding.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_decode_as(
    id bigint, layout text,
    OUT created_at timestamptz, OUT timestamp_ms bigint, OUT node_id bigint, OUT sequence_id bigint
) IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_decode_as(
    id: i64,
    layout: &[u8],
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    let layout = Layout::named(layout).unwrap_or_else(|| errors::unknown_layout(Shown::new(layout)));
    let fields = layout.decode(Id::new(id).or_raise());
    row::of(
        fcinfo,
        [
            timestamptz_of_us(fields.unix_us).into_datum(),
            fields.unix_ms().into_datum(),
            fields.node_id.into_datum(),
            fields.sequence_id.into_datum(),
        ],
    )
}

/// `snowflake_layouts()`: the layouts that `snowflake_decode_as` knows.
#[pg_extern(immutable, parallel_safe, strict)]
#[allow(clippy::type_complexity, reason = "pgrx reads the names of the columns here")]
fn snowflake_layouts() -> TableIterator<
    'static,
    (
        name!(layout, &'static str),
        name!(epoch_ms, i64),
        name!(unit_us, i64),
        name!(timestamp_bits, i32),
        name!(node_bits, i32),
        name!(sequence_bits, i32),
        name!(node_id, Option<&'static str>),
        name!(sequence_id, Option<&'static str>),
    ),
> {
    let bits = |field: Option<Field>| field.map_or(0, |field| field.bits as i32);
    let meaning = |field: Option<Field>| field.map(|field| field.meaning);
    TableIterator::new(LAYOUTS.iter().map(move |layout| {
        (
            layout.name,
            layout.epoch_ms,
            layout.unit_us,
            layout.timestamp_bits() as i32,
            bits(layout.node),
            bits(layout.sequence),
            meaning(layout.node),
            meaning(layout.sequence),
        )
    }))
}
