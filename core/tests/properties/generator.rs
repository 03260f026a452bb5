//! What an answer of the generator promises.

use super::*;
use snowflake_core::designs::{TRUETIME, TrueTimeSeries};
use snowflake_core::generator::{EARLY_MS_MAX, RESERVE_EARLY_MAX, RESERVE_MAX};
use snowflake_core::{Answer, Block, GenerateError, Request, Started, Word};

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
        let paced = prop_oneof![
            1 => Just(i64::MIN),
            2 => (-3..=3_i64).prop_map(move |by| seen.timestamp() + by),
            1 => number(),
        ];
        let max_clock_step_ms = prop_oneof![Just(86_400_000), number()];
        let first_sequence_id = prop_oneof![2 => Just(0), 1 => within(SEQUENCE_ID_MAX), 1 => number()];
        let numbers = (max_clock_step_ms, number(), first_sequence_id);
        (clock_near(seen), within(NODE_ID_MAX), ceiling, (paced, any::<bool>()), numbers).prop_map(
            move |(now, node_id, ceiling, (paced, waits), (max_clock_step_ms, want, first_sequence_id))| {
                Request {
                    seen,
                    now,
                    node: NodeId::new(node_id).unwrap(),
                    ceiling,
                    max_clock_step_ms,
                    want,
                    paced,
                    waits,
                    first_sequence_id,
                }
            },
        )
    })
}

/// A word that stands where the request saw it.
fn word_of(request: &Request) -> Word {
    word_at(request.seen)
}

fn word_at(last: Id) -> Word {
    let word = Word::new();
    word.start(last);
    word
}

fn started(word: &Word) -> Started<'_> {
    word.started().expect("the word is started")
}

/// The last millisecond that has come.
fn come(request: &Request) -> i64 {
    request.now.max(request.paced)
}

