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
            let full = Request { paced: 100, ..request(used_up(100, 1), now) };
            assert_eq!(next(&drawn(500, full)), at(101, 1, 0));
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
    fn where_the_node_has_no_id_left_in_it() {
        for (seen, is_used_up) in [
            (at(100, 0, SEQUENCE_ID_MAX), false),
            (at(100, 1, SEQUENCE_ID_MAX - 1), false),
            (at(100, 1, SEQUENCE_ID_MAX), true),
            (at(100, 2, 0), true),
        ] {
            assert_eq!(request(seen, 90).is_used_up(), is_used_up, "{seen:?}");
        }
    }

    #[test]
    fn whoever_waits_reserves_of_the_next() {
        let full = used_up(100, 1);
        assert_eq!(next(&request(full, 100)), at(101, 1, 0));
        assert_eq!(answer(&request(full, 99)), Ok(Answer::UsedUp));
        // By the pace, where that has come further. It never jumps over a millisecond.
        for (now, paced) in [(99, 100), (40, 100), (40, 101), (40, 5_000), (40, i64::MAX), (100, 40)] {
            assert_eq!(next(&Request { paced, ..request(full, now) }), at(101, 1, 0));
        }
        for (now, paced) in [(99, 99), (40, 99), (99, 40)] {
            assert_eq!(answer(&Request { paced, ..request(full, now) }), Ok(Answer::UsedUp));
        }
    }

    // Nor is there more of a millisecond that was begun early.
    #[test]
    fn what_is_left_of_a_millisecond_is_one_ahead_at_the_most() {
        for seen in [at(101, 1, 3), at(101, 0, 3), at(101, 0, SEQUENCE_ID_MAX)] {
            for (now, paced, early) in
                [(100, i64::MIN, true), (99, i64::MIN, false), (40, 100, true), (40, 99, false)]
            {
                let answer = answer(&Request { paced, ..request(seen, now) });
                if early {
                    assert!(matches!(answer, Ok(Answer::Reserved(block)) if block.last().timestamp() == 101));
                } else {
                    assert_eq!(answer, Ok(Answer::UsedUp));
                }
            }
        }
    }

    #[test]
    fn without_a_wait_nothing_is_early() {
        let at_once = |seen, now, paced| Request { waits: false, paced, ..request(seen, now) };
        let (left, full, outranked) = (at(100, 1, 7), used_up(100, 1), at(100, 9, 3));
        for (seen, now) in [(left, 99), (full, 100), (outranked, 100), (at(100, 0, 3), 99)] {
            assert_eq!(answer(&at_once(seen, now, i64::MIN)), Ok(Answer::UsedUp));
            assert_eq!(answer(&at_once(seen, 40, now)), Ok(Answer::UsedUp));
        }
        for (seen, come, id) in
            [(left, 100, at(100, 1, 8)), (full, 101, at(101, 1, 0)), (outranked, 101, at(101, 1, 0))]
        {
            assert_eq!(next(&at_once(seen, come, i64::MIN)), id);
            assert_eq!(next(&at_once(seen, 40, come)), id);
        }
    }

    // The node number fell inside a millisecond: none of its numbers is above the word. A session with the lower
    // number must not wait for one with the higher to pause, so it goes two milliseconds ahead of what has come.
    #[test]
    fn a_lower_node_goes_two_milliseconds_ahead_and_no_further() {
        assert_eq!(EARLY_MS_MAX, 2);
        for node_id in [2, NODE_ID_MAX] {
            for seen in [at(100, node_id, 0), used_up(100, node_id)] {
                for (now, paced) in [(100, i64::MIN), (99, i64::MIN), (40, 99), (40, 100), (40, i64::MAX)] {
                    assert_eq!(next(&Request { paced, ..request(seen, now) }), at(101, 1, 0));
                }
                for (now, paced) in [(98, i64::MIN), (40, 98), (98, 40)] {
                    assert_eq!(answer(&Request { paced, ..request(seen, now) }), Ok(Answer::UsedUp));
                }
            }
        }
    }

    // Beside a busy session with a higher number, each millisecond has an id for the lower.
    #[test]
    fn a_lower_node_is_not_starved_by_a_busy_higher_one() {
        let word = word_at(at(101, 9, 0));
        let higher = |now| Request { node: node(9), ..request(word.last().unwrap(), now) };
        let lower = |now| request(word.last().unwrap(), now);
        for now in 101..1_100 {
            // The tick comes, and the busy session is always first, as often as it is given an id.
            while let Ok(Answer::Reserved(_)) = started(&word).reserve(&higher(now)) {
                if word.last().unwrap().timestamp() == now + 1 {
                    break;
                }
            }
            let ours = reserve_one(&word, &lower(now));
            assert!(ours.node_id() == 1 && ours.timestamp() <= now + 2);
            while let Ok(Answer::Reserved(_)) = started(&word).reserve(&higher(now)) {}
            while let Ok(Answer::Reserved(_)) = started(&word).reserve(&lower(now)) {}
            assert!(word.last().unwrap().timestamp() <= now + 2);
        }
    }

    #[test]
    fn a_wait_changes_nothing_while_ids_are_left_or_the_clock_has_passed() {
        for waits in [false, true] {
            assert_eq!(next(&Request { waits, ..request(at(100, 1, 7), 100) }), at(100, 1, 8));
            assert_eq!(next(&Request { waits, ..request(used_up(100, 1), 150) }), at(150, 1, 0));
        }
    }

    // After the wait the old millisecond is not used again, and the number after the last does not carry into the node.
    #[test]
    fn many_milliseconds_full_never_repeat_nor_carry() {
        for waits in [false, true] {
            let word = word_at(at(100, 1, 0));
            let mut last = at(100, 1, 0);
            let mut now = 100;
            let early = i64::from(waits);
            for _ in 0..if cfg!(miri) { 9_000 } else { 200_000 } {
                let wanted = |now| Request { waits, ..request(last, now) };
                let id = match started(&word).reserve(&wanted(now)).unwrap() {
                    Answer::Reserved(block) => block.last(),
                    Answer::UsedUp => {
                        assert_eq!((last.timestamp(), last.sequence_id()), (now + early, SEQUENCE_ID_MAX));
                        now += 1;
                        reserve_one(&word, &wanted(now))
                    }
                    other => panic!("{other:?}"),
                };
                assert!(id > last);
                assert_eq!(id.node_id(), 1);
                assert!((now..=now + early).contains(&id.timestamp()));
                last = id;
            }
        }
    }

    // Nothing is taken from the future to go faster: of the next millisecond in small portions, and of no other.
    #[test]
    fn no_number_of_tries_passes_a_standing_clock() {
        for (waits, last_timestamp) in [(false, 100), (true, 101)] {
            let word = word_at(at(99, 1, 0));
            let mut issued = 0;
            for _ in 0..500 {
                let wanted = Request { waits, want: RESERVE_MAX, ..request(word.last().unwrap(), 100) };
                if let Ok(Answer::Reserved(block)) = started(&word).reserve(&wanted) {
                    let most = if block.last().timestamp() > 100 { RESERVE_EARLY_MAX } else { RESERVE_MAX };
                    assert!(block.remaining() <= most);
                    issued += block.remaining();
                }
            }
            assert_eq!(issued, 4_096 * (last_timestamp - 99));
            assert_eq!(word.last(), Some(used_up(last_timestamp, 1)));
        }
    }

    // Also not by sessions that outrank each other in turn.
    #[test]
    fn nor_do_sessions_of_any_node_numbers() {
        let word = word_at(at(100, 500, 0));
        for turn in 0..100_000 {
            let node = node([1, 9, 500, 1_023, 0][turn % 5]);
            let wanted = Request { node, want: RESERVE_MAX, ..request(word.last().unwrap(), 100) };
            let _ = started(&word).reserve(&wanted);
        }
        assert_eq!(word.last().unwrap().timestamp(), 100 + EARLY_MS_MAX);
        assert!(word.last().unwrap().sequence_id() < RESERVE_EARLY_MAX);
    }
}

