//! The word itself: its start, the ceiling, races, and raising it by hand.

use super::*;

#[test]
fn a_new_word_is_not_started() {
    let word = Word::new();
    assert_eq!(word.last(), None);
    assert!(word.look().is_none() && word.started().is_none());
    assert!(word.start(at(100, 1, 0)));
    let (started, last) = word.look().unwrap();
    assert_eq!((started.last(), last), (at(100, 1, 0), at(100, 1, 0)));
}

mod start {
    use super::*;

    #[test]
    fn stands_at_the_durable_ceiling() {
        for ceiling in [at(0, 0, 1), at(5_000, 7, 3), Id::MAX] {
            assert_eq!(word_at(ceiling).last(), Some(ceiling));
        }
    }

    #[test]
    fn of_a_new_server_is_1() {
        assert_eq!(word_at(Id::MIN).last(), Some(at(0, 0, 1)));
    }

    #[test]
    fn is_the_first_callers() {
        let word = word_at(at(100, 1, 0));
        for late in [at(50, 1, 0), at(200, 1, 0), Id::MIN] {
            assert!(!word.start(late));
            assert_eq!(word.last(), Some(at(100, 1, 0)));
        }
    }

    // Every id up to the ceiling may have been issued: the next one is above it, whatever the clock says.
    #[test]
    fn issues_nothing_at_or_below_the_ceiling() {
        let ceiling = Id::last_of(5_000);
        let next_at = |now, paced| answer(&Request { paced, ..request(ceiling, now) });
        let reserved =
            |answer| matches!(answer, Ok(Answer::Reserved(block)) if block.last() == at(5_001, 1, 0));
        for (now, paced) in [(4_500, i64::MIN), (4_998, i64::MIN), (4_500, 4_998)] {
            assert_eq!(next_at(now, paced), Ok(Answer::UsedUp));
        }
        for (now, paced) in [(4_999, i64::MIN), (4_500, 4_999), (4_500, i64::MAX), (5_000, 0), (5_001, 0)] {
            assert!(reserved(next_at(now, paced)), "{now} {paced}");
        }
    }
}

mod ceiling {
    use super::*;

    #[test]
    fn lets_through_what_is_at_it_and_nothing_above() {
        let wanted = request(at(100, 1, 6), 100);
        assert_eq!(next(&Request { ceiling: at(100, 1, 7), ..wanted }), at(100, 1, 7));
        let below = Request { ceiling: at(100, 1, 6), ..wanted };
        assert_eq!(answer(&below), Ok(Answer::CeilingReached { timestamp: 100 }));
    }

    #[test]
    fn counts_the_whole_block() {
        let wanted = Request { want: 3, ..request(at(100, 1, 6), 100) };
        assert!(matches!(
            answer(&Request { ceiling: at(100, 1, 9), ..wanted }),
            Ok(Answer::Reserved(block)) if block.remaining() == 3
        ));
        let below = Request { ceiling: at(100, 1, 8), ..wanted };
        assert_eq!(answer(&below), Ok(Answer::CeilingReached { timestamp: 100 }));
    }

    #[test]
    fn names_the_millisecond_of_the_next_id() {
        let low = |seen: Id, now| Request { ceiling: Id::MIN, paced: seen.timestamp(), ..request(seen, now) };
        for (seen, now, timestamp) in
            [(at(100, 1, 7), 250, 250), (at(100, 1, 7), 90, 100), (used_up(100, 1), 90, 101)]
        {
            assert_eq!(answer(&low(seen, now)), Ok(Answer::CeilingReached { timestamp }));
        }
    }

    #[test]
    fn leaves_the_word_alone() {
        let word = word_at(at(100, 1, 6));
        let below = Request { ceiling: at(100, 1, 6), ..request(at(100, 1, 6), 200) };
        assert!(matches!(started(&word).reserve(&below), Ok(Answer::CeilingReached { .. })));
        assert_eq!(word.last(), Some(at(100, 1, 6)));
    }
}

mod races {
    use super::*;

    #[test]
    fn a_word_that_moved_reserves_nothing() {
        let word = word_at(at(100, 1, 8));
        assert_eq!(started(&word).reserve(&request(at(100, 1, 7), 100)), Ok(Answer::LostRace));
        assert_eq!(started(&word).reserve(&request(at(100, 1, 9), 100)), Ok(Answer::LostRace));
        assert_eq!(word.last(), Some(at(100, 1, 8)));
    }

    // Also where the new id would be higher than what the word has become: it was not the word's successor.
    #[test]
    fn nor_with_a_clock_that_has_passed_it() {
        let word = word_at(at(100, 1, 8));
        assert_eq!(started(&word).reserve(&request(at(100, 1, 7), 500)), Ok(Answer::LostRace));
    }
}

mod raise {
    use super::*;

    #[test]
    fn goes_to_the_first_id_of_the_millisecond_after() {
        for id in [at(100, 0, 0), at(100, 1, 7), Id::last_of(100)] {
            let word = word_at(at(100, 1, 7));
            assert_eq!(started(&word).raise(id), Ok(()));
            assert_eq!(word.last(), Some(at(101, 0, 0)));
        }
    }

    #[test]
    fn never_lowers() {
        let word = word_at(at(100, 1, 7));
        for id in [Id::MIN, at(98, NODE_ID_MAX, SEQUENCE_ID_MAX), at(99, 0, 0)] {
            assert_eq!(started(&word).raise(id), Ok(()));
            assert_eq!(word.last(), Some(at(100, 1, 7)));
        }
    }

    #[test]
    fn leaves_nothing_at_or_below_the_id() {
        for node_id in [0, 1, NODE_ID_MAX] {
            let word = word_at(at(100, 1, 7));
            started(&word).raise(Id::last_of(150)).unwrap();
            let wanted = Request { node: node(node_id), paced: 150, ..request(word.last().unwrap(), 120) };
            assert!(reserve_one(&word, &wanted) > Id::last_of(150));
        }
    }

    #[test]
    fn stops_at_the_end_of_the_format() {
        let word = word_at(at(100, 1, 7));
        for id in [Id::first_of(TIMESTAMP_MS_MAX), Id::MAX] {
            assert_eq!(started(&word).raise(id), Err(GenerateError::PastEnd { timestamp: 1 << 41 }));
            assert_eq!(word.last(), Some(at(100, 1, 7)));
        }
        assert_eq!(started(&word).raise(Id::last_of(TIMESTAMP_MS_MAX - 1)), Ok(()));
        assert_eq!(word.last(), Some(at(TIMESTAMP_MS_MAX, 0, 0)));
    }
}
