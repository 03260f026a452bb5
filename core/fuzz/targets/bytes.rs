//! Numbers out of the fuzzer's bytes, with those that matter near at hand.

use snowflake_core::layout::{EPOCH_MS_DEFAULT, ID_MAX, NODE_ID_MAX, SEQUENCE_ID_MAX, TIMESTAMP_MS_MAX};

/// Where something begins or ends.
const BOUNDS: [i64; 16] = [
    i64::MIN,
    i64::MIN + 1,
    -1,
    0,
    1,
    256,
    SEQUENCE_ID_MAX,
    NODE_ID_MAX,
    TIMESTAMP_MS_MAX,
    TIMESTAMP_MS_MAX + 1,
    EPOCH_MS_DEFAULT,
    EPOCH_MS_DEFAULT + TIMESTAMP_MS_MAX,
    1 << 22,
    ID_MAX - 1,
    ID_MAX,
    1 << 62,
];

/// What is left of the bytes.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// Whether nothing is left. From then on every byte is 0.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Any number: a small one, one of two bytes, one of eight, or one near a bound.
    pub fn number(&mut self) -> i64 {
        let kind = self.byte();
        match kind % 4 {
            0 => i64::from(self.byte() as i8),
            1 => i64::from(i16::from_le_bytes([self.byte(), self.byte()])),
            2 => i64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            _ => BOUNDS[usize::from(kind / 4) % BOUNDS.len()].wrapping_add(i64::from(self.byte() as i8)),
        }
    }
}
