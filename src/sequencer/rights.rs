//! What the caller may do. Nothing here runs with other rights than the caller's; this is for what C code has to ask
//! before it does what an SQL statement would have asked for.

use pgrx::prelude::*;

use super::{catalog, errors};
use crate::shown::Shown;

/// PostgreSQL's catalog/pg_namespace.h, pg_class.h and pg_database.h.
const NSPOWNER: i16 = pg_sys::Anum_pg_namespace_nspowner as i16;
const RELOWNER: i16 = pg_sys::Anum_pg_class_relowner as i16;
const DATDBA: i16 = pg_sys::Anum_pg_database_datdba as i16;

/// Raises PostgreSQL's error unless the caller has one of these rights on a relation, which has to exist.
pub fn check(relation: pg_sys::Oid, any_of: u32) {
    // SAFETY: a variable of the session.
    let user = unsafe { pg_sys::GetUserId() };
    // SAFETY: looks into the catalog.
    let result = unsafe { pg_sys::pg_class_aclcheck(relation, user, pg_sys::AclMode::from(any_of)) };
    if result != pg_sys::AclResult::ACLCHECK_OK {
        // SAFETY: as above.
        let kind = unsafe { pg_sys::get_rel_relkind(relation) };
        // SAFETY: a kind that a relation has.
        let kind = unsafe { pg_sys::get_relkind_objtype(kind) };
        // SAFETY: as above; a copy of the name.
        let name = unsafe { pg_sys::get_rel_name(relation) };
        // SAFETY: raises an error.
        unsafe { crate::unguarded::aclcheck_error(result, kind, name) };
    }
}

/// Refuses to read a relation by its name for a caller who could become the owner of its schema: the schema could be
/// renamed meanwhile, and another relation be read, whose code would run with the caller's rights. The owner of the
/// relation itself may own the schema: its code is what is called.
pub fn check_schema(relation: pg_sys::Oid) {
    use pg_sys::SysCacheIdentifier::{DATABASEOID, NAMESPACEOID, RELOID};
    // SAFETY: looks into the catalog.
    let schema = unsafe { pg_sys::get_rel_namespace(relation) };
    let mut owner = oid_of(NAMESPACEOID, schema, NSPOWNER);
    if owner == pg_sys::Oid::from(pg_sys::ROLE_PG_DATABASE_OWNER) {
        // SAFETY: a variable of the session that does not change.
        owner = oid_of(DATABASEOID, unsafe { pg_sys::MyDatabaseId }, DATDBA);
    }
    // SAFETY: looks into the catalog.
    if unsafe { pg_sys::superuser_arg(owner) } || owner == oid_of(RELOID, relation, RELOWNER) {
        return;
    }

    let callers = [
        // SAFETY: a variable of the session.
        unsafe { pg_sys::GetUserId() },
        // SAFETY: as above.
        unsafe { pg_sys::GetSessionUserId() },
    ];
    for caller in callers {
        // SAFETY: looks into the catalog.
        if caller != owner && unsafe { pg_sys::is_member_of_role(caller, owner) } {
            errors::schema_of_another(Shown::relation(relation));
        }
    }
}

/// An oid from a row of a catalog's cache; 0 where there is no row.
fn oid_of(cache: pg_sys::SysCacheIdentifier::Type, key: pg_sys::Oid, column: i16) -> pg_sys::Oid {
    catalog::columns(cache, key, [column])
        .map_or(pg_sys::InvalidOid, |[value]| pg_sys::Oid::from(value.value() as u32))
}
