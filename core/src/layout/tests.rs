//! Each field, each bound, and the vectors of other people's ids.
//!
//! "Case n" refers to faults that other id generators had in public, each with the small input that showed it.

use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::error::FieldError;

/// The public tweet id of the vectors below.
const TWEET: i64 = 1_593_572_310_593_806_338;

fn text_of(result: Result<Id, FieldError>) -> String {
    result.expect_err("the value is out of range").to_string()
}

mod constants {
    use super::*;

    #[test]
    fn widths_are_those_of_the_format() {
        assert_eq!((TIMESTAMP_BITS, NODE_ID_BITS, SEQUENCE_ID_BITS), (41, 10, 12));
        assert_eq!(TIMESTAMP_BITS + NODE_ID_BITS + SEQUENCE_ID_BITS, 63);
    }

    #[test]
    fn maxima_fill_their_fields() {
        assert_eq!(TIMESTAMP_MS_MAX, 2_199_023_255_551);
        assert_eq!(NODE_ID_MAX, 1_023);
        assert_eq!(SEQUENCE_ID_MAX, 4_095);
        assert_eq!(IDS_PER_MS, 4_096);
    }

    #[test]
    fn masks_divide_the_id_between_them() {
        assert_eq!((NODE_ID_SHIFT, TIMESTAMP_SHIFT), (12, 22));
        assert_eq!(SEQUENCE_ID_MASK, 0xfff);
        assert_eq!(NODE_ID_MASK, 0x3f_f000);
        assert_eq!(TIMESTAMP_MASK, 0x7fff_ffff_ffc0_0000);
        assert_eq!(TIMESTAMP_MASK & NODE_ID_MASK, 0);
        assert_eq!(TIMESTAMP_MASK & SEQUENCE_ID_MASK, 0);
        assert_eq!(NODE_ID_MASK & SEQUENCE_ID_MASK, 0);
        assert_eq!(ID_MAX, i64::MAX);
        assert_eq!((Id::MIN.get(), Id::MAX.get()), (0, i64::MAX));
    }

    #[test]
    fn defaults_are_those_people_expect() {
        // 2010-11-04 01:42:54.657 UTC.
        assert_eq!(EPOCH_MS_DEFAULT, 1_288_834_974_657);
        assert_eq!(NODE_ID_DEFAULT, 1);
        assert!(NodeId::new(NODE_ID_DEFAULT).is_ok());
    }
}

mod node_id {
    use super::*;

    // A range check by `&` would take 1025 and refuse 0; one byte would narrow nodes above 255.
    #[test]
    fn every_node_number_in_range_survives() {
        for node_id in 0..=NODE_ID_MAX {
            assert_eq!(NodeId::new(node_id).map(NodeId::get), Ok(node_id));
            let id = compose(1, node_id, SEQUENCE_ID_MAX, 0).unwrap();
            assert_eq!(id.node_id(), node_id);
            assert_eq!((id.timestamp(), id.sequence_id()), (1, SEQUENCE_ID_MAX));
        }
    }

    // 65,536 and 2^32 are 0 where a number is narrowed before it is checked.
    #[test]
    fn every_other_node_number_is_refused() {
        for node_id in [-1, 1_024, 1_025, 2_048, 65_536, 1 << 32, i64::MIN, i64::MAX] {
            assert_eq!(NodeId::new(node_id), Err(FieldError::NodeId(node_id)));
        }
    }
}

mod id {
    use super::*;

    // With its sign shifted in, it would be a time before the epoch and node 1023.
    #[test]
    fn a_negative_number_is_no_id() {
        for number in [-1, i64::MIN, -9_223_372_036_854_775_807, -9_223_372_036_825_411_584] {
            assert_eq!(Id::new(number), Err(FieldError::NegativeId(number)));
            assert_eq!(
                text_of(Id::new(number)),
                std::format!("snowflake id must be in [0, 9223372036854775807], got {number}")
            );
        }
    }

    #[test]
    fn every_other_number_is_an_id() {
        for number in [0, 1, TWEET, i64::MAX - 1, i64::MAX] {
            assert_eq!(Id::new(number).map(Id::get), Ok(number));
        }
    }

    #[test]
    fn first_and_last_of_a_millisecond_are_one_number_from_its_neighbours() {
        for timestamp in [0, 1, 123_456, TIMESTAMP_MS_MAX - 1] {
            let (first, last) = (Id::first_of(timestamp), Id::last_of(timestamp));
            assert_eq!(first.fields(), Fields { timestamp, node_id: 0, sequence_id: 0 });
            assert_eq!(
                last.fields(),
                Fields { timestamp, node_id: NODE_ID_MAX, sequence_id: SEQUENCE_ID_MAX }
            );
            assert_eq!(last.get() + 1, Id::first_of(timestamp + 1).get());
        }
    }

