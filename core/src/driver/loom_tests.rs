//! The driver under the model checker: every interleaving (up to a bound of forced switches, where there are too many),
//! and every value that the memory model allows to be read.
//!
//! Each thread is a session. A session notes what it returned in an atomic of the model, with release, and reads what the
//! others returned, with acquire, before its next call: so "returned before the call began" is a fact of the model, and
//! not one of the clock on the wall.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p snowflake-core --release --lib loom
//! ```

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use loom::thread;
use std::vec::Vec;

use super::{Batch, Event, Host, Session, Settings, Wait, advance, next, next_after, next_fast, observe};
use crate::ceiling::Ceiling;
use crate::clock_step::NS_PER_MS;
use crate::layout::{Id, NodeId, SEQUENCE_ID_MAX, compose};
use crate::shared::Shared;

/// The millisecond that the clock begins in.
const MS: i64 = 100;

fn at(timestamp: i64, node_id: i64, sequence_id: i64) -> Id {
    compose(timestamp, node_id, sequence_id, 0).unwrap()
}

/// What all sessions of a server share, and its world.
struct Server {
    shared: Shared,
    /// All three clocks, in nanoseconds. A session that sleeps moves them on.
    clock_ns: AtomicI64,
    raising: AtomicBool,
    durable: AtomicI64,
    /// The highest id that a session has returned.
    returned: AtomicU64,
}

impl Server {
    /// A server that has just been started, with this durable ceiling.
    fn new(durable: Id) -> Arc<Self> {
        Arc::new(Self {
            shared: Shared::new(MS * NS_PER_MS),
            clock_ns: AtomicI64::new(MS * NS_PER_MS),
            raising: AtomicBool::new(false),
            durable: AtomicI64::new(durable.get()),
            returned: AtomicU64::new(0),
        })
    }

    /// A server whose last id is this one, and whose ceiling is durable and published.
    fn below(last: Id, ceiling: Ceiling) -> Arc<Self> {
        let server = Self::new(ceiling.id);
        server.shared.limits.fix_epoch_ms(0);
        server.shared.start_words(last);
        server.shared.limits.publish(&ceiling);
        server
    }

    /// A server whose last id is this one, and which needs no higher ceiling.
    fn at(last: Id) -> Arc<Self> {
        Self::below(last, Ceiling { id: Id::MAX, raise_at: Id::MAX })
    }

    fn last(&self) -> Id {
        self.shared.snowflake.last().expect("the word is started")
    }

    fn returned(&self) -> Id {
        Id::from_word(self.returned.load(Ordering::Acquire))
    }

    fn set_returned(&self, id: Id) {
        self.returned.fetch_max(id.get() as u64, Ordering::AcqRel);
    }

    fn now_ns(&self) -> i64 {
        // Acquire and release, so that time is the same for all who know of each other. Otherwise an old value may be
        // read: that session was slow.
        self.clock_ns.load(Ordering::Acquire)
    }
}

impl Host for Server {
    fn shared(&self) -> &Shared {
        &self.shared
    }
    fn wall_ns(&self) -> i64 {
        self.now_ns()
    }
    fn machine_ns(&self) -> i64 {
        self.now_ns()
    }
    fn monotonic_ns(&self) -> i64 {
        self.now_ns()
    }
    /// Until so much later than this session knows of. Whoever else sleeps, sleeps meanwhile.
    fn sleep(&self, _: Wait, ns: i64) {
        self.clock_ns.fetch_max(self.now_ns() + ns, Ordering::AcqRel);
        thread::yield_now();
    }
    fn is_in_recovery(&self) -> bool {
        false
    }
    fn durable_ceiling(&self) -> Id {
        Id::new(self.durable.load(Ordering::Relaxed)).unwrap()
    }
    fn try_lock_raise(&self) -> bool {
        self.raising.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
    fn unlock_raise(&self) {
        assert!(self.raising.swap(false, Ordering::Release), "only the holder releases the lock");
    }
    fn make_durable(&self, ceiling: Id) {
        // Relaxed: what orders it before an id is the driver's.
        self.durable.fetch_max(ceiling.get(), Ordering::Relaxed);
    }
    fn report(&self, event: Event) {
        assert!(matches!(event, Event::EpochWaits { .. }), "nobody sets the clock: {event:?}");
    }
}

/// A session, and the client that calls it.
struct Client {
    server: Arc<Server>,
    session: Session,
    settings: Settings,
    ids: Vec<Id>,
}

impl Client {
    fn new(server: &Arc<Server>, node_id: i64, cache: i64) -> Self {
        let settings = Settings {
            node: NodeId::new(node_id).unwrap(),
            epoch_ms: 0,
            cache,
            sequence_spread: 0,
            max_clock_step_ms: 86_400_000,
            max_clock_skew_ms: 1_000,
        };
        Self { server: server.clone(), session: Session::new(), settings, ids: Vec::new() }
    }

