//! Ids as text, as UUIDs, and of other generators.

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
