//! What holds for every input: the round trips of the layout, and what an answer of the generator promises.
//!
//! The numbers are drawn from the whole of `i64`, with the ends of each field made likely: a rule that breaks
//! breaks there.
#![cfg(not(miri))]

use proptest::prelude::*;
use proptest::test_runner::Config;
use snowflake_core::clock_step::TOLERANCE_NS;
use snowflake_core::designs::{TRUETIME, TrueTimeSeries};
use snowflake_core::generator::RESERVE_MAX;
use snowflake_core::layout::*;
use snowflake_core::{Answer, Block, Ceiling, ClockStep, FieldError, GenerateError, Request, Word};

/// A failing input is printed shrunk, to become a unit test; no file of past failures is kept.
fn config() -> Config {
    let cases = if cfg!(debug_assertions) { 500 } else { 20_000 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Any `i64`, with the ends of its range, of each field and their neighbours made likely.
fn number() -> impl Strategy<Value = i64> {
    let ends = [0, i64::MIN, i64::MAX, NODE_ID_MAX, SEQUENCE_ID_MAX, TIMESTAMP_MS_MAX, EPOCH_MS_DEFAULT];
    prop_oneof![
        2 => any::<i64>(),
        1 => -5_000..5_000_i64,
        1 => EPOCH_MS_DEFAULT - 10..EPOCH_MS_DEFAULT + 2_000_000_000_000,
        3 => (prop::sample::select(ends.to_vec()), -2..=2_i64).prop_map(|(end, by)| end.saturating_add(by)),
    ]
}

/// A number of a field, with both ends made likely.
fn within(max: i64) -> impl Strategy<Value = i64> {
    prop_oneof![0..=max, Just(0), Just(1), Just(max - 1), Just(max)]
}

fn id() -> impl Strategy<Value = Id> {
    (within(TIMESTAMP_MS_MAX), within(NODE_ID_MAX), within(SEQUENCE_ID_MAX))
        .prop_map(|(timestamp, node_id, sequence_id)| compose(timestamp, node_id, sequence_id, 0).unwrap())
}

/// A clock near the word, as it mostly is, or anywhere.
fn clock_near(seen: Id) -> impl Strategy<Value = i64> {
    let timestamp = seen.timestamp();
    prop_oneof![
        3 => timestamp - 3..=timestamp + 3,
        1 => timestamp - 5_000..=timestamp + 5_000,
        1 => number(),
    ]
}

/// Any request, with the ceiling, the clock and the wait mostly near the word.
fn request() -> impl Strategy<Value = Request> {
    id().prop_flat_map(|seen| {
        let ceiling = prop_oneof![
            3 => Just(Id::MAX),
            2 => (-300..300_i64).prop_map(move |by| {
                Id::new(seen.get().saturating_add(by).max(0)).unwrap()
            }),
            1 => id(),
        ];
        let waited_for = prop_oneof![Just(None), Just(Some(seen)), id().prop_map(Some)];
        let max_clock_step_ms = prop_oneof![Just(86_400_000), number()];
        let first_sequence_id = prop_oneof![2 => Just(0), 1 => within(SEQUENCE_ID_MAX), 1 => number()];
        let numbers = (max_clock_step_ms, number(), first_sequence_id);
        (clock_near(seen), within(NODE_ID_MAX), ceiling, waited_for, numbers).prop_map(
            move |(now, node_id, ceiling, waited_for, (max_clock_step_ms, want, first_sequence_id))| {
                Request {
                    seen,
                    now,
                    node: NodeId::new(node_id).unwrap(),
                    ceiling,
                    max_clock_step_ms,
                    want,
                    waited_for,
                    first_sequence_id,
                }
            },
        )
    })
}

/// A word that stands where the request saw it.
fn word_of(request: &Request) -> Word {
    let word = Word::new();
    word.start(request.seen);
    word
}

mod layout {
    use super::*;

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn composing_then_decoding_gives_every_field_back(
            timestamp in within(TIMESTAMP_MS_MAX),
            node_id in within(NODE_ID_MAX),
            sequence_id in within(SEQUENCE_ID_MAX),
            epoch_ms in number(),
        ) {
            let unix_ms = i128::from(epoch_ms) + i128::from(timestamp);
            prop_assume!(i64::try_from(unix_ms).is_ok());
            let id = compose(unix_ms as i64, node_id, sequence_id, epoch_ms).unwrap();
            prop_assert_eq!(id.fields(), Fields { timestamp, node_id, sequence_id });
            prop_assert_eq!(id.unix_ms(epoch_ms), unix_ms);
            prop_assert_eq!(Id::new(id.get()), Ok(id));
        }

        #[test]
        fn decoding_then_composing_gives_the_id_back(number in 0..=i64::MAX, epoch_ms in -1_i64 << 61..1 << 61) {
            let id = Id::new(number).unwrap();
            let unix_ms = i64::try_from(id.unix_ms(epoch_ms)).unwrap();
            prop_assert_eq!(compose(unix_ms, id.node_id(), id.sequence_id(), epoch_ms), Ok(id));
        }

        #[test]
        fn ids_order_as_their_fields(
            a in id(), other in id(), same in (any::<bool>(), any::<bool>(), any::<bool>()),
        ) {
            let pick = |same: bool, a: i64, other: i64| if same { a } else { other };
            let b = compose(
                pick(same.0, a.timestamp(), other.timestamp()),
                pick(same.1, a.node_id(), other.node_id()),
                pick(same.2, a.sequence_id(), other.sequence_id()),
                0,
            ).unwrap();
            let fields = |id: Id| (id.timestamp(), id.node_id(), id.sequence_id());
            prop_assert_eq!(a.cmp(&b), fields(a).cmp(&fields(b)));
            prop_assert_eq!(a.get().cmp(&b.get()), a.cmp(&b));
        }

        #[test]
        fn an_id_lies_between_the_bounds_of_its_time(id in id(), epoch_ms in -1_i64 << 61..1 << 61) {
            let unix_ms = i64::try_from(id.unix_ms(epoch_ms)).unwrap();
            let (min, max) = (min_id(unix_ms, epoch_ms), max_id(unix_ms, epoch_ms));
            prop_assert!(min <= id.get() && id.get() <= max);
            prop_assert_eq!(max - min, (NODE_ID_MAX + 1) * IDS_PER_MS - 1);
        }

        #[test]
        fn bounds_rise_with_time(a in number(), b in number(), epoch_ms in number()) {
            let (early, late) = (a.min(b), a.max(b));
            prop_assert!(min_id(early, epoch_ms) <= min_id(late, epoch_ms));
            prop_assert!(max_id(early, epoch_ms) <= max_id(late, epoch_ms));
        }

        #[test]
        fn what_does_not_fit_is_refused_with_its_value(
            unix_ms in number(), node_id in number(), sequence_id in number(), epoch_ms in number(),
        ) {
            let timestamp = i128::from(unix_ms) - i128::from(epoch_ms);
            let fits = |value: i128, max: i64| (0..=i128::from(max)).contains(&value);
            let expected = if !fits(node_id.into(), NODE_ID_MAX) {
                Err(FieldError::NodeId(node_id))
            } else if !fits(sequence_id.into(), SEQUENCE_ID_MAX) {
                Err(FieldError::SequenceId(sequence_id))
            } else if !fits(timestamp, TIMESTAMP_MS_MAX) {
                Err(FieldError::Timestamp(timestamp))
            } else {
                Ok(((timestamp as i64) << 22) | (node_id << 12) | sequence_id)
            };
            prop_assert_eq!(compose(unix_ms, node_id, sequence_id, epoch_ms).map(Id::get), expected);
        }

        #[test]
        fn generate_is_positive_and_otherwise_compose(
            now in number(), node_id in number(), sequence_id in number(), epoch_ms in number(),
        ) {
            let composed = compose(now, node_id, sequence_id, epoch_ms);
            match (generate(sequence_id, node_id, epoch_ms, now), composed) {
                (Ok(id), composed) => {
                    prop_assert!(id.get() > 0);
                    prop_assert_eq!(Ok(id), composed);
                }
                (Err(FieldError::TimestampNotAfterEpoch(0)), composed) => {
                    prop_assert_eq!(composed.map(Id::timestamp), Ok(0));
                }
                (Err(FieldError::TimestampNotAfterEpoch(timestamp)), composed) => {
                    prop_assert_eq!(composed, Err(FieldError::Timestamp(timestamp)));
                }
                (refused, composed) => prop_assert_eq!(refused, composed),
            }
        }
    }
}

mod generator {
    use super::*;

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn what_is_reserved_is_new_ours_of_one_millisecond_and_below_the_ceiling(request in request()) {
            let word = word_of(&request);
            let before = word.last().unwrap();
            let Ok(Answer::Reserved(block)) = word.reserve(&request) else {
                // Whatever else the answer is, nothing was issued.
                prop_assert_eq!(word.last(), Some(before));
                return Ok(());
            };
            prop_assert_eq!(word.last(), Some(block.last()));
            prop_assert!(block.last() <= request.ceiling);
            prop_assert!(1 <= block.remaining() && block.remaining() <= request.want.clamp(1, RESERVE_MAX));
            let mut rest = block;
            let mut above = request.seen;
            while let Some(id) = rest.take_reserved() {
                prop_assert!(id > above);
                prop_assert_eq!(id.node_id(), request.node.get());
                prop_assert_eq!(id.timestamp(), block.last().timestamp());
                above = id;
            }
            prop_assert_eq!(above, block.last());
            // The clock's own millisecond, unless the word is already ahead of it.
            let clock_or_word = request.now.max(request.seen.timestamp());
            let step = i64::from(above.timestamp() != clock_or_word);
            prop_assert_eq!(above.timestamp(), clock_or_word + step);
            // A step ahead is waited for, or made beside a higher node number, from the clock's millisecond only.
            let outranked =
                request.node.get() < request.seen.node_id() && request.now == request.seen.timestamp();
            prop_assert!(step == 0 || request.waited_for == Some(request.seen) || outranked);
        }

        #[test]
        fn the_lowest_id_that_the_rules_allow_is_the_one(request in request()) {
            let unbound = Request { ceiling: Id::MAX, want: 1, ..request };
            let Ok(Answer::Reserved(block)) = word_of(&unbound).reserve(&unbound) else { return Ok(()) };
            let id = block.last();
            // One lower would not be greater than the word, or not of this node, or of a passed millisecond, or lower
            // than what was drawn for a new one.
            if request.now > request.seen.timestamp() {
                let first = request.first_sequence_id.clamp(0, SEQUENCE_ID_MAX);
                prop_assert_eq!((id.timestamp(), id.sequence_id()), (request.now, first));
            } else if id.sequence_id() > 0 {
                prop_assert_eq!(id.get() - 1, request.seen.get());
            } else if id.timestamp() == request.seen.timestamp() {
                prop_assert!(request.seen.node_id() < id.node_id());
            }
        }

        #[test]
        fn a_refusal_has_its_reason(request in request()) {
            match word_of(&request).reserve(&request) {
                Ok(Answer::LostRace) => prop_assert_eq!(request.seen, Id::MIN),
                Ok(Answer::Reserved(_)) => {}
                Ok(Answer::UsedUp) => {
                    prop_assert!(request.now <= request.seen.timestamp());
                    prop_assert!(request.waited_for != Some(request.seen));
                    let full = request.seen.sequence_id() == SEQUENCE_ID_MAX;
                    let (word_node, node) = (request.seen.node_id(), request.node.get());
                    prop_assert!(word_node > node || (word_node == node && full));
                }
                Ok(Answer::CeilingReached { timestamp }) => {
                    let (first, after) = (Id::first_of(timestamp), Id::last_of(timestamp));
                    prop_assert!(request.ceiling < after);
                    prop_assert!(after > request.seen && timestamp >= request.now);
                    prop_assert!(first.timestamp() <= request.now.max(request.seen.timestamp() + 1));
                }
                Err(GenerateError::BeforeEpoch { by_ms }) => {
                    prop_assert!(request.now < 0 && by_ms > 0);
                }
                Err(GenerateError::PastEnd { timestamp }) => {
                    prop_assert!(timestamp > TIMESTAMP_MS_MAX);
                    prop_assert!(request.now >= TIMESTAMP_MS_MAX || request.seen.timestamp() == TIMESTAMP_MS_MAX);
                }
                Err(GenerateError::ClockBehind { by_ms, max_ms }) => {
                    prop_assert_eq!(by_ms, request.seen.timestamp() - request.now);
                    prop_assert_eq!(max_ms, request.max_clock_step_ms);
                    prop_assert!(by_ms > max_ms);
                }
                Err(other) => prop_assert!(false, "{other:?} is not the word's to say"),
            }
        }

        #[test]
        fn no_word_that_moved_reserves(request in request(), other in id()) {
            prop_assume!(other != request.seen && other.get() != 0);
            let word = Word::new();
            word.start(other);
            let reserved = matches!(word.reserve(&request), Ok(Answer::Reserved(_)));
            prop_assert!(!reserved);
            prop_assert_eq!(word.last(), Some(other));
        }

        #[test]
        fn raising_ends_above_the_id_and_never_below_the_word(start in id(), to in id()) {
            let word = Word::new();
            word.start(start);
            let before = word.last().unwrap();
            match word.raise(to) {
                Ok(()) => {
                    let after = word.last().unwrap();
                    prop_assert!(after >= before && after > to);
                    prop_assert!(after == before || after == Id::first_of(to.timestamp() + 1));
                }
                Err(error) => {
                    prop_assert_eq!(error, GenerateError::PastEnd { timestamp: TIMESTAMP_MS_MAX + 1 });
                    prop_assert_eq!(to.timestamp(), TIMESTAMP_MS_MAX);
                    prop_assert_eq!(word.last(), Some(before));
                }
            }
        }

        #[test]
        fn a_block_gives_ids_only_of_the_words_millisecond_and_not_behind_the_clock(
            request in request(),
            seen in id(),
            now in number(),
            near in -3..=3_i64,
            node_id in within(NODE_ID_MAX),
            max_clock_step_ms in prop_oneof![number(), 0..4_i64],
            same in (any::<bool>(), any::<bool>(), any::<bool>()),
        ) {
            let Ok(Answer::Reserved(mut block)) = word_of(&request).reserve(&request) else { return Ok(()) };
            let seen = if same.0 { block.last() } else { seen };
            let now = if same.1 { block.last().timestamp() + near } else { now };
            let node = if same.2 { request.node } else { NodeId::new(node_id).unwrap() };
            let before = block;
            match block.take(seen, Id::MIN, now, node, max_clock_step_ms) {
                Some(id) => {
                    prop_assert_eq!(seen.timestamp(), id.timestamp());
                    prop_assert!(0 <= now && now <= id.timestamp());
                    prop_assert!(id.timestamp() - now <= max_clock_step_ms);
                    prop_assert_eq!(node.get(), id.node_id());
                    prop_assert_eq!(block.remaining(), before.remaining() - 1);
                }
                None => prop_assert_eq!(block, before),
            }
        }

        // Designs that are bound to the clock, which share a word whatever their uncertainty and node: ids rise, are in
        // their layout, and never dated ahead.
        #[test]
        fn ids_bound_to_the_clock_rise_and_wait(
            start in id(),
            turns in prop::collection::vec(
                (-3..=3_i64, 0..=15_i64, 0..=2_i64, 1..=256_i64, any::<bool>()), 1..60,
            ),
        ) {
            let word = Word::new();
            word.start(start);
            let mut last = word.last().unwrap();
            for (clock, uncertainty, node_id, want, waited) in turns {
                let seen = word.last().unwrap();
                let now = seen.timestamp().saturating_add(clock);
                let request = Request {
                    seen,
                    now,
                    node: TrueTimeSeries::new(uncertainty, NodeId::new(node_id).unwrap()).unwrap(),
                    ceiling: Id::MAX,
                    max_clock_step_ms: 86_400_000,
                    want,
                    waited_for: waited.then_some(seen),
                    first_sequence_id: 0,
                };
                match word.reserve(&request) {
                    Ok(Answer::Reserved(mut block)) => {
                        while let Some(id) = block.take_reserved() {
                            prop_assert!(id > last);
                            let [earliest, is_uncertain, is_node, _] = TRUETIME.fields(id);
                            prop_assert_eq!((earliest, is_uncertain, is_node), (now, uncertainty, node_id));
                            last = id;
                        }
                    }
                    Ok(Answer::UsedUp) => prop_assert!(now <= seen.timestamp()),
                    Ok(other) => prop_assert!(false, "{other:?}"),
                    Err(_) => prop_assert!(!(0..=TIMESTAMP_MS_MAX).contains(&now)),
                }
            }
        }

        // A sequence of requests of sessions that all play by the rules, with any clock: ids rise, whatever it does.
        #[test]
        fn ids_rise_through_any_clock(
            start in id(),
            turns in prop::collection::vec(
                (-3..=3_i64, 0..=2_i64, 1..=256_i64, any::<bool>(), within(SEQUENCE_ID_MAX)), 1..60,
            ),
        ) {
            let word = Word::new();
            word.start(start);
            let mut last = word.last().unwrap();
            for (clock, node_id, want, waited, first_sequence_id) in turns {
                let seen = word.last().unwrap();
                let request = Request {
                    seen,
                    now: seen.timestamp().saturating_add(clock),
                    node: NodeId::new(node_id).unwrap(),
                    ceiling: Id::MAX,
                    max_clock_step_ms: 86_400_000,
                    want,
                    waited_for: waited.then_some(seen),
                    first_sequence_id,
                };
                if let Ok(Answer::Reserved(mut block)) = word.reserve(&request) {
                    while let Some(id) = block.take_reserved() {
                        prop_assert!(id > last);
                        last = id;
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn nothing_panics(
            request in request(), now in number(), want in number(), step in number(), word in number(),
        ) {
            let request = Request { now, want, max_clock_step_ms: step, ..request };
            if let Ok(Answer::Reserved(mut block)) = word_of(&request).reserve(&request) {
                let _ = block.take(request.seen, block.last(), want, request.node, now);
                let _ = block.take(block.last(), request.seen, word, request.node, step);
            }
            let mut empty = Block::EMPTY;
            let _ = empty.take(request.seen, Id::MIN, now, request.node, step);
            let id = Id::new(word.max(0)).unwrap();
            let _ = word_of(&request).raise(id);
            let _ = (Id::first_of(now), Id::last_of(now), id.unix_ms(now), min_id(now, want), max_id(now, want));
            let _ = (compose(now, want, step, word), generate(now, want, step, word), NodeId::new(now));
        }
    }
}

mod ceiling {
    use super::*;

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn covers_the_millisecond_it_is_raised_for_and_leads_by_no_more_than_the_uptime(
            from in number(), uptime_ms in number(),
        ) {
            let ceiling = Ceiling::above(from, uptime_ms);
            prop_assert!(ceiling.raise_at <= ceiling.id);
            prop_assert!(ceiling.id >= Id::last_of(from));
            prop_assert!(ceiling.raise_at >= Id::last_of(from));
            let lead = uptime_ms.clamp(50, 2_000);
            prop_assert!(ceiling.id <= Id::last_of(from.saturating_add(lead)));
            if (0..TIMESTAMP_MS_MAX - 2_000).contains(&from) {
                prop_assert_eq!(ceiling.id.timestamp() - from, lead);
            }
        }
    }
}

mod clock_step {
    use super::*;

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn no_step_is_seen_while_the_bounds_hold_the_trusted_offset(
            trusted in number(), below in 0..=i64::MAX, above in 0..=i64::MAX,
        ) {
            let bounds = (trusted.saturating_sub(below), trusted.saturating_add(above));
            prop_assert_eq!(ClockStep::between(trusted, bounds), ClockStep::None);
        }

        #[test]
        fn a_step_is_never_said_to_be_larger_than_it_was(
            trusted in -1_i64 << 60..1 << 60, step in -1_i64 << 60..1 << 60, before in 0..1_i64 << 40, after in 0..1_i64 << 40,
        ) {
            let offset = trusted + step;
            match ClockStep::between(trusted, (offset - before, offset + after)) {
                ClockStep::None => prop_assert!(step.abs() <= TOLERANCE_NS + before.max(after)),
                ClockStep::Back(by) => prop_assert!(step < 0 && TOLERANCE_NS < by && by <= -step),
                ClockStep::Ahead(by) => prop_assert!(step > 0 && TOLERANCE_NS < by && by <= step),
            }
        }

        #[test]
        fn no_offset_panics(trusted in number(), low in number(), high in number()) {
            let _ = ClockStep::between(trusted, (low, high));
        }
    }
}

mod conversions {
    use super::*;
    use snowflake_core::base32::{self, Base32};
    use snowflake_core::foreign::LAYOUTS;
    use snowflake_core::uuid;

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn base32_comes_back_and_sorts_as_the_number(a in 0..=i64::MAX, b in 0..=i64::MAX, near in -40..40_i64) {
            let (id, other) = (Id::new(a).unwrap(), Id::new(b).unwrap());
            let neighbour = Id::new(a.saturating_add(near).max(0)).unwrap();
            let text = Base32::encode(id).to_string();
            prop_assert_eq!(base32::decode(text.as_bytes()), Ok(id));
            prop_assert_eq!(base32::decode(text.to_lowercase().as_bytes()), Ok(id));
            prop_assert_eq!(text.len(), base32::LENGTH);
            for other in [other, neighbour] {
                prop_assert_eq!(text.cmp(&Base32::encode(other).to_string()), id.cmp(&other));
            }
        }

        #[test]
        fn a_text_is_an_id_or_is_refused(text in "[-0-9A-Za-z~é]{0,16}|[0-9A-TV-Za-tv-z]{13}") {
            if let Ok(id) = base32::decode(text.as_bytes()) {
                let plain = text.to_uppercase().replace('-', "").replace('O', "0").replace(['I', 'L'], "1");
                prop_assert_eq!(Base32::encode(id).to_string(), plain);
            }
        }

        #[test]
        fn a_uuid_comes_back_and_sorts_as_the_id(a in id(), b in id(), epoch_ms in 0..1_i64 << 47) {
            let (first, second) = (uuid::encode(a, epoch_ms).unwrap(), uuid::encode(b, epoch_ms).unwrap());
            prop_assert_eq!(uuid::decode(first, epoch_ms), Ok(a));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        }

        #[test]
        fn a_foreign_id_is_the_sum_of_its_fields(id in 0..=i64::MAX) {
            for layout in &LAYOUTS {
                let fields = layout.decode(Id::new(id).unwrap());
                let steps = (fields.unix_us - layout.epoch_ms * 1_000) / layout.unit_us;
                let node = layout.node.map_or(0, |node| fields.node_id.unwrap() << node.shift);
                let sequence = layout.sequence.map_or(0, |sequence| fields.sequence_id.unwrap() << sequence.shift);
                prop_assert_eq!(steps << layout.timestamp_shift | node | sequence, id);
            }
        }
    }
}

mod designs {
    use super::*;
    use snowflake_core::designs::{TRUETIME, VECTOR, reversed};
    use snowflake_core::vector::VectorClock;

    fn counters() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
        (1..=53_i64).prop_flat_map(|nodes| {
            let max = VectorClock::zero(nodes).unwrap().counter_max();
            let counters = prop::collection::vec(prop_oneof![within(max), 0..=max.min(2)], nodes as usize);
            (counters.clone(), counters)
        })
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn fields_that_fit_come_back_and_the_others_are_refused(a in number(), b in number(), c in number(), d in number()) {
            let values = [a, b, c, d];
            let fit = TRUETIME.fields.iter().zip(values).all(|(field, value)| (0..=field.max()).contains(&value));
            match TRUETIME.compose(values) {
                Ok(id) => {
                    prop_assert!(fit);
                    prop_assert_eq!(TRUETIME.fields(id), values);
                }
                Err(error) => {
                    prop_assert!(!fit);
                    prop_assert!(values.contains(&error.got));
                }
            }
        }

        #[test]
        fn every_id_is_what_its_fields_compose(id in 0..=i64::MAX) {
            let id = Id::new(id).unwrap();
            prop_assert_eq!(TRUETIME.compose(TRUETIME.fields(id)), Ok(id));
            prop_assert_eq!(VECTOR.compose(VECTOR.fields(id)), Ok(id));
            prop_assert_eq!(reversed(reversed(id)), id);
        }

        #[test]
        fn a_clock_comes_back_from_its_id((counters, other) in counters(), node in 0..53_i64) {
            let clock = VectorClock::new(&counters).unwrap();
            let nodes = counters.len() as i64;
            let node = snowflake_core::NodeId::new(node % nodes).unwrap();
            prop_assert_eq!(VectorClock::of(clock.id(node).unwrap(), nodes), Ok((clock, node.get())));
            // What is merged comes after both, or is equal; what ticks comes after.
            let other = VectorClock::new(&other).unwrap();
            let merged = clock.merge(&other);
            prop_assert!(merged >= clock && merged >= other);
            prop_assert_eq!(merged, other.merge(&clock));
            if let Ok(next) = merged.tick(node) {
                prop_assert!(next > clock && next > other);
            }
        }
    }
}
