//! The SQL functions, a file for each family. A function here gets its arguments, calls what does the work, and
//! maps the result; the rules are elsewhere.
//!
//! PostgreSQL knows a function by the name of its C symbol, which is the Rust name: renaming one breaks the
//! catalogs of installed extensions.

mod advance;
mod at_once;
mod base32;
mod decode;
mod encrypt;
mod foreign;
mod generate;
mod next;
mod range;
pub(crate) mod row;
mod settings;
mod status;
mod time;
mod uuid;
