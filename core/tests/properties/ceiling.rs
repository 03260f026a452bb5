//! How high a ceiling is.

use super::*;
use snowflake_core::Ceiling;

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
