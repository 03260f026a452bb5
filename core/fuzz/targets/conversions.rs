//! Ids as text, as UUIDs, and of other generators: what goes in comes back, and no bytes are taken for what they are
//! not.

use snowflake_core::base32::{self, Base32, LENGTH};
use snowflake_core::foreign::{LAYOUTS, Layout};
use snowflake_core::{Base32Error, Id, UuidError, uuid};

use super::bytes::Bytes;

/// A text: any bytes.
pub fn base32(data: &[u8]) {
    let symbols = || data.iter().filter(|byte| **byte != b'-');
    match base32::decode(data) {
        Ok(id) => {
            assert_eq!(symbols().count(), LENGTH);
            let text = Base32::encode(id);
            assert_eq!(base32::decode(text.as_str().as_bytes()), Ok(id));
            let plain: Vec<u8> = symbols()
                .map(|byte| match byte.to_ascii_uppercase() {
                    b'O' => b'0',
                    b'I' | b'L' => b'1',
                    other => other,
                })
                .collect();
            assert_eq!(text.as_str().as_bytes(), plain);
        }
        Err(error) => {
            match error {
                Base32Error::Character { byte, position } => assert_eq!(data[position - 1], byte),
                Base32Error::Length(length) => assert!(length != LENGTH && length == symbols().count()),
                Base32Error::Overflow(number) => assert!(number > i64::MAX as u128 && number >> 65 == 0),
            }
            let _ = error.to_string();
        }
    }
    assert_eq!(Layout::named(data).is_some(), LAYOUTS.iter().any(|layout| layout.name.as_bytes() == data));
}

/// Numbers: two ids, an epoch, and a UUID.
pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let [a, b] = [0; 2].map(|_| Id::new(bytes.number() & i64::MAX).expect("it is not negative"));
    let epoch_ms = bytes.number();

    assert_eq!(Base32::encode(a).cmp(&Base32::encode(b)), a.cmp(&b));
    let uuids = [a, b].map(|id| uuid::encode(id, epoch_ms));
    for (id, made) in [a, b].into_iter().zip(uuids) {
        match made {
            Ok(made) => {
                assert_eq!(uuid::decode(made, epoch_ms), Ok(id));
                assert_eq!(
                    ((made >> 80) as i128, made >> 76 & 15, made >> 62 & 3),
                    (id.unix_ms(epoch_ms), 7, 2)
                );
            }
            Err(UuidError::Timestamp(unix_ms)) => {
                assert_eq!(unix_ms, id.unix_ms(epoch_ms));
                assert!(!(0..1 << 48).contains(&unix_ms));
            }
            Err(other) => panic!("{other:?}"),
        }
        for layout in &LAYOUTS {
            let fields = layout.decode(id);
            let part = |field: Option<snowflake_core::foreign::Field>, value: Option<i64>| {
                field.map_or(0, |field| value.expect("the field's value") << field.shift)
            };
            let steps = (fields.unix_us - layout.epoch_ms * 1_000) / layout.unit_us;
            let time = steps << layout.timestamp_shift;
            let whole = time | part(layout.node, fields.node_id) | part(layout.sequence, fields.sequence_id);
            assert_eq!(whole, id.get(), "{}", layout.name);
        }
    }
    if let [Ok(first), Ok(second)] = uuids {
        assert_eq!(first.cmp(&second), a.cmp(&b));
    }

    let any = u128::from_le_bytes(std::array::from_fn(|_| bytes.byte()));
    match uuid::decode(any, epoch_ms) {
        Ok(id) => assert_eq!(uuid::encode(id, epoch_ms), Ok(any)),
        Err(error) => drop(error.to_string()),
    }
}
