//! Single calls with the times at which they began and ended: for the order that holds across sessions.

use std::thread;
use std::time::Instant;

use crate::cluster::Cluster;
use crate::ids::{show, timestamp_of};

/// One call of `snowflake_next()`.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Taken before the statement was sent.
    pub began: Instant,
    /// Taken after the id had come.
    pub ended: Instant,
    /// The id.
    pub id: i64,
}

/// Makes single calls in several sessions at once.
pub fn call(cluster: &Cluster, database: &str, sessions: usize, calls_each: usize) -> Vec<Call> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = cluster.connect(database);
                    let statement =
                        client.prepare("SELECT snowflake_next()").expect("the extension is there");
                    let mut call = || {
                        let began = Instant::now();
                        let id = client.query_one(&statement, &[]).expect("an id").get(0);
                        Call { began, ended: Instant::now(), id }
                    };
                    (0..calls_each).map(|_| call()).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a session failed")).collect()
    })
}

/// If a call began after another had returned, its id is greater. Holds for `snowflake.cache = 1`.
pub fn assert_order(calls: &[Call]) {
    assert_against_highest_before(calls, |highest, call| call.id > highest.id);
}

/// If a call began after another had returned, its id is not from an earlier millisecond. Holds for every
/// `snowflake.cache`.
pub fn assert_order_of_milliseconds(calls: &[Call]) {
    assert_against_highest_before(calls, |highest, call| timestamp_of(call.id) >= timestamp_of(highest.id));
}

/// Checks each call against the highest id among those that had been returned when it began.
fn assert_against_highest_before(calls: &[Call], holds: impl Fn(Call, Call) -> bool) {
    let (mut by_begin, mut by_end) = (calls.to_vec(), calls.to_vec());
    by_begin.sort_unstable_by_key(|call| call.began);
    by_end.sort_unstable_by_key(|call| call.ended);
    let mut returned = by_end.into_iter().peekable();
    let mut highest: Option<Call> = None;
    for call in by_begin {
        while let Some(before) = returned.next_if(|other| other.ended < call.began) {
            if highest.is_none_or(|highest| before.id > highest.id) {
                highest = Some(before);
            }
        }
        if let Some(highest) = highest {
            assert!(
                holds(highest, call),
                "a call that began {:?} after another had returned {} got {}",
                call.began - highest.ended,
                show(highest.id),
                show(call.id)
            );
        }
    }
}
