//! Ids for a caller who owns the sequence, and ids from given fields.

use pgrx::prelude::*;
use snowflake_core::FieldError;
use snowflake_core::layout::{self, Id};

use crate::errors::{self, OrRaise};
use crate::{clock, generator, settings};

fn generate(sequence_id: i64, node_id: i64, epoch_ms: i64) -> Result<i64, FieldError> {
    layout::generate(sequence_id, node_id, epoch_ms, clock::wall_ms()).map(Id::get)
}

fn warned(id: Result<i64, FieldError>) -> Option<i64> {
    id.map_err(errors::warn).ok()
}

/// `snowflake_generate(sequence_id)`, with the node and the epoch in force.
#[pg_extern(name = "snowflake_generate", volatile, parallel_safe, strict)]
fn snowflake_generate(sequence_id: i64) -> i64 {
    generate(sequence_id, settings::node().get(), generator::epoch_ms()).or_raise()
}

/// `snowflake_generate(sequence_id, node_id)`, with the epoch in force.
#[pg_extern(name = "snowflake_generate", volatile, parallel_safe, strict)]
fn snowflake_generate_node(sequence_id: i64, node_id: i64) -> i64 {
    generate(sequence_id, node_id, generator::epoch_ms()).or_raise()
}

/// `snowflake_generate(sequence_id, node_id, epoch_ms)`.
#[pg_extern(name = "snowflake_generate", volatile, parallel_safe, strict)]
fn snowflake_generate_node_epoch(sequence_id: i64, node_id: i64, epoch_ms: i64) -> i64 {
    generate(sequence_id, node_id, epoch_ms).or_raise()
}

/// `snowflake_try_generate(sequence_id)`, with the node and the epoch in force.
#[pg_extern(name = "snowflake_try_generate", volatile, parallel_safe, strict)]
fn snowflake_try_generate(sequence_id: i64) -> Option<i64> {
    warned(generate(sequence_id, settings::node().get(), generator::epoch_ms()))
}

/// `snowflake_try_generate(sequence_id, node_id)`, with the epoch in force.
#[pg_extern(name = "snowflake_try_generate", volatile, parallel_safe, strict)]
fn snowflake_try_generate_node(sequence_id: i64, node_id: i64) -> Option<i64> {
    warned(generate(sequence_id, node_id, generator::epoch_ms()))
}

/// `snowflake_try_generate(sequence_id, node_id, epoch_ms)`.
#[pg_extern(name = "snowflake_try_generate", volatile, parallel_safe, strict)]
fn snowflake_try_generate_node_epoch(sequence_id: i64, node_id: i64, epoch_ms: i64) -> Option<i64> {
    warned(generate(sequence_id, node_id, epoch_ms))
}

/// `snowflake_compose(timestamp_ms, node_id, sequence_id)`, with the epoch in force.
#[pg_extern(name = "snowflake_compose", stable, parallel_safe, strict)]
fn snowflake_compose(timestamp_ms: i64, node_id: i64, sequence_id: i64) -> i64 {
    snowflake_compose_epoch(timestamp_ms, node_id, sequence_id, generator::epoch_ms())
}

/// `snowflake_compose(timestamp_ms, node_id, sequence_id, epoch_ms)`.
#[pg_extern(name = "snowflake_compose", immutable, parallel_safe, strict)]
fn snowflake_compose_epoch(timestamp_ms: i64, node_id: i64, sequence_id: i64, epoch_ms: i64) -> i64 {
    layout::compose(timestamp_ms, node_id, sequence_id, epoch_ms).or_raise().get()
}
