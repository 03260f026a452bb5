//! The state of this server's generator, for the operator.

use std::sync::atomic::Ordering;

use pgrx::prelude::*;
use snowflake_core::layout::{Id, TIMESTAMP_MS_MAX};

use super::row;
use super::time::timestamptz;
use crate::shared::{self, Segment};
use crate::{clock, generator, host, settings};

const NS_PER_MS: f64 = 1_000_000.0;
/// What the word is set to when a new server starts; no server issues it.
const STARTED: Id = Id::FIRST_START;

/// `snowflake_status()`. It starts nothing: before the first id, what there is none of is NULL. A node number or an
/// epoch that was refused is NULL as well, so that an operator who looks for the fault sees the rest.
///
/// It runs with the rights of the extension's owner, to count the replication origins that have progress.
#[pg_extern(sql = r#"
CREATE FUNCTION snowflake_status(
    OUT node_id integer,
    OUT epoch_ms bigint,
    OUT last_id bigint,
    OUT last_id_at timestamptz,
    OUT ahead_ms bigint,
    OUT ceiling_id bigint,
    OUT ceiling_at timestamptz,
    OUT waits bigint,
    OUT wait_ms double precision,
    OUT clock_regressions bigint,
    OUT largest_regression_ms double precision,
    OUT leaps_refused bigint,
    OUT free_origin_slots integer,
    OUT ends_at timestamptz
) VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn snowflake_status(fcinfo: pg_sys::FunctionCallInfo) -> pgrx::composite_type!('static, "record") {
    let node_id = settings::trusted_node().map(|node| node.get() as i32);
    let epoch_ms = generator::epoch_of_this_run().or_else(settings::trusted_epoch_ms);
    let time_of = |id| epoch_ms.map(|epoch_ms| timestamptz(id, epoch_ms));
    let shared = shared::find();
    let last = shared.and_then(|shared| shared.core.snowflake.last()).filter(|&id| id > STARTED);
    let ceiling = shared.map(|shared| shared.core.limits.ceiling()).filter(|&id| id > Id::MIN);
    let now = epoch_ms.map(|epoch_ms| clock::wall_ms() - epoch_ms);
    let ahead_ms = last.zip(now).map(|(id, now)| (id.timestamp() - now).max(0));
    let count = |counter: fn(&Segment) -> u64| shared.map(|shared| counter(shared) as i64);
    let time = |counter: fn(&Segment) -> u64| shared.map(|shared| counter(shared) as f64 / NS_PER_MS);
    row::of(
        fcinfo,
        [
            node_id.into_datum(),
            epoch_ms.into_datum(),
            last.map(Id::get).into_datum(),
            last.and_then(time_of).into_datum(),
            ahead_ms.into_datum(),
            ceiling.map(Id::get).into_datum(),
            ceiling.and_then(time_of).into_datum(),
            count(|shared| shared.stats.waits.load(Ordering::Relaxed)).into_datum(),
            time(|shared| shared.stats.wait_ns.load(Ordering::Relaxed)).into_datum(),
            count(|shared| shared.stats.regressions.load(Ordering::Relaxed)).into_datum(),
            time(|shared| shared.stats.largest_regression_ns.load(Ordering::Relaxed) as u64).into_datum(),
            count(|shared| shared.stats.leaps.load(Ordering::Relaxed)).into_datum(),
            free_origin_slots().into_datum(),
            time_of(Id::last_of(TIMESTAMP_MS_MAX)).into_datum(),
        ],
    )
}

/// How many replication origins more could have progress on this server.
fn free_origin_slots() -> i32 {
    // Read-only, and so without a transaction id, which a standby could not assign.
    let used = Spi::connect(|client| {
        client
            .select("SELECT count(*) FROM pg_catalog.pg_show_replication_origin_status()", Some(1), &[])?
            .first()
            .get_one::<i64>()
    });
    let used = used.ok().flatten().unwrap_or(0);
    host::origin_slots().1 - used as i32
}
