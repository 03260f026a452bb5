//! Ids as text.

use pgrx::prelude::*;
use snowflake_core::base32::{self, Base32};
use snowflake_core::layout::Id;

use crate::errors::OrRaise;

/// `snowflake_to_base32(id)`.
#[pg_extern(immutable, parallel_safe, strict)]
fn snowflake_to_base32(id: i64) -> String {
    Base32::encode(Id::new(id).or_raise()).to_string()
}

/// `snowflake_from_base32(base32)`. The text is looked at as bytes: it may be of any encoding.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_from_base32(base32 text) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_from_base32(base32: &[u8]) -> i64 {
    base32::decode(base32).or_raise().get()
}
