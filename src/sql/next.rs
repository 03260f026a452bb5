//! Ids from this server's generator.

use pgrx::prelude::*;

use super::at_once::at_once;
use crate::{errors, generator};

/// The next id: `snowflake_next()`.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_next() RETURNS bigint
VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_next_at_once';
"#)]
fn snowflake_next() -> i64 {
    generator::next().get()
}

at_once!(
    snowflake_next_at_once,
    pg_finfo_snowflake_next_at_once,
    |_| generator::next_fast().map(snowflake_core::Id::get),
    else snowflake_next_wrapper
);

/// The next `n` ids, in order: `snowflake_next_batch(n)`.
#[pg_extern(volatile, parallel_safe, strict)]
fn snowflake_next_batch(n: i64) -> SetOfIterator<'static, i64> {
    if n < 0 {
        errors::bad_batch(n);
    }
    SetOfIterator::new(generator::batch(n).map(snowflake_core::Id::get))
}
