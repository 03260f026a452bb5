//! A keyed permutation of all ids: FF1 with AES-256 over 63 binary digits.
//!
//! FF1 is the method of NIST SP 800-38G, <https://doi.org/10.6028/NIST.SP.800-38G>; it, and AES, are the crates `fpe` and
//! `aes`. Here are only the numbers that it works on, without an allocation. The tweak is empty, so whoever has the
//! key and any implementation of FF1 can compute the same.

use aes::Aes256;
use fpe::ff1::{FF1, NumeralString, Operations};
use snowflake_core::Id;

/// Length of a key in bytes: that of AES-256.
pub const KEY_LENGTH: usize = 32;

/// An id in binary digits.
type Digits = Number<2, { i64::BITS as usize - 1 }>;

/// The permutation of one key.
pub struct Permutation(FF1<Aes256>);

impl Permutation {
    /// The permutation of a key.
    pub fn new(key: &[u8; KEY_LENGTH]) -> Self {
        Self(FF1::new(key, 2).expect("FF1 has a radix of 2"))
    }

    /// The id that stands for this one.
    pub fn encrypt(&self, id: Id) -> Id {
        self.permute(id, |ff1, digits| ff1.encrypt(&[], digits))
    }

    /// The id for which this one stands.
    pub fn decrypt(&self, id: Id) -> Id {
        self.permute(id, |ff1, digits| ff1.decrypt(&[], digits))
    }

    fn permute(
        &self,
        id: Id,
        step: impl Fn(&FF1<Aes256>, &Digits) -> Result<Digits, fpe::ff1::NumeralStringError>,
    ) -> Id {
        // FF1 wants a million numbers at least, and 2^63 are more.
        let Number(number) = step(&self.0, &Number(id.get() as u64)).expect("63 binary digits suit FF1");
        Id::new(number as i64).expect("63 binary digits are an id")
    }
}

/// `COUNT` digits to a base, as the number that they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number<const RADIX: u64, const COUNT: usize>(u64);

/// The left or the right of its digits.
#[derive(Debug, Clone, Copy)]
struct Half {
    value: u64,
    count: usize,
}

/// What `count` digits can write: `radix^count`.
fn values(radix: u32, count: usize) -> u128 {
    u128::from(radix).pow(count as u32)
}

impl<const RADIX: u64, const COUNT: usize> NumeralString for Number<RADIX, COUNT> {
    type Ops = Half;

    fn is_valid(&self, radix: u32) -> bool {
        u64::from(radix) == RADIX && u128::from(self.0) < values(radix, COUNT)
    }

    fn numeral_count(&self) -> usize {
        COUNT
    }

    fn split(&self) -> (Half, Half) {
        let (left, right) = (COUNT / 2, COUNT - COUNT / 2);
        let below = RADIX.pow(right as u32);
        (Half { value: self.0 / below, count: left }, Half { value: self.0 % below, count: right })
    }

    fn concat(left: Half, right: Half) -> Self {
        Self(left.value * RADIX.pow(right.count as u32) + right.value)
    }
}

impl Operations for Half {
    type Bytes = BigEndian;

    fn numeral_count(&self) -> usize {
        self.count
    }

    fn to_be_bytes(&self, _radix: u32, length: usize) -> BigEndian {
        BigEndian { bytes: self.value.to_be_bytes(), length }
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, radix: u32, count: usize) -> Self {
        let values = values(radix, count);
        Self { value: ((u128::from(self.value) + number(other) % values) % values) as u64, count }
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, radix: u32, count: usize) -> Self {
        let values = values(radix, count);
        Self { value: ((u128::from(self.value) + values - number(other) % values) % values) as u64, count }
    }
}

/// The number of FF1's bytes: 12 at most for halves of up to 64 bits.
fn number(bytes: impl Iterator<Item = u8>) -> u128 {
    bytes.fold(0, |number, byte| number << 8 | u128::from(byte))
}

/// The last bytes of a number.
struct BigEndian {
    bytes: [u8; 8],
    length: usize,
}

impl AsRef<[u8]> for BigEndian {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.bytes.len() - self.length..]
    }
}

#[cfg(test)]
mod tests;