    #[test]
    fn first_and_last_of_a_time_outside_the_format_clamp() {
        for timestamp in [-1, i64::MIN] {
            assert_eq!(Id::first_of(timestamp), Id::MIN);
            assert_eq!(Id::last_of(timestamp), Id::last_of(0));
        }
        for timestamp in [TIMESTAMP_MS_MAX + 1, i64::MAX] {
            assert_eq!(Id::first_of(timestamp), Id::first_of(TIMESTAMP_MS_MAX));
            assert_eq!(Id::last_of(timestamp), Id::MAX);
        }
    }

    #[test]
    fn ids_compare_by_time_then_node_then_sequence() {
        let ascending = [
            (1, 0, 0),
            (1, 0, SEQUENCE_ID_MAX),
            (1, 1, 0),
            (1, NODE_ID_MAX, SEQUENCE_ID_MAX),
            (2, 0, 0),
            (TIMESTAMP_MS_MAX, 0, 0),
        ]
        .map(|(timestamp, node_id, sequence_id)| compose(timestamp, node_id, sequence_id, 0).unwrap());
        assert!(ascending.windows(2).all(|pair| pair[0] < pair[1] && pair[0].get() < pair[1].get()));
    }

    #[test]
    fn unix_time_is_exact_for_any_epoch() {
        let id = compose(TIMESTAMP_MS_MAX, 0, 0, 0).unwrap();
        for epoch_ms in [i64::MIN, -1, 0, EPOCH_MS_DEFAULT, i64::MAX] {
            assert_eq!(id.unix_ms(epoch_ms), i128::from(epoch_ms) + 2_199_023_255_551);
        }
    }
}

mod composing {
    use super::*;

    // 2^41 milliseconds would make a negative id, and a field could spill over its neighbour.
    #[test]
    fn the_last_id_has_every_bit_but_the_sign() {
        assert_eq!(compose(TIMESTAMP_MS_MAX, 1_023, 4_095, 0).map(Id::get), Ok(i64::MAX));
        assert_eq!(compose(0, 0, 0, 0).map(Id::get), Ok(0));
        assert_eq!(compose(1 << 41, 0, 0, 0), Err(FieldError::Timestamp(1 << 41)));
    }

    #[test]
    fn each_field_is_checked_at_both_ends() {
        for node_id in [-1, 1_024, 4_096, i64::MIN, i64::MAX] {
            assert_eq!(compose(5, node_id, 0, 0), Err(FieldError::NodeId(node_id)));
        }
        for sequence_id in [-1, 4_096, 8_192, i64::MIN, i64::MAX] {
            assert_eq!(compose(5, 0, sequence_id, 0), Err(FieldError::SequenceId(sequence_id)));
        }
        for timestamp in [-1, TIMESTAMP_MS_MAX + 1, i64::MIN, i64::MAX] {
            assert_eq!(compose(timestamp, 0, 0, 0), Err(FieldError::Timestamp(i128::from(timestamp))));
        }
        for sequence_id in [0, 1, SEQUENCE_ID_MAX] {
            assert_eq!(compose(5, 7, sequence_id, 0).map(Id::sequence_id), Ok(sequence_id));
        }
    }

    #[test]
    fn the_first_field_that_fails_decides() {
        assert_eq!(compose(-1, -1, -1, 0), Err(FieldError::NodeId(-1)));
        assert_eq!(compose(-1, 0, -1, 0), Err(FieldError::SequenceId(-1)));
        assert_eq!(compose(-1, 0, 0, 0), Err(FieldError::Timestamp(-1)));
        assert_eq!(generate(4_096, 1_024, 10, 5), Err(FieldError::NodeId(1_024)));
        assert_eq!(generate(4_096, 1_023, 10, 5), Err(FieldError::SequenceId(4_096)));
        assert_eq!(generate(4_095, 1_023, 10, 5), Err(FieldError::TimestampNotAfterEpoch(-5)));
    }

    // In 32 bits, milliseconds wrap after 50 days.
    #[test]
    fn a_timestamp_past_32_bits_is_exact() {
        let id = compose(4_294_967_296, 0, 0, 0).unwrap();
        assert_eq!(id.fields(), Fields { timestamp: 4_294_967_296, node_id: 0, sequence_id: 0 });
        assert_eq!(id.get(), 18_014_398_509_481_984);
    }

