//! The settings: the only place that defines and reads them.
//!
//! The rule that matters: **a value that was given and cannot be taken never becomes the default in silence.** For
//! built-in settings PostgreSQL sees to that. For those of a library that is loaded later it cannot: what was given
//! before is kept as a placeholder, and if the definition refuses it, PostgreSQL prints a WARNING and goes on with
//! the default. So, after defining a setting, [`Checked::distrust_a_refused_value`] looks whether one was given and
//! the default is in force all the same, and then sets the default again with a mark: the source
//! `PGC_S_DYNAMIC_DEFAULT`, which nothing else gives to a library's setting. Generation refuses while the mark is
//! there. PostgreSQL hands a marked setting on to parallel workers, and any good value, from a reload say,
//! replaces it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, Ordering};

use pgrx::{pg_guard, pg_sys};
use snowflake_core::NodeId;
use snowflake_core::driver::Settings;
use snowflake_core::generator::RESERVE_MAX;
use snowflake_core::layout::{self, EPOCH_MS_DEFAULT, IDS_PER_MS, NODE_ID_DEFAULT, NODE_ID_MAX};

use crate::clock;
use crate::errors::{self, OrRaise};
use crate::shown::Shown;

const MS_PER_S: i64 = 1_000;

/// One day, in seconds: an operator who sets a clock wrong by more than that is to be asked first.
const MAX_CLOCK_STEP_DEFAULT_S: i32 = 24 * 60 * 60;
/// Below this, the correction of a clock that drifted would stop generation.
const MAX_CLOCK_STEP_MIN_S: i32 = 10;
/// One second: what NTP keeps even badly connected servers within.
const MAX_CLOCK_SKEW_DEFAULT_MS: i32 = 1_000;

static NODE: AtomicI32 = AtomicI32::new(NODE_ID_DEFAULT as i32);
static NODE_CHECK: Checked = Checked::new(c"snowflake.node");

/// The text belongs to PostgreSQL; [`assign_epoch`] keeps the number.
static EPOCH_TEXT: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
static EPOCH_MS: AtomicI64 = AtomicI64::new(EPOCH_MS_DEFAULT);
static EPOCH_CHECK: Checked = Checked::new(c"snowflake.epoch");

/// A quarter of a millisecond's 4,096: an eighth of them is skipped at most, on average.
const SEQUENCE_SPREAD_MAX: i32 = (IDS_PER_MS / 4 - 1) as i32;

static CACHE: AtomicI32 = AtomicI32::new(1);
static SEQUENCE_SPREAD: AtomicI32 = AtomicI32::new(0);
static MAX_CLOCK_STEP_S: AtomicI32 = AtomicI32::new(MAX_CLOCK_STEP_DEFAULT_S);
/// Stands for what the kernel says.
const CLOCK_MAX_ERROR_OF_KERNEL: i32 = -1;
static CLOCK_MAX_ERROR_MS: AtomicI32 = AtomicI32::new(CLOCK_MAX_ERROR_OF_KERNEL);
static MAX_CLOCK_SKEW_MS: AtomicI32 = AtomicI32::new(MAX_CLOCK_SKEW_DEFAULT_MS);

/// This server's node number.
///
/// # Errors
/// 55000 where a value was given that could not be taken.
#[inline]
pub fn node() -> NodeId {
    NODE_CHECK.or_raise();
    NodeId::new(NODE.load(Ordering::Relaxed).into()).or_raise()
}

/// This server's node number, or `None` where a value was given that could not be taken.
#[inline]
pub fn trusted_node() -> Option<NodeId> {
    if NODE_CHECK.is_refused() {
        return None;
    }
    NodeId::new(NODE.load(Ordering::Relaxed).into()).ok()
}

/// The epoch that is set, or `None` where a value was given that could not be taken.
#[inline]
pub fn trusted_epoch_ms() -> Option<i64> {
    (!EPOCH_CHECK.is_refused()).then(|| EPOCH_MS.load(Ordering::Relaxed))
}

/// The epoch that is set, in Unix milliseconds. Which one is in force, the generator knows.
///
/// # Errors
/// 55000 where a value was given that could not be taken.
#[inline]
pub fn epoch_ms() -> i64 {
    EPOCH_CHECK.or_raise();
    EPOCH_MS.load(Ordering::Relaxed)
}

/// The settings as this call sees them.
///
/// # Errors
/// 55000 where a value was given that could not be taken.
pub fn in_force() -> Settings {
    NODE_CHECK.or_raise();
    EPOCH_CHECK.or_raise();
    read(node())
}

