//! A claim of a range: an INSERT in the caller's transaction, into `snowflake_ranges` or a foreign table.
//!
//! The caller needs INSERT on that table. The row is inserted with the rights of the table's owner, and names are
//! looked up with those of the extension's: see [`rights`].

use std::ffi::{CStr, CString};

use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;

use super::{errors, rights};
use crate::sql::row;

/// A range that was claimed.
pub struct Claim {
    pub first: i64,
    pub last: i64,
    /// Of which definition of the name.
    pub definition: pgrx::Uuid,
    /// The table of names.
    pub names: pg_sys::Oid,
}

/// What a name is, for a claim.
struct Source {
    size: i64,
    definition: pgrx::Uuid,
    names: pg_sys::Oid,
    table: pg_sys::Oid,
}

/// The extension of the function that is being called.
pub struct Extension {
    schema: &'static CStr,
    owner: pg_sys::Oid,
}

impl Extension {
    pub fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: that of the running call.
        let function = unsafe { (*fcinfo).flinfo };
        // SAFETY: set for each function that is called by its oid.
        let function = unsafe { (*function).fn_oid };
        Self { schema: rights::schema_of(function), owner: rights::extension_owner(function) }
    }

    /// The definition that a name has by now.
    pub fn definition(&self, name: &[u8]) -> Option<pgrx::Uuid> {
        let query = self
            .query(b"SELECT id FROM ", b".snowflake_range_names AS n WHERE n.name OPERATOR(pg_catalog.=) $1");
        rights::of(self.owner, || latest(&query, &mut [(pg_sys::TEXTOID, datum(name))], |row| row.get(1)))
            .flatten()
    }

    /// Claims so many numbers of a name, or as many as are set for it.
    ///
    /// # Errors
    /// What the script and the trigger raise, a right that the user has not, and a table that gives no range.
    pub fn claim(&self, user: pg_sys::Oid, name: &[u8], size: Option<i64>) -> Claim {
        let Source { size, definition, names, table } = self.source(name, size);
        // SAFETY: as an INSERT does; of a relation that does not exist there is nothing to lock.
        unsafe { pg_sys::LockRelationOid(table, pg_sys::RowExclusiveLock as pg_sys::LOCKMODE) };
        let Some(owner) = rights::table_owner(table) else { errors::no_table_of_ranges() };
        // SAFETY: looks into the catalog.
        let kind = unsafe { pg_sys::get_rel_relkind(table) } as u8;
        if kind != pg_sys::RELKIND_FOREIGN_TABLE && owner != self.owner {
            errors::no_table_of_ranges();
        }
        rights::check(table, user, pg_sys::ACL_INSERT);
        let first = rights::of(owner, || insert(table, name, size));
        match first.map(|first| (first, (first - 1).checked_add(size))) {
            Some((first @ 1.., Some(last))) => Claim { first, last, definition, names },
            _ => errors::no_range(),
        }
    }

    fn source(&self, name: &[u8], size: Option<i64>) -> Source {
        let query = self.query(
            b"SELECT size, id, names::pg_catalog.oid, source::pg_catalog.oid FROM ",
            b".snowflake_range_source($1, $2)",
        );
        let mut arguments = [(pg_sys::TEXTOID, datum(name)), (pg_sys::INT8OID, size.into_datum())];
        let source = rights::of(self.owner, || {
            latest(&query, &mut arguments, |row| {
                Some(Source {
                    size: row.get(1)?,
                    definition: row.get(2)?,
                    names: row.get(3)?,
                    table: row.get(4)?,
                })
            })
        });
        source.flatten().expect("the function returns what a name has")
    }

    fn query(&self, before: &[u8], after: &[u8]) -> CString {
        let query = [before, self.schema.to_bytes(), after].concat();
        CString::new(query).expect("no name has a zero byte")
    }
}

