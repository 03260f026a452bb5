//! The state of this server's generator, for the operator.

use std::sync::atomic::Ordering;

use pgrx::direct_function_call;
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
/// What the caller may not know is NULL to them: the free slots, without the right to ask which are taken.
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
) VOLATILE STRICT PARALLEL UNSAFE LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
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

/// How many more replication origins could have progress on this server. `None` if the caller may not execute
/// `pg_show_replication_origin_status()`.
fn free_origin_slots() -> Option<i32> {
    let function = pg_sys::Oid::from(pg_sys::F_PG_SHOW_REPLICATION_ORIGIN_STATUS);
    let arguments = [function.into_datum(), "EXECUTE".into_datum()];
    // SAFETY: PostgreSQL's function of an oid and a text.
    let may_ask = unsafe { direct_function_call(pg_sys::has_function_privilege_id, &arguments) };
    (may_ask == Some(true)).then(|| host::origin_slots().1 - rows_of(function) as i32)
}

/// How many rows a function returns that has no argument.
fn rows_of(function: pg_sys::Oid) -> i64 {
    let (nothing, none) = (std::ptr::null_mut(), pg_sys::InvalidOid);
    let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
    // SAFETY: a function that returns rows, without arguments, so without collations.
    let call = unsafe { pg_sys::makeFuncExpr(function, pg_sys::RECORDOID, nothing, none, none, form) };
    // SAFETY: made above.
    unsafe { (*call).funcretset = true };
    let mut columns = std::ptr::null_mut();
    // SAFETY: a complete expression; the type's id is not asked for.
    unsafe { pg_sys::get_expr_result_type(call.cast(), std::ptr::null_mut(), &mut columns) };
    // SAFETY: in a memory context that outlives the call.
    let context = unsafe { pg_sys::CreateStandaloneExprContext() };
    // SAFETY: as above. It checks the caller's right.
    let state = unsafe { pg_sys::ExecInitTableFunctionResult(call.cast(), context, std::ptr::null_mut()) };
    // SAFETY: made above.
    let for_arguments = unsafe { (*context).ecxt_per_tuple_memory };
    // SAFETY: as above; what is for arguments may be reset, since there are none.
    let rows = unsafe { pg_sys::ExecMakeTableFunctionResult(state, context, for_arguments, columns, false) };
    // SAFETY: what the call has returned.
    let count = unsafe { pg_sys::tuplestore_tuple_count(rows) };
    // SAFETY: as above; not used after this.
    unsafe { pg_sys::tuplestore_end(rows) };
    // SAFETY: made above; not used after this.
    unsafe { pg_sys::FreeExprContext(context, true) };
    count
}
