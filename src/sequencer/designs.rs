//! The table of layouts, for SQL.

use pgrx::prelude::*;
use snowflake_core::designs::DESIGNS;

/// `sequencer_designs()`: the fields of each design's ids, the highest first.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the names of the columns here")]
fn sequencer_designs() -> TableIterator<
    'static,
    (
        name!(design, &'static str),
        name!(field, &'static str),
        name!(bits, i32),
        name!(shift, i32),
        name!(max, i64),
    ),
> {
    let row = |(design, field): (_, &snowflake_core::foreign::Field)| {
        (design, field.meaning, field.bits as i32, field.shift as i32, field.max())
    };
    let fields = DESIGNS.iter().flat_map(|&(name, fields)| fields.iter().map(move |field| (name, field)));
    TableIterator::new(fields.map(row))
}
