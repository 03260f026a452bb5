//! Each rule of the generator, one by one.

mod block;
mod observe;
mod rules;
mod series;
mod word;

use super::*;
use crate::layout::{NODE_ID_MAX, SEQUENCE_ID_MAX, compose};

/// How far the clock may stand behind in these tests.
const MAX_STEP: i64 = 1_000;

fn node(node_id: i64) -> NodeId {
    NodeId::new(node_id).unwrap()
}

fn at(timestamp: i64, node_id: i64, sequence_id: i64) -> Id {
    compose(timestamp, node_id, sequence_id, 0).unwrap()
}

/// The last id that `node_id` can have in a millisecond.
fn used_up(timestamp: i64, node_id: i64) -> Id {
    at(timestamp, node_id, SEQUENCE_ID_MAX)
}

/// A word that stands at `last`.
fn word_at(last: Id) -> Word {
    let word = Word::new();
    assert!(word.start(last));
    word
}

fn started(word: &Word) -> Started<'_> {
    word.started().expect("the word is started")
}

/// One id for node 1, with the word at `seen` and the clock at `now`, which alone counts; the caller waits.
fn request(seen: Id, now: i64) -> Request {
    Request {
        seen,
        now,
        node: node(1),
        ceiling: Id::MAX,
        max_clock_step_ms: MAX_STEP,
        want: 1,
        paced: i64::MIN,
        waits: true,
        first_sequence_id: 0,
    }
}

/// What a word that stands where the request saw it answers.
fn answer(request: &Request) -> Result<Answer, GenerateError> {
    started(&word_at(request.seen)).reserve(request)
}

/// The one id that was reserved, which the word must have become: an id is what the exchange wrote, never put
/// together from a second reading.
fn reserve_one(word: &Word, request: &Request) -> Id {
    let Ok(Answer::Reserved(mut block)) = started(word).reserve(request) else {
        panic!("{request:?} reserves nothing");
    };
    assert_eq!(word.last(), Some(block.last()));
    let id = block.take_reserved().unwrap();
    assert_eq!(block.take_reserved(), None);
    id
}

fn next(request: &Request) -> Id {
    reserve_one(&word_at(request.seen), request)
}