    fn next(&mut self) -> Id {
        let before = self.server.returned();
        let Self { server, session, settings, .. } = self;
        let id = next_fast(&**server, session, settings)
            .map_or_else(|| next(&**server, session, settings), Ok)
            .expect("nothing is refused");
        if self.settings.cache == 1 {
            assert!(id > before, "greater than all that was returned before the call");
        }
        self.give(id, before)
    }

    /// What holds for every id, however it was asked for.
    fn give(&mut self, id: Id, before: Id) -> Id {
        let Self { server, settings, ids, .. } = self;
        // Relaxed: the driver has seen to it that it was there before.
        let durable = Id::new(server.durable.load(Ordering::Relaxed)).unwrap();
        assert!(id <= durable, "{id:?} is above {durable:?}, which is durable");
        server.set_returned(id);
        assert!(ids.iter().all(|earlier| *earlier < id), "a session's ids rise");
        assert_eq!(id.node_id(), settings.node.get());
        assert!(id.timestamp() >= before.timestamp(), "no id from an earlier millisecond");
        ids.push(id);
        id
    }

    fn assert_not_early(&self, id: Id) {
        assert!(id.timestamp() * NS_PER_MS <= self.server.now_ns(), "{id:?} has not come");
    }
}

/// Runs clients, each in a thread of its own, and returns the ids of each.
fn run<const N: usize>(
    clients: [Client; N],
    calls: impl Fn(&mut Client) + Copy + Send + 'static,
) -> [Vec<Id>; N] {
    clients
        .map(|mut client| {
            thread::spawn(move || {
                calls(&mut client);
                client.ids
            })
        })
        .map(|thread| thread.join().unwrap())
}

fn call(times: usize) -> impl Fn(&mut Client) + Copy + Send + 'static {
    move |client| {
        for _ in 0..times {
            let id = client.next();
            client.assert_not_early(id);
        }
    }
}

fn distinct(ids: impl IntoIterator<Item = Vec<Id>>) -> Vec<Id> {
    let mut all: Vec<Id> = ids.into_iter().flatten().collect();
    all.sort();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "an id was given out twice: {all:?}");
    all
}

/// Three threads, and two that raise the ceiling, have more interleavings than can be gone through: those with up to this
/// many forced switches.
fn bounded(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn two_sessions_share_a_millisecond_without_a_gap() {
    bounded(4, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let all = distinct(run([Client::new(&server, 1, 1), Client::new(&server, 1, 1)], call(2)));
        assert_eq!(all, [0, 1, 2, 3].map(|sequence_id| at(MS, 1, sequence_id)));
    });
}

// Whoever is the first in the millisecond draws where it begins; the other goes on from there.
#[test]
fn sessions_that_draw_where_a_millisecond_begins_share_it_without_a_gap() {
    bounded(4, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let clients = [700, 3].map(|sequence_spread| {
            let client = Client::new(&server, 1, 1);
            Client { settings: Settings { sequence_spread, ..client.settings }, ..client }
        });
        let drawn = [700, 3].map(|highest| crate::spread::first_sequence_id(MS * NS_PER_MS, highest));
        let all = distinct(run(clients, call(2)));
        let first = all[0].sequence_id();
        assert!(drawn.contains(&first) && drawn[0] != drawn[1]);
        assert_eq!(all, [0, 1, 2, 3].map(|n| at(MS, 1, first + n)));
    });
}

