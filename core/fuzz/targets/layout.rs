//! Composing and decoding: every field comes back as it went in, and what does not fit is refused with its value.

use snowflake_core::layout::{self, NODE_ID_MAX, SEQUENCE_ID_MAX, TIMESTAMP_MS_MAX};
use snowflake_core::{FieldError, Fields, Id, NodeId};

use super::bytes::Bytes;

pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let [unix_ms, node_id, sequence_id, epoch_ms] = std::array::from_fn(|_| bytes.number());
    let timestamp = i128::from(unix_ms) - i128::from(epoch_ms);

    let expected = if !(0..=NODE_ID_MAX).contains(&node_id) {
        Err(FieldError::NodeId(node_id))
    } else if !(0..=SEQUENCE_ID_MAX).contains(&sequence_id) {
        Err(FieldError::SequenceId(sequence_id))
    } else if !(0..=i128::from(TIMESTAMP_MS_MAX)).contains(&timestamp) {
        Err(FieldError::Timestamp(timestamp))
    } else {
        Ok(Fields { timestamp: timestamp as i64, node_id, sequence_id })
    };
    let composed = layout::compose(unix_ms, node_id, sequence_id, epoch_ms);
    assert_eq!(composed.map(Id::fields), expected);
    if let Ok(id) = composed {
        assert_eq!(i128::from(id.get()), (timestamp << 22) + i128::from((node_id << 12) + sequence_id));
        assert_eq!(id.unix_ms(epoch_ms), i128::from(unix_ms));
    }

    let generated = layout::generate(sequence_id, node_id, epoch_ms, unix_ms);
    let expected = match expected {
        Ok(Fields { timestamp: 0, .. }) => Err(FieldError::TimestampNotAfterEpoch(0)),
        Err(FieldError::Timestamp(timestamp)) => Err(FieldError::TimestampNotAfterEpoch(timestamp)),
        other => other,
    };
    assert_eq!(generated.map(Id::fields), expected);
    assert!(generated.is_ok_and(|id| id.get() > 0) || generated.is_err());

    bounds_of_an_instant(unix_ms, epoch_ms, timestamp);
    any_id(bytes.number(), epoch_ms);
    // The messages are made for every error.
    let _ = (composed.map_err(|error| error.to_string()), generated.map_err(|error| error.to_string()));
}

/// `id >= min_id` and `id <= max_id` select by time, whatever the instant.
fn bounds_of_an_instant(unix_ms: i64, epoch_ms: i64, timestamp: i128) {
    let (min, max) = (layout::min_id(unix_ms, epoch_ms), layout::max_id(unix_ms, epoch_ms));
    if timestamp < 0 {
        assert_eq!((min, max), (0, -1));
    } else if timestamp > i128::from(TIMESTAMP_MS_MAX) {
        assert_eq!((min, max), (i64::MAX, i64::MAX));
    } else {
        assert_eq!(i128::from(min), timestamp << 22);
        assert_eq!(i128::from(max), (timestamp << 22) + 0x3f_ffff);
    }
    if let (Some(before), Some(after)) = (unix_ms.checked_sub(1), unix_ms.checked_add(1)) {
        assert!(layout::max_id(before, epoch_ms) <= max && min <= layout::min_id(after, epoch_ms));
    }
}

/// What a decoder is given.
fn any_id(number: i64, epoch_ms: i64) {
    let id = match Id::new(number) {
        Ok(id) => id,
        Err(error) => {
            assert_eq!(error, FieldError::NegativeId(number));
            assert!(number < 0);
            return;
        }
    };
    assert_eq!(id.get(), number);
    let Fields { timestamp, node_id, sequence_id } = id.fields();
    assert_eq!((timestamp, node_id, sequence_id), (id.timestamp(), id.node_id(), id.sequence_id()));
    assert!(NodeId::new(node_id).is_ok_and(|node| node.get() == node_id));
    assert!(Id::first_of(timestamp) <= id && id <= Id::last_of(timestamp));
    if let Ok(unix_ms) = i64::try_from(id.unix_ms(epoch_ms)) {
        assert_eq!(layout::compose(unix_ms, node_id, sequence_id, epoch_ms), Ok(id));
    }
}
