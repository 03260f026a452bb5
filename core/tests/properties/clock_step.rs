//! What a look at the clock says.

use super::*;
use snowflake_core::ClockStep;
use snowflake_core::clock_step::TOLERANCE_NS;

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