    // The epoch is subtracted before the shift, and its difference from the time never wraps.
    #[test]
    fn the_epoch_is_taken_off_exactly() {
        assert_eq!(compose(EPOCH_MS_DEFAULT + 1, 0, 0, EPOCH_MS_DEFAULT).map(Id::timestamp), Ok(1));
        assert_eq!(compose(i64::MIN + 5, 0, 0, i64::MIN).map(Id::timestamp), Ok(5));
        let widest = i128::from(i64::MAX) - i128::from(i64::MIN);
        assert_eq!(compose(i64::MAX, 0, 0, i64::MIN), Err(FieldError::Timestamp(widest)));
        assert_eq!(compose(i64::MIN, 0, 0, i64::MAX), Err(FieldError::Timestamp(-widest)));
    }

    #[test]
    fn messages_name_the_range_and_the_value() {
        assert_eq!(text_of(compose(0, 1_024, 0, 0)), "node_id must be in [0, 1023], got 1024");
        assert_eq!(text_of(compose(0, 0, -1, 0)), "sequence_id must be in [0, 4095], got -1");
        assert_eq!(
            text_of(compose(1 << 41, 0, 0, 0)),
            "timestamp overflows 41 bits: must be in [0, 2199023255551] milliseconds after the epoch, \
             got 2199023255552"
        );
        assert_eq!(
            text_of(generate(0, 0, 5, 5)),
            "timestamp overflows 41 bits: must be in [1, 2199023255551] milliseconds after the epoch, got 0"
        );
        // The difference of two i64 is told as it is, not as it would wrap.
        assert!(text_of(compose(i64::MAX, 0, 0, i64::MIN)).ends_with("got 18446744073709551615"));
    }
}

mod generating {
    use super::*;

    #[test]
    fn the_result_is_positive() {
        assert_eq!(generate(0, 0, 0, 1).map(Id::get), Ok(1 << 22));
        assert_eq!(generate(4_095, 1_023, 0, TIMESTAMP_MS_MAX).map(Id::get), Ok(i64::MAX));
    }

    #[test]
    fn the_epoch_itself_is_not_yet_possible() {
        // Node 0's first id would be 0, so the whole millisecond is refused, whatever the node.
        assert_eq!(generate(0, 0, 7, 7), Err(FieldError::TimestampNotAfterEpoch(0)));
        assert_eq!(generate(1, 1, 7, 7), Err(FieldError::TimestampNotAfterEpoch(0)));
        assert_eq!(generate(1, 1, 7, 6), Err(FieldError::TimestampNotAfterEpoch(-1)));
    }

    #[test]
    fn past_the_end_is_refused() {
        let end = EPOCH_MS_DEFAULT + TIMESTAMP_MS_MAX;
        assert!(generate(0, 1, EPOCH_MS_DEFAULT, end).is_ok());
        for past in [1, 6] {
            let expected = FieldError::TimestampNotAfterEpoch(i128::from(TIMESTAMP_MS_MAX + past));
            assert_eq!(generate(0, 1, EPOCH_MS_DEFAULT, end + past), Err(expected));
        }
    }

    #[test]
    fn it_composes_what_it_was_given() {
        assert_eq!(generate(2, 378, EPOCH_MS_DEFAULT, 1_668_772_220_644).map(Id::get), Ok(TWEET));
    }
}

mod bounds_of_an_instant {
    use super::*;

    // The bounds of the tweet's millisecond, which the vectors give.
    #[test]
    fn they_span_the_millisecond() {
        let unix_ms = 1_668_772_220_644;
        assert_eq!(min_id(unix_ms, EPOCH_MS_DEFAULT), 1_593_572_310_592_258_048);
        assert_eq!(max_id(unix_ms, EPOCH_MS_DEFAULT), 1_593_572_310_596_452_351);
    }

    // An upper bound without the rest of the last millisecond would lose the day's last rows.
    #[test]
    fn the_last_id_of_a_day_is_within_its_day() {
        let midnight = 1_700_006_400_000; // 2023-11-15 00:00:00 UTC.
        let last = compose(midnight - 1, NODE_ID_MAX, SEQUENCE_ID_MAX, EPOCH_MS_DEFAULT).unwrap().get();
        assert!(last < min_id(midnight, EPOCH_MS_DEFAULT));
        assert_eq!(last, max_id(midnight - 1, EPOCH_MS_DEFAULT));
        assert_eq!(last + 1, min_id(midnight, EPOCH_MS_DEFAULT));
    }

    #[test]
    fn the_epoch_is_the_first_instant_with_ids() {
        assert_eq!((min_id(100, 100), max_id(100, 100)), (0, Id::last_of(0).get()));
        // Before it, no id is at or below the upper bound.
        for unix_ms in [99, -1, i64::MIN] {
            assert_eq!((min_id(unix_ms, 100), max_id(unix_ms, 100)), (0, -1));
        }
    }

