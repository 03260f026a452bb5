//! The Unix time in milliseconds and the node number: with the wait that keeps two ids of a millisecond apart, and
//! without.

use pgrx::prelude::*;
use snowflake_core::designs::{UNIX, UnixSeries};
use snowflake_core::driver::{self, Reading};

use crate::errors::OrRaise;
use crate::{clock, generator, settings};

/// `sequencer_unix_id(unix_ms, node_id)`.
#[pg_extern(sql = false)]
fn sequencer_unix_id(unix_ms: i64, node_id: i64) -> i64 {
    UNIX.compose([unix_ms, node_id]).or_raise().get()
}

/// `sequencer_unix_now()`: of this moment and this server. Two calls in one millisecond have the same id.
#[pg_extern(sql = false)]
fn sequencer_unix_now() -> i64 {
    sequencer_unix_id(clock::wall_ms(), settings::node().get())
}

/// `sequencer_unix_next()`: the first of a millisecond gets it, the others wait for one of their own.
#[pg_extern(sql = false)]
fn sequencer_unix_next() -> i64 {
    let read = |node| Reading { unix_ns: clock::wall_ns(), series: UnixSeries(node) };
    let (id, epoch_ms) = generator::next_of(driver::unix, read);
    UnixSeries::in_layout(id, epoch_ms).or_raise().get()
}
