//! Functions of PostgreSQL's that are called as C calls them, without pgrx's guard, so that their errors come out as
//! PostgreSQL made them.
//!
//! pgrx catches what PostgreSQL raises and raises it anew from copies of the texts in Rust's memory. It takes the texts
//! for UTF-8, so that a name comes out wrong in a database of another encoding, or the error is lost where the result
//! is not of that encoding; and it copies them whole, so that a text of a user's code may take more memory than there
//! is, which ends the process. It also leaves the CONTEXT out.
//!
//! Here an error leaves by PostgreSQL's own jump, to where it is handled. The jump runs no destructor: where one of
//! these is called, nothing may be alive that owns something, from there up to the function that PostgreSQL has called.
//!
//! In between are frames of pgrx's wrapper (0.18.1): a `catch_unwind`, and a `PgMemoryContexts::For`, which owns nothing.
//! `catch_unwind` keeps no state that has to be undone, and the jump only restores registers (as on every Unix that
//! PostgreSQL runs on). The wrapper's change of the memory context is undone by PostgreSQL, which sets its own where it
//! handles the error. Look at this again with each version of pgrx.

use std::ffi::{c_char, c_int, c_long};

use pgrx::pg_sys;

unsafe extern "C-unwind" {
    #[link_name = "nextval_oid"]
    fn pg_nextval_oid(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum;
    #[link_name = "setval_oid"]
    fn pg_setval_oid(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum;
    #[link_name = "SPI_execute"]
    fn pg_spi_execute(query: *const c_char, read_only: bool, at_most: c_long) -> c_int;
    /// Raises what PostgreSQL says of a right that is missing.
    pub fn aclcheck_error(
        result: pg_sys::AclResult::Type,
        kind: pg_sys::ObjectType::Type,
        name: *const c_char,
    );
}

/// PostgreSQL's `nextval(regclass)`.
///
/// # Safety
/// As for every function of SQL; and see above.
pub unsafe fn nextval_oid(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the caller's.
    unsafe { pg_nextval_oid(fcinfo) }
}

/// PostgreSQL's `setval(regclass, bigint)`.
///
/// # Safety
/// As for every function of SQL; and see above.
pub unsafe fn setval_oid(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the caller's.
    unsafe { pg_setval_oid(fcinfo) }
}

/// PostgreSQL's `SPI_execute`, of a query that may write: the code of its result.
///
/// # Safety
/// Within SPI; and see above.
pub unsafe fn spi_execute(query: *const c_char, at_most: c_long) -> c_int {
    // SAFETY: the caller's.
    unsafe { pg_spi_execute(query, false, at_most) }
}