/// How far ahead of the last millisecond that has come a request may reach.
fn most_early(request: &Request, outranked: bool) -> i64 {
    match (request.waits, outranked) {
        (false, _) => 0,
        (true, false) => EARLY_MS_MAX - 1,
        (true, true) => EARLY_MS_MAX,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_reserved_is_new_ours_of_one_millisecond_and_below_the_ceiling(request in request()) {
        let word = word_of(&request);
        let before = word.last().unwrap();
        let Ok(Answer::Reserved(block)) = started(&word).reserve(&request) else {
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
        // What has not come is for those who wait, near, and little; two milliseconds ahead where the node is outranked.
        let early = above.timestamp() - come(&request);
        let outranked = step == 1 && request.node.get() < request.seen.node_id();
        prop_assert!(early <= most_early(&request, outranked));
        prop_assert!(early <= 0 || block.remaining() <= RESERVE_EARLY_MAX);
    }

    #[test]
    fn the_lowest_id_that_the_rules_allow_is_the_one(request in request()) {
        let unbound = Request { ceiling: Id::MAX, want: 1, ..request };
        let Ok(Answer::Reserved(block)) = started(&word_of(&unbound)).reserve(&unbound) else { return Ok(()) };
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
        match started(&word_of(&request)).reserve(&request) {
            Ok(Answer::LostRace) => prop_assert_eq!(request.seen, Id::MIN),
            Ok(Answer::Reserved(_)) => {}
            Ok(Answer::UsedUp) => {
                prop_assert!(request.now <= request.seen.timestamp());
                let full = request.seen.sequence_id() == SEQUENCE_ID_MAX;
                let (word_node, node) = (request.seen.node_id(), request.node.get());
                let steps = word_node > node || (word_node == node && full);
                let next_ms = request.seen.timestamp() + i64::from(steps);
                prop_assert!(next_ms.saturating_sub(come(&request)) > most_early(&request, word_node > node));
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
        let word = word_at(other);
        let reserved = matches!(started(&word).reserve(&request), Ok(Answer::Reserved(_)));
        prop_assert!(!reserved);
        prop_assert_eq!(word.last(), Some(other));
    }

    #[test]
    fn raising_ends_above_the_id_and_never_below_the_word(start in id(), to in id()) {
        let word = word_at(start);
        let before = word.last().unwrap();
        match started(&word).raise(to) {
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
        let Ok(Answer::Reserved(mut block)) = started(&word_of(&request)).reserve(&request) else { return Ok(()) };
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
    // their layout, and dated ahead by no more than is waited for.
    #[test]
    fn ids_bound_to_the_clock_rise_and_wait(
        start in id(),
        turns in prop::collection::vec(
            (-3..=3_i64, 0..=15_i64, 0..=2_i64, 1..=256_i64, -3..=3_i64, any::<bool>()), 1..60,
        ),
    ) {
        let word = word_at(start);
        let mut last = word.last().unwrap();
        for (clock, uncertainty, node_id, want, paced, waits) in turns {
            let seen = word.last().unwrap();
            let now = seen.timestamp().saturating_add(clock);
            let request = Request {
                seen,
                now,
                node: TrueTimeSeries::new(uncertainty, NodeId::new(node_id).unwrap()).unwrap(),
                ceiling: Id::MAX,
                max_clock_step_ms: 86_400_000,
                want,
                paced: seen.timestamp() + paced,
                waits,
                first_sequence_id: 0,
            };
            match started(&word).reserve(&request) {
                Ok(Answer::Reserved(mut block)) => {
                    while let Some(id) = block.take_reserved() {
                        prop_assert!(id > last);
                        let [earliest, is_uncertain, is_node, _] = TRUETIME.fields(id);
                        prop_assert_eq!((is_uncertain, is_node), (uncertainty, node_id));
                        // The caller waits for the clock, whatever the pace is; without a wait the clock is there.
                        let latest = now + i64::from(waits) * EARLY_MS_MAX;
                        prop_assert!((now..=latest).contains(&earliest));
                        last = id;
                    }
                }
                Ok(Answer::UsedUp) => prop_assert!(now <= seen.timestamp()),
                Ok(other) => prop_assert!(false, "{other:?}"),
                Err(_) => {
                    let at_the_end = waits && seen.timestamp() == TIMESTAMP_MS_MAX;
                    prop_assert!(at_the_end || !(0..=TIMESTAMP_MS_MAX).contains(&now));
                }
            }
        }
    }

    // A sequence of requests of sessions that all play by the rules, with any clock: ids rise, whatever it does.
    #[test]
    fn ids_rise_through_any_clock(
        start in id(),
        turns in prop::collection::vec(
            (-3..=3_i64, 0..=2_i64, 1..=256_i64, (-3..=3_i64, any::<bool>()), within(SEQUENCE_ID_MAX)), 1..60,
        ),
    ) {
        let word = word_at(start);
        let mut last = word.last().unwrap();
        for (clock, node_id, want, (paced, waits), first_sequence_id) in turns {
            let seen = word.last().unwrap();
            let request = Request {
                seen,
                now: seen.timestamp().saturating_add(clock),
                node: NodeId::new(node_id).unwrap(),
                ceiling: Id::MAX,
                max_clock_step_ms: 86_400_000,
                want,
                paced: seen.timestamp() + paced,
                waits,
                first_sequence_id,
            };
            if let Ok(Answer::Reserved(mut block)) = started(&word).reserve(&request) {
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
        if let Ok(Answer::Reserved(mut block)) = started(&word_of(&request)).reserve(&request) {
            let _ = block.take(request.seen, block.last(), want, request.node, now);
            let _ = block.take(block.last(), request.seen, word, request.node, step);
        }
        let mut empty = Block::EMPTY;
        let _ = empty.take(request.seen, Id::MIN, now, request.node, step);
        let id = Id::new(word.max(0)).unwrap();
        let _ = started(&word_of(&request)).raise(id);
        let _ = (Id::first_of(now), Id::last_of(now), id.unix_ms(now), min_id(now, want), max_id(now, want));
        let _ = (compose(now, want, step, word), generate(now, want, step, word), NodeId::new(now));
    }
}
