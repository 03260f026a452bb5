//! Numbers from ranges: each session has claimed one for each name, and hands it out without asking anybody.
//!
//! A [`claim`](super::claim) is an INSERT in the transaction of the caller. Its numbers are taken for good whatever
//! becomes of the transaction; but a range whose claim is not committed is not listed as claimed, so
//! the session drops it when the claim is rolled back, or may be (PREPARE TRANSACTION).
//!
//! The definition of a name is looked at again when any has changed: PostgreSQL's invalidation messages, sent for the
//! table of names, tell every session of the database. Each number is preceded by a look for them, and the definition
//! is the one that is committed by then, whatever the isolation of the transaction.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;

use pgrx::prelude::*;

use super::claim::{Claim, Extension};

thread_local! {
    /// The ranges of this session: by the user who claimed them, for it may lose the right to, and by name.
    static RANGES: RefCell<HashMap<pg_sys::Oid, Ranges>> = RefCell::default();
    /// Whether a range may have been claimed in the running transaction.
    static CLAIMED: Cell<bool> = const { Cell::new(false) };
    /// How often a definition may have changed.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
    /// The table of names, once a range has been claimed.
    static NAMES: Cell<pg_sys::Oid> = const { Cell::new(pg_sys::InvalidOid) };
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Those of one user.
type Ranges = HashMap<Box<[u8]>, Range>;

/// What is left of a claimed range.
struct Range {
    next: i64,
    left: i64,
    /// Which definition it was claimed by: another one of the same name has another.
    definition: pgrx::Uuid,
    /// The value of [`CHANGES`] before its definition was looked at.
    seen: u64,
    /// The subtransaction that claimed it, as long as it can be rolled back.
    claimed_in: Option<pg_sys::SubTransactionId>,
}

impl Range {
    fn take(&mut self) -> Option<i64> {
        if self.left == 0 {
            return None;
        }
        let number = self.next;
        self.left -= 1;
        // The last number of a range may be the last of all.
        self.next = number.wrapping_add(1);
        Some(number)
    }
}

/// `snowflake_range_next(name)`. The name is looked at as bytes: it may be of any encoding.
#[pg_extern(sql = false)]
fn snowflake_range_next(name: &[u8], fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    // SAFETY: a variable of the session.
    let user = unsafe { pg_sys::GetUserId() };
    // A session whose caches are warm may not have looked for messages since its transaction began.
    // SAFETY: in a transaction. Without a message it is one look at a flag.
    unsafe { pg_sys::AcceptInvalidationMessages() };
    take(user, name, CHANGES.get()).unwrap_or_else(|| {
        let extension = Extension::of_call(fcinfo);
        look_again(user, name, &extension).unwrap_or_else(|| claim(user, name, &extension))
    })
}

/// The next number of the session's range, if it has one whose definition was looked at since the last change.
fn take(user: pg_sys::Oid, name: &[u8], changes: u64) -> Option<i64> {
    RANGES.with_borrow_mut(|ranges| {
        let range = ranges.get_mut(&user)?.get_mut(name)?;
        if range.seen == changes { range.take() } else { None }
    })
}

/// The next number of the session's range, if it is still of the definition that its name has. Else it is dropped.
fn look_again(user: pg_sys::Oid, name: &[u8], extension: &Extension) -> Option<i64> {
    let left = RANGES.with_borrow(|ranges| Some(ranges.get(&user)?.get(name)?.left))?;
    if left == 0 {
        return None;
    }
    let seen = CHANGES.get();
    let definition = extension.definition(name);
    RANGES.with_borrow_mut(|ranges| {
        let ranges = ranges.get_mut(&user)?;
        match ranges.get_mut(name) {
            Some(range) if definition == Some(range.definition) => {
                range.seen = seen;
                range.take()
            }
            _ => {
                ranges.remove(name);
                None
            }
        }
    })
}

/// Claims a range of the size that is set for the name, in the running transaction, and returns its first number.
fn claim(user: pg_sys::Oid, name: &[u8], extension: &Extension) -> i64 {
    let what = c"snowflake_range_next()".as_ptr();
    // SAFETY: raises, or nothing.
    unsafe { pg_sys::PreventCommandDuringRecovery(what) };
    // SAFETY: as above.
    unsafe { pg_sys::PreventCommandIfReadOnly(what) };
    watch();
    let seen = CHANGES.get();
    let Claim { first, last, definition, names } = extension.claim(user, name, None);
    // SAFETY: a variable of the running transaction.
    let claimed_in = Some(unsafe { pg_sys::GetCurrentSubTransactionId() });
    NAMES.set(names);
    CLAIMED.set(true);
    let range = Range { next: first.wrapping_add(1), left: last - first, definition, seen, claimed_in };
    RANGES.with_borrow_mut(|ranges| ranges.entry(user).or_default().insert(name.into(), range));
    first
}

/// Has PostgreSQL tell this session, from now on, how transactions end and when the table of names changes.
fn watch() {
    if WATCHED.replace(true) {
        return;
    }
    // SAFETY: a function that lives as long as the process.
    unsafe { pg_sys::RegisterXactCallback(Some(transaction_ends), std::ptr::null_mut()) };
    // SAFETY: as above.
    unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ends), std::ptr::null_mut()) };
    // SAFETY: as above.
    unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(relation_changes), pg_sys::Datum::from(0)) };
}

/// Keeps the ranges that were claimed in the transaction, or drops those that the caller says.
fn settle(keep: impl Fn(&mut Range) -> bool) {
    RANGES.with_borrow_mut(|ranges| {
        for ranges in ranges.values_mut() {
            ranges.retain(|_, range| range.claimed_in.is_none() || keep(range));
        }
    });
}

#[pg_guard]
unsafe extern "C-unwind" fn transaction_ends(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PREPARE};
    let committed = match event {
        XACT_EVENT_COMMIT => true,
        XACT_EVENT_ABORT | XACT_EVENT_PREPARE => false,
        _ => return,
    };
    if CLAIMED.replace(false) {
        settle(|range| {
            range.claimed_in = None;
            committed
        });
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn subtransaction_ends(
    event: pg_sys::SubXactEvent::Type,
    ending: pg_sys::SubTransactionId,
    parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    use pg_sys::SubXactEvent::{SUBXACT_EVENT_ABORT_SUB, SUBXACT_EVENT_COMMIT_SUB};
    let committed = match event {
        SUBXACT_EVENT_COMMIT_SUB => true,
        SUBXACT_EVENT_ABORT_SUB => false,
        _ => return,
    };
    if CLAIMED.get() {
        settle(|range| {
            let ours = range.claimed_in == Some(ending);
            if ours {
                range.claimed_in = Some(parent);
            }
            committed || !ours
        });
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn relation_changes(_argument: pg_sys::Datum, relation: pg_sys::Oid) {
    let names = NAMES.get();
    // Where messages were lost, anything may have changed.
    if relation == names || relation == pg_sys::InvalidOid || names == pg_sys::InvalidOid {
        CHANGES.set(CHANGES.get().wrapping_add(1));
    }
}

/// The trigger of the table of names: has every session look at its definitions again.
#[pg_trigger(sql = false)]
fn snowflake_range_changed<'a>(
    trigger: &'a PgTrigger<'a>,
) -> Result<Option<PgHeapTuple<'a, pgrx::AllocatedByPostgres>>, PgTriggerError> {
    // SAFETY: the relation whose trigger this is.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(trigger.relid()?) };
    Ok(None)
}
