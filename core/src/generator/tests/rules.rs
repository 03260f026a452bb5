//! The six rules: where the next id comes from, and when there is none.

use std::string::ToString;

use super::*;

mod rule_1_the_clock_has_passed {
    use super::*;

    #[test]
    fn the_first_id_of_the_clocks_millisecond() {
        assert_eq!(next(&request(at(100, 1, 7), 101)), at(101, 1, 0));
        assert_eq!(next(&request(used_up(100, 1), 5_000)), at(5_000, 1, 0));
    }

    #[test]
    fn of_any_node() {
        for node_id in [0, 1, 256, NODE_ID_MAX] {
            let wanted = Request { node: node(node_id), ..request(at(100, 5, 7), 101) };
            assert_eq!(next(&wanted), at(101, node_id, 0));
        }
    }
}

mod a_millisecond_begins_with_the_number_drawn {
    use super::*;

    fn drawn(first_sequence_id: i64, request: Request) -> Request {
        Request { first_sequence_id, ..request }
    }

    #[test]
    fn where_the_clock_has_passed_the_word() {
        for first in [1, 1_023, SEQUENCE_ID_MAX] {
            assert_eq!(next(&drawn(first, request(at(100, 1, 7), 101))), at(101, 1, first));
            let other_node = Request { node: node(3), ..request(used_up(100, 5), 5_000) };
            assert_eq!(next(&drawn(first, other_node)), at(5_000, 3, first));
        }
    }

    #[test]
    fn and_with_no_number_outside_the_field() {
        for (first, clamped) in
            [(-1, 0), (i64::MIN, 0), (4_096, SEQUENCE_ID_MAX), (i64::MAX, SEQUENCE_ID_MAX)]
        {
            assert_eq!(next(&drawn(first, request(at(100, 1, 7), 101))), at(101, 1, clamped));
        }
    }

    // Everywhere else each number counts.
    #[test]
    fn and_nowhere_else() {
        for now in [100, 99] {
            assert_eq!(next(&drawn(500, request(at(100, 1, 7), now))), at(100, 1, 8));
            assert_eq!(next(&drawn(500, request(used_up(100, 0), now))), at(100, 1, 0));
            let full = used_up(100, 1);
            let waited = Request { waited_for: Some(full), ..request(full, now) };
            assert_eq!(next(&drawn(500, waited)), at(101, 1, 0));
            assert_eq!(answer(&drawn(500, request(full, now))), Ok(Answer::UsedUp));
        }
        assert_eq!(next(&drawn(500, request(at(100, 5, 7), 100))), at(101, 1, 0));
    }

    #[test]
    fn a_block_has_what_is_left_from_there() {
        let request = Request { want: 256, ..drawn(4_000, request(at(100, 1, 7), 101)) };
        let Ok(Answer::Reserved(mut block)) = answer(&request) else { panic!("nothing is reserved") };
        assert_eq!((block.remaining(), block.last()), (96, used_up(101, 1)));
        assert_eq!(block.take_reserved(), Some(at(101, 1, 4_000)));
    }

    // What is refused is refused by the id that would be issued.
    #[test]
    fn the_ceiling_counts_from_there() {
        let below = Request { ceiling: at(101, 1, 500), ..drawn(501, request(at(100, 1, 7), 101)) };
        assert_eq!(answer(&below), Ok(Answer::CeilingReached { timestamp: 101 }));
        assert_eq!(next(&drawn(500, below)), at(101, 1, 500));
    }
}

mod rule_2_the_millisecond_has_ids_left {
    use super::*;

    #[test]
    fn the_next_sequence_number() {
        for now in [100, 99] {
            assert_eq!(next(&request(at(100, 1, 7), now)), at(100, 1, 8));
            assert_eq!(next(&request(at(100, 1, 4_094), now)), at(100, 1, 4_095));
        }
    }

    // The node number grew inside a millisecond: all its numbers are above the word.
    #[test]
    fn the_first_id_of_a_node_above_the_words() {
        for sequence_id in [0, 7, SEQUENCE_ID_MAX] {
            assert_eq!(next(&request(at(100, 0, sequence_id), 100)), at(100, 1, 0));
        }
        let highest = Request { node: node(NODE_ID_MAX), ..request(at(100, 1, 7), 100) };
        assert_eq!(next(&highest), at(100, NODE_ID_MAX, 0));
    }

    // The first word of a new server: id 0 means "not started", so nobody gets it.
    #[test]
    fn node_0_at_the_epoch_starts_above_the_start() {
        let first = Request { node: node(0), ..request(at(0, 0, 1), 0) };
        assert_eq!(next(&first), at(0, 0, 2));
    }
}

mod rule_3_the_millisecond_is_used_up {
    use super::*;

    #[test]
    fn it_is_to_be_waited_for() {
        for now in [100, 99] {
            assert_eq!(answer(&request(used_up(100, 1), now)), Ok(Answer::UsedUp));
        }
    }

