//! Ids that tell nothing, for the outside.

use pgrx::prelude::*;
use snowflake_core::layout::Id;

use crate::errors::{self, OrRaise};
use crate::permutation::{KEY_LENGTH, Permutation};

/// `snowflake_encrypt(id, key)`.
#[pg_extern(immutable, parallel_safe, strict)]
fn snowflake_encrypt(id: i64, key: &[u8]) -> i64 {
    let id = Id::new(id).or_raise();
    permutation(key).encrypt(id).get()
}

/// `snowflake_decrypt(id, key)`.
#[pg_extern(immutable, parallel_safe, strict)]
fn snowflake_decrypt(id: i64, key: &[u8]) -> i64 {
    let id = Id::new(id).or_raise();
    permutation(key).decrypt(id).get()
}

fn permutation(key: &[u8]) -> Permutation {
    match key.try_into() {
        Ok(key) => Permutation::new(key),
        Err(_) => errors::bad_key_length(key.len(), KEY_LENGTH),
    }
}
