//! Blocks: how many ids they hold, in what order they come, and until when they are good.

use super::*;

fn reserved(request: &Request) -> Block {
    match answer(request) {
        Ok(Answer::Reserved(block)) => block,
        other => panic!("{other:?}"),
    }
}

/// The ids 100/1/8 to 100/1/12.
fn five() -> Block {
    reserved(&Request { want: 5, ..request(at(100, 1, 7), 100) })
}

mod size {
    use super::*;

    #[test]
    fn is_what_was_wanted_within_bounds() {
        assert_eq!(RESERVE_MAX, 256);
        for (want, size) in [
            (i64::MIN, 1),
            (0, 1),
            (1, 1),
            (2, 2),
            (255, 255),
            (256, 256),
            (257, 256),
            (4_096, 256),
            (i64::MAX, 256),
        ] {
            let block = reserved(&Request { want, ..request(at(99, 1, 0), 100) });
            assert_eq!((block.remaining(), block.last()), (size, at(100, 1, size - 1)));
        }
    }

    // A block never carries into the node.
    // Of a millisecond that has not come, by the clock or by the pace, there is a little for everybody.
    #[test]
    fn is_small_where_the_millisecond_has_not_come() {
        assert_eq!(RESERVE_EARLY_MAX, 16);
        let ours = at(100, 1, 7);
        for (seen, now, paced, first, most) in [
            (ours, 99, i64::MIN, at(100, 1, 8), 16),
            (ours, 40, 99, at(100, 1, 8), 16),
            (ours, 40, 100, at(100, 1, 8), 256),
            (ours, 100, i64::MIN, at(100, 1, 8), 256),
            (used_up(100, 1), 100, 99, at(101, 1, 0), 16),
            (used_up(100, 1), 40, 101, at(101, 1, 0), 256),
            (used_up(100, 1), 101, i64::MIN, at(101, 1, 0), 256),
            (at(100, 9, 0), 99, i64::MIN, at(101, 1, 0), 16),
        ] {
            for want in [1, 15, 16, 17, 256, i64::MAX] {
                let mut block = reserved(&Request { want, paced, ..request(seen, now) });
                assert_eq!(block.remaining(), want.min(most), "{want} at {now}, {paced}");
                assert_eq!(block.take_reserved(), Some(first));
            }
        }
        let almost_full = Request { want: 256, ..request(at(100, 1, 4_090), 99) };
        assert_eq!((reserved(&almost_full).remaining(), reserved(&almost_full).last()), (5, used_up(100, 1)));
    }

    #[test]
    fn is_what_the_millisecond_has_left() {
        for (sequence_id, size) in [(3_838, 256), (3_839, 256), (3_840, 255), (4_093, 2), (4_094, 1)] {
            let block = reserved(&Request { want: 256, ..request(at(100, 1, sequence_id), 100) });
            assert_eq!(block.remaining(), size);
            assert_eq!(block.last(), at(100, 1, sequence_id + size));
        }
    }
}

mod order {
    use super::*;

    #[test]
    fn every_number_once_from_the_lowest() {
        let mut block = five();
        for sequence_id in 8..=12 {
            assert_eq!(block.take_reserved(), Some(at(100, 1, sequence_id)));
            assert_eq!(block.remaining(), 12 - sequence_id);
        }
        assert_eq!(block.take_reserved(), None);
        assert_eq!((block.remaining(), block.last()), (0, at(100, 1, 12)));
    }

    #[test]
    fn both_ways_of_taking_share_the_numbers() {
        let mut block = five();
        assert_eq!(block.take_reserved(), Some(at(100, 1, 8)));
        assert_eq!(block.take(at(100, 1, 12), Id::MIN, 100, node(1), MAX_STEP), Some(at(100, 1, 9)));
        assert_eq!(block.take_reserved(), Some(at(100, 1, 10)));
        assert_eq!(block.take(at(100, 1, 12), Id::MIN, 100, node(1), MAX_STEP), Some(at(100, 1, 11)));
    }

    #[test]
    fn an_empty_block_has_none() {
        let mut block = Block::EMPTY;
        assert_eq!((block.remaining(), block.last()), (0, Id::MIN));
        assert_eq!(block.take_reserved(), None);
        assert_eq!(block.take(at(0, 0, 1), Id::MIN, 0, node(0), MAX_STEP), None);
    }
}

mod validity {
    use super::*;

    fn take(seen: Id, now: i64) -> Option<Id> {
        five().take(seen, Id::MIN, now, node(1), MAX_STEP)
    }

    #[test]
    fn lasts_while_the_word_stands_in_its_millisecond() {
        for seen in [at(100, 1, 12), at(100, 1, 13), Id::last_of(100)] {
            assert_eq!(take(seen, 100), Some(at(100, 1, 8)));
        }
    }

    // Somebody may have been given an id of a later millisecond: an earlier one must not follow it.
    #[test]
    fn ends_with_the_words_millisecond() {
        for seen in [at(101, 0, 0), at(101, 1, 0), at(5_000, 1, 0)] {
            assert_eq!(take(seen, 100), None);
        }
    }

    // A word behind the block is not the word that the block came from.
    #[test]
    fn ends_with_a_word_that_went_back() {
        assert_eq!(take(at(99, 1, 0), 99), None);
    }

    #[test]
    fn ends_when_the_clock_passes() {
        assert_eq!(take(at(100, 1, 12), 101), None);
        assert_eq!(take(at(100, 1, 12), i64::MAX), None);
    }

    #[test]
    fn outlives_a_step_back_as_far_as_allowed() {
        let mut block = reserved(&Request { want: 5, ..request(at(5_000, 1, 7), 5_000) });
        let seen = block.last();
        assert_eq!(block.take(seen, Id::MIN, 5_000 - MAX_STEP, node(1), MAX_STEP), Some(at(5_000, 1, 8)));
        assert_eq!(block.take(seen, Id::MIN, 5_000 - MAX_STEP - 1, node(1), MAX_STEP), None);
    }

    // A clock that `reserve` would refuse ends the block too, so that the caller meets the refusal.
    #[test]
    fn ends_where_the_clock_goes_before_the_epoch() {
        assert_eq!(take(at(100, 1, 12), 0), Some(at(100, 1, 8)));
        for now in [-1, i64::MIN] {
            assert_eq!(five().take(at(100, 1, 12), Id::MIN, now, node(1), i64::MAX), None);
        }
    }

    #[test]
    fn ends_with_the_node_number() {
        for node_id in [0, 2, NODE_ID_MAX] {
            assert_eq!(five().take(at(100, 1, 12), Id::MIN, 100, node(node_id), MAX_STEP), None);
        }
    }

    #[test]
    fn ends_when_the_word_is_raised_by_hand() {
        let word = word_at(at(100, 1, 7));
        let wanted = Request { want: 5, ..request(at(100, 1, 7), 100) };
        let Ok(Answer::Reserved(mut block)) = started(&word).reserve(&wanted) else {
            panic!("nothing reserved")
        };
        started(&word).raise(at(100, 0, 0)).unwrap();
        assert_eq!(block.take(word.last().unwrap(), Id::MIN, 100, node(1), MAX_STEP), None);
    }

    #[test]
    fn a_refusal_takes_nothing() {
        let mut block = five();
        assert_eq!(block.take(at(101, 1, 0), Id::MIN, 100, node(1), MAX_STEP), None);
        assert_eq!(block.remaining(), 5);
    }
}
