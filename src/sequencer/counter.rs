//! PostgreSQL's sequences as counters: a next number, and a raise that never lowers.
//!
//! `nextval` alone is safe between sessions. A raise is two steps, to look and to set, so the others have to keep away
//! in between: who raises holds a lock of its own exclusively, who takes a number shares it, each for the call only, not
//! to the end of the transaction. It is a heavyweight lock: a wait for it can be cancelled, and PostgreSQL releases it on
//! an error.
//!
//! The caller's rights on the sequence count, as for `nextval` (USAGE or UPDATE), `setval` (UPDATE) and
//! `pg_sequence_last_value` (USAGE or SELECT). Numbers are taken outside of the caller's transaction: they are not given
//! back by a rollback.

use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call};
use snowflake_core::designs::VALUE_MAX;

use super::catalog::{self, kind_of};
use super::{errors, rights};
use crate::shown::Shown;
use crate::unguarded;

/// Tells our lock from those of `pg_advisory_lock`, which have 1 or 2 there: "sq".
const LOCK_CLASS: u16 = u16::from_be_bytes(*b"sq");
/// The columns of `pg_sequence` that are looked at; PostgreSQL's catalog/pg_sequence.h.
const SEQINCREMENT: i16 = 4;
const SEQMIN: i16 = 6;
const SEQCACHE: i16 = 7;
const SEQCYCLE: i16 = 8;
/// PostgreSQL's catalog/pg_class.h.
const RELFILENODE: i16 = pg_sys::Anum_pg_class_relfilenode as i16;

/// A sequence.
#[derive(Clone, Copy)]
pub struct Counter(pg_sys::Oid);

impl Counter {
    /// Any sequence that outlives a crash, whose numbers are handed out as they come. It stays as it is to the end of the
    /// transaction.
    ///
    /// # Errors
    /// 42501 without the right to `nextval`, 55000 for an unlogged and a temporary sequence, 42809 and 42P01 for what is
    /// none.
    pub fn of(sequence: pg_sys::Oid) -> Self {
        if kind_of(sequence) != pg_sys::RELKIND_SEQUENCE {
            errors::no_sequence(Shown::relation(sequence));
        }
        // Before the lock, so that a caller without the right makes no session wait.
        rights::check(sequence, pg_sys::ACL_USAGE | pg_sys::ACL_UPDATE);
        // As nextval does. First, so that whoever waits for the sequence itself does not hold our lock.
        // SAFETY: of a relation that was dropped there is nothing to lock.
        unsafe { pg_sys::LockRelationOid(sequence, pg_sys::RowExclusiveLock as pg_sys::LOCKMODE) };
        // It may have been dropped meanwhile.
        kind_of(sequence);
        let counter = Self(sequence);
        // SAFETY: as above.
        let persistence = unsafe { pg_sys::get_rel_persistence(sequence) } as u8;
        if persistence != pg_sys::RELPERSISTENCE_PERMANENT {
            errors::not_permanent(counter.name(), persistence == pg_sys::RELPERSISTENCE_TEMP);
        }
        counter
    }

    /// A sequence that counts up by one, never starts over, and of which no session keeps numbers back: what a raise
    /// needs.
    ///
    /// # Errors
    /// 55000 for any other sequence, and as [`of`](Self::of).
    pub fn rising(sequence: pg_sys::Oid) -> Self {
        let counter = Self::of(sequence);
        let options = counter.options();
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
        // As setval does, also where there is nothing to set.
        rights::check(self.0, pg_sys::ACL_UPDATE);
        // As pg_sequence_last_value does up to PostgreSQL 16; from 17 on it returns NULL, as before the first number.
        rights::check(self.0, pg_sys::ACL_USAGE | pg_sys::ACL_SELECT);
        self.locked(pg_sys::ExclusiveLock, |counter| {
            // Before its first number there is none to compare with.
            if counter.last_value().unwrap_or_else(|| counter.nextval()) < to {
                counter.setval(to);
            }
        });
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

    /// `nextval`, of any range.
    pub fn nextval(self) -> i64 {
        // SAFETY: PostgreSQL's function of one regclass, which is strict and never returns NULL.
        let value = unsafe { direct_function_call::<i64>(unguarded::nextval_oid, &[self.0.into_datum()]) };
        value.expect("nextval returns a number")
    }

    /// The last number, if there has been one.
    fn last_value(self) -> Option<i64> {
        // SAFETY: PostgreSQL's function of one regclass.
        unsafe { direct_function_call(pg_sys::pg_sequence_last_value, &[self.0.into_datum()]) }
    }

    fn setval(self, value: i64) {
        let arguments = [self.0.into_datum(), value.into_datum()];
        // SAFETY: PostgreSQL's function of a regclass and a bigint.
        unsafe { direct_function_call::<i64>(unguarded::setval_oid, &arguments) };
    }

    /// What its options are now.
    pub fn options(self) -> Options {
        let catalog = pg_sys::SysCacheIdentifier::SEQRELID;
        let [increment, min, cache, cycle] =
            self.columns(catalog, [SEQINCREMENT, SEQMIN, SEQCACHE, SEQCYCLE]);
        Options {
            increment: increment.value() as i64,
            min: min.value() as i64,
            cache: cache.value() as i64,
            cycle: cycle.value() != 0,
        }
    }

    /// The file that it is in: every change of an option but OWNED BY makes a new one.
    pub fn file(self) -> pg_sys::Oid {
        let [file] = self.columns(pg_sys::SysCacheIdentifier::RELOID, [RELFILENODE]);
        pg_sys::Oid::from(file.value() as u32)
    }

    fn columns<const N: usize>(
        self,
        cache: pg_sys::SysCacheIdentifier::Type,
        numbers: [i16; N],
    ) -> [pg_sys::Datum; N] {
        catalog::columns(cache, self.0, numbers).expect("a sequence that is locked has rows in both catalogs")
    }

    /// Its name, for a message.
    pub fn name(self) -> Shown {
        Shown::relation(self.0)
    }
}

/// What `pg_sequence` has of a sequence.
pub struct Options {
    pub increment: i64,
    pub min: i64,
    pub cache: i64,
    pub cycle: bool,
}