#[test]
fn three_sessions_share_a_millisecond_without_a_gap() {
    bounded(2, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let clients = [(); 3].map(|()| Client::new(&server, 1, 1));
        let all = distinct(run(clients, call(1)));
        assert_eq!(all, [0, 1, 2].map(|sequence_id| at(MS, 1, sequence_id)));
    });
}

// Both reserve of the next millisecond, which is begun once, and wait for it.
#[test]
fn a_used_up_millisecond_is_left_once() {
    bounded(2, || {
        let server = Server::at(at(MS, 1, SEQUENCE_ID_MAX - 1));
        let all = distinct(run([Client::new(&server, 1, 1), Client::new(&server, 1, 1)], call(2)));
        assert_eq!(all[..2], [at(MS, 1, SEQUENCE_ID_MAX), at(MS + 1, 1, 0)]);
        for pair in all.windows(2).skip(1) {
            let goes_on = pair[1].get() == pair[0].get() + 1;
            assert!(goes_on || (pair[1].timestamp() > pair[0].timestamp() && pair[1].sequence_id() == 0));
        }
    });
}

#[test]
fn sessions_that_see_different_nodes_never_meet() {
    bounded(2, || {
        let server = Server::at(at(MS, 3, 0));
        distinct(run([Client::new(&server, 1, 1), Client::new(&server, 5, 1)], call(2)));
    });
}

// The clock stands, or was set back: a session that waits goes by the running time that all sleep through.
#[test]
fn ids_ahead_of_the_clock_wait_for_the_pace() {
    bounded(2, || {
        let server = Server::at(at(MS + 50, 3, 0));
        let began_ns = server.now_ns();
        let ids = run([Client::new(&server, 1, 1), Client::new(&server, 5, 1)], move |client| {
            for _ in 0..2 {
                let id = client.next();
                // The pace begins two milliseconds below the word.
                let gone_ns = client.server.now_ns() - began_ns;
                assert!((id.timestamp() - (MS + 48)) * NS_PER_MS <= gone_ns, "{id:?} after {gone_ns}");
            }
        });
        distinct(ids);
    });
}

#[test]
fn blocks_are_one_sessions_own_while_the_clock_ticks() {
    bounded(2, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let ticking = server.clone();
        let clock = thread::spawn(move || ticking.clock_ns.fetch_max((MS + 1) * NS_PER_MS, Ordering::AcqRel));
        distinct(run([Client::new(&server, 1, 3), Client::new(&server, 1, 2)], call(2)));
        clock.join().unwrap();
    });
}

// The block's session sees the millisecond end under its block.
#[test]
fn a_block_and_single_ids_keep_the_order_of_milliseconds() {
    bounded(2, || {
        let server = Server::at(at(MS, 1, SEQUENCE_ID_MAX - 2));
        distinct(run([Client::new(&server, 1, 256), Client::new(&server, 1, 1)], call(2)));
    });
}

#[test]
fn a_batch_begins_above_all_that_was_returned() {
    bounded(2, || {
        let server = Server::at(at(MS, 1, SEQUENCE_ID_MAX - 2));
        let ids = run([Client::new(&server, 1, 1), Client::new(&server, 1, 2)], |client| {
            if client.settings.cache == 1 {
                return call(2)(client);
            }
            client.next();
            let before = client.server.returned();
            let mut batch = Batch::new(2);
            for number in 0..2 {
                let returned = client.server.returned();
                let id = batch.next(&*client.server, &client.session, &client.settings).unwrap().unwrap();
                assert!(number > 0 || id > before);
                client.give(id, returned);
                client.assert_not_early(id);
            }
            assert!(batch.next(&*client.server, &client.session, &client.settings).is_none());
        });
        distinct(ids);
    });
}

#[test]
fn the_first_callers_agree_on_the_start() {
    bounded(2, || {
        let ceiling = at(MS + 50, 9, 0);
        let server = Server::new(ceiling);
        let ids = run([Client::new(&server, 1, 1), Client::new(&server, 1, 1)], |client| {
            client.next();
        });
        assert!(distinct(ids)[0] > ceiling);
    });
}

