//! What all sessions of a server share, apart from the lock around raising the ceiling, which is the host's.
//!
//! Everything is an atomic word. [`Word`] decides what is issued. [`Limits`] are written by the session that holds the
//! raise lock, except for the epoch. The words of [`ClockMemory`] are written by the session that first sees the clock
//! change.

use crate::ceiling::Ceiling;
use crate::generator::Word;
use crate::layout::Id;
use crate::pace::Pace;
use crate::sync::{AtomicI64, Ordering};

/// No value yet, in a word whose every other value has a meaning.
const UNSET: i64 = i64::MIN;

/// A value on cache lines that nothing else shares: 128 bytes, PostgreSQL's `PG_CACHE_LINE_SIZE`, because processors
/// fetch lines of 64 bytes in pairs.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct CacheLine<T>(pub T);

impl<T> core::ops::Deref for CacheLine<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// All shared state of a server's run.
#[repr(C)]
#[derive(Debug)]
pub struct Shared {
    /// The last snowflake id issued: the hot word.
    pub snowflake: CacheLine<Word>,
    /// The last ids of the designs that are bound to the clock: each is a word of its own, below the one ceiling.
    pub truetime: CacheLine<Word>,
    /// As above.
    pub unix: CacheLine<Word>,
    /// Read with every id, written about once a second.
    pub limits: CacheLine<Limits>,
    /// Read and written where ids are ahead of the clock, or a millisecond is used up.
    pub pace: CacheLine<Pace>,
    /// What is known of the clock.
    pub clock: CacheLine<ClockMemory>,
}

/// Which word ids are taken from.
pub type WordOf = fn(&Shared) -> &Word;

/// That of the snowflake ids.
pub fn snowflake(shared: &Shared) -> &Word {
    &shared.snowflake
}

/// That of the TrueTime ids.
pub fn truetime(shared: &Shared) -> &Word {
    &shared.truetime
}

/// That of the Unix times.
pub fn unix(shared: &Shared) -> &Word {
    &shared.unix
}

impl Shared {
    /// All words, that of the snowflake ids last: where it is started, the others are.
    pub const WORDS: [WordOf; 3] = [truetime, unix, snowflake];

    /// The state of a server that has issued nothing, made at this time of the machine's running time.
    pub fn new(machine_ns: i64) -> Self {
        Self {
            snowflake: CacheLine(Word::new()),
            truetime: CacheLine(Word::new()),
            unix: CacheLine(Word::new()),
            limits: CacheLine(Limits::new()),
            pace: CacheLine(Pace::new()),
            clock: CacheLine(ClockMemory::new(machine_ns)),
        }
    }

    /// All words, in the order of [`WORDS`](Self::WORDS).
    pub fn words(&self) -> [&Word; 3] {
        Self::WORDS.map(|word_of| word_of(self))
    }

    /// Starts each word at the durable ceiling, so that every id up to it counts as issued. Returns true to the one
    /// caller that has started the word of the snowflake ids.
    pub fn start_words(&self, ceiling: Id) -> bool {
        let [.., first_of_snowflake] = self.words().map(|word| word.start(ceiling));
        first_of_snowflake
    }
}

/// What every id is checked against.
#[repr(C)]
#[derive(Debug)]
pub struct Limits {
    ceiling: AtomicI64,
    raise_at: AtomicI64,
    /// The epoch of this server's run, or [`UNSET`] before the first id. Written once, by one compare-exchange.
    epoch_ms: AtomicI64,
}

impl Limits {
    fn new() -> Self {
        Self { ceiling: AtomicI64::new(0), raise_at: AtomicI64::new(0), epoch_ms: AtomicI64::new(UNSET) }
    }

    /// The highest id that may be issued: a ceiling at least as high is durable.
    #[inline]
    pub fn ceiling(&self) -> Id {
        // Acquire pairs with the release of `publish`: whoever sees a ceiling may rely on its being durable.
        id_from(self.ceiling.load(Ordering::Acquire))
    }

    /// The id past which the next ceiling is begun. Not above the ceiling, and durable as that is.
    #[inline]
    pub fn raise_at(&self) -> Id {
        // As above: the fast path reads this in place of the ceiling.
        id_from(self.raise_at.load(Ordering::Acquire))
    }

    /// Tells all sessions of a ceiling that is durable now. Never lowers the one that is published.
    pub fn publish(&self, ceiling: &Ceiling) {
        self.ceiling.fetch_max(ceiling.id.get(), Ordering::AcqRel);
        self.raise_at.fetch_max(ceiling.raise_at.get(), Ordering::AcqRel);
    }

    /// The epoch of this server's run, once there is one.
    #[inline]
    pub fn epoch_ms(&self) -> Option<i64> {
        // Acquire pairs with the release of `fix_epoch_ms`.
        let epoch = self.epoch_ms.load(Ordering::Acquire);
        (epoch != UNSET).then_some(epoch)
    }

    /// Fixes the epoch for this server's run, unless another session has: the one in force comes back.
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
#[derive(Debug)]
pub struct ClockMemory {
    /// The machine's running time when this memory was made.
    started_ns: AtomicI64,
    trusted_offset_ns: AtomicI64,
    /// The highest offset that was ever trusted in this server's run.
    highest_offset_ns: AtomicI64,
    /// The offset that was last refused and reported, so that one event is reported once.
    pub(crate) reported_offset_ns: AtomicI64,
    /// The machine's running time when the clock was last seen to have been set back.
    pub(crate) last_regression_ns: AtomicI64,
    /// The machine's running time when a leap was last refused.
    pub(crate) last_leap_ns: AtomicI64,
    /// The epoch that was last reported as waiting for a restart.
    pub(crate) reported_epoch_ms: AtomicI64,
    /// The day (since the epoch) on which the end of the format was last warned of.
    pub(crate) warned_day: AtomicI64,
}

impl ClockMemory {
    fn new(machine_ns: i64) -> Self {
        let unset = || AtomicI64::new(UNSET);
        Self {
            started_ns: AtomicI64::new(machine_ns),
            trusted_offset_ns: unset(),
            highest_offset_ns: unset(),
            reported_offset_ns: unset(),
            last_regression_ns: unset(),
            last_leap_ns: unset(),
            reported_epoch_ms: unset(),
            warned_day: unset(),
        }
    }

    /// The machine's running time when this memory was made.
    pub fn started_ns(&self) -> i64 {
        self.started_ns.load(Ordering::Relaxed)
    }

    /// The offset ids were last issued with, if ids have been.
    pub fn trusted_offset_ns(&self) -> Option<i64> {
        let offset = self.trusted_offset_ns.load(Ordering::Acquire);
        (offset != UNSET).then_some(offset)
    }

    /// Trusts another offset from now on. True for the one session that made the change.
    pub(crate) fn trust_offset_ns(&self, before: Option<i64>, offset: i64) -> bool {
        self.highest_offset_ns.fetch_max(offset, Ordering::Relaxed);
        self.trusted_offset_ns
            .compare_exchange(before.unwrap_or(UNSET), offset, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether ids have been issued with this offset, or with a higher one.
    pub(crate) fn has_trusted_ns(&self, offset: i64) -> bool {
        offset <= self.highest_offset_ns.load(Ordering::Relaxed)
    }
}
