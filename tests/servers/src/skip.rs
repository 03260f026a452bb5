//! Tests of what a server does not have.

use std::io::Write;

/// Says that a test is skipped, and why, also where the output of a test that passes is not shown.
pub fn skipped(why: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes());
}
