//! The functions of the extension `sequencer`: the other designs of unique ids, a file for each.
//!
//! They are in this library and not in the extension `snowflake`: `sql = false` keeps them out of its script, and the
//! files of `sql/sequencer/` declare them. As everywhere, PostgreSQL knows a function by its Rust name.

mod catalog;
mod clock_error;
mod counter;
mod designs;
mod errors;
mod lamport;
mod range;
mod rights;
mod scatter;
mod source;
mod strided;
mod truetime;
mod unix;
mod vector;
