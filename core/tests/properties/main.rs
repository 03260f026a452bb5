//! What holds for every input: the round trips of the layout, and what an answer of the generator promises.
//!
//! The numbers are drawn from the whole of `i64`, with the ends of each field made likely: a rule that breaks
//! breaks there.
#![cfg(not(miri))]

mod ceiling;
mod clock_step;
mod conversions;
mod designs;
mod generator;
mod layout;

use proptest::prelude::*;
use proptest::test_runner::Config;
use snowflake_core::layout::*;

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
