//! What the caller may do. Nothing here runs with other rights than the caller's; this is for what C code has to ask
//! before it does what an SQL statement would have asked for.

use pgrx::prelude::*;

/// Refuses, as PostgreSQL does, a caller who has none of these rights on a relation that exists.
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
