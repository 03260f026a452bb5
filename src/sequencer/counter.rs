//! PostgreSQL's sequences as counters: a next number, several at once, and a raise that never lowers.
//!
//! `nextval` alone is safe between sessions. A raise is two steps, to look and to set, so the others have to keep away
//! in between: who raises or takes several holds a lock of its own exclusively, who takes one shares it, each for the
//! call only, not to the end of the transaction. It is a heavyweight lock: a wait for it can be cancelled, and
//! PostgreSQL releases it on an error.
//!
//! The caller's rights on the sequence count, as for `nextval` (USAGE or UPDATE) and `setval` (UPDATE). Both write WAL
//! in the caller's transaction, and outside of it: a number is not given back by a rollback.

use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call};
use snowflake_core::designs::VALUE_MAX;

use super::{errors, rights};
use crate::shown::Shown;
use crate::unguarded;

/// Tells our lock from those of `pg_advisory_lock`, which have 1 or 2 there: "sq".
const LOCK_CLASS: u16 = u16::from_be_bytes(*b"sq");
/// The columns of `pg_sequence` that are looked at; PostgreSQL's catalog/pg_sequence.h.
const SEQINCREMENT: i16 = 4;
const SEQCACHE: i16 = 7;
const SEQCYCLE: i16 = 8;

/// A sequence.
#[derive(Clone, Copy)]
pub struct Counter(pg_sys::Oid);

impl Counter {
    /// Any sequence that outlives a crash, whose numbers are handed out as they come; what is none, `nextval` refuses.
    ///
    /// # Errors
    /// 55000 for an unlogged and a temporary sequence, 42P01 for one that does not exist, which is 40001 in a
    /// transaction that sees an old state.
    pub fn of(sequence: pg_sys::Oid) -> Self {
        // As nextval does. First, so that whoever waits for the sequence itself does not hold our lock.
        // SAFETY: of a relation that does not exist there is nothing to lock.
        unsafe { pg_sys::LockRelationOid(sequence, pg_sys::RowExclusiveLock as pg_sys::LOCKMODE) };
        let counter = Self(sequence);
        // SAFETY: looks into the catalog, and returns 0 where there is nothing.
        let kind = unsafe { pg_sys::get_rel_relkind(sequence) } as u8;
        if kind == 0 {
            // SAFETY: a variable of the running transaction.
            let isolation = unsafe { pg_sys::XactIsoLevel };
            errors::no_sequence(sequence.to_u32(), isolation >= pg_sys::XACT_REPEATABLE_READ as i32);
        }
        // SAFETY: as above.
        let persistence = unsafe { pg_sys::get_rel_persistence(sequence) } as u8;
        if kind == pg_sys::RELKIND_SEQUENCE && persistence != pg_sys::RELPERSISTENCE_PERMANENT {
            errors::not_permanent(counter.name(), persistence == pg_sys::RELPERSISTENCE_TEMP);
        }
        counter
    }

    /// A sequence that counts up by one, never starts over, and of which no session keeps numbers back: what a raise
    /// needs. It stays so to the end of the transaction.
    ///
    /// # Errors
    /// 55000 for any other sequence, and as [`of`](Self::of).
    pub fn rising(sequence: pg_sys::Oid) -> Self {
        let counter = Self::of(sequence);
        let Some(options) = Options::of(sequence) else { return counter };
        for (option, value) in [("INCREMENT", options.increment), ("CACHE", options.cache)] {
            if value != 1 {
                errors::no_counter(counter.name(), option, value);
            }
        }
        if options.cycle {
            errors::cycles(counter.name());
        }
        counter
    }

    /// The next number: `nextval`.
    ///
    /// # Errors
    /// Below 0, or above 53 bits.
    pub fn next_value(self) -> i64 {
        let value = self.nextval();
        if !(0..=VALUE_MAX).contains(&value) {
            errors::value_out_of_range(self.name(), value);
        }
        value
    }

    /// [`next_value`](Self::next_value), while nobody raises the counter.
    pub fn next_value_shared(self) -> i64 {
        self.locked(pg_sys::ShareLock, Self::next_value)
    }

    /// Makes every number from now on greater than `to`. It never lowers, and takes no number of a counter that is
    /// there already.
    pub fn raise(self, to: i64) {
        // SAFETY: raises, or nothing.
        unsafe { pg_sys::PreventCommandIfReadOnly(c"setval()".as_ptr()) };
        // SAFETY: a variable of the session.
        let user = unsafe { pg_sys::GetUserId() };
        // As setval does, also where there is nothing to set.
        rights::check(self.0, user, pg_sys::ACL_UPDATE);
        self.locked(pg_sys::ExclusiveLock, |counter| {
            // Before its first number there is none to compare with.
            if counter.last_value().unwrap_or_else(|| counter.nextval()) < to {
                counter.setval(to);
            }
        });
    }

