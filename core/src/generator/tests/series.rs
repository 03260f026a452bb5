//! Other layouts than the snowflake's, by the same generator.

use super::*;

/// A layout with 8 bits of sequence and 14 above it, whose ids never are ahead of the clock.
#[derive(Debug, Clone, Copy)]
struct Bound(i64);

impl Series for Bound {
    const SEQUENCE_BITS: u32 = 8;
    const MAY_LEAD_CLOCK: bool = false;
    const EARLY_MS: i64 = 1;

    fn number(self) -> i64 {
        self.0
    }
}

fn bits(timestamp: i64, number: i64, sequence_id: i64) -> Id {
    Id::new(timestamp << 22 | number << 8 | sequence_id).unwrap()
}

fn wanted(seen: Id, now: i64, number: i64) -> Request<Bound> {
    let Request { ceiling, max_clock_step_ms, want, paced, waits, first_sequence_id, .. } =
        request(seen, now);
    Request {
        seen,
        now,
        node: Bound(number),
        ceiling,
        max_clock_step_ms,
        want,
        paced,
        waits,
        first_sequence_id,
    }
}

fn first_of(request: &Request<Bound>) -> Option<Id> {
    match started(&word_at(request.seen)).reserve(request) {
        Ok(Answer::Reserved(mut block)) => block.take_reserved(),
        Ok(Answer::UsedUp) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_series_says_what_is_its_own() {
    let id = bits(100, 5, 7);
    assert_eq!(Bound(5).id(100, 7), id);
    assert!(Bound(5).has(id) && !Bound(4).has(id) && !Bound(6).has(id));
    assert_eq!(Bound::sequence_id_of(id), 7);
    assert_eq!(Bound(16_383).id(0, 255).get(), (1 << 22) - 1);
    assert_eq!(node(5).id(100, 7), at(100, 5, 7));
    assert!(node(5).has(at(3, 5, 9)) && !node(5).has(at(3, 4, 9)));
}

#[test]
fn counts_as_far_as_its_sequence_goes() {
    assert_eq!(first_of(&wanted(bits(99, 5, 7), 100, 5)), Some(bits(100, 5, 0)));
    assert_eq!(first_of(&wanted(bits(100, 5, 7), 100, 5)), Some(bits(100, 5, 8)));
    assert_eq!(first_of(&wanted(bits(100, 5, 254), 100, 5)), Some(bits(100, 5, 255)));
    assert_eq!(first_of(&wanted(bits(100, 5, 255), 100, 5)), Some(bits(101, 5, 0)));
    assert_eq!(first_of(&wanted(bits(100, 4, 255), 100, 5)), Some(bits(100, 5, 0)));
    let block = Request { want: 256, ..wanted(bits(100, 5, 250), 100, 5) };
    let Ok(Answer::Reserved(block)) = started(&word_at(block.seen)).reserve(&block) else {
        panic!("nothing")
    };
    assert_eq!((block.last(), block.remaining()), (bits(100, 5, 255), 5));
    let mut block = block;
    assert_eq!(block.take(bits(100, 5, 255), Id::MIN, 100, Bound(4), MAX_STEP), None);
    assert_eq!(block.take(bits(100, 5, 255), Id::MIN, 100, Bound(5), MAX_STEP), Some(bits(100, 5, 251)));
}

// However far the pace of others has come: it is the clock that has to.
#[test]
fn one_that_must_not_lead_the_clock_is_early_by_the_clock_alone() {
    let full = bits(100, 5, 255);
    for paced in [i64::MIN, 99, 100, 101, i64::MAX] {
        let wanted = |seen, now| Request { paced, ..wanted(seen, now, 5) };
        let waits = |waits, seen, now| first_of(&Request { waits, ..wanted(seen, now) });
        // What is left of a millisecond that the clock has not reached, the one after, and one beside a higher number.
        assert_eq!(first_of(&wanted(bits(100, 5, 7), 99)), Some(bits(100, 5, 8)));
        assert_eq!(first_of(&wanted(bits(100, 5, 7), 98)), None);
        assert_eq!(first_of(&wanted(bits(100, 4, 7), 99)), Some(bits(100, 5, 0)));
        assert_eq!(first_of(&wanted(bits(100, 4, 7), 98)), None);
        assert_eq!(first_of(&wanted(full, 100)), Some(bits(101, 5, 0)));
        assert_eq!(first_of(&wanted(full, 99)), None);
        assert_eq!(first_of(&wanted(bits(100, 9, 0), 99)), Some(bits(101, 5, 0)));
        assert_eq!(first_of(&wanted(bits(100, 9, 0), 98)), None);
        // Without a wait nothing of them.
        for (seen, now) in [(bits(100, 5, 7), 99), (bits(100, 4, 7), 99), (full, 100), (bits(100, 9, 0), 100)]
        {
            assert_eq!(waits(false, seen, now), None);
        }
        assert_eq!(waits(false, bits(100, 9, 0), 101), Some(bits(101, 5, 0)));
        let behind = wanted(bits(5_000, 5, 7), 5_000 - MAX_STEP - 1);
        let refused = started(&word_at(behind.seen)).reserve(&behind);
        assert!(matches!(refused, Err(GenerateError::ClockBehind { .. })));
    }
}