/// Inserts the row of a claim, and returns the first number that it got.
fn insert(table: pg_sys::Oid, name: &[u8], size: i64) -> Option<i64> {
    let query = [
        b"INSERT INTO ",
        rights::qualified(table).to_bytes(),
        b" (name, size, node_id) VALUES ($1, $2, NULLIF(pg_catalog.current_setting('snowflake.node', true), '')::pg_catalog.int4)
          RETURNING first::pg_catalog.int8",
    ]
    .concat();
    let query = CString::new(query).expect("no name has a zero byte");
    // SAFETY: a text and a bytea are stored in the same way.
    let name = unsafe { DatumWithOid::new(name, pg_sys::TEXTOID) };
    let first = Spi::connect_mut(|client| {
        let rows = client.update(&*query, None, &[name, size.into()])?;
        if rows.len() == 1 { rows.first().get_one::<i64>() } else { Ok(None) }
    });
    first.expect("the query returns a bigint")
}

/// A row of a query's.
struct Row(pg_sys::HeapTuple, pg_sys::TupleDesc);

impl Row {
    fn get<T: FromDatum>(&self, column: i32) -> Option<T> {
        let mut is_null = true;
        // SAFETY: a row, and its columns.
        let value = unsafe { pg_sys::SPI_getbinval(self.0, self.1, column, &mut is_null) };
        // SAFETY: the callers' queries return such columns, of the tables that the script has made.
        unsafe { T::from_datum(value, is_null) }
    }
}

/// The first row of a query that only reads: of what is committed now, whatever the isolation of the transaction.
fn latest<T>(
    query: &CStr,
    arguments: &mut [(pg_sys::Oid, Option<pg_sys::Datum>)],
    read: impl FnOnce(&Row) -> T,
) -> Option<T> {
    let mut types: Vec<_> = arguments.iter().map(|argument| argument.0).collect();
    let mut values: Vec<_> = arguments.iter().map(|argument| argument.1.unwrap_or(0.into())).collect();
    let nulls: Vec<_> =
        arguments.iter().map(|argument| if argument.1.is_none() { b'n' } else { b' ' } as _).collect();
    // SAFETY: in a transaction.
    let snapshot = unsafe { pg_sys::GetLatestSnapshot() };
    // SAFETY: a valid snapshot; popped below, or by PostgreSQL where the query raises an error.
    unsafe { pg_sys::PushActiveSnapshot(snapshot) };
    let found = Spi::connect(|_| {
        // SAFETY: as many types and values as the query has parameters.
        unsafe {
            pg_sys::SPI_execute_with_args(
                query.as_ptr(),
                types.len() as i32,
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_ptr(),
                true,
                1,
            )
        };
        // SAFETY: a variable of the session.
        let table = unsafe { pg_sys::SPI_tuptable };
        // SAFETY: the result of the query, if it has any.
        let table = unsafe { table.as_ref() }?;
        if table.numvals == 0 {
            return None;
        }
        // SAFETY: it has one row.
        let row = unsafe { *table.vals };
        Some(read(&Row(row, table.tupdesc)))
    });
    // SAFETY: pushed above.
    unsafe { pg_sys::PopActiveSnapshot() };
    found
}

/// A text of the session's own encoding, as PostgreSQL gave it: a text and a bytea are stored in the same way.
fn datum(name: &[u8]) -> Option<pg_sys::Datum> {
    name.into_datum()
}

fn claimed(
    name: &[u8],
    size: Option<i64>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    // SAFETY: a variable of the session.
    let user = unsafe { pg_sys::GetUserId() };
    let claim = Extension::of_call(fcinfo).claim(user, name, size);
    row::of(fcinfo, [claim.first.into_datum(), claim.last.into_datum()])
}

/// `snowflake_range_claim(name)`. The name is looked at as bytes: it may be of any encoding.
#[pg_extern(sql = false)]
fn snowflake_range_claim(
    name: &[u8],
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    claimed(name, None, fcinfo)
}

/// `snowflake_range_claim(name, size)`.
#[pg_extern(sql = false)]
fn snowflake_range_claim_size(
    name: &[u8],
    size: i64,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pgrx::composite_type!('static, "record") {
    claimed(name, Some(size), fcinfo)
}