    #[test]
    fn past_the_end_they_are_the_highest_id() {
        assert_eq!(min_id(TIMESTAMP_MS_MAX, 0), Id::first_of(TIMESTAMP_MS_MAX).get());
        assert_eq!(max_id(TIMESTAMP_MS_MAX, 0), i64::MAX);
        for unix_ms in [TIMESTAMP_MS_MAX + 1, i64::MAX] {
            assert_eq!((min_id(unix_ms, 0), max_id(unix_ms, 0)), (i64::MAX, i64::MAX));
        }
    }

    #[test]
    fn no_difference_wraps() {
        assert_eq!((min_id(i64::MAX, i64::MIN), max_id(i64::MAX, i64::MIN)), (i64::MAX, i64::MAX));
        assert_eq!((min_id(i64::MIN, i64::MAX), max_id(i64::MIN, i64::MAX)), (0, -1));
    }
}

mod vectors {
    use super::*;

    /// An id from elsewhere, its epoch, and the Unix milliseconds, node and sequence it stands for.
    type Vector = (i64, i64, i64, i64, i64);

    const VECTORS: [Vector; 5] = [
        // 2022-11-18 11:50:20.644Z, a public tweet id.
        (TWEET, EPOCH_MS_DEFAULT, 1_668_772_220_644, 378, 2),
        // 2024-05-12 19:48:29.899Z, with the Unix epoch.
        (7_195_510_166_884_597_760, 0, 1_715_543_309_899, 484, 0),
        // A time field of 123456, whatever the epoch.
        (517_811_994_666, 0, 123_456, 0, 42),
        (517_811_994_666, EPOCH_MS_DEFAULT, EPOCH_MS_DEFAULT + 123_456, 0, 42),
        // The last id there is.
        (i64::MAX, 0, TIMESTAMP_MS_MAX, 1_023, 4_095),
    ];

    #[test]
    fn decode_as_published() {
        for (number, epoch_ms, unix_ms, node_id, sequence_id) in VECTORS {
            let id = Id::new(number).unwrap();
            assert_eq!(id.unix_ms(epoch_ms), i128::from(unix_ms));
            assert_eq!((id.node_id(), id.sequence_id()), (node_id, sequence_id));
        }
    }

    #[test]
    fn compose_as_published() {
        for (number, epoch_ms, unix_ms, node_id, sequence_id) in VECTORS {
            assert_eq!(compose(unix_ms, node_id, sequence_id, epoch_ms).map(Id::get), Ok(number));
        }
    }

    // An id of the Unix epoch read with Twitter's comes out 40.8 years late, so the epoch is an argument.
    #[test]
    fn the_epoch_decides_the_time() {
        let id = Id::new(7_195_510_166_884_597_760).unwrap();
        assert_eq!(id.unix_ms(EPOCH_MS_DEFAULT) - id.unix_ms(0), i128::from(EPOCH_MS_DEFAULT));
    }

    // The extracted time keeps its milliseconds. This id was made at a .107 of its second.
    #[test]
    fn the_milliseconds_stay() {
        let id = Id::new(890_399_407_000_784_896).unwrap();
        assert_eq!(id.unix_ms(EPOCH_MS_DEFAULT) % 1_000, 107);
    }

    // The bounds of the time of an id contain the id, also at the ends of each field.
    #[test]
    fn the_bounds_of_an_ids_time_contain_it() {
        let numbers: Vec<i64> = (0..10_000)
            .map(|n: i64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) & i64::MAX)
            .chain(VECTORS.map(|vector| vector.0))
            .collect();
        for number in numbers {
            let unix_ms = i64::try_from(Id::new(number).unwrap().unix_ms(EPOCH_MS_DEFAULT)).unwrap();
            assert!(min_id(unix_ms, EPOCH_MS_DEFAULT) <= number);
            assert!(number <= max_id(unix_ms, EPOCH_MS_DEFAULT));
        }
    }
}

#[test]
fn an_epoch_is_digits_and_nothing_else() {
    assert_eq!(parse_epoch_ms("1288834974657"), Some(EPOCH_MS_DEFAULT));
    assert_eq!(parse_epoch_ms("0"), Some(0));
    assert_eq!(parse_epoch_ms("9223372036854775807"), Some(i64::MAX));
    for refused in ["", " ", "-1", "+1", " 1", "1 ", "1.0", "0x1", "2999-01-01", "9223372036854775808", "١"]
    {
        assert_eq!(parse_epoch_ms(refused), None, "{refused:?}");
    }
}