mod rule_4_the_clock_stands_behind {
    use super::*;

    #[test]
    fn as_far_as_allowed_it_goes_on() {
        for now in [4_999, 5_000 - MAX_STEP] {
            let paced = |seen, paced| Request { paced, ..request(seen, now) };
            assert_eq!(next(&paced(at(5_000, 1, 7), 5_000)), at(5_000, 1, 8));
            assert_eq!(next(&paced(used_up(5_000, 1), 5_000)), at(5_001, 1, 0));
        }
    }

    #[test]
    fn further_it_refuses() {
        for seen in [at(5_000, 1, 7), used_up(5_000, 1), at(5_000, 0, 7), at(5_000, 2, 7)] {
            for (paced, waits) in [(i64::MIN, true), (5_000, true), (i64::MAX, true), (i64::MAX, false)] {
                let behind = Request { paced, waits, ..request(seen, 5_000 - MAX_STEP - 1) };
                let expected = GenerateError::ClockBehind { by_ms: MAX_STEP + 1, max_ms: MAX_STEP };
                assert_eq!(answer(&behind), Err(expected));
            }
        }
    }

    #[test]
    fn the_limit_is_the_requests() {
        for max_clock_step_ms in [0, 1, i64::MAX] {
            let wanted = Request { max_clock_step_ms, ..request(at(5_000, 1, 7), 4_999) };
            assert_eq!(answer(&wanted).is_ok(), max_clock_step_ms > 0);
        }
    }

