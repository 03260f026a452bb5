//! The word under the model checker: every interleaving, and every value that the memory model allows to be read.
//!
//! Each thread is a session. A session notes what it returned in a second atomic, with release, and reads what the
//! others returned, with acquire, before its next call: so "returned before the call began" is a fact of the
//! model, and not one of the clock on the wall.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p snowflake-core --release --lib loom
//! ```

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::vec::Vec;

use super::*;
use crate::layout::{SEQUENCE_ID_MAX, compose};

const MS: i64 = 100;

fn at(timestamp: i64, node_id: i64, sequence_id: i64) -> Id {
    compose(timestamp, node_id, sequence_id, 0).unwrap()
}

/// What all sessions share.
struct Server {
    word: Word,
    /// The highest id that a session has returned.
    returned: AtomicU64,
    clock: AtomicU64,
}

impl Server {
    fn new() -> Arc<Self> {
        Arc::new(Self { word: Word::new(), returned: AtomicU64::new(0), clock: AtomicU64::new(MS as u64) })
    }

    fn started_at(last: Id) -> Arc<Self> {
        let server = Self::new();
        server.word.start(last);
        server
    }

    fn returned(&self) -> Id {
        Id::from_word(self.returned.load(Ordering::Acquire))
    }
}

struct Session {
    server: Arc<Server>,
    node: NodeId,
    want: i64,
    first_sequence_id: i64,
    block: Block,
    ids: Vec<Id>,
}

impl Session {
    fn new(server: &Arc<Server>, node_id: i64, want: i64) -> Self {
        let node = NodeId::new(node_id).unwrap();
        Self {
            server: server.clone(),
            node,
            want,
            first_sequence_id: 0,
            block: Block::EMPTY,
            ids: Vec::new(),
        }
    }

    /// One call: a number of the block while it is valid, else a reservation. Time goes by only where it is asked
    /// to: a wait is over at once.
    fn next(&mut self) -> Id {
        let before = self.server.returned();
        let id = self.call();
        self.server.returned.fetch_max(id.get() as u64, Ordering::AcqRel);
        assert!(self.ids.iter().all(|earlier| *earlier < id), "a session's ids rise");
        assert_eq!(id.node_id(), self.node.get());
        if self.want == 1 {
            assert!(id > before, "greater than all that was returned before the call");
        } else {
            assert!(id.timestamp() >= before.timestamp(), "no id from an earlier millisecond");
        }
        self.ids.push(id);
        id
    }

    fn call(&mut self) -> Id {
        let mut waited_for = None;
        loop {
            let seen = self.server.word.last().expect("the word is started");
            let now = self.server.clock.load(Ordering::Acquire) as i64;
            if let Some(id) = self.block.take(seen, self.server.word.observed(), now, self.node, i64::MAX) {
                return id;
            }
            let request = Request {
                seen,
                now,
                node: self.node,
                ceiling: Id::MAX,
                max_clock_step_ms: i64::MAX,
                want: self.want,
                waited_for,
                first_sequence_id: self.first_sequence_id,
            };
            match self.server.word.reserve(&request).unwrap() {
                Answer::Reserved(mut block) => {
                    let id = block.take_reserved().unwrap();
                    self.block = block;
                    return id;
                }
                Answer::LostRace => {}
                Answer::UsedUp => waited_for = Some(seen),
                Answer::CeilingReached { .. } => unreachable!("there is no ceiling here"),
            }
        }
    }
}

