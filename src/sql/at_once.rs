//! Functions that PostgreSQL calls a million times in a statement.
//!
//! pgrx puts a guard around each function: it catches what Rust raises and hands it to PostgreSQL. That costs more than
//! reading a field of an id. So these have an entry of their own, which answers at once where nothing can be raised,
//! and leaves the rest to pgrx's, which stands behind it.

use pgrx::pg_sys;

/// The arguments of a call, none of them NULL: the function is strict.
pub struct Arguments(pg_sys::FunctionCallInfo);

impl Arguments {
    /// # Safety
    /// To be called with what PostgreSQL calls a strict function with.
    #[inline]
    pub unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self(fcinfo)
    }

    /// A `bigint` argument, counted from 0.
    ///
    /// # Safety
    /// The function has such an argument there.
    #[inline]
    pub unsafe fn bigint(&self, number: usize) -> i64 {
        // SAFETY: PostgreSQL passes a call that outlives this one.
        let arguments = unsafe { (*self.0).args.as_ptr() };
        // SAFETY: the caller knows the function's arguments.
        let argument = unsafe { arguments.add(number) };
        // SAFETY: as above; a bigint is passed by value.
        unsafe { (*argument).value.value() as i64 }
    }
}

/// Declares an entry in C: its name, the name of the function that tells its calling convention (a `pg_finfo_` before
/// the name), what to answer at once, and the entry of pgrx's for where that is `None`.
///
/// What answers at once must not raise, nor call PostgreSQL.
macro_rules! at_once {
    ($name:ident, $finfo:ident, $answer:expr, else $guarded:ident) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $finfo() -> &'static pg_sys::Pg_finfo_record {
            &pg_sys::Pg_finfo_record { api_version: 1 }
        }

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
            // SAFETY: PostgreSQL calls this, and the function is declared strict.
            let arguments = unsafe { $crate::sql::at_once::Arguments::of(fcinfo) };
            match $answer(arguments) {
                Some(answer) => pg_sys::Datum::from(answer),
                // SAFETY: both entries take the same call.
                None => unsafe { $guarded(fcinfo) },
            }
        }
    };
}

pub(super) use at_once;
