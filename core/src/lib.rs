//! The snowflake id format and the generator behind `snowflake_next()`, as pure functions and one atomic word.
//!
//! This crate owns what decides whether an id can repeat: the [bit layout](layout), the [generator](generator) and the
//! [driver](driver) around it. It performs nothing: it reads no clock, sleeps nowhere, writes nothing but the shared
//! state it is given, and knows nothing of PostgreSQL. What the driver needs of the world, a
//! [host](driver::Host) does. So every rule can be tested without a server, a clock or a thread.
//!
//! | module | owns |
//! |---|---|
//! | [`layout`] | the three fields of an id, composing and decoding |
//! | [`designs`], [`vector`] | the layouts of the sequencer's designs, and the arithmetic of a vector clock |
//! | [`foreign`] | the layouts of other generators' ids |
//! | [`base32`], [`uuid`] | an id as text and as a UUID, and back |
//! | [`generator`] | the word, the reservation of ids and the session's block |
//! | [`driver`] | the loop around it, for a host that has clocks, sleep, a lock and a log |
//! | [`shared`], [`pace`] | what all sessions of a server share, and what ids ahead of the clock go by |
//! | [`spread`] | where a new millisecond begins |
//! | [`ceiling`] | how far ahead of the last id the durable ceiling is raised, and when |
//! | [`clock_step`] | when the wall clock has stepped back or leapt ahead |
//! | [`error`] | every way a request can be refused, as data |

#![forbid(unsafe_code)]
#![no_std]

#[cfg(test)]
extern crate std;

pub mod base32;
pub mod ceiling;
pub mod clock_step;
pub mod designs;
pub mod driver;
pub mod error;
pub mod foreign;
pub mod generator;
pub mod layout;
pub mod pace;
pub mod shared;
pub mod spread;
mod sync;
pub mod uuid;
pub mod vector;

pub use ceiling::Ceiling;
pub use clock_step::ClockStep;
pub use error::{Base32Error, DesignFieldError, FieldError, GenerateError, UuidError, VectorError};
pub use generator::{Answer, Block, Request, Started, Word};
pub use layout::{Fields, Id, NodeId};
pub use pace::Pace;
pub use shared::Shared;