/// Runs sessions of the given `(node, want, calls)`, and returns the ids of each.
fn run(server: &Arc<Server>, sessions: &[(i64, i64, usize)]) -> Vec<Vec<Id>> {
    let threads: Vec<_> = sessions
        .iter()
        .map(|&(node_id, want, calls)| {
            let mut session = Session::new(server, node_id, want);
            thread::spawn(move || {
                for _ in 0..calls {
                    session.next();
                }
                session.ids
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn assert_distinct(ids: &[Vec<Id>]) -> Vec<Id> {
    let mut all: Vec<Id> = ids.iter().flatten().copied().collect();
    all.sort();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "an id was given out twice: {all:?}");
    all
}

/// Three threads have more interleavings than can be gone through: those with up to this many forced switches.
fn bounded(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn two_sessions_share_a_millisecond_without_a_gap() {
    loom::model(|| {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let all = assert_distinct(&run(&server, &[(1, 1, 2), (1, 1, 2)]));
        assert_eq!(all, [0, 1, 2, 3].map(|sequence_id| at(MS, 1, sequence_id)));
    });
}

// Whoever is the first in the millisecond draws where it begins; the other goes on from there.
#[test]
fn sessions_that_draw_where_a_millisecond_begins_share_it_without_a_gap() {
    loom::model(|| {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let threads = [700, 3].map(|first_sequence_id| {
            let mut session = Session { first_sequence_id, ..Session::new(&server, 1, 1) };
            thread::spawn(move || {
                session.next();
                session.next();
                session.ids
            })
        });
        let all = assert_distinct(&threads.map(|thread| thread.join().unwrap()));
        let first = all[0].sequence_id();
        assert!(first == 700 || first == 3);
        assert_eq!(all, [0, 1, 2, 3].map(|n| at(MS, 1, first + n)));
    });
}

#[test]
fn three_sessions_share_a_millisecond_without_a_gap() {
    bounded(2, || {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let all = assert_distinct(&run(&server, &[(1, 1, 1), (1, 1, 1), (1, 1, 2)]));
        assert_eq!(all, [0, 1, 2, 3].map(|sequence_id| at(MS, 1, sequence_id)));
    });
}

// Both wait for the same word. Only one steps from it, and the other goes on in the new millisecond.
#[test]
fn one_wait_steps_once() {
    loom::model(|| {
        let server = Server::started_at(at(MS, 1, SEQUENCE_ID_MAX - 1));
        let all = assert_distinct(&run(&server, &[(1, 1, 2), (1, 1, 1)]));
        assert_eq!(all, [at(MS, 1, SEQUENCE_ID_MAX), at(MS + 1, 1, 0), at(MS + 1, 1, 1)]);
    });
}

#[test]
fn sessions_that_see_different_nodes_never_meet() {
    loom::model(|| {
        let server = Server::started_at(at(MS, 3, 0));
        assert_distinct(&run(&server, &[(1, 1, 2), (5, 1, 2)]));
    });
}

#[test]
fn blocks_are_one_sessions_own_while_the_clock_ticks() {
    bounded(2, || {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let ticking = server.clone();
        let clock = thread::spawn(move || ticking.clock.store(MS as u64 + 1, Ordering::Release));
        assert_distinct(&run(&server, &[(1, 3, 3), (1, 2, 2)]));
        clock.join().unwrap();
    });
}

#[test]
fn a_block_and_single_ids_keep_the_order_of_milliseconds() {
    loom::model(|| {
        let server = Server::started_at(at(MS, 1, SEQUENCE_ID_MAX - 2));
        // The block's session sees the millisecond end under its block.
        assert_distinct(&run(&server, &[(1, 256, 2), (1, 1, 2)]));
    });
}

#[test]
fn the_first_callers_agree_on_the_start() {
    bounded(2, || {
        let ceiling = at(MS + 50, 9, 0);
        let server = Server::new();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let mut session = Session::new(&server, 1, 1);
                thread::spawn(move || {
                    if session.server.word.last().is_none() {
                        session.server.word.start(ceiling);
                    }
                    session.next();
                    session.ids
                })
            })
            .collect();
        let ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(assert_distinct(&ids)[0] > ceiling);
    });
}

// A session that was slow to start the word, with the ceiling as it was when it looked, changes nothing.
#[test]
fn a_late_start_takes_nothing_back() {
    loom::model(|| {
        let server = Server::new();
        let late = server.clone();
        let slow = thread::spawn(move || late.word.start(at(MS, 1, 0)));
        server.word.start(at(MS, 1, 0));
        let mut session = Session::new(&server, 1, 1);
        let first = session.next();
        slow.join().unwrap();
        assert!(server.word.last().unwrap() >= first);
        assert!(session.next() > first);
    });
}

#[test]
fn raising_by_hand_ends_every_block_and_lowers_nothing() {
    bounded(2, || {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let (raised, advanced) = (at(MS, 5, 0), server.clone());
        let raiser = thread::spawn(move || {
            advanced.word.raise(raised).unwrap();
            advanced.returned.fetch_max(raised.get() as u64, Ordering::AcqRel);
        });
        let threads: Vec<_> = [3, 1]
            .map(|want| {
                let mut session = Session::new(&server, 1, want);
                thread::spawn(move || {
                    for _ in 0..2 {
                        // Raised before the call: also a block must not reach back.
                        let after = session.server.returned() >= raised;
                        let id = session.next();
                        assert!(!after || id > raised);
                    }
                    session.ids
                })
            })
            .into_iter()
            .collect();
        let ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        raiser.join().unwrap();
        assert_distinct(&ids);
        assert!(server.word.last().unwrap() > raised);
    });
}

// The id may be one of a session's own, of the very millisecond whose ids it has in its block.
#[test]
fn what_was_observed_comes_before_every_id_from_then_on() {
    bounded(2, || {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let (id, observing) = (at(MS, 1, 1), server.clone());
        let observer = thread::spawn(move || {
            if !observing.word.has_passed(id) {
                observing.word.observe(id);
            }
            observing.returned.fetch_max(id.get() as u64, Ordering::AcqRel);
        });
        let threads = [3, 1].map(|want| {
            let mut session = Session::new(&server, 1, want);
            thread::spawn(move || {
                for _ in 0..2 {
                    let after = session.server.word.has_passed(id);
                    let next = session.next();
                    assert!(!after || next > id);
                }
                session.ids
            })
        });
        let ids = threads.map(|thread| thread.join().unwrap());
        observer.join().unwrap();
        assert_distinct(&ids);
    });
}

// Two sessions observe the same id: also the one that finds it observed must have the word behind it.
#[test]
fn whoever_finds_it_observed_is_past_it() {
    loom::model(|| {
        let server = Server::started_at(at(MS - 1, 1, 7));
        let id = at(MS, 9, 0);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let mut session = Session::new(&server, 1, 1);
                thread::spawn(move || {
                    if !session.server.word.has_passed(id) {
                        session.server.word.observe(id);
                    }
                    assert!(session.next() > id);
                    session.ids
                })
            })
            .collect();
        let ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_distinct(&ids);
    });
}

// The order that the ceiling rests on: durable first, then published; read the published one, then reserve.
#[test]
fn no_id_is_above_what_is_durable() {
    loom::model(|| {
        let server = Server::started_at(at(MS, 1, 0));
        let durable = Arc::new(AtomicU64::new(at(MS, 1, 1).get() as u64));
        let published = Arc::new(AtomicU64::new(at(MS, 1, 1).get() as u64));
        let (flushed, raised) = (durable.clone(), published.clone());
        let raiser = thread::spawn(move || {
            let higher = at(MS, 1, 3).get() as u64;
            flushed.fetch_max(higher, Ordering::Relaxed);
            raised.fetch_max(higher, Ordering::Release);
        });
        for _ in 0..3 {
            let request = Request {
                seen: server.word.last().unwrap(),
                now: MS,
                node: NodeId::new(1).unwrap(),
                ceiling: Id::from_word(published.load(Ordering::Acquire)),
                max_clock_step_ms: i64::MAX,
                want: 1,
                waited_for: None,
                first_sequence_id: 0,
            };
            if let Answer::Reserved(block) = server.word.reserve(&request).unwrap() {
                assert!(block.last() <= Id::from_word(durable.load(Ordering::Relaxed)));
            }
        }
        raiser.join().unwrap();
    });
}
