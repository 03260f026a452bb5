//! The layouts of the sequencer's designs.

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
