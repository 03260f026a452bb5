//! Measures what a snowflake id costs beside the other ways to make a key: `make bench`.
//!
//! All contestants of an experiment take turns in one run, round by round, so that whatever else the machine does
//! meets them alike. Shown is the median of the rounds with the lowest and the highest. The claims are ratios of
//! medians of one run.
//!
//! One file an experiment in `experiments`; each records its figures in the [`Report`], which writes the CSV, the
//! tables and the charts.

mod charts;
mod contestants;
mod experiments;
mod figures;
mod report;
mod session;
mod targets;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::experiments::{EXPERIMENTS, Scale, core_alone};
use crate::report::Report;

/// Measures what an id costs.
#[derive(Parser)]
struct Arguments {
    /// Only these experiments.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(EXPERIMENTS.iter().map(|known| known.name)))]
    only: Vec<String>,
    /// A tenth of the work: to try it out, not to claim anything.
    #[arg(long)]
    quick: bool,
    /// Where the CSV, the tables and the charts go.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// A document in which the summary and the targets stand between marks, to be replaced.
    #[arg(long)]
    publish_in: Option<PathBuf>,
    /// Makes so many ids in the core and nothing else: what callgrind counts the instructions of.
    #[arg(long, hide = true)]
    core_ids: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(ids) = arguments.core_ids {
        core_alone::make_ids(ids);
        return ExitCode::SUCCESS;
    }
    let scale = if arguments.quick { Scale::QUICK } else { Scale::FULL };
    let chosen = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let mut report = Report::default();
    let began = Instant::now();
    for experiment in EXPERIMENTS.iter().filter(|experiment| chosen(experiment.name)) {
        println!("\n{}: {}", experiment.name, experiment.about);
        (experiment.run)(&scale, &mut report);
    }
    println!("\n{} s in all", began.elapsed().as_secs());
    if let Err(error) = report.write(&arguments.out, arguments.publish_in.as_deref()) {
        eprintln!("cannot write the report to {}: {error}", arguments.out.display());
        return ExitCode::FAILURE;
    }
    println!("\n{}", report.targets_table());
    println!("The figures, tables and charts are in {}", arguments.out.display());
    ExitCode::SUCCESS
}
