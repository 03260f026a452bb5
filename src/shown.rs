//! A user's value in a message: a name, the text of an argument, the value of a setting.
//!
//! This is the only way for such a value into a message. It copies and shows [`BYTES`] bytes at most, so that a message
//! is small whatever it is about.
//!
//! PostgreSQL takes the bytes of a message for text in the encoding of the database, and pgrx hands it the bytes of a
//! Rust string as they are. So a value, which is in this encoding, goes into the string as it is, and nothing is
//! converted that could fail while an error is raised. What we write around it is ASCII, which every encoding of a
//! database contains.

use std::ffi::{CStr, c_char};
use std::fmt;

use pgrx::pg_sys;

/// How much of a value is shown: more than the 63 bytes of a name.
const BYTES: usize = 64;
/// PostgreSQL's `MAX_MULTIBYTE_CHAR_LEN`: what has to be kept to know the character that goes past the end.
const LONGEST_CHARACTER: usize = 4;

/// The start of a value, to be shown by its `Display`: whole characters, and `...` where the value goes on. A byte that
/// is no character is shown by its number.
#[derive(Clone, Copy)]
pub struct Shown {
    start: [u8; BYTES + LONGEST_CHARACTER],
    length: usize,
}

impl Shown {
    /// A value in the encoding of the database.
    pub fn new(value: &[u8]) -> Self {
        let mut start = [0; BYTES + LONGEST_CHARACTER];
        let length = value.len().min(start.len());
        start[..length].copy_from_slice(&value[..length]);
        Self { start, length }
    }

    /// The name of a relation, or its OID where there is none of that OID.
    pub fn relation(oid: pg_sys::Oid) -> Self {
        // SAFETY: looks into the catalog.
        let name = unsafe { pg_sys::get_rel_name(oid) };
        if name.is_null() {
            return Self::new(oid.to_u32().to_string().as_bytes());
        }
        // SAFETY: a C string of PostgreSQL's.
        Self::new(unsafe { CStr::from_ptr(name) }.to_bytes())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoding = encoding();
        let mut room = BYTES;
        let mut rest = &self.start[..self.length];
        while !rest.is_empty() {
            let character = first_character(rest, encoding);
            let length = character.map_or(1, str::len);
            if length > room {
                return f.write_str("...");
            }
            match character {
                Some(character) => f.write_str(character)?,
                None => write!(f, "\\x{:02x}", rest[0])?,
            }
            room -= length;
            rest = &rest[length..];
        }
        Ok(())
    }
}

/// What a message has to be in. A database of SQL_ASCII has bytes of any encoding; PostgreSQL sends them as they are,
/// and raises an error where they are not of the client's.
fn encoding() -> i32 {
    // SAFETY: returns a variable of the session.
    let database = unsafe { pg_sys::GetDatabaseEncoding() };
    if database == pg_sys::pg_enc::PG_SQL_ASCII as i32 {
        // SAFETY: as above.
        return unsafe { pg_sys::pg_get_client_encoding() };
    }
    database
}

/// The character that some bytes begin with, if they do.
fn first_character(bytes: &[u8], encoding: i32) -> Option<&str> {
    let start = bytes.as_ptr().cast::<c_char>();
    // SAFETY: reads no further than the bytes go.
    let length = unsafe { pg_sys::pg_encoding_verifymbchar(encoding, start, bytes.len() as i32) };
    let character = bytes.get(..usize::try_from(length).ok()?).filter(|character| *character != b"\0")?;
    // SAFETY: the text need not be UTF-8. It is only copied, by `write_str` and by pgrx, which hands the bytes of a
    // message on to PostgreSQL.
    Some(unsafe { str::from_utf8_unchecked(character) })
}
