//! An id as text: Crockford's base 32, <https://www.crockford.com/base32.html>.
//!
//! Thirteen characters, always: 12 of five bits and a first one of three make the 63 bits of an id. So texts of equal
//! length compare as the numbers do wherever digits come before letters and letters are in the order of the alphabet.

use core::fmt;

use crate::error::Base32Error;
use crate::layout::Id;

/// Characters of an id.
pub const LENGTH: usize = 13;
/// Bits of a character.
const BITS: u32 = 5;
const _: () = assert!(LENGTH as u32 * BITS >= i64::BITS - 1, "an id fits");
const _: () = assert!((LENGTH as u32 - 1) * BITS < i64::BITS - 1, "no character is without use");

/// No I, L, O and U. Upper case: it sorts after the digits in ASCII, too.
const ALPHABET: &[u8; 1 << BITS] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The text of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base32([u8; LENGTH]);

impl Base32 {
    /// The text of an id.
    pub const fn encode(id: Id) -> Self {
        let mut text = [0; LENGTH];
        let mut n = 0;
        while n < LENGTH {
            let shift = (LENGTH - 1 - n) as u32 * BITS;
            text[n] = ALPHABET[(id.get() >> shift) as usize % ALPHABET.len()];
            n += 1;
        }
        Self(text)
    }

    /// The characters, all of them ASCII.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Base32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The id of a text, which any bytes may pretend to be.
///
/// Lower case is taken for upper case, `O` for 0, `I` and `L` for 1, and hyphens are passed over, as Crockford has it.
/// Exactly thirteen characters are taken, so that a text that lost some is not taken for another id.
///
/// # Errors
/// The first that fails decides: [`Base32Error::Character`], then [`Base32Error::Length`], then
/// [`Base32Error::Overflow`] where the number has more than 63 bits.
///
/// ```
/// use snowflake_core::base32::{Base32, decode};
/// let id = decode(b"00000f28-oooia").unwrap();
/// assert_eq!(id.get(), 517_811_994_666);
/// assert_eq!(Base32::encode(id).as_str(), "00000F280001A");
/// ```
pub fn decode(text: &[u8]) -> Result<Id, Base32Error> {
    let mut number: u128 = 0;
    let mut length = 0;
    for (at, &byte) in text.iter().enumerate().filter(|(_, byte)| **byte != b'-') {
        let Some(digit) = digit(byte) else {
            return Err(Base32Error::Character { byte, position: at + 1 });
        };
        // Past the length nothing but the characters is looked at.
        if length < LENGTH {
            number = number << BITS | digit as u128;
        }
        length += 1;
    }
    if length != LENGTH {
        return Err(Base32Error::Length(length));
    }
    match i64::try_from(number).map(Id::new) {
        Ok(Ok(id)) => Ok(id),
        _ => Err(Base32Error::Overflow(number)),
    }
}

fn digit(byte: u8) -> Option<usize> {
    let upper = match byte.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    };
    ALPHABET.iter().position(|known| *known == upper)
}

#[cfg(test)]
mod tests;
