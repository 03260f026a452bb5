//! What is fuzzed: each target takes any bytes and panics where a rule is broken.

mod bytes;
mod conversions;
mod epoch;
mod generator;
mod layout;
mod limits;

/// A target and its name.
type Target = (&'static str, fn(&[u8]));

/// All of them.
const TARGETS: [Target; 6] = [
    ("layout", layout::run),
    ("epoch", epoch::run),
    ("limits", limits::run),
    ("generator", generator::run),
    ("base32", conversions::base32),
    ("conversions", conversions::run),
];

/// Runs one by its name.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.expect("the name of a target").1(data);
}
