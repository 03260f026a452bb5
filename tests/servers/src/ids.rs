//! Drawing ids in many sessions at once, and what has to hold of them.
//!
//! The fields are taken apart here by shifts of their own: a fault in the extension's own decoding is not to hide
//! one in its generating.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::cluster::Cluster;

/// How many ids a session asks for in one statement.
const PER_STATEMENT: usize = 10_000;
/// In statements of [`draw_while`]: short, since a session sees a new setting between its commands.
const PER_SHORT_STATEMENT: usize = 200;

/// The ids that sessions got, each in the order in which it got them.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    /// One entry for each session.
    pub sessions: Vec<Vec<i64>>,
}

/// Draws ids in several sessions at once, spread over databases.
pub fn draw(cluster: &Cluster, databases: &[&str], sessions: usize, ids_each: usize) -> Drawn {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|session| {
                let database = databases[session % databases.len()];
                scope.spawn(move || {
                    let mut client = cluster.connect(database);
                    let mut ids = Vec::with_capacity(ids_each);
                    while ids.len() < ids_each {
                        let count = PER_STATEMENT.min(ids_each - ids.len());
                        ids.extend(next_ids(&mut client, count));
                    }
                    ids
                })
            })
            .collect();
        Drawn {
            sessions: threads.into_iter().map(|thread| thread.join().expect("a session failed")).collect(),
        }
    })
}

/// Draws ids in several sessions, in short statements, while something happens to the server. It begins when every
/// session has drawn.
pub fn draw_while(
    cluster: &Cluster,
    databases: &[&str],
    sessions: usize,
    something_happens: impl FnOnce(),
) -> Drawn {
    let (drawing, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|session| {
                let database = databases[session % databases.len()];
                let (drawing, done) = (&drawing, &done);
                scope.spawn(move || {
                    let mut client = cluster.connect(database);
                    let mut ids = next_ids(&mut client, PER_SHORT_STATEMENT);
                    drawing.fetch_add(1, Ordering::Relaxed);
                    while !done.load(Ordering::Relaxed) {
                        ids.extend(next_ids(&mut client, PER_SHORT_STATEMENT));
                    }
                    ids
                })
            })
            .collect();
        let end = SetOnDrop(&done);
        while drawing.load(Ordering::Relaxed) < sessions && !threads.iter().any(|thread| thread.is_finished())
        {
            thread::sleep(Duration::from_millis(1));
        }
        something_happens();
        drop(end);
        Drawn {
            sessions: threads.into_iter().map(|thread| thread.join().expect("a session failed")).collect(),
        }
    })
}

/// Ends the sessions also where what happens panics: a scope waits for its threads.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The next ids of a session, in the order in which they were made.
pub fn next_ids(client: &mut postgres::Client, count: usize) -> Vec<i64> {
    let query = "SELECT snowflake_next() FROM generate_series(1, $1::bigint)";
    let rows = client.query(query, &[&(count as i64)]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

impl Drawn {
    /// All ids, sorted.
    pub fn sorted(&self) -> Vec<i64> {
        let mut ids = self.sessions.concat();
        ids.sort_unstable();
        ids
    }

    /// No id came twice, and each session's ids rose.
    pub fn assert_unique_and_rising(&self) {
        self.assert_rising();
        self.assert_unique();
    }

    /// Each session's ids rose.
    pub fn assert_rising(&self) {
        for (session, ids) in self.sessions.iter().enumerate() {
            for (at, pair) in ids.windows(2).enumerate() {
                let [before, after] = *pair else { unreachable!("windows of two") };
                assert!(
                    before < after,
                    "session {session} got {} after {} (its ids {} and {at} of {})",
                    show(after),
                    show(before),
                    at + 1,
                    ids.len()
                );
            }
        }
    }

    /// No id came twice.
    pub fn assert_unique(&self) {
        let sorted = self.sorted();
        let repeated: Vec<i64> =
            sorted.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        if let Some(&id) = repeated.first() {
            let holders: Vec<String> = self
                .sessions
                .iter()
                .enumerate()
                .flat_map(|(session, ids)| {
                    let places = ids.iter().enumerate().filter(move |&(_, &other)| other == id);
                    places.map(move |(at, _)| format!("session {session} (its id {at})"))
                })
                .collect();
            panic!(
                "{} repetitions among {} ids; the first is {}, of {}",
                repeated.len(),
                sorted.len(),
                show(id),
                holders.join(" and ")
            );
        }
    }

    /// Every id of this is greater than every id of what was drawn before.
    pub fn assert_above(&self, before: &Drawn) {
        let highest = before.sorted().last().copied().unwrap_or(0);
        let lowest = self.sorted().first().copied().unwrap_or(i64::MAX);
        assert!(lowest > highest, "{} came after {}", show(lowest), show(highest));
    }
}

/// Milliseconds after the epoch.
pub fn timestamp_of(id: i64) -> i64 {
    id >> 22
}

/// The node number.
pub fn node_of(id: i64) -> i64 {
    (id >> 12) & 1023
}

/// The sequence number within the millisecond.
pub fn sequence_of(id: i64) -> i64 {
    id & 4095
}

/// An id with its fields, for messages.
pub fn show(id: i64) -> String {
    format!("{id} (millisecond {}, node {}, sequence {})", timestamp_of(id), node_of(id), sequence_of(id))
}
