//! What ranges of numbers are claimed from: a sequence, whose INCREMENT is the size of a range, or a view or foreign
//! table that claims by being read.
//!
//! All is done with the caller's rights: `nextval`, or a SELECT.

use std::ffi::{CStr, c_char};
use std::ops::RangeInclusive;

use pgrx::prelude::*;

use super::catalog::kind_of;
use super::counter::Counter;
use super::{errors, rights};
use crate::shown::Shown;
use crate::unguarded;

/// The columns that a relation has.
const COLUMNS: [&CStr; 2] = [c"first", c"last"];

/// A source that the caller may claim from.
pub enum Source {
    Sequence { counter: Counter, file: pg_sys::Oid },
    Relation(pg_sys::Oid),
}

impl Source {
    /// A sequence stays as it is to the end of the transaction.
    ///
    /// # Errors
    /// 42501 without the right, 42P01 where there is no such relation, 42809 for one that is no source, 55000 for an
    /// unlogged or a temporary sequence.
    pub fn open(relation: pg_sys::Oid) -> Self {
        match kind_of(relation) {
            pg_sys::RELKIND_SEQUENCE => {
                let counter = Counter::of(relation);
                Self::Sequence { counter, file: counter.file() }
            }
            pg_sys::RELKIND_VIEW | pg_sys::RELKIND_FOREIGN_TABLE => {
                rights::check(relation, pg_sys::ACL_SELECT);
                rights::check_schema(relation);
                Self::Relation(relation)
            }
            _ => errors::no_source(Shown::relation(relation)),
        }
    }

    /// Whether claims are made by reading a relation.
    pub const fn is_read(&self) -> bool {
        matches!(self, Self::Relation(_))
    }

    /// Another one after RESTART and every other ALTER SEQUENCE that changes what comes next, and after TRUNCATE ...
    /// RESTART IDENTITY. As with what nextval has cached, what was claimed before is not used after that.
    pub const fn file(&self) -> pg_sys::Oid {
        match *self {
            Self::Sequence { file, .. } => file,
            Self::Relation(_) => pg_sys::InvalidOid,
        }
    }

    /// Claims a range in the running transaction.
    ///
    /// # Errors
    /// Those of nextval or of the query, 55000 for a sequence that may give a number twice, 42804 and 22000 for a
    /// relation that gives no range.
    pub fn claim(&self) -> RangeInclusive<i64> {
        match *self {
            Self::Sequence { counter, .. } => next_of(counter),
            Self::Relation(relation) => read(relation),
        }
    }
}

/// What nextval returns is the last number of the range. Whatever the increment was before, nobody has the numbers
/// between the sequence's last value and this one. That does not hold for the first claim after RESTART, or after
/// setval() with is_called = false: the range ends at the value given, and may reach below what was claimed before.
fn next_of(counter: Counter) -> RangeInclusive<i64> {
    // The lock that the counter has keeps ALTER out to the end of the transaction, so these hold for nextval.
    let options = counter.options();
    if options.increment < 1 {
        errors::descends(counter.name(), options.increment);
    }
    if options.cycle {
        errors::cycles(counter.name());
    }
    let last = counter.nextval();
    let first = last.saturating_sub(options.increment - 1).max(options.min);
    first..=last
}

fn read(relation: pg_sys::Oid) -> RangeInclusive<i64> {
    // SAFETY: as the query does; of a relation that does not exist there is nothing to lock.
    unsafe { pg_sys::LockRelationOid(relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE) };
    // It may have been dropped meanwhile.
    kind_of(relation);
    if !COLUMNS.iter().all(|column| is_bigint(relation, column)) {
        errors::no_columns(Shown::relation(relation));
    }
    let refuse = |gave: &str| errors::no_range(Shown::relation(relation), gave);
    match first_rows(query(relation)) {
        None => errors::no_columns(Shown::relation(relation)),
        Some([None, _]) => refuse("no row"),
        Some([Some(_), Some(_)]) => refuse("more than one row"),
        Some([Some([Some(first), Some(last)]), None]) if first <= last => first..=last,
        Some([Some(row), None]) => {
            let [first, last] = row.map(|value| value.map_or("NULL".to_owned(), |value| value.to_string()));
            refuse(&format!("{first} and {last}"))
        }
    }
}

/// The text of the query, in PostgreSQL's memory, to the end of the call.
fn query(relation: pg_sys::Oid) -> *const c_char {
    let name = qualified(relation);
    // SAFETY: in a memory context that outlives the call.
    let text = unsafe { pg_sys::makeStringInfo() };
    for part in [c"SELECT r.first, r.last FROM ".as_ptr(), name, c" AS r".as_ptr()] {
        // SAFETY: made above, and C strings.
        unsafe { pg_sys::appendStringInfoString(text, part) };
    }
    // SAFETY: as above.
    unsafe { (*text).data }
}

/// The first two rows of a query, if its columns are so many of type bigint: nothing is read before that is known.
fn first_rows<const COLUMNS: usize>(query: *const c_char) -> Option<[Option<[Option<i64>; COLUMNS]>; 2]> {
    // SAFETY: finished below, or by PostgreSQL where the query raises an error.
    unsafe { pg_sys::SPI_connect() };
    // SAFETY: within SPI, a C string; nothing is alive that owns something.
    unsafe { unguarded::spi_execute(query, 2) };
    // SAFETY: a variable of the session.
    let result = unsafe { pg_sys::SPI_tuptable };
    // SAFETY: the result of the query, if it has any.
    let rows = unsafe { result.as_ref() }.and_then(|result| {
        // SAFETY: its columns.
        let columns = unsafe { (*result.tupdesc).natts };
        // SAFETY: one of these columns.
        let is_bigint = |number| unsafe { pg_sys::SPI_gettypeid(result.tupdesc, number) } == pg_sys::INT8OID;
        if columns != COLUMNS as i32 || !(1..=columns).all(is_bigint) {
            return None;
        }
        let value = |row, number| {
            let mut is_null = true;
            // SAFETY: a row, and a column of it.
            let value = unsafe { pg_sys::SPI_getbinval(row, result.tupdesc, number, &mut is_null) };
            (!is_null).then_some(value.value() as i64)
        };
        // SAFETY: as many rows as the result says.
        let rows = unsafe { std::slice::from_raw_parts(result.vals, result.numvals as usize) };
        let row =
            |place| rows.get(place).map(|&row| std::array::from_fn(|column| value(row, column as i32 + 1)));
        Some([row(0), row(1)])
    });
    // SAFETY: connected above.
    unsafe { pg_sys::SPI_finish() };
    rows
}

fn is_bigint(relation: pg_sys::Oid, column: &CStr) -> bool {
    // SAFETY: looks into the catalog, and returns 0 where there is nothing.
    let number = unsafe { pg_sys::get_attnum(relation, column.as_ptr()) };
    // SAFETY: as above.
    number > 0 && unsafe { pg_sys::get_atttype(relation, number) } == pg_sys::INT8OID
}

/// The name of a relation that is locked, with its schema and quoted, in the encoding of the database.
fn qualified(relation: pg_sys::Oid) -> *const c_char {
    // SAFETY: looks into the catalog.
    let schema = unsafe { pg_sys::get_rel_namespace(relation) };
    // SAFETY: as above.
    let schema = unsafe { pg_sys::get_namespace_name(schema) };
    // SAFETY: as above.
    let name = unsafe { pg_sys::get_rel_name(relation) };
    // SAFETY: copies of names.
    unsafe { pg_sys::quote_qualified_identifier(schema, name) }
}