/// The settings as this call sees them, or `None` where a value was given that could not be taken.
#[inline]
pub fn trusted() -> Option<Settings> {
    let node = trusted_node()?;
    (!EPOCH_CHECK.is_refused()).then(|| read(node))
}

#[inline]
fn read(node: NodeId) -> Settings {
    Settings {
        node,
        epoch_ms: EPOCH_MS.load(Ordering::Relaxed),
        cache: CACHE.load(Ordering::Relaxed).into(),
        sequence_spread: SEQUENCE_SPREAD.load(Ordering::Relaxed).into(),
        max_clock_step_ms: max_clock_step_ms(),
        max_clock_skew_ms: MAX_CLOCK_SKEW_MS.load(Ordering::Relaxed).into(),
    }
}

/// How far the clock may stand behind the last id, or leap ahead, in milliseconds.
#[inline]
pub fn max_clock_step_ms() -> i64 {
    i64::from(MAX_CLOCK_STEP_S.load(Ordering::Relaxed)) * MS_PER_S
}

/// The clock's greatest error that is set, in milliseconds, or `None` where the kernel is to say.
pub fn clock_max_error_ms() -> Option<i64> {
    let ms = CLOCK_MAX_ERROR_MS.load(Ordering::Relaxed);
    (ms != CLOCK_MAX_ERROR_OF_KERNEL).then(|| ms.into())
}

/// Defines the settings and reserves their prefixes.
pub fn define() {
    let node_given = NODE_CHECK.value_given();
    let epoch_given = EPOCH_CHECK.value_given();
    // SAFETY: a plain variable of this process.
    let preloading = unsafe { pg_sys::process_shared_preload_libraries_in_progress };
    let epoch_context =
        if preloading { pg_sys::GucContext::PGC_POSTMASTER } else { pg_sys::GucContext::PGC_SIGHUP };

    define_int(&Int {
        name: NODE_CHECK.name,
        short: c"Node number of this server in the snowflake ids it generates.",
        long: c"It must differ from that of every other server whose ids may meet.",
        variable: &NODE,
        range: (0, NODE_ID_MAX as i32),
        context: pg_sys::GucContext::PGC_SIGHUP,
        unit: 0,
        check: Some(check_node),
        assign: Some(assign_node),
    });
    define_epoch(epoch_context);
    define_int(&Int {
        name: c"snowflake.cache",
        short: c"Number of snowflake ids that a session reserves at once.",
        long: c"Like CACHE of CREATE SEQUENCE: faster, and ids of different sessions interleave in blocks.",
        variable: &CACHE,
        range: (1, RESERVE_MAX as i32),
        context: pg_sys::GucContext::PGC_USERSET,
        unit: 0,
        check: None,
        assign: None,
    });
    define_int(&Int {
        name: c"snowflake.sequence_spread",
        short: c"Highest sequence number that the first snowflake id of a millisecond may have.",
        long: c"It is drawn from 0 to this number, so that ids divide evenly also where few are generated.",
        variable: &SEQUENCE_SPREAD,
        range: (0, SEQUENCE_SPREAD_MAX),
        context: pg_sys::GucContext::PGC_SIGHUP,
        unit: 0,
        check: None,
        assign: None,
    });
    define_int(&Int {
        name: c"snowflake.max_clock_step",
        short: c"How far the clock may stand behind the last snowflake id, or leap ahead.",
        long: c"Beyond it no ids are generated, so that a wrong clock does not spoil the ids to come.",
        variable: &MAX_CLOCK_STEP_S,
        range: (MAX_CLOCK_STEP_MIN_S, i32::MAX),
        context: pg_sys::GucContext::PGC_SIGHUP,
        unit: pg_sys::GUC_UNIT_S,
        check: None,
        assign: None,
    });
    define_int(&Int {
        name: c"snowflake.max_clock_skew",
        short: c"How far apart the clocks of servers that exchange snowflake ids may be.",
        long: c"An id from further ahead is not taken for one that an honest server has issued.",
        variable: &MAX_CLOCK_SKEW_MS,
        range: (0, i32::MAX),
        context: pg_sys::GucContext::PGC_SIGHUP,
        unit: pg_sys::GUC_UNIT_MS,
        check: None,
        assign: None,
    });
    define_int(&Int {
        name: c"sequencer.clock_max_error",
        short: c"How wrong the clock may be, for TrueTime ids of the extension sequencer.",
        long: c"-1 asks the kernel, which knows it from the daemon that synchronises the clock.",
        variable: &CLOCK_MAX_ERROR_MS,
        range: (CLOCK_MAX_ERROR_OF_KERNEL, i32::MAX),
        context: pg_sys::GucContext::PGC_SIGHUP,
        unit: pg_sys::GUC_UNIT_MS,
        check: None,
        assign: None,
    });
    NODE_CHECK.distrust_a_refused_value(node_given, pg_sys::GucContext::PGC_SIGHUP);
    EPOCH_CHECK.distrust_a_refused_value(epoch_given, epoch_context);
    for prefix in [c"snowflake", c"sequencer"] {
        // SAFETY: a C string that lives as long as the process.
        unsafe { pg_sys::MarkGUCPrefixReserved(prefix.as_ptr()) };
    }
}

