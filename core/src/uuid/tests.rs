//! The UUID of an id, there and back, and what is none.

use std::format;
use std::string::ToString;

use super::*;
use crate::error::FieldError;
use crate::layout::{EPOCH_MS_DEFAULT, TIMESTAMP_MS_MAX};

fn id(timestamp: i64, node_id: i64, sequence_id: i64) -> Id {
    compose(timestamp, node_id, sequence_id, 0).unwrap()
}

const FIELDS: [(i64, i64, i64); 6] = [
    (0, 0, 0),
    (0, 0, 1),
    (0, 1, 0),
    (1, NODE_ID_MAX, 0),
    (1, NODE_ID_MAX, SEQUENCE_ID_MAX),
    (TIMESTAMP_MS_MAX, NODE_ID_MAX, SEQUENCE_ID_MAX),
];

#[test]
fn every_field_comes_back_and_the_order_is_kept() {
    let mut before = 0;
    for (timestamp, node_id, sequence_id) in FIELDS {
        let id = id(timestamp, node_id, sequence_id);
        for epoch_ms in [0, EPOCH_MS_DEFAULT, UNIX_MS_MAX - TIMESTAMP_MS_MAX] {
            let uuid = encode(id, epoch_ms).unwrap();
            assert_eq!(decode(uuid, epoch_ms), Ok(id));
            // RFC 9562: unix_ts_ms in the first 48 bits, then the version, and the variant in bits 64 and 65.
            assert_eq!((uuid >> 80) as i64, epoch_ms + timestamp);
            assert_eq!(uuid >> 76 & 0xf, 7);
            assert_eq!(uuid >> 62 & 0b11, 0b10);
        }
        let uuid = encode(id, 0).unwrap();
        assert!(uuid > before);
        before = uuid;
    }
}

#[test]
fn a_time_that_a_uuid_cannot_hold() {
    assert_eq!(encode(id(4, 1, 1), -5), Err(UuidError::Timestamp(-1)));
    assert!(encode(id(5, 1, 1), -5).is_ok());
    let late = UNIX_MS_MAX - 5;
    assert!(encode(id(5, 1, 1), late).is_ok());
    assert_eq!(encode(id(6, 1, 1), late), Err(UuidError::Timestamp((UNIX_MS_MAX + 1).into())));
    for epoch_ms in [i64::MIN, i64::MAX] {
        assert!(encode(Id::MAX, epoch_ms).is_err());
    }
}

#[test]
fn a_uuid_with_any_other_bit_is_refused() {
    let made = encode(id(1_000, 5, 9), EPOCH_MS_DEFAULT).unwrap();
    for bit in (0..128).filter(|bit| FIXED >> bit & 1 == 1) {
        let other = made ^ (1 << bit);
        assert_eq!(decode(other, EPOCH_MS_DEFAULT), Err(UuidError::Foreign(other)));
    }
    assert_eq!(FIXED.count_ones(), 128 - 48 - NODE_ID_BITS - SEQUENCE_ID_BITS);
}

#[test]
fn a_time_that_is_none_of_the_epoch_is_refused() {
    let made = encode(id(1_000, 5, 9), EPOCH_MS_DEFAULT).unwrap();
    let timestamp = |by| Err(UuidError::Field(FieldError::Timestamp(by)));
    assert_eq!(decode(made, EPOCH_MS_DEFAULT + 1_001), timestamp(-1));
    let past = EPOCH_MS_DEFAULT - TIMESTAMP_MS_MAX;
    assert_eq!(decode(made, past), timestamp(i128::from(TIMESTAMP_MS_MAX) + 1_000));
}

#[test]
fn messages() {
    let uuid = 0x550e_8400_e29b_41d4_a716_4466_5544_0000;
    assert_eq!(
        decode(uuid, 0).unwrap_err().to_string(),
        "UUID 550e8400-e29b-41d4-a716-446655440000 was not made from a snowflake id"
    );
    assert_eq!(
        encode(Id::MIN, -1).unwrap_err().to_string(),
        format!("time of a version 7 UUID must be in [0, {UNIX_MS_MAX}] Unix milliseconds, got -1")
    );
}
