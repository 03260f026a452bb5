//! The experiments, in the order in which they run.

mod ceiling;
pub mod core_alone;
mod cost;
mod decode;
mod insert;
mod instructions;
mod latency;
mod range;
mod sessions;
mod size;
mod waiting;

use crate::report::Report;

/// Something that is measured.
pub struct Experiment {
    /// Also in the CSV.
    pub name: &'static str,
    /// What it measures, in a line.
    pub about: &'static str,
    /// Measures.
    pub run: fn(&Scale, &mut Report),
}

/// In this order.
pub const EXPERIMENTS: [Experiment; 11] = [
    Experiment { name: "cost", about: "CPU time of an id below the ceiling", run: cost::run },
    Experiment {
        name: "instructions",
        about: "instructions of an id, counted by callgrind",
        run: instructions::run,
    },
    Experiment { name: "core", about: "the generator alone, with threads", run: core_alone::run },
    Experiment { name: "sessions", about: "how the cost grows with sessions", run: sessions::run },
    Experiment {
        name: "ceiling",
        about: "ids a second at the ceiling, and what waiting costs",
        run: ceiling::run,
    },
    Experiment { name: "waiting", about: "ways to wait for the next millisecond", run: waiting::run },
    Experiment { name: "latency", about: "the first call, and single calls under load", run: latency::run },
    Experiment { name: "insert", about: "a million rows, single rows, COPY", run: insert::run },
    Experiment { name: "size", about: "table, index and WAL", run: size::run },
    Experiment { name: "range", about: "rows of a span of time", run: range::run },
    Experiment { name: "decode", about: "reading ids", run: decode::run },
];

/// How much is done.
pub struct Scale {
    /// Rounds of what takes milliseconds.
    pub short_rounds: usize,
    /// Rounds of what takes seconds.
    pub long_rounds: usize,
    /// Rows of a table.
    pub rows: i64,
    /// Divides the rest.
    pub divisor: i64,
}

impl Scale {
    /// What is claimed by.
    pub const FULL: Self = Self { short_rounds: 15, long_rounds: 5, rows: 1_000_000, divisor: 1 };
    /// To try it out.
    pub const QUICK: Self = Self { short_rounds: 3, long_rounds: 1, rows: 100_000, divisor: 10 };
}

/// A column of samples, one for each contestant.
pub fn empty_samples<T>(contestants: &[T]) -> Vec<crate::figures::Sample> {
    contestants.iter().map(|_| crate::figures::Sample::default()).collect()
}
