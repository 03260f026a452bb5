//! Sessions that generate without pause while something happens to the server, each id checked as it comes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;

use crate::cluster::{Cluster, PATIENCE};
use crate::errors::SqlError;
use crate::promise::{Order, Promise};

/// SQLSTATE of generation that is refused for now: the sessions try again.
const REFUSED: &str = "55000";

/// Sessions that generate.
pub struct Generating<'a> {
    /// Where.
    pub cluster: &'a Cluster,
    /// The sessions are spread over these.
    pub databases: &'a [&'a str],
    /// For each session its `snowflake.cache`.
    pub caches: &'a [i64],
    /// What each prepares and runs: it takes the number of ids, and returns them.
    pub statement: &'a str,
    /// How many ids they ask for in one statement: few, to follow closely; many, for load.
    pub ids_a_statement: i64,
}

/// What is to be seen of the sessions meanwhile.
pub struct Watch<'a> {
    /// What they were given.
    pub promise: &'a Promise,
    sessions: Vec<Counts>,
    refusals: Mutex<Vec<SqlError>>,
    done: AtomicBool,
}

#[derive(Default)]
struct Counts {
    served: AtomicU64,
    refused: AtomicU64,
    ended: AtomicBool,
}

impl<'a> Generating<'a> {
    /// For a session that takes the server's `snowflake.cache`, whatever it is.
    pub const SERVERS_CACHE: i64 = 0;

    /// Sessions in the database `postgres`.
    pub fn sessions(cluster: &'a Cluster, caches: &'a [i64]) -> Self {
        let statement = "SELECT snowflake_next() FROM generate_series(1, $1::bigint)";
        Self { cluster, databases: &["postgres"], caches, statement, ids_a_statement: 100 }
    }

    /// Generates while something happens, which begins when every session has got ids. Generation may be refused
    /// (55000) meanwhile. In the end every session has to get ids again.
    ///
    /// # Panics
    /// Where the promise is broken, a session meets another error, or does not get ids.
    pub fn run(&self, promise: &Promise, something_happens: impl FnOnce(&Watch)) {
        let watch = Watch {
            promise,
            sessions: self.caches.iter().map(|_| Counts::default()).collect(),
            refusals: Mutex::default(),
            done: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            for (session, &cache) in self.caches.iter().enumerate() {
                let watch = &watch;
                scope.spawn(move || {
                    let counts = &watch.sessions[session];
                    let _ended = SetOnDrop(&counts.ended);
                    let mut client = self.cluster.connect(self.databases[session % self.databases.len()]);
                    if cache != Self::SERVERS_CACHE {
                        client.batch_execute(&format!("SET snowflake.cache = {cache}")).expect("a setting");
                    }
                    self.generate(&mut client, cache, counts, watch);
                });
            }
            let _done = SetOnDrop(&watch.done);
            watch.wait_until_served();
            something_happens(&watch);
            watch.wait_until_served();
        });
    }

    fn generate(&self, client: &mut Client, cache: i64, counts: &Counts, watch: &Watch) {
        let order = if cache == 1 { Order::Ids } else { Order::Milliseconds };
        let query = client.prepare(self.statement).expect("the extension is there");
        while !watch.done.load(Ordering::Relaxed) {
            let call = watch.promise.begin();
            match client.query(&query, &[&self.ids_a_statement]) {
                Ok(rows) => {
                    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
                    watch.promise.end(&call, &ids, order);
                    counts.served.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    watch.promise.end(&call, &[], order);
                    let error = SqlError::of(&error);
                    assert_eq!(error.code, REFUSED, "{error}");
                    watch.refusals.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                    // So that a thousand refusals do not stand in the way of what happens.
                    thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }
}

impl Watch<'_> {
    /// Waits until every session has got ids by a statement that began after this was called.
    pub fn wait_until_served(&self) {
        self.wait_for_two_more(|counts| counts.served.load(Ordering::Relaxed), "got ids");
    }

    /// Waits until every session has been refused, with a statement that began after this was called.
    pub fn wait_until_refused(&self) {
        self.wait_for_two_more(|counts| counts.refused.load(Ordering::Relaxed), "was refused");
    }

    /// How many statements have got ids.
    pub fn served(&self) -> u64 {
        self.sessions.iter().map(|counts| counts.served.load(Ordering::Relaxed)).sum()
    }

    /// What was refused since this was last called.
    pub fn take_refusals(&self) -> Vec<SqlError> {
        std::mem::take(&mut self.refusals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The first may have begun before.
    fn wait_for_two_more(&self, count: impl Fn(&Counts) -> u64, what: &str) {
        let before: Vec<u64> = self.sessions.iter().map(&count).collect();
        let end = Instant::now() + PATIENCE;
        for (session, (counts, before)) in self.sessions.iter().zip(before).enumerate() {
            while count(counts) < before + 2 {
                assert!(!counts.ended.load(Ordering::Relaxed), "session {session} has ended");
                assert!(
                    Instant::now() < end,
                    "session {session} never {what}: {:?}",
                    self.take_refusals().last()
                );
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