    // The node number fell inside a millisecond: none of its numbers is above the word. A session with the lower
    // number must not wait for one with the higher to pause, so it goes one millisecond ahead of the clock.
    #[test]
    fn a_lower_node_goes_one_millisecond_ahead_and_no_further() {
        for node_id in [2, NODE_ID_MAX] {
            for seen in [at(100, node_id, 0), used_up(100, node_id)] {
                assert_eq!(next(&request(seen, 100)), at(101, 1, 0));
                assert_eq!(answer(&request(seen, 99)), Ok(Answer::UsedUp));
            }
        }
    }

    // Beside a busy session with a higher number, each millisecond has an id for the lower.
    #[test]
    fn a_lower_node_is_not_starved_by_a_busy_higher_one() {
        let word = word_at(at(100, 9, 0));
        let higher = |now| Request { node: node(9), ..request(word.last().unwrap(), now) };
        let lower = |now| request(word.last().unwrap(), now);
        for now in 101..1_100 {
            // The tick comes, and the busy session is always first.
            let first = reserve_one(&word, &higher(now));
            let ours = reserve_one(&word, &lower(now));
            assert!(ours > first && ours.node_id() == 1 && ours.timestamp() == now + 1);
            assert!(reserve_one(&word, &higher(now)) > ours);
            assert_eq!(word.reserve(&lower(now)), Ok(Answer::UsedUp));
        }
    }

    #[test]
    fn a_waited_for_word_steps_one_millisecond() {
        for (seen, now) in [(used_up(100, 1), 100), (used_up(100, 1), 40), (at(100, 9, 3), 100)] {
            let waited = Request { waited_for: Some(seen), ..request(seen, now) };
            assert_eq!(next(&waited), at(101, 1, 0));
        }
    }

    // Otherwise one wait would let the word run ahead again and again.
    #[test]
    fn a_wait_for_another_word_does_not_count() {
        for other in [used_up(99, 1), at(100, 1, 4_094), used_up(100, 2), used_up(101, 1)] {
            let waited = Request { waited_for: Some(other), ..request(used_up(100, 1), 100) };
            assert_eq!(answer(&waited), Ok(Answer::UsedUp));
        }
    }

    #[test]
    fn a_wait_changes_nothing_while_ids_are_left_or_the_clock_has_passed() {
        let (left, full) = (at(100, 1, 7), used_up(100, 1));
        assert_eq!(next(&Request { waited_for: Some(left), ..request(left, 100) }), at(100, 1, 8));
        assert_eq!(next(&Request { waited_for: Some(full), ..request(full, 150) }), at(150, 1, 0));
    }

    // Cases 8 (after the wait the old millisecond was used again) and 9 (4,096 carried into the node).
    #[test]
    fn many_milliseconds_full_never_repeat_nor_carry() {
        let word = word_at(at(100, 1, 0));
        let mut last = at(100, 1, 0);
        let mut now = 100;
        for _ in 0..if cfg!(miri) { 9_000 } else { 200_000 } {
            let seen = word.last().unwrap();
            let id = match word.reserve(&request(seen, now)).unwrap() {
                Answer::Reserved(block) => block.last(),
                Answer::UsedUp => {
                    assert_eq!(last.sequence_id(), SEQUENCE_ID_MAX);
                    now += 1;
                    reserve_one(&word, &request(seen, now))
                }
                other => panic!("{other:?}"),
            };
            assert!(id > last);
            assert_eq!((id.node_id(), id.timestamp()), (1, now));
            last = id;
        }
    }

    // Cases 17 and 24: nothing is taken from the future to go faster.
    #[test]
    fn without_a_wait_no_number_of_tries_passes_a_standing_clock() {
        let word = word_at(at(99, 1, 0));
        let mut issued = 0;
        for _ in 0..20 {
            let wanted = Request { want: RESERVE_MAX, ..request(word.last().unwrap(), 100) };
            if let Ok(Answer::Reserved(block)) = word.reserve(&wanted) {
                issued += block.remaining();
            }
        }
        assert_eq!(issued, 4_096);
        assert_eq!(word.last(), Some(used_up(100, 1)));
    }
}

mod rule_4_the_clock_stands_behind {
    use super::*;

    #[test]
    fn as_far_as_allowed_it_goes_on() {
        assert_eq!(next(&request(at(5_000, 1, 7), 5_000 - MAX_STEP)), at(5_000, 1, 8));
    }

    #[test]
    fn further_it_refuses() {
        for seen in [at(5_000, 1, 7), used_up(5_000, 1), at(5_000, 0, 7), at(5_000, 2, 7)] {
            let behind = Request { waited_for: Some(seen), ..request(seen, 5_000 - MAX_STEP - 1) };
            let expected = GenerateError::ClockBehind { by_ms: MAX_STEP + 1, max_ms: MAX_STEP };
            assert_eq!(answer(&behind), Err(expected));
        }
    }

