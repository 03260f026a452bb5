//! The layout: round trips, order and bounds.

use super::*;
use snowflake_core::FieldError;

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
