//! Ids from this server's generator.

use pgrx::prelude::*;

use crate::{errors, generator};

/// The next id: `snowflake_next()`.
#[pg_extern(volatile, parallel_safe, strict)]
fn snowflake_next() -> i64 {
    generator::next().get()
}

/// The next `n` ids, in order: `snowflake_next_batch(n)`.
#[pg_extern(volatile, parallel_safe, strict)]
fn snowflake_next_batch(n: i64) -> SetOfIterator<'static, i64> {
    if n < 0 {
        errors::bad_batch(n);
    }
    SetOfIterator::new(generator::batch(n).map(snowflake_core::Id::get))
}