    // The clock goes back four times, each time far less than allowed, and comes back.
    #[test]
    fn ids_rise_through_steps_back_and_return_to_the_clock() {
        let word = word_at(at(10_000, 1, 0));
        let mut last = word.last().unwrap();
        for now in [10_001, 9_900, 9_999, 9_800, 9_990, 9_700, 10_000, 10_001, 10_002] {
            let id = reserve_one(&word, &Request { paced: last.timestamp(), ..request(last, now) });
            assert!(id > last);
            last = id;
        }
        // What the steps cost is given back, all of it.
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

    // One bit further an id would be negative, or the id of another time.
    #[test]
    fn past_the_end() {
        let word = word_at(at(TIMESTAMP_MS_MAX - 1, 1, 0));
        let last = reserve_one(&word, &request(word.last().unwrap(), TIMESTAMP_MS_MAX));
        assert_eq!(last, at(TIMESTAMP_MS_MAX, 1, 0));
        for now in [TIMESTAMP_MS_MAX + 1, TIMESTAMP_MS_MAX + 6, i64::MAX] {
            let refused = Err(GenerateError::PastEnd { timestamp: now });
            assert_eq!(started(&word).reserve(&request(last, now)), refused);
            assert_eq!(word.last(), Some(last));
        }
    }

    #[test]
    fn the_last_millisecond_ends_with_its_last_id() {
        let seen = at(TIMESTAMP_MS_MAX, NODE_ID_MAX, 4_094);
        let highest = Request { node: node(NODE_ID_MAX), ..request(seen, TIMESTAMP_MS_MAX) };
        assert_eq!(next(&highest), Id::MAX);
        let full = Request { seen: Id::MAX, ..highest };
        assert_eq!(answer(&Request { waits: false, ..full }), Ok(Answer::UsedUp));
        // There is nothing to step to, however long one waits: for whoever outranks the word, either.
        let outranked = Request { node: node(1), ..full };
        for paced in [i64::MIN, TIMESTAMP_MS_MAX, i64::MAX] {
            for full in [full, outranked] {
                let refused = answer(&Request { paced, ..full });
                assert_eq!(refused, Err(GenerateError::PastEnd { timestamp: 1 << 41 }));
            }
        }
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