    /// Takes `n` numbers, at least 1, and returns the first. They are taken for good when this returns: the record of
    /// it is flushed, whatever becomes of the transaction.
    ///
    /// # Errors
    /// 2200H where so many are not left.
    pub fn take(self, n: i64) -> i64 {
        let first = self.locked(pg_sys::ExclusiveLock, |counter| {
            let first = counter.nextval();
            let Some(last) = first.checked_add(n - 1) else { errors::used_up(counter.name(), first, n) };
            // Also for one: the record of nextval may be another session's, and not flushed yet.
            counter.setval(last);
            first
        });
        // SAFETY: the end of the record that setval has inserted.
        let record_end = unsafe { pg_sys::XactLastRecEnd };
        // SAFETY: a position in the WAL that exists; PostgreSQL panics where it cannot be flushed.
        unsafe { pg_sys::XLogFlush(record_end) };
        first
    }

    fn locked<T>(self, mode: u32, work: impl FnOnce(Self) -> T) -> T {
        let (tag, mode) = (self.lock_tag(), mode as pg_sys::LOCKMODE);
        // SAFETY: a complete tag; PostgreSQL releases the lock where the work raises an error.
        unsafe { pg_sys::LockAcquire(&tag, mode, false, false) };
        let done = work(self);
        // SAFETY: the lock taken above.
        unsafe { pg_sys::LockRelease(&tag, mode, false) };
        done
    }

    fn lock_tag(self) -> pg_sys::LOCKTAG {
        pg_sys::LOCKTAG {
            // SAFETY: a variable of the session that does not change.
            locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
            locktag_field2: 0,
            locktag_field3: self.0.to_u32(),
            locktag_field4: LOCK_CLASS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        }
    }

    fn nextval(self) -> i64 {
        // SAFETY: PostgreSQL's function of one regclass, which is strict and never returns NULL.
        let value = unsafe { direct_function_call::<i64>(unguarded::nextval_oid, &[self.0.into_datum()]) };
        value.expect("nextval returns a number")
    }

    /// The last number, if there has been one.
    fn last_value(self) -> Option<i64> {
        // The right that was looked at is another than this function's own.
        rights::of(pg_sys::Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), || {
            // SAFETY: PostgreSQL's function of one regclass.
            unsafe { direct_function_call(pg_sys::pg_sequence_last_value, &[self.0.into_datum()]) }
        })
    }

    fn setval(self, value: i64) {
        let arguments = [self.0.into_datum(), value.into_datum()];
        // SAFETY: PostgreSQL's function of a regclass and a bigint.
        unsafe { direct_function_call::<i64>(unguarded::setval_oid, &arguments) };
    }

    fn name(self) -> Shown {
        Shown::relation(self.0)
    }
}

/// What `pg_sequence` has of a sequence.
struct Options {
    increment: i64,
    cache: i64,
    cycle: bool,
}

impl Options {
    fn of(sequence: pg_sys::Oid) -> Option<Self> {
        let cache_id = pg_sys::SysCacheIdentifier::SEQRELID as i32;
        // SAFETY: the cache has one key, an oid.
        let row = unsafe { pg_sys::SearchSysCache1(cache_id, sequence.into()) };
        if row.is_null() {
            return None;
        }
        let column = |number| {
            let mut is_null = false;
            // SAFETY: a row of this cache, and a column that its table has.
            unsafe { pg_sys::SysCacheGetAttr(cache_id, row, number, &mut is_null) }
        };
        let options = Self {
            increment: column(SEQINCREMENT).value() as i64,
            cache: column(SEQCACHE).value() as i64,
            cycle: column(SEQCYCLE).value() != 0,
        };
        // SAFETY: found above, and what was read of it are values.
        unsafe { pg_sys::ReleaseSysCache(row) };
        Some(options)
    }
}

/// `snowflake_counter_take(counter, n)`: the first of the numbers taken.
#[pg_extern(sql = false)]
fn snowflake_counter_take(counter: pg_sys::Oid, n: i64) -> i64 {
    if n < 1 {
        errors::bad_count(n);
    }
    Counter::rising(counter).take(n)
}

/// `snowflake_counter_raise(counter, to)`.
#[pg_extern(sql = false)]
fn snowflake_counter_raise(counter: pg_sys::Oid, to: i64) {
    Counter::rising(counter).raise(to);
}
