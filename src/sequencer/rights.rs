//! Whose rights count: work that is done for a caller with those of the owner, as PostgreSQL checks a foreign key.
//!
//! A session never lends its rights to what others have made: triggers, defaults and views of a table, and the tables
//! of an extension, run with their owner's.

use std::ffi::CStr;

use pgrx::prelude::*;

/// PostgreSQL's catalog/pg_class.h.
const RELOWNER: i16 = pg_sys::Anum_pg_class_relowner as i16;

/// Does the work with the rights of a role. It can neither take others, nor leave anything to be done later, nor
/// change a setting for longer.
pub fn of<T>(role: pg_sys::Oid, work: impl FnOnce() -> T) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: variables of the session, which PostgreSQL sets back where the work raises an error.
    unsafe { pg_sys::GetUserIdAndSecContext(&mut user, &mut context) };
    // SAFETY: closed below, or by PostgreSQL where the work raises an error.
    let level = unsafe { pg_sys::NewGUCNestLevel() };
    let restricted = (pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION) as i32;
    // SAFETY: as above.
    unsafe { pg_sys::SetUserIdAndSecContext(role, context | restricted) };
    safe_search_path();
    let done = work();
    // SAFETY: the level opened above.
    unsafe { pg_sys::AtEOXact_GUC(false, level) };
    // SAFETY: what was found above.
    unsafe { pg_sys::SetUserIdAndSecContext(user, context) };
    done
}

/// The caller's may have functions of theirs.
fn safe_search_path() {
    // SAFETY: a setting and a value of PostgreSQL's, to the end of the level.
    unsafe {
        pg_sys::set_config_option(
            c"search_path".as_ptr(),
            c"pg_catalog, pg_temp".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        )
    };
}

/// The owner of the extension that the function which is being called belongs to.
pub fn extension_owner(function: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: looks into the catalog.
    let extension = unsafe { pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function) };
    let query = "SELECT extowner FROM pg_catalog.pg_extension WHERE oid OPERATOR(pg_catalog.=) $1";
    let owner = Spi::connect(|client| client.select(query, Some(1), &[extension.into()])?.first().get_one());
    owner.ok().flatten().expect("the script of the extension has made the function")
}

/// The owner of a table that is locked, if it exists.
pub fn table_owner(table: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let cache_id = pg_sys::SysCacheIdentifier::RELOID as i32;
    // SAFETY: the cache has one key, an oid.
    let row = unsafe { pg_sys::SearchSysCache1(cache_id, table.into()) };
    if row.is_null() {
        return None;
    }
    let mut is_null = false;
    // SAFETY: a row of this cache, and a column that its table has.
    let owner = unsafe { pg_sys::SysCacheGetAttr(cache_id, row, RELOWNER, &mut is_null) };
    // SAFETY: found above, and what was read of it is a value.
    unsafe { pg_sys::ReleaseSysCache(row) };
    // SAFETY: the column is an oid, and never NULL.
    unsafe { pg_sys::Oid::from_datum(owner, is_null) }
}

/// Refuses, as PostgreSQL does, a user without a right on a relation that exists.
pub fn check(relation: pg_sys::Oid, user: pg_sys::Oid, right: u32) {
    // SAFETY: looks into the catalog.
    let result = unsafe { pg_sys::pg_class_aclcheck(relation, user, pg_sys::AclMode::from(right)) };
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

/// The schema of a function, quoted, in the encoding of the database.
pub fn schema_of(function: pg_sys::Oid) -> &'static CStr {
    // SAFETY: looks into the catalog.
    let schema = unsafe { pg_sys::get_func_namespace(function) };
    // SAFETY: a copy of the name of a schema, which has a function.
    let name = unsafe { pg_sys::get_namespace_name(schema) };
    // SAFETY: a C string of PostgreSQL's.
    let quoted = unsafe { pg_sys::quote_identifier(name) };
    // SAFETY: as above; it lives as long as the call.
    unsafe { CStr::from_ptr(quoted) }
}

/// The name of a relation, with its schema and quoted, in the encoding of the database.
pub fn qualified(relation: pg_sys::Oid) -> &'static CStr {
    // SAFETY: looks into the catalog.
    let schema = unsafe { pg_sys::get_rel_namespace(relation) };
    // SAFETY: as above.
    let schema = unsafe { pg_sys::get_namespace_name(schema) };
    // SAFETY: as above.
    let name = unsafe { pg_sys::get_rel_name(relation) };
    // SAFETY: copies of names, of a relation that is locked.
    let quoted = unsafe { pg_sys::quote_qualified_identifier(schema, name) };
    // SAFETY: a C string of PostgreSQL's, which lives as long as the call.
    unsafe { CStr::from_ptr(quoted) }
}