    #[test]
    fn the_limit_is_the_requests() {
        for max_clock_step_ms in [0, 1, i64::MAX] {
            let wanted = Request { max_clock_step_ms, ..request(at(5_000, 1, 7), 4_999) };
            assert_eq!(answer(&wanted).is_ok(), max_clock_step_ms > 0);
        }
    }

    // Cases 13, 14 and 16: the clock goes back five times, each time far less than allowed, and comes back.
    #[test]
    fn ids_rise_through_steps_back_and_return_to_the_clock() {
        let word = word_at(at(10_000, 1, 0));
        let mut last = word.last().unwrap();
        for now in [10_001, 9_900, 9_999, 9_800, 9_990, 9_700, 10_000, 10_001, 10_002] {
            let id = reserve_one(&word, &request(last, now));
            assert!(id > last);
            last = id;
        }
        // Case 22: what the steps cost is given back, all of it.
        assert_eq!(last, at(10_002, 1, 0));
    }

    #[test]
    fn the_message_says_how_far() {
        let text = GenerateError::ClockBehind { by_ms: 1_001, max_ms: 1_000 }.to_string();
        assert_eq!(text, "the clock is 1001 ms behind the last snowflake id, more than the 1000 ms allowed");
    }
}

mod rule_5_the_clock_leapt {
    use super::*;

    // Told apart at a raise of the ceiling, by the driver: the core's part is the ceiling that stops the id.
    #[test]
    fn a_leap_meets_the_ceiling() {
        let leapt = Request { ceiling: Id::last_of(2_100), ..request(at(100, 1, 0), 90_000) };
        assert_eq!(answer(&leapt), Ok(Answer::CeilingReached { timestamp: 90_000 }));
    }

    #[test]
    fn the_message_says_how_far() {
        let text = GenerateError::ClockLeapt { by_ms: 86_400_001, max_ms: 86_400_000 }.to_string();
        assert_eq!(text, "the clock leapt 86400001 ms ahead, more than the 86400000 ms allowed");
    }
}

mod rule_6_the_clock_is_outside_the_format {
    use super::*;

    #[test]
    fn before_the_epoch() {
        for (now, by_ms) in [(-1, 1), (-86_400_000, 86_400_000), (i64::MIN, i64::MAX)] {
            assert_eq!(answer(&request(at(0, 1, 0), now)), Err(GenerateError::BeforeEpoch { by_ms }));
        }
        assert!(answer(&request(at(0, 1, 0), 0)).is_ok());
    }

    // Cases 28 and 29: at 2^41 others went on with 4096, 4096, 4096, or with negative ids.
    #[test]
    fn past_the_end() {
        let word = word_at(at(TIMESTAMP_MS_MAX - 1, 1, 0));
        let last = reserve_one(&word, &request(word.last().unwrap(), TIMESTAMP_MS_MAX));
        assert_eq!(last, at(TIMESTAMP_MS_MAX, 1, 0));
        for now in [TIMESTAMP_MS_MAX + 1, TIMESTAMP_MS_MAX + 6, i64::MAX] {
            let refused = Err(GenerateError::PastEnd { timestamp: now });
            assert_eq!(word.reserve(&request(last, now)), refused);
            assert_eq!(word.last(), Some(last));
        }
    }

    #[test]
    fn the_last_millisecond_ends_with_its_last_id() {
        let seen = at(TIMESTAMP_MS_MAX, NODE_ID_MAX, 4_094);
        let highest = Request { node: node(NODE_ID_MAX), ..request(seen, TIMESTAMP_MS_MAX) };
        assert_eq!(next(&highest), Id::MAX);
        let full = Request { seen: Id::MAX, ..highest };
        assert_eq!(answer(&full), Ok(Answer::UsedUp));
        // There is nothing to step to, however long one waits.
        let waited = Request { waited_for: Some(Id::MAX), ..full };
        assert_eq!(answer(&waited), Err(GenerateError::PastEnd { timestamp: 1 << 41 }));
    }

    #[test]
    fn it_comes_before_every_other_rule() {
        let behind = Request { ceiling: Id::MIN, max_clock_step_ms: 0, ..request(at(5_000, 1, 0), -1) };
        assert_eq!(answer(&behind), Err(GenerateError::BeforeEpoch { by_ms: 1 }));
    }

    #[test]
    fn the_messages_say_by_how_much() {
        assert_eq!(
            GenerateError::BeforeEpoch { by_ms: 17 }.to_string(),
            "the clock is 17 ms before the snowflake epoch"
        );
        assert_eq!(
            GenerateError::PastEnd { timestamp: 1 << 41 }.to_string(),
            "snowflake timestamp overflows 41 bits: must be in [0, 2199023255551] milliseconds after the \
             epoch, got 2199023255552"
        );
    }
}
