//! The shared words, and where they live.
//!
//! * PostgreSQL 17 and newer: a named segment of dynamic shared memory. It appears when the first session asks for
//!   it, so nothing has to be preloaded.
//! * PostgreSQL 15 and 16: the main shared memory, which can be asked for only while the server starts: the library
//!   must be in `shared_preload_libraries`. Without it there is no shared state, and whoever needs it is refused:
//!   state of one session's own would repeat ids.
//!
//! The segment is one page, whatever it holds, so that a newer library finds the size it expects; what it holds is
//! told by the layout version at its start.
//!
//! Locking: everything but the raise lock is an atomic word. [`Limits`] and [`ClockMemory`] are written by whoever
//! holds the raise lock, except where a field says otherwise.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use pgrx::pg_sys;
use snowflake_core::layout::Id;
use snowflake_core::{Ceiling, Word};

use crate::errors;

/// Raised with every change of [`Shared`].
const LAYOUT_VERSION: u32 = 2;
/// One page (the smallest page size of the platforms PostgreSQL runs on).
const SEGMENT_SIZE: usize = 4096;
const _: () = assert!(size_of::<Shared>() <= SEGMENT_SIZE);

const NAME: &std::ffi::CStr = c"snowflake";

/// No value yet, in a word whose every other value has a meaning.
const UNSET: i64 = i64::MIN;

/// All shared state of the server.
#[repr(C)]
pub struct Shared {
    layout_version: AtomicU32,
    /// The last id issued: the hot word, on a line of its own.
    pub word: CacheLine<Word>,
    /// The last ids of the designs that are bound to the clock: each is a word of its own, below the one ceiling.
    pub truetime: CacheLine<Word>,
    /// As above.
    pub unix: CacheLine<Word>,
    /// Read with every id, written about once a second.
    pub limits: CacheLine<Limits>,
    /// Held by the one session that raises the ceiling.
    pub raise_lock: CacheLine<RaiseLock>,
    /// What is known of the clock.
    pub clock: ClockMemory,
    /// Counters for `snowflake_status()`.
    pub stats: CacheLine<Stats>,
}

impl Shared {
    /// All words, that of the snowflake ids last.
    pub fn words(&self) -> [&Word; 3] {
        [&self.truetime, &self.unix, &self.word]
    }

    /// Lets every id up to the durable ceiling count as issued, of each word. True for the one caller who has started
    /// the word of the snowflake ids.
    pub fn start_words(&self, ceiling: Id) -> bool {
        let [.., first_of_snowflake] = self.words().map(|word| word.start(ceiling));
        first_of_snowflake
    }
}

/// Puts a value on cache lines that nothing else shares: 128 bytes, PostgreSQL's `PG_CACHE_LINE_SIZE`, because
/// processors fetch lines of 64 bytes in pairs.
#[repr(C, align(128))]
pub struct CacheLine<T>(T);

impl<T> std::ops::Deref for CacheLine<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// What every id is checked against.
#[repr(C)]
pub struct Limits {
    ceiling: AtomicI64,
    raise_at: AtomicI64,
    /// The epoch of this server's run, or [`UNSET`] before the first id. Written once, by one compare-exchange.
    epoch_ms: AtomicI64,
}

impl Limits {
    /// The highest id that may be issued: a ceiling at least as high is durable.
    #[inline]
    pub fn ceiling(&self) -> Id {
        id_from(self.ceiling.load(Ordering::Acquire))
    }

    /// The id past which the next ceiling is begun.
    #[inline]
    pub fn raise_at(&self) -> Id {
        id_from(self.raise_at.load(Ordering::Relaxed))
    }

    /// Tells all sessions of a ceiling that is durable now. Never lowers the one that is published.
    pub fn publish(&self, ceiling: &Ceiling) {
        // Only this word decides what may be issued. Release pairs with the acquire of `ceiling`.
        self.ceiling.fetch_max(ceiling.id.get(), Ordering::AcqRel);
        self.raise_at.fetch_max(ceiling.raise_at.get(), Ordering::Relaxed);
    }

    /// The epoch of this server's run, once there is one.
    #[inline]
    pub fn epoch_ms(&self) -> Option<i64> {
        let epoch = self.epoch_ms.load(Ordering::Acquire);
        (epoch != UNSET).then_some(epoch)
    }

    /// Fixes the epoch for this server's run, unless somebody has: the one in force comes back.
    pub fn fix_epoch_ms(&self, epoch_ms: i64) -> i64 {
        self.epoch_ms
            .compare_exchange(UNSET, epoch_ms, Ordering::AcqRel, Ordering::Acquire)
            .map_or_else(|fixed| fixed, |_| epoch_ms)
    }
}

#[inline]
fn id_from(word: i64) -> Id {
    // Only ids are stored in these words.
    Id::new(word).unwrap_or(Id::MIN)
}

