//! An id as a UUID of version 7, and back.
//!
//! ```text
//! 01848a93-4ee4-717a-8002-000000000000
//! |           | ||   ||   |
//! |           | ||   ||   +- 48 bits, always 0
//! |           | ||   |+----- sequence number, 12 bits
//! |           | ||   +------ variant 10, then 2 bits, always 0
//! |           | |+---------- 2 bits, always 0, then the node number, 10 bits
//! |           | +----------- version 7
//! +-----------+------------- Unix milliseconds, 48 bits
//! ```
//!
//! The fields stand in the same order as in the id, so UUIDs of one epoch compare as the ids do. The format is that of
//! RFC 9562, section 5.7: <https://www.rfc-editor.org/rfc/rfc9562#section-5.7>. It leaves the bits after the time to
//! whoever makes the UUID; these are unique because the ids are.

use crate::error::UuidError;
use crate::layout::{Id, NODE_ID_BITS, NODE_ID_MAX, SEQUENCE_ID_BITS, SEQUENCE_ID_MAX, compose};

/// Width of the time.
const TIMESTAMP_BITS: u32 = 48;
/// What stands after the sequence number.
const TAIL_BITS: u32 = 48;
/// How far the fields are from the lowest bit.
const SEQUENCE_ID_SHIFT: u32 = TAIL_BITS;
const VARIANT_SHIFT: u32 = 62;
const NODE_ID_SHIFT: u32 = 64;
const VERSION_SHIFT: u32 = 76;
const TIMESTAMP_SHIFT: u32 = 80;
const _: () = assert!(TIMESTAMP_SHIFT + TIMESTAMP_BITS == u128::BITS);
const _: () = assert!(SEQUENCE_ID_SHIFT + SEQUENCE_ID_BITS <= VARIANT_SHIFT, "the sequence number fits");
const _: () = assert!(NODE_ID_SHIFT + NODE_ID_BITS <= VERSION_SHIFT, "the node number fits");

const VERSION: u128 = 7 << VERSION_SHIFT;
const VARIANT: u128 = 0b10 << VARIANT_SHIFT;
/// The bits that are the same in all UUIDs made here: all that no field takes.
const FIXED: u128 = !((((1 << TIMESTAMP_BITS) - 1) << TIMESTAMP_SHIFT)
    | ((NODE_ID_MAX as u128) << NODE_ID_SHIFT)
    | ((SEQUENCE_ID_MAX as u128) << SEQUENCE_ID_SHIFT));

/// The largest time of a UUID in Unix milliseconds: 2^48 - 1, in the year 10889.
pub const UNIX_MS_MAX: i64 = (1 << TIMESTAMP_BITS) - 1;

/// The UUID of an id.
///
/// # Errors
/// [`UuidError::Timestamp`] where the time is before 1970 or after [`UNIX_MS_MAX`].
///
/// ```
/// use snowflake_core::layout::{EPOCH_MS_DEFAULT, Id};
/// use snowflake_core::uuid;
/// let id = Id::new(1_593_572_310_593_806_338).unwrap();
/// let made = uuid::encode(id, EPOCH_MS_DEFAULT).unwrap();
/// assert_eq!(made, 0x0184_8a93_4ee4_717a_8002_0000_0000_0000);
/// assert_eq!(uuid::decode(made, EPOCH_MS_DEFAULT), Ok(id));
/// ```
pub const fn encode(id: Id, epoch_ms: i64) -> Result<u128, UuidError> {
    let unix_ms = id.unix_ms(epoch_ms);
    if unix_ms < 0 || unix_ms > UNIX_MS_MAX as i128 {
        return Err(UuidError::Timestamp(unix_ms));
    }
    Ok((unix_ms as u128) << TIMESTAMP_SHIFT
        | VERSION
        | (id.node_id() as u128) << NODE_ID_SHIFT
        | VARIANT
        | (id.sequence_id() as u128) << SEQUENCE_ID_SHIFT)
}

/// The id that [`encode`] made this UUID of, with the same epoch.
///
/// # Errors
/// [`UuidError::Foreign`] where no id has this UUID, and [`UuidError::Field`] where none has with this epoch.
pub const fn decode(uuid: u128, epoch_ms: i64) -> Result<Id, UuidError> {
    if uuid & FIXED != VERSION | VARIANT {
        return Err(UuidError::Foreign(uuid));
    }
    let unix_ms = (uuid >> TIMESTAMP_SHIFT) as i64;
    let node_id = (uuid >> NODE_ID_SHIFT) as i64 & NODE_ID_MAX;
    let sequence_id = (uuid >> SEQUENCE_ID_SHIFT) as i64 & SEQUENCE_ID_MAX;
    match compose(unix_ms, node_id, sequence_id, epoch_ms) {
        Ok(id) => Ok(id),
        Err(error) => Err(UuidError::Field(error)),
    }
}

#[cfg(test)]
mod tests;
