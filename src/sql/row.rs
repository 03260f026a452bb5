//! A function's one row, in the columns that its OUT parameters declare.

use pgrx::heap_tuple::PgHeapTuple;
use pgrx::prelude::*;
use pgrx::{AllocatedByRust, PgTupleDesc};

/// The row of these values, one for each OUT parameter of the function that is being called.
pub fn of<const COLUMNS: usize>(
    fcinfo: pg_sys::FunctionCallInfo,
    values: [Option<pg_sys::Datum>; COLUMNS],
) -> PgHeapTuple<'static, AllocatedByRust> {
    let mut columns: pg_sys::TupleDesc = std::ptr::null_mut();
    // SAFETY: `fcinfo` is that of the running call; the type's id is not asked for.
    unsafe { pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut columns) };
    // SAFETY: a function with OUT parameters has a row type, so the descriptor is set; blessing it makes the row
    // one that can be passed on.
    let columns = unsafe { pg_sys::BlessTupleDesc(columns) };
    // SAFETY: a blessed descriptor.
    let columns = unsafe { PgTupleDesc::from_pg_copy(columns) };
    // SAFETY: the values are made by the caller in the types of the function's OUT parameters.
    unsafe { PgHeapTuple::from_datums(columns, values) }.expect("a row has one value for each OUT parameter")
}
