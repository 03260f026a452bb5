//! The promise, checked as ids come: none comes twice, and each is above what had been returned when its call began.
//!
//! The memory this takes does not grow with the number of ids. One that repeats an id of a call that had returned is
//! not above what had been returned by then, so the check of the order sees it. Only calls that overlap can repeat
//! each other's ids unseen by it. So the ids of a call are kept until every call has ended that had begun before it
//! returned.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::ids::{show, timestamp_of};

/// The order that holds for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each id is above all that had been returned. For `snowflake.cache = 1`.
    Ids,
    /// Each id is from no earlier millisecond than what had been returned. For any `snowflake.cache`, and batches.
    Milliseconds,
}

/// What all sessions of one server have been given, in all its lives.
#[derive(Default)]
pub struct Promise(Mutex<State>);

#[derive(Default)]
struct State {
    ids: u64,
    highest: i64,
    /// No id at or below it may come from a call that begins from now on, whatever its order.
    floor: i64,
    next_call: u64,
    /// For each call that has not ended, the millisecond below which it cannot get an id.
    running: BTreeMap<u64, i64>,
    /// One bit for each sequence number of a millisecond and node.
    recent: BTreeMap<i64, [u64; 64]>,
}

/// A call that has begun.
#[must_use = "a call that is not ended keeps ids in memory"]
pub struct Call {
    number: u64,
    highest: i64,
    floor: i64,
}

impl Promise {
    /// To be called before the statement is sent.
    pub fn begin(&self) -> Call {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, highest, floor) = (state.next_call, state.highest, state.floor);
        state.next_call += 1;
        state.running.insert(number, timestamp_of(highest));
        Call { number, highest, floor }
    }

    /// To be called after the statement has ended, with the ids it returned, in order: none where it failed.
    ///
    /// # Panics
    /// Where an id came twice, is not above the one before it in the call, or not in the order given.
    pub fn end(&self, call: &Call, ids: &[i64], order: Order) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = call.floor;
        for &id in ids {
            assert!(id > before, "{} came after {} in one call, or its floor", show(id), show(before));
            before = id;
            let in_order = match order {
                Order::Ids => id > call.highest,
                Order::Milliseconds => timestamp_of(id) >= timestamp_of(call.highest),
            };
            assert!(in_order, "{} came after {} had been returned", show(id), show(call.highest));
            let (word, bit) = ((id & 4095) as usize / 64, 1 << (id & 63));
            let numbers = state.recent.entry(id >> 12).or_insert([0; 64]);
            assert!(numbers[word] & bit == 0, "{} came twice", show(id));
            numbers[word] |= bit;
        }
        state.ids += ids.len() as u64;
        state.highest = state.highest.max(before);
        state.running.remove(&call.number);
        let oldest = state.running.values().copied().min().unwrap_or(i64::MAX);
        let still_possible = oldest.min(timestamp_of(state.highest)) << 10;
        state.recent = state.recent.split_off(&still_possible);
    }

    /// From now on no id at or below this one may be issued: `snowflake_advance` has returned, say.
    pub fn forbid_up_to(&self, id: i64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.floor = state.floor.max(id);
    }

    /// The highest id that was returned.
    pub fn highest(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).highest
    }

    /// How many ids were checked.
    pub fn ids(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1 << 22;

    fn calls(calls: &[(&[i64], Order)]) {
        let promise = Promise::default();
        for (ids, order) in calls {
            promise.end(&promise.begin(), ids, *order);
        }
    }

    #[test]
    fn takes_what_rises() {
        calls(&[(&[MS, MS + 1], Order::Ids), (&[MS + 3, 5 * MS], Order::Ids), (&[5 * MS + 1], Order::Ids)]);
    }

    #[test]
    fn a_call_of_an_own_block_may_be_below_another_of_its_millisecond() {
        calls(&[(&[MS + 9], Order::Milliseconds), (&[MS + 1], Order::Milliseconds)]);
    }

    #[test]
    #[should_panic(expected = "had been returned")]
    fn sees_an_id_below_one_returned_before() {
        calls(&[(&[MS + 9], Order::Milliseconds), (&[MS + 1], Order::Ids)]);
    }

    #[test]
    #[should_panic(expected = "had been returned")]
    fn sees_an_earlier_millisecond() {
        calls(&[(&[2 * MS], Order::Ids), (&[MS + 1], Order::Milliseconds)]);
    }

    #[test]
    #[should_panic(expected = "in one call")]
    fn sees_a_fall_within_a_call() {
        calls(&[(&[MS + 1, MS], Order::Ids)]);
    }

    #[test]
    #[should_panic(expected = "came twice")]
    fn sees_a_repetition_in_the_millisecond_of_the_highest() {
        calls(&[(&[MS], Order::Milliseconds), (&[MS], Order::Milliseconds)]);
    }

    #[test]
    #[should_panic(expected = "came twice")]
    fn sees_a_repetition_by_a_call_that_overlaps() {
        let promise = Promise::default();
        let slow = promise.begin();
        promise.end(&promise.begin(), &[MS], Order::Ids);
        promise.end(&promise.begin(), &[9 * MS], Order::Ids);
        promise.end(&slow, &[MS], Order::Ids);
    }

    #[test]
    #[should_panic(expected = "in one call, or its floor")]
    fn sees_what_is_below_the_floor() {
        let promise = Promise::default();
        promise.forbid_up_to(MS);
        promise.end(&promise.begin(), &[MS], Order::Milliseconds);
    }

    #[test]
    fn forgets_what_can_no_longer_be_repeated_unseen() {
        let promise = Promise::default();
        for ms in 1..1_000 {
            promise.end(&promise.begin(), &[ms * MS], Order::Ids);
        }
        assert_eq!(promise.0.lock().unwrap().recent.len(), 1);
    }
}
