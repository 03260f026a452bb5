//! PostgreSQL's sequences as counters: a next number, several at once, and a raise that never lowers.
//!
//! `nextval` alone is safe between sessions. A raise is two steps, to look and to set, so it needs the others to keep
//! away in between: those who raise or take several hold a lock of their own exclusively, those who take one share it,
//! each for the call only, not to the end of the transaction. The lock is a heavyweight one: whoever waits for it can
//! be cancelled, and PostgreSQL releases it on an error.
//!
//! The caller's rights on the sequence count, as for `nextval` (USAGE or UPDATE) and `setval` (UPDATE). Both write WAL
//! in the caller's transaction, and outside of it: a number is not given back by a rollback.

use std::ffi::CStr;

use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call};
use snowflake_core::designs::VALUE_MAX;

use super::errors;

/// Distinguishes our lock from what else PostgreSQL may lock of a relation: "snow", as a number.
const LOCK_SUBID: u16 = 0x736e;
/// The columns of `pg_sequence` that are looked at; PostgreSQL's catalog/pg_sequence.h.
const SEQINCREMENT: i16 = 4;
const SEQCACHE: i16 = 7;
const SEQCYCLE: i16 = 8;

/// A sequence.
#[derive(Clone, Copy)]
pub struct Counter(pg_sys::Oid);

impl Counter {
    /// Any sequence; what is none, `nextval` refuses.
    pub fn of(sequence: pg_sys::Oid) -> Self {
        Self(sequence)
    }

    /// The next number: `nextval`. Below 0 or above 53 bits is refused.
    pub fn next_value(self) -> i64 {
        let value = self.nextval();
        if !(0..=VALUE_MAX).contains(&value) {
            errors::value_out_of_range(&self.name(), value);
        }
        value
    }

    fn nextval(self) -> i64 {
        // SAFETY: PostgreSQL's function of one regclass, which is strict and never returns NULL.
        let value = unsafe { direct_function_call::<i64>(pg_sys::nextval_oid, &[self.0.into_datum()]) };
        value.expect("nextval returns a number")
    }

    fn name(self) -> String {
        // SAFETY: returns NULL, or a copy of the name.
        let name = unsafe { pg_sys::get_rel_name(self.0) };
        if name.is_null() {
            return self.0.to_u32().to_string();
        }
        // SAFETY: a C string of PostgreSQL's.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}
