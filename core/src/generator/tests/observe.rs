//! Ids that came from elsewhere, and must come before what is issued from now on.

use super::*;
use crate::layout::TIMESTAMP_MS_MAX;

/// A block of five, 100-1-8 to 100-1-12, of which the first is taken.
fn begun_block() -> Block {
    let wanted = Request { want: 5, ..request(at(100, 1, 7), 100) };
    let Ok(Answer::Reserved(mut block)) = answer(&wanted) else { panic!("nothing was reserved") };
    assert_eq!(block.take_reserved(), Some(at(100, 1, 8)));
    block
}

#[test]
fn what_is_reserved_after_follow_is_greater() {
    for id in [at(100, 0, 0), at(100, 1, 7), at(100, 1, 8), at(100, 9, 4), at(150, 0, 0), at(150, 1, 4_095)] {
        for now in [99, 100, 120, 150, 151] {
            let word = word_at(at(100, 1, 7));
            started(&word).follow(id);
            let seen = word.last().unwrap();
            let paced = Request { paced: seen.timestamp(), ..request(seen, now) };
            assert!(reserve_one(&word, &paced) > id, "{id:?} at {now}");
        }
    }
}

#[test]
fn follow_goes_no_further_than_the_id_and_never_back() {
    let word = word_at(at(100, 1, 7));
    started(&word).follow(at(150, 9, 4));
    assert_eq!(word.last(), Some(at(150, 9, 4)));
    started(&word).follow(at(150, 9, 3));
    started(&word).follow(Id::MIN);
    assert_eq!(word.last(), Some(at(150, 9, 4)));
    started(&word).follow(Id::MAX);
    assert_eq!(word.last(), Some(Id::MAX));
}

// A millisecond for each answer would be paid by nobody: two servers that answer each other at once would be seconds
// ahead of their clocks in a blink.
#[test]
fn servers_that_answer_each_other_stay_with_the_clock() {
    let words = [word_at(at(99, 0, 1)), word_at(at(99, 0, 1))];
    let (mut now, mut said) = (100, Id::MIN);
    for turn in 0..100_000 {
        let (word, node_id) = (&words[turn % 2], [3, 700][turn % 2]);
        started(word).follow(said);
        let answer = loop {
            let wanted = Request { node: node(node_id), ..request(word.last().unwrap(), now) };
            match started(word).reserve(&wanted) {
                Ok(Answer::Reserved(block)) => break block.last(),
                // The clocks have gone on, as they do while somebody waits.
                Ok(Answer::UsedUp) => now += 1,
                other => panic!("{other:?}"),
            }
        };
        assert!(answer > said);
        assert!(answer.timestamp() <= now + EARLY_MS_MAX, "{answer:?} at {now}");
        // The caller waits for the millisecond of its id.
        now = now.max(answer.timestamp());
        said = answer;
    }
}

#[test]
fn an_observed_id_ends_the_blocks_below_it_and_no_others() {
    for (sequence_id, left) in [(7, true), (8, true), (9, false), (11, false), (12, false)] {
        let word = word_at(at(100, 1, 12));
        started(&word).observe(at(100, 1, sequence_id));
        assert_eq!(word.last(), Some(at(100, 1, 12)));
        let taken = begun_block().take(at(100, 1, 12), started(&word).observed(), 100, node(1), MAX_STEP);
        assert_eq!(taken, left.then_some(at(100, 1, 9)), "{sequence_id}");
    }
}

#[test]
fn follow_alone_leaves_blocks_as_they_are() {
    let word = word_at(at(100, 1, 12));
    started(&word).follow(at(100, 1, 12));
    assert_eq!(
        begun_block().take(at(100, 1, 12), started(&word).observed(), 100, node(1), MAX_STEP),
        Some(at(100, 1, 9))
    );
}

#[test]
fn has_passed_where_neither_the_word_nor_a_block_can_come_below() {
    let word = word_at(at(100, 1, 12));
    assert!(started(&word).has_passed(at(99, NODE_ID_MAX, SEQUENCE_ID_MAX)));
    // Lower than the word, but a session may have a block with ids below.
    assert!(!started(&word).has_passed(at(100, 0, 0)));
    assert!(!started(&word).has_passed(at(100, 1, 12)));
    started(&word).observe(at(100, 1, 10));
    assert!(started(&word).has_passed(at(100, 1, 10)));
    assert!(!started(&word).has_passed(at(100, 1, 11)));
    assert!(!started(&word).has_passed(at(101, 0, 0)));
}

#[test]
fn a_second_observation_of_less_takes_nothing_back() {
    let word = word_at(at(100, 1, 12));
    started(&word).observe(at(200, 5, 5));
    started(&word).observe(at(150, 5, 5));
    assert_eq!((word.last(), started(&word).observed()), (Some(at(200, 5, 5)), at(200, 5, 5)));
}

#[test]
fn at_the_end_of_the_format_there_is_nothing_greater() {
    let word = word_at(at(100, 1, 12));
    started(&word).observe(Id::MAX);
    let seen = word.last().unwrap();
    let paced = Request { paced: seen.timestamp(), max_clock_step_ms: i64::MAX, ..request(seen, 100) };
    assert_eq!(
        started(&word).reserve(&paced),
        Err(GenerateError::PastEnd { timestamp: TIMESTAMP_MS_MAX + 1 })
    );
}