/// What is known of the clock. Offsets are wall clock minus the machine's running time, in nanoseconds.
#[repr(C)]
pub struct ClockMemory {
    /// The machine's running time when this memory was made.
    pub started_ns: AtomicI64,
    trusted_offset_ns: AtomicI64,
    /// The highest offset that was ever trusted in this server's run.
    highest_offset_ns: AtomicI64,
    /// The offset that was last refused and reported, so that one event is reported once.
    pub reported_offset_ns: AtomicI64,
    /// The machine's running time when the clock was last seen to have been set back.
    pub last_regression_ns: AtomicI64,
    /// The machine's running time when a leap was last refused.
    pub last_leap_ns: AtomicI64,
    /// The epoch that was last reported as waiting for a restart.
    pub reported_epoch_ms: AtomicI64,
    /// The day (since the epoch) on which the end of the format was last warned of.
    pub warned_day: AtomicI64,
}

impl ClockMemory {
    /// The offset ids were last issued with, if ids have been.
    pub fn trusted_offset_ns(&self) -> Option<i64> {
        let offset = self.trusted_offset_ns.load(Ordering::Acquire);
        (offset != UNSET).then_some(offset)
    }

    /// Trusts another offset from now on. True for the one session that made the change.
    pub fn trust_offset_ns(&self, before: Option<i64>, offset: i64) -> bool {
        self.highest_offset_ns.fetch_max(offset, Ordering::Relaxed);
        self.trusted_offset_ns
            .compare_exchange(before.unwrap_or(UNSET), offset, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether ids have been issued with this offset, or with a higher one.
    pub fn has_trusted_ns(&self, offset: i64) -> bool {
        offset <= self.highest_offset_ns.load(Ordering::Relaxed)
    }
}

/// Counters; nothing is decided by them.
#[repr(C)]
pub struct Stats {
    /// Sleeps.
    pub waits: AtomicU64,
    /// Time asleep.
    pub wait_ns: AtomicU64,
    /// Times the clock was seen set back.
    pub regressions: AtomicU64,
    /// The largest of them.
    pub largest_regression_ns: AtomicI64,
    /// Times the clock was seen to have leapt ahead, and generation refused.
    pub leaps: AtomicU64,
}

/// The lock around read, write, flush and publish of the ceiling.
///
/// It is a PostgreSQL lock and not a Rust one: where the holder fails, PostgreSQL releases it with the transaction.
/// So there is no guard that releases on drop; an unwinding holder must not touch it.
#[repr(C)]
pub struct RaiseLock(UnsafeCell<pg_sys::LWLock>);

// SAFETY: an LWLock is made to be used by many processes through shared memory; all access goes through
// PostgreSQL's functions.
unsafe impl Sync for RaiseLock {}

impl RaiseLock {
    /// Takes the lock if it is free.
    pub fn try_acquire(&self) -> bool {
        // SAFETY: the lock was initialized with the memory it lives in.
        unsafe { pg_sys::LWLockConditionalAcquire(self.0.get(), pg_sys::LWLockMode::LW_EXCLUSIVE) }
    }

    /// Releases the lock, which the caller holds.
    pub fn release(&self) {
        // SAFETY: as above; the caller acquired it.
        unsafe { pg_sys::LWLockRelease(self.0.get()) }
    }

    fn tranche(&self) -> i32 {
        // SAFETY: the tranche is written once, before anybody can see the lock.
        unsafe { (*self.0.get()).tranche.into() }
    }
}

/// This process's address of the shared state; null until it is known.
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// The shared state, where this process has it already.
#[inline]
pub fn known() -> Option<&'static Shared> {
    let shared = SHARED.load(Ordering::Relaxed);
    // SAFETY: a pointer that is set points at an initialized `Shared` that stays mapped until the process ends.
    unsafe { shared.as_ref() }
}

/// The shared state, or `None` where there is none to be had: see the module's description.
#[inline]
pub fn find() -> Option<&'static Shared> {
    known().or_else(attach)
}

/// The shared state.
///
/// # Errors
/// 55000 where the library had to be preloaded and is not.
#[inline]
pub fn get() -> &'static Shared {
    match find() {
        Some(shared) => shared,
        None => errors::not_preloaded(),
    }
}

/// Remembers memory that is initialized, and checks that this library knows its layout.
fn adopt(memory: *mut Shared) -> &'static Shared {
    // SAFETY: the caller has initialized it, and it stays mapped until the process ends.
    let shared = unsafe { &*memory };
    let version = shared.layout_version.load(Ordering::Acquire);
    if version != LAYOUT_VERSION {
        errors::other_layout(version, LAYOUT_VERSION);
    }
    // SAFETY: the name is a C string that lives as long as the process.
    unsafe { pg_sys::LWLockRegisterTranche(shared.raise_lock.tranche(), c"SnowflakeCeiling".as_ptr()) };
    SHARED.store(memory, Ordering::Relaxed);
    shared
}

