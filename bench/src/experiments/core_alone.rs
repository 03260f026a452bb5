//! The generator of the core without PostgreSQL: threads that take ids from one word as fast as they can, and designs
//! that were tried beside it.
//!
//! The format's ceiling does not hold here (the clock goes a millisecond ahead where one is used up), since what is
//! measured is the word.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use snowflake_core::layout::{Id, NODE_ID_DEFAULT, NODE_ID_SHIFT, NodeId, SEQUENCE_ID_MAX, TIMESTAMP_SHIFT};
use snowflake_core::{Answer, Block, Request, Started, Word};

use super::Scale;
use crate::figures::{Figure, Sample};
use crate::report::Report;

const IDS: u64 = 2_000_000;
const NODE: NodeId = match NodeId::new(NODE_ID_DEFAULT) {
    Ok(node) => node,
    Err(_) => panic!("the default is in the range"),
};

/// A way to take the next id; `threads` call it at once.
type Design = (&'static str, fn(&Shared) -> u64);

/// What threads share.
struct Shared {
    word: Word,
    ticket: AtomicU64,
}

const DESIGNS: [Design; 5] = [
    ("clock alone", |_| now_ms() as u64),
    ("word, clock, compare-exchange", |shared| reserve(shared, 1).last().get() as u64),
    ("clock, word, compare-exchange", clock_first),
    ("fetch-add ticket", ticket),
    ("block of 64", block),
];

pub fn run(scale: &Scale, report: &mut Report) {
    for threads in [1, 2, 4, 8] {
        let mut samples = DESIGNS.map(|_| Sample::default());
        for _ in 0..scale.short_rounds {
            for ((_, next), sample) in DESIGNS.iter().zip(&mut samples) {
                sample.extend([ns_an_id(*next, threads, IDS / scale.divisor as u64)]);
            }
        }
        for ((name, _), sample) in DESIGNS.iter().zip(samples) {
            report.record(Figure {
                experiment: "core",
                contestant: (*name).to_owned(),
                parameter: Some(threads),
                metric: "time an id",
                unit: "ns",
                sample,
            });
        }
    }
}

/// Ids one after another, for callgrind.
pub fn make_ids(ids: u64) {
    let shared = Shared::new();
    for _ in 0..ids {
        black_box(reserve(&shared, 1));
    }
}

/// Elapsed time an id: with more threads than cores, of all cores together.
fn ns_an_id(next: fn(&Shared) -> u64, threads: i64, ids: u64) -> f64 {
    let shared = Shared::new();
    let each = ids / threads as u64;
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..each {
                    black_box(next(&shared));
                }
            });
        }
    });
    began.elapsed().as_nanos() as f64 / (each * threads as u64) as f64
}

impl Shared {
    fn new() -> Self {
        let shared = Self { word: Word::new(), ticket: AtomicU64::new(now_word()) };
        shared.word.start(Id::first_of(now_ms()));
        shared
    }

    fn look(&self) -> (Started<'_>, Id) {
        self.word.look().expect("the word is started")
    }
}

fn reserve(shared: &Shared, want: i64) -> Block {
    loop {
        let (word, seen) = shared.look();
        if let Answer::Reserved(block) = request(word, seen, now_ms(), want) {
            return block;
        }
    }
}

/// The readings the other way round, as in the attempt that is made at once: there is less time to lose a race in. A
/// steady clock may look set back then, since the word has moved meanwhile.
fn clock_first(shared: &Shared) -> u64 {
    loop {
        let now = now_ms();
        let (word, seen) = shared.look();
        if let Answer::Reserved(block) = request(word, seen, now, 1) {
            return block.last().get() as u64;
        }
    }
}

/// One attempt. Every millisecond has come by a pace like this.
fn request(word: Started, seen: Id, now: i64, want: i64) -> Answer {
    let request = Request {
        seen,
        now,
        node: NODE,
        ceiling: Id::MAX,
        max_clock_step_ms: i64::MAX,
        want,
        paced: i64::MAX,
        waits: true,
        first_sequence_id: 0,
    };
    word.reserve(&request).expect("a clock within the format")
}

/// One fetch-add gives a place in the order of all ids: millisecond and sequence. It never fails, but the counter has
/// to be moved up when it falls behind the clock, and whoever draws a millisecond that has not come has to wait for
/// it holding an id, which a cancelled session loses. The node number cannot change within a millisecond.
fn ticket(shared: &Shared) -> u64 {
    let now = now_word();
    let drawn = shared.ticket.load(Ordering::Relaxed);
    if drawn < now {
        // Moving it up is a compare-exchange or a fetch-max again, once a millisecond for each session.
        shared.ticket.fetch_max(now, Ordering::AcqRel);
    }
    let drawn = shared.ticket.fetch_add(1, Ordering::AcqRel);
    let (timestamp, sequence) = (drawn >> SEQUENCE_BITS, drawn & SEQUENCE_ID_MAX as u64);
    (timestamp << TIMESTAMP_SHIFT) | (u64::from(NODE.get() as u16) << NODE_ID_SHIFT) | sequence
}

const SEQUENCE_BITS: u32 = SEQUENCE_ID_MAX.count_ones();

fn now_word() -> u64 {
    (now_ms() as u64) << SEQUENCE_BITS
}

fn block(shared: &Shared) -> u64 {
    std::thread_local! {
        static BLOCK: std::cell::Cell<Block> = const { std::cell::Cell::new(Block::EMPTY) };
    }
    let mut block = BLOCK.get();
    let taken = block.take(shared.look().1, Id::MIN, now_ms(), NODE, i64::MAX);
    let id = taken.unwrap_or_else(|| {
        block = reserve(shared, 64);
        block.take_reserved().unwrap_or(Id::MIN)
    });
    BLOCK.set(block);
    id.get() as u64
}

/// Milliseconds after the default epoch.
fn now_ms() -> i64 {
    read(libc::CLOCK_REALTIME) / 1_000_000 - snowflake_core::layout::EPOCH_MS_DEFAULT
}

/// A clock in nanoseconds, read as the extension does.
pub fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
