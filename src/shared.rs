//! Where the shared state lives.
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
//! What decides about ids is the core's, [`snowflake_core::Shared`]; the raise lock and the counters are the extension's.
//! Everything but the lock is an atomic word.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use pgrx::pg_sys;
use snowflake_core::Shared;
use snowflake_core::shared::CacheLine;

use crate::errors;

/// Raised with every change of [`Segment`].
const LAYOUT_VERSION: u32 = 3;
/// One page (the smallest page size of the platforms PostgreSQL runs on).
const SEGMENT_SIZE: usize = 4096;
const _: () = assert!(size_of::<Segment>() <= SEGMENT_SIZE);

const NAME: &std::ffi::CStr = c"snowflake";

/// All shared state of the server.
#[repr(C)]
pub struct Segment {
    layout_version: AtomicU32,
    /// What decides about ids.
    pub core: Shared,
    /// Held by the one session that raises the ceiling.
    pub raise_lock: CacheLine<RaiseLock>,
    /// Counters for `snowflake_status()`.
    pub stats: CacheLine<Stats>,
}

/// Counters; nothing is decided by them.
#[repr(C)]
#[derive(Default)]
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
static SEGMENT: AtomicPtr<Segment> = AtomicPtr::new(ptr::null_mut());

/// The shared state, where this process has it already.
#[inline]
pub fn known() -> Option<&'static Segment> {
    let shared = SEGMENT.load(Ordering::Relaxed);
    // SAFETY: a pointer that is set points at an initialized `Segment` that stays mapped until the process ends.
    unsafe { shared.as_ref() }
}

/// The shared state, or `None` where there is none to be had: see the module's description.
#[inline]
pub fn find() -> Option<&'static Segment> {
    known().or_else(attach)
}

/// The shared state.
///
/// # Errors
/// 55000 where the library had to be preloaded and is not.
#[inline]
pub fn get() -> &'static Segment {
    match find() {
        Some(shared) => shared,
        None => errors::not_preloaded(),
    }
}

/// Remembers memory that is initialized, and checks that this library knows its layout.
fn adopt(memory: *mut Segment) -> &'static Segment {
    // SAFETY: the caller has initialized it, and it stays mapped until the process ends.
    let shared = unsafe { &*memory };
    let version = shared.layout_version.load(Ordering::Acquire);
    if version != LAYOUT_VERSION {
        errors::other_layout(version, LAYOUT_VERSION);
    }
    // SAFETY: the name is a C string that lives as long as the process.
    unsafe { pg_sys::LWLockRegisterTranche(shared.raise_lock.tranche(), c"SnowflakeCeiling".as_ptr()) };
    SEGMENT.store(memory, Ordering::Relaxed);
    shared
}

/// Initializes the shared state. PostgreSQL lets nobody else see it meanwhile.
fn initialize(memory: *mut Segment) {
    let segment = Segment {
        layout_version: AtomicU32::new(0),
        core: Shared::new(crate::clock::machine_ns()),
        // SAFETY: all-zero bytes are a valid LWLock, which is initialized below.
        raise_lock: CacheLine(RaiseLock(UnsafeCell::new(unsafe { std::mem::zeroed() }))),
        stats: CacheLine(Stats::default()),
    };
    // SAFETY: the memory is at least `SEGMENT_SIZE` long, and aligned to PostgreSQL's cache lines at least.
    unsafe { memory.write(segment) };
    // SAFETY: written above.
    let shared = unsafe { &*memory };
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
    pub fn attach() -> Option<&'static Segment> {
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
        let memory: *mut Segment =
            unsafe { pg_sys::ShmemInitStruct(NAME.as_ptr(), SEGMENT_SIZE, &mut found) }.cast();
        if !found {
            initialize(memory);
        }
        adopt(memory);
    }

    /// What was not set up at the start cannot be had later.
    #[cold]
    pub fn attach() -> Option<&'static Segment> {
        None
    }
}

use place::attach;
pub use place::request;
