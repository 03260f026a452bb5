//! Looks into PostgreSQL's catalogs: the kind of a relation, and columns of the caches' rows.

use pgrx::prelude::*;

use super::errors;

/// The kind of a relation, as `relkind` has it.
///
/// # Errors
/// 42P01 where there is none of this OID.
pub fn kind_of(relation: pg_sys::Oid) -> u8 {
    // SAFETY: looks into the catalog, and returns 0 where there is nothing.
    match unsafe { pg_sys::get_rel_relkind(relation) } as u8 {
        0 => errors::no_relation(relation.to_u32()),
        kind => kind,
    }
}

/// Columns of the row that a cache has for an OID, `None` where it has none. They are of types that are passed by value,
/// and never NULL; the cache has one key.
pub fn columns<const N: usize>(
    cache: pg_sys::SysCacheIdentifier::Type,
    oid: pg_sys::Oid,
    numbers: [i16; N],
) -> Option<[pg_sys::Datum; N]> {
    // SAFETY: the cache has one key, an oid.
    let row = unsafe { pg_sys::SearchSysCache1(cache as i32, oid.into()) };
    if row.is_null() {
        return None;
    }
    let values = numbers.map(|number| {
        let mut is_null = false;
        // SAFETY: a row of this cache, and a column that its table has.
        unsafe { pg_sys::SysCacheGetAttr(cache as i32, row, number, &mut is_null) }
    });
    // SAFETY: found above, and what was read of it are values.
    unsafe { pg_sys::ReleaseSysCache(row) };
    Some(values)
}
