//! What is fuzzed: each target takes any bytes and panics where a rule is broken.
//!
//! Used twice: by the fuzzer (`make fuzz`), and by `core/tests/corpus.rs`, which replays the corpus with every test run.

mod bytes;
mod conversions;
mod epoch;
mod generator;
mod layout;
mod limits;

/// A target: its name is that of its corpus.
type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 6] = [
    ("layout", layout::run),
    ("epoch", epoch::run),
    ("limits", limits::run),
    ("generator", generator::run),
    ("base32", conversions::base32),
    ("conversions", conversions::run),
];

/// Runs one by its name.
#[allow(dead_code, reason = "the replay goes through all")]
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.expect("the name of a target").1(data);
}