/// A setting whose default must not stand in for a value that was refused.
struct Checked {
    name: &'static CStr,
    /// The source of the last value that the check hook accepted.
    source: AtomicU32,
    /// The default is in force with the mark described above.
    refused: AtomicBool,
    /// The value that was refused, where this process saw it.
    given: OnceLock<Shown>,
}

impl Checked {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            source: AtomicU32::new(pg_sys::GucSource::PGC_S_DEFAULT),
            refused: AtomicBool::new(false),
            given: OnceLock::new(),
        }
    }

    #[inline]
    fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    #[inline]
    fn or_raise(&self) {
        if self.is_refused() {
            errors::setting_refused(Shown::new(self.name.to_bytes()), self.given.get());
        }
    }

    /// The value that was given before the setting is defined, and is kept as a placeholder.
    fn value_given(&self) -> Option<Shown> {
        if !placeholder_has_value(self.name) {
            return None;
        }
        // SAFETY: the name is a C string; a missing setting is null.
        let value = unsafe { pg_sys::GetConfigOption(self.name.as_ptr(), true, false) };
        if value.is_null() {
            return None;
        }
        // SAFETY: PostgreSQL returns a C string.
        Some(Shown::new(unsafe { CStr::from_ptr(value) }.to_bytes()))
    }

    /// The check hook's part: keeps the source, and puts the mark where it is that of a refused value.
    fn accept(&self, source: pg_sys::GucSource::Type, extra: *mut *mut c_void) -> bool {
        if source == pg_sys::GucSource::PGC_S_DYNAMIC_DEFAULT {
            let mark = allocate_mark();
            if mark.is_null() {
                return false;
            }
            // SAFETY: PostgreSQL passes a place for the hook's own data, which it frees itself.
            unsafe { *extra = mark };
        }
        self.source.store(source, Ordering::Relaxed);
        true
    }

    /// The assign hook's part.
    fn assign(&self, extra: *mut c_void) {
        self.refused.store(!extra.is_null(), Ordering::Relaxed);
    }

    /// To be called right after the definition, during which PostgreSQL assigned every value it accepted: so the
    /// source kept is that of the value in force.
    fn distrust_a_refused_value(&self, given: Option<Shown>, context: pg_sys::GucContext::Type) {
        let default_in_force = self.source.load(Ordering::Relaxed) == pg_sys::GucSource::PGC_S_DEFAULT;
        let Some(given) = given.filter(|_| default_in_force) else { return };
        let _ = self.given.set(given);
        // SAFETY: the setting exists, so its value is not null.
        let value = unsafe { pg_sys::GetConfigOption(self.name.as_ptr(), false, false) };
        // SAFETY: PostgreSQL returns a C string; the copy outlives the assignment of the same setting.
        let value: CString = unsafe { CStr::from_ptr(value) }.to_owned();
        let source = pg_sys::GucSource::PGC_S_DYNAMIC_DEFAULT;
        // SAFETY: both strings live through the call.
        unsafe { pg_sys::SetConfigOption(self.name.as_ptr(), value.as_ptr(), context, source) };
    }
}

/// A placeholder whose value was taken back, by ALTER SYSTEM RESET say, is still there. From PostgreSQL 16 on its
/// value cannot be told from an empty one, but its source can: that of the default.
#[cfg(not(feature = "pg15"))]
fn placeholder_has_value(name: &CStr) -> bool {
    // SAFETY: looks a name up and reports nothing.
    let setting = unsafe { pg_sys::find_option(name.as_ptr(), false, true, pg_sys::DEBUG5 as i32) };
    // SAFETY: what is found lives as long as the process.
    unsafe { setting.as_ref() }.is_some_and(|setting| setting.source != pg_sys::GucSource::PGC_S_DEFAULT)
}