/// Initializes the shared state. PostgreSQL lets nobody else see it meanwhile.
fn initialize(memory: *mut Shared) {
    // SAFETY: the memory is at least `SEGMENT_SIZE` long, and all-zero bytes are a valid `Shared`.
    unsafe { ptr::write_bytes(memory.cast::<u8>(), 0, SEGMENT_SIZE) };
    // SAFETY: as above.
    let shared = unsafe { &*memory };
    shared.limits.epoch_ms.store(UNSET, Ordering::Relaxed);
    shared.clock.started_ns.store(crate::clock::machine_ns(), Ordering::Relaxed);
    for unset in [
        &shared.clock.trusted_offset_ns,
        &shared.clock.highest_offset_ns,
        &shared.clock.reported_offset_ns,
        &shared.clock.last_regression_ns,
        &shared.clock.last_leap_ns,
        &shared.clock.reported_epoch_ms,
        &shared.clock.warned_day,
    ] {
        unset.store(UNSET, Ordering::Relaxed);
    }
    // SAFETY: called while shared memory may be used.
    let tranche = unsafe { pg_sys::LWLockNewTrancheId() };
    // SAFETY: the lock lies in the memory that is being initialized.
    unsafe { pg_sys::LWLockInitialize(shared.raise_lock.0.0.get(), tranche) };
    shared.layout_version.store(LAYOUT_VERSION, Ordering::Release);
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
mod place {
    //! The registry of dynamic shared memory.

    use super::*;
    use pgrx::pg_guard;

    /// Nothing has to be asked for in advance.
    pub fn request() {}

    #[cold]
    pub fn attach() -> Option<&'static Shared> {
        let mut found = false;
        // SAFETY: the name is a C string shorter than PostgreSQL's limit, the callback initializes the segment.
        let memory =
            unsafe { pg_sys::GetNamedDSMSegment(NAME.as_ptr(), SEGMENT_SIZE, Some(made), &mut found) };
        Some(adopt(memory.cast()))
    }

    #[pg_guard]
    extern "C-unwind" fn made(memory: *mut std::ffi::c_void) {
        initialize(memory.cast());
    }
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
mod place {
    //! The main shared memory, asked for by the postmaster.

    use super::*;
    use pgrx::pg_guard;

    static NEXT_REQUEST: Hook = Hook::none();
    static NEXT_STARTUP: Hook = Hook::none();

    /// A hook that another library set before this one.
    struct Hook(AtomicPtr<()>);

    type HookFn = unsafe extern "C-unwind" fn();

    impl Hook {
        const fn none() -> Self {
            Self(AtomicPtr::new(ptr::null_mut()))
        }

        fn remember(&self, hook: Option<HookFn>) {
            let address = hook.map_or(ptr::null_mut(), |hook| hook as *mut ());
            self.0.store(address, Ordering::Relaxed);
        }

        fn call(&self) {
            let address = self.0.load(Ordering::Relaxed);
            if !address.is_null() {
                // SAFETY: only `remember` stores here, and what it stores is such a function.
                let hook = unsafe { std::mem::transmute::<*mut (), HookFn>(address) };
                // SAFETY: the hook is called where PostgreSQL calls it.
                unsafe { hook() };
            }
        }
    }

    /// Asks for the memory, where the library is being preloaded.
    pub fn request() {
        // SAFETY: a plain variable of this process.
        if !unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
            return;
        }
        // SAFETY: the postmaster has one thread, and hooks are set while it preloads libraries.
        NEXT_REQUEST.remember(unsafe { pg_sys::shmem_request_hook });
        // SAFETY: as above.
        NEXT_STARTUP.remember(unsafe { pg_sys::shmem_startup_hook });
        // SAFETY: as above.
        unsafe { pg_sys::shmem_request_hook = Some(request_memory) };
        // SAFETY: as above.
        unsafe { pg_sys::shmem_startup_hook = Some(make_memory) };
    }

    #[pg_guard]
    unsafe extern "C-unwind" fn request_memory() {
        NEXT_REQUEST.call();
        // SAFETY: this is the hook in which memory is asked for.
        unsafe { pg_sys::RequestAddinShmemSpace(SEGMENT_SIZE) };
    }

    /// Runs when the server starts, and again when it starts anew after the crash of a session.
    #[pg_guard]
    unsafe extern "C-unwind" fn make_memory() {
        NEXT_STARTUP.call();
        let mut found = false;
        // SAFETY: the main shared memory is set up; the name is a C string.
        let memory: *mut Shared =
            unsafe { pg_sys::ShmemInitStruct(NAME.as_ptr(), SEGMENT_SIZE, &mut found) }.cast();
        if !found {
            initialize(memory);
        }
        adopt(memory);
    }

    /// What was not set up at the start cannot be had later.
    #[cold]
    pub fn attach() -> Option<&'static Shared> {
        None
    }
}

use place::attach;
pub use place::request;
