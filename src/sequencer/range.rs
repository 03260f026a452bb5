//! Numbers from ranges: each session claims a range of a source, and hands it out without asking anybody.
//!
//! [`Source`] is what ranges are claimed from. What a session has left of one is here: its own, of one user, and valid as
//! long as the source is what it was. The caller's right is looked at with each number.
//!
//! PostgreSQL does not take a sequence's numbers back when a transaction is rolled back, but the record of a claim is
//! certain to be on disk only when the claim's transaction is committed. A crash of this server ends its sessions, and
//! with them what they have left. A crash of another server does not, so what was claimed by reading a relation is
//! dropped when its claim is rolled back, or may be (PREPARE TRANSACTION).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::RangeInclusive;

use pgrx::prelude::*;

use super::source::Source;

thread_local! {
    /// What this session has left, by the user who claimed it and the source.
    static LEFT: RefCell<HashMap<(pg_sys::Oid, pg_sys::Oid), Left>> = RefCell::default();
    /// Whether a relation may have been read in the running transaction.
    static READ: Cell<bool> = const { Cell::new(false) };
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// What is left of a claimed range.
struct Left {
    numbers: RangeInclusive<i64>,
    /// The value of [`Source::file`] when it was claimed.
    file: pg_sys::Oid,
    /// The subtransaction that read it from a relation, as long as it can be rolled back.
    read_in: Option<pg_sys::SubTransactionId>,
}

/// `sequencer_range_next(source)`.
#[pg_extern(sql = false)]
fn sequencer_range_next(source: pg_sys::Oid) -> i64 {
    let what = c"sequencer_range_next()".as_ptr();
    // SAFETY: raises, or nothing.
    unsafe { pg_sys::PreventCommandDuringRecovery(what) };
    // SAFETY: as above.
    unsafe { pg_sys::PreventCommandIfReadOnly(what) };
    // A session whose caches are warm may not have looked for messages since its transaction began.
    // SAFETY: in a transaction. Without a message it is one look at a flag.
    unsafe { pg_sys::AcceptInvalidationMessages() };
    // SAFETY: a variable of the session.
    let user = unsafe { pg_sys::GetUserId() };
    let place = (user, source);
    let source = Source::open(source);
    take(place, source.file()).unwrap_or_else(|| claim(place, &source))
}

/// The next number of what the session has left, if it is still valid.
fn take(place: (pg_sys::Oid, pg_sys::Oid), file: pg_sys::Oid) -> Option<i64> {
    LEFT.with_borrow_mut(|left| left.get_mut(&place).filter(|left| left.file == file)?.numbers.next())
}

/// Claims a range in the running transaction, and returns its first number.
fn claim(place: (pg_sys::Oid, pg_sys::Oid), source: &Source) -> i64 {
    let read_in = source.is_read().then(|| {
        watch();
        READ.set(true);
        // SAFETY: a variable of the running transaction.
        unsafe { pg_sys::GetCurrentSubTransactionId() }
    });
    let mut numbers = source.claim();
    let first = numbers.next().expect("a range has a number");
    LEFT.with_borrow_mut(|left| left.insert(place, Left { numbers, file: source.file(), read_in }));
    first
}

/// Has PostgreSQL tell this session, from now on, how transactions end.
fn watch() {
    if WATCHED.replace(true) {
        return;
    }
    // SAFETY: a function that lives as long as the process.
    unsafe { pg_sys::RegisterXactCallback(Some(transaction_ends), std::ptr::null_mut()) };
    // SAFETY: as above.
    unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ends), std::ptr::null_mut()) };
}

/// Keeps, of what was read in the transaction, what the caller says.
fn settle(keep: impl Fn(&mut Left) -> bool) {
    LEFT.with_borrow_mut(|left| left.retain(|_, left| left.read_in.is_none() || keep(left)));
}

#[pg_guard]
unsafe extern "C-unwind" fn transaction_ends(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PREPARE};
    let committed = match event {
        XACT_EVENT_COMMIT => true,
        XACT_EVENT_ABORT | XACT_EVENT_PREPARE => false,
        _ => return,
    };
    if READ.replace(false) {
        settle(|left| {
            left.read_in = None;
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
    if READ.get() {
        settle(|left| {
            let ours = left.read_in == Some(ending);
            if ours {
                left.read_in = Some(parent);
            }
            committed || !ours
        });
    }
}
