//! Ids as UUIDs of version 7.

use pgrx::prelude::*;
use snowflake_core::layout::Id;
use snowflake_core::uuid;

use crate::errors::OrRaise;
use crate::generator;

/// `snowflake_to_uuid(id)`, with the epoch in force.
#[pg_extern(name = "snowflake_to_uuid", stable, parallel_safe, strict)]
fn snowflake_to_uuid(id: i64) -> pgrx::Uuid {
    snowflake_to_uuid_epoch(id, generator::epoch_ms())
}

/// `snowflake_to_uuid(id, epoch_ms)`.
#[pg_extern(name = "snowflake_to_uuid", immutable, parallel_safe, strict)]
fn snowflake_to_uuid_epoch(id: i64, epoch_ms: i64) -> pgrx::Uuid {
    let made = uuid::encode(Id::new(id).or_raise(), epoch_ms).or_raise();
    pgrx::Uuid::from_bytes(made.to_be_bytes())
}

/// `snowflake_from_uuid(uuid)`, with the epoch in force.
#[pg_extern(name = "snowflake_from_uuid", stable, parallel_safe, strict)]
fn snowflake_from_uuid(uuid: pgrx::Uuid) -> i64 {
    snowflake_from_uuid_epoch(uuid, generator::epoch_ms())
}

/// `snowflake_from_uuid(uuid, epoch_ms)`.
#[pg_extern(name = "snowflake_from_uuid", immutable, parallel_safe, strict)]
fn snowflake_from_uuid_epoch(uuid: pgrx::Uuid, epoch_ms: i64) -> i64 {
    uuid::decode(u128::from_be_bytes(*uuid.as_bytes()), epoch_ms).or_raise().get()
}