// Whichever epoch is first is that of both: with another, the word would be ahead or behind by 50 milliseconds.
#[test]
fn the_first_callers_agree_on_the_epoch() {
    bounded(2, || {
        let server = Server::new(at(10, 9, 0));
        let clients = [0, 50].map(|epoch_ms| {
            let client = Client::new(&server, 1, 1);
            Client { settings: Settings { epoch_ms, ..client.settings }, ..client }
        });
        let all = distinct(run(clients, |client| {
            client.next();
        }));
        let epoch_ms = server.shared.limits.epoch_ms().unwrap();
        assert!(
            all.iter().all(|id| (MS..MS + 5).contains(&(id.timestamp() + epoch_ms))),
            "{all:?}, {epoch_ms}"
        );
    });
}

// A session that was slow to start the word, with the ceiling as it was when it looked, changes nothing.
#[test]
fn a_late_start_takes_nothing_back() {
    bounded(3, || {
        let durable = at(MS, 1, 0);
        let server = Server::new(durable);
        let late = server.clone();
        let slow = thread::spawn(move || late.shared.start_words(durable));
        let mut client = Client::new(&server, 1, 1);
        let first = client.next();
        slow.join().unwrap();
        assert!(server.last() >= first);
        assert!(client.next() > first);
    });
}

#[test]
fn advancing_ends_every_block_and_lowers_nothing() {
    bounded(2, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let (id, operator) = (at(MS, 5, 0), Client::new(&server, 1, 1));
        let operator = thread::spawn(move || {
            advance(&*operator.server, &operator.session, &operator.settings, id).unwrap();
            operator.server.set_returned(id);
        });
        let ids = run([Client::new(&server, 1, 3)], move |client| {
            for _ in 0..2 {
                // Advanced before the call: also a block must not reach back.
                let after = client.server.returned() >= id;
                assert!(client.next() > id || !after);
            }
        });
        operator.join().unwrap();
        distinct(ids);
        assert!(server.last() > id);
    });
}

// The id may be one of a session's own, of the very millisecond whose ids it has in its block.
#[test]
fn what_was_observed_comes_before_every_id_from_then_on() {
    bounded(2, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let (id, observer) = (at(MS, 1, 1), Client::new(&server, 1, 1));
        let observer = thread::spawn(move || {
            observe(&*observer.server, &observer.session, &observer.settings, id).unwrap();
            observer.server.set_returned(id);
        });
        let ids = run([Client::new(&server, 1, 3)], move |client| {
            for _ in 0..3 {
                let word = client.server.shared.snowflake.started().unwrap();
                let after = word.has_passed(id) || client.server.returned() >= id;
                assert!(client.next() > id || !after);
            }
        });
        observer.join().unwrap();
        distinct(ids);
    });
}

// Two sessions observe the same id: also the one that finds it observed must have the word behind it.
#[test]
fn whoever_finds_it_observed_is_past_it() {
    bounded(2, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let ids = run([Client::new(&server, 1, 2), Client::new(&server, 1, 1)], |client| {
            let id = at(MS, 9, 0);
            observe(&*client.server, &client.session, &client.settings, id).unwrap();
            assert!(client.next() > id);
        });
        distinct(ids);
    });
}

#[test]
fn an_answer_is_above_what_it_answers() {
    bounded(2, || {
        let server = Server::at(at(MS - 1, 1, 7));
        let ids = run([Client::new(&server, 1, 1), Client::new(&server, 5, 1)], |client| {
            for after in [at(MS, 3, 0), at(MS + 1, 0, 7)] {
                let before = client.server.returned();
                let id = next_after(&*client.server, &client.session, &client.settings, after).unwrap();
                assert!(id > after && id > before);
                client.give(id, before);
            }
        });
        distinct(ids);
    });
}

// Durable first, then published; read the published one, then reserve. The fast path reads another word for it.
#[test]
fn no_id_is_above_what_is_durable() {
    bounded(2, || {
        let low = Ceiling { id: at(MS, 1, 1), raise_at: at(MS, 1, 0) };
        let server = Server::below(at(MS, 1, 0), low);
        let all = distinct(run([Client::new(&server, 1, 1), Client::new(&server, 1, 1)], call(2)));
        assert!(server.durable_ceiling() >= all[3] && server.durable_ceiling() > low.id);
    });
}
