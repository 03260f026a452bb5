//! The Unix time in milliseconds and the node number, without anything that keeps two ids of a millisecond apart.

use pgrx::prelude::*;
use snowflake_core::designs::UNIX;

use crate::clock::WallClock;
use crate::errors::OrRaise;
use crate::settings;

/// `snowflake_unix_id(unix_ms, node_id)`.
#[pg_extern(sql = false)]
fn snowflake_unix_id(unix_ms: i64, node_id: i64) -> i64 {
    UNIX.compose([unix_ms, node_id]).or_raise().get()
}

/// `snowflake_unix_now()`: of this moment and this server. Two calls in one millisecond have the same id.
#[pg_extern(sql = false)]
fn snowflake_unix_now() -> i64 {
    snowflake_unix_id(WallClock::now().unix_ms(), settings::node().get())
}