/// On PostgreSQL 15 the value itself tells: it is null.
#[cfg(feature = "pg15")]
fn placeholder_has_value(_name: &CStr) -> bool {
    true
}

/// One byte in the memory that PostgreSQL frees a hook's data from.
fn allocate_mark() -> *mut c_void {
    #[cfg(feature = "pg15")]
    // SAFETY: malloc has no precondition.
    return unsafe { libc::malloc(1) };
    #[cfg(not(feature = "pg15"))]
    // SAFETY: reports a lack of memory at the level given, and then returns null.
    return unsafe { pg_sys::guc_malloc(pg_sys::LOG as i32, 1) };
}

#[pg_guard]
extern "C-unwind" fn check_node(
    _value: *mut c_int,
    extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    NODE_CHECK.accept(source, extra)
}

#[pg_guard]
extern "C-unwind" fn assign_node(_value: c_int, extra: *mut c_void) {
    NODE_CHECK.assign(extra);
}

#[pg_guard]
extern "C-unwind" fn check_epoch(
    value: *mut *mut c_char,
    extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a pointer to the new value.
    let text = unsafe { *value };
    match parse_epoch(text) {
        Some(epoch_ms) if is_past(epoch_ms) => EPOCH_CHECK.accept(source, extra),
        Some(_) => refuse_epoch("The epoch must be past."),
        None => refuse_epoch("The epoch must be given in decimal digits, as Unix milliseconds."),
    }
}

#[pg_guard]
extern "C-unwind" fn assign_epoch(value: *const c_char, extra: *mut c_void) {
    // What is assigned has passed the check.
    if let Some(epoch_ms) = parse_epoch(value) {
        EPOCH_MS.store(epoch_ms, Ordering::Relaxed);
    }
    EPOCH_CHECK.assign(extra);
}

fn parse_epoch(text: *const c_char) -> Option<i64> {
    if text.is_null() {
        return None;
    }
    // SAFETY: PostgreSQL passes a C string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().ok().and_then(layout::parse_epoch_ms)
}

/// Whether an epoch is past. A clock that stands before the default epoch is wrong itself, as clocks are before
/// the machine has found the time, and proves nothing.
fn is_past(epoch_ms: i64) -> bool {
    let now = clock::wall_ms();
    epoch_ms <= now || now < EPOCH_MS_DEFAULT
}

fn refuse_epoch(detail: &str) -> bool {
    let Ok(detail) = CString::new(detail) else { return false };
    // SAFETY: the text is copied into memory that lives as long as the message needs it.
    let copy = unsafe { pg_sys::pstrdup(detail.as_ptr()) };
    // SAFETY: the variable through which a check hook explains itself.
    unsafe { pg_sys::GUC_check_errdetail_string = copy };
    false
}

/// An integer setting.
struct Int {
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    variable: &'static AtomicI32,
    range: (i32, i32),
    context: pg_sys::GucContext::Type,
    unit: u32,
    check: pg_sys::GucIntCheckHook,
    assign: pg_sys::GucIntAssignHook,
}

fn define_int(setting: &Int) {
    // SAFETY: all strings and the variable live as long as the process. PostgreSQL writes the variable through
    // its pointer, in the one thread that reads it.
    unsafe {
        pg_sys::DefineCustomIntVariable(
            setting.name.as_ptr(),
            setting.short.as_ptr(),
            setting.long.as_ptr(),
            setting.variable.as_ptr(),
            setting.variable.load(Ordering::Relaxed),
            setting.range.0,
            setting.range.1,
            setting.context,
            setting.unit as i32,
            setting.check,
            setting.assign,
            None,
        )
    }
}

fn define_epoch(context: pg_sys::GucContext::Type) {
    static DEFAULT: OnceLock<CString> = OnceLock::new();
    let default = DEFAULT.get_or_init(|| CString::new(EPOCH_MS_DEFAULT.to_string()).unwrap_or_default());
    // SAFETY: as in `define_int`; PostgreSQL owns the text that the variable points at.
    unsafe {
        pg_sys::DefineCustomStringVariable(
            EPOCH_CHECK.name.as_ptr(),
            c"Epoch of snowflake ids, in Unix milliseconds.".as_ptr(),
            c"The same for all ids that may meet. It is fixed from the first id until the server restarts."
                .as_ptr(),
            EPOCH_TEXT.as_ptr(),
            default.as_ptr(),
            context,
            0,
            Some(check_epoch),
            Some(assign_epoch),
            None,
        )
    }
}
