//! Collects the figures and writes them: a CSV with every one, tables for people, and the charts.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use crate::contestants::Contestant;
use crate::figures::{Figure, Sample, short};
use crate::{charts, targets};

/// The figures of a run.
#[derive(Default)]
pub struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// Records a figure, and shows it.
    pub fn record(&mut self, figure: Figure) {
        println!("{figure}");
        self.figures.push(figure);
    }

    /// Records what was measured of a contestant.
    pub fn of(
        &mut self,
        (experiment, contestant): (&'static str, &Contestant),
        (metric, unit): (&'static str, &'static str),
        sample: Sample,
    ) {
        let (contestant, parameter) = (contestant.name.to_owned(), None);
        self.record(Figure { experiment, contestant, parameter, metric, unit, sample });
    }

    /// The figures of one metric in one experiment.
    pub fn figures<'a>(&'a self, experiment: &'a str, metric: &'a str) -> impl Iterator<Item = &'a Figure> {
        self.figures.iter().filter(move |figure| figure.experiment == experiment && figure.metric == metric)
    }

    /// The median of a figure, where it was measured.
    pub fn median(
        &self,
        experiment: &str,
        metric: &str,
        contestant: &str,
        parameter: Option<i64>,
    ) -> Option<f64> {
        self.figures(experiment, metric)
            .find(|figure| figure.contestant == contestant && figure.parameter == parameter)
            .map(|figure| figure.sample.median())
    }

    /// Writes everything to a directory; the tables into a document, where one is named.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write(&self, out: &Path, document: Option<&Path>) -> io::Result<()> {
        fs::create_dir_all(out)?;
        self.write_csv(&out.join("figures.csv"))?;
        let tables = format!("{}\n{}\n{}", machine(), self.summary_table(), self.targets_table());
        for (name, svg) in charts::draw(self) {
            fs::write(out.join(name), svg)?;
        }
        match document {
            Some(document) => publish(document, &tables),
            None => fs::write(out.join("tables.md"), &tables),
        }
    }

    fn write_csv(&self, path: &Path) -> io::Result<()> {
        let mut csv = csv::Writer::from_path(path)?;
        csv.write_record([
            "experiment",
            "contestant",
            "parameter",
            "metric",
            "unit",
            "median",
            "lowest",
            "highest",
            "rounds",
        ])?;
        for figure in &self.figures {
            let number = |value: f64| format!("{value:.4}");
            csv.write_record([
                figure.experiment,
                &figure.contestant,
                &figure.parameter.map(|parameter| parameter.to_string()).unwrap_or_default(),
                figure.metric,
                figure.unit,
                &number(figure.sample.median()),
                &number(figure.sample.lowest()),
                &number(figure.sample.highest()),
                &figure.sample.rounds().to_string(),
            ])?;
        }
        csv.flush()
    }

    /// The columns that a reader asks for first, one row a contestant.
    pub fn summary_table(&self) -> String {
        let columns = [
            ("CPU ns an id, net", "cost", "net CPU"),
            ("INSERT of 1,000,000 rows, s", "insert", "insert of a million rows"),
            ("single-row INSERTs a second, 8 clients", "insert", "single-row inserts"),
            ("COPY of 1,000,000 rows, s", "insert", "copy of a million rows"),
            ("index, MB", "size", "index"),
        ];
        let mut names: Vec<&str> = Vec::new();
        for (_, experiment, metric) in columns {
            for figure in self.figures(experiment, metric).filter(|figure| figure.parameter.is_none()) {
                if !names.contains(&figure.contestant.as_str()) {
                    names.push(&figure.contestant);
                }
            }
        }
        let mut table = String::from("| |");
        for (title, ..) in columns {
            let _ = write!(table, " {title} |");
        }
        table.push_str("\n|---|");
        table.push_str(&"--:|".repeat(columns.len()));
        table.push('\n');
        for name in names {
            let _ = write!(table, "| {name} |");
            for (_, experiment, metric) in columns {
                let figure = self
                    .figures(experiment, metric)
                    .find(|figure| figure.contestant == name && figure.parameter.is_none());
                let cell = figure.map_or_else(|| "–".to_owned(), |figure| cell(&figure.sample));
                let _ = write!(table, " {cell} |");
            }
            table.push('\n');
        }
        table
    }

    /// The targets that this run has measured, and whether they hold.
    pub fn targets_table(&self) -> String {
        let mut table = String::from("| target | wanted | measured | |\n|---|--:|--:|---|\n");
        for target in targets::all(self) {
            let verdict = if target.holds() { "holds" } else { "**missed**" };
            let _ = writeln!(
                table,
                "| {} | {} {} | {} | {verdict} |",
                target.what,
                target.bound,
                short(target.limit),
                short(target.measured)
            );
        }
        table
    }
}

fn cell(sample: &Sample) -> String {
    format!("{} ({}–{})", short(sample.median()), short(sample.lowest()), short(sample.highest()))
}

/// What the figures were measured on.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let cores = cpu.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = read("/proc/sys/kernel/osrelease");
    let server = std::env::var("SNOWFLAKE_BENCH_SERVER").unwrap_or_else(|_| "PostgreSQL".to_owned());
    format!(
        "{server} on {cores} shared cores of {}, Linux {}. Medians, with the lowest and the highest round.\n",
        model.trim_start_matches([' ', '\t', ':']),
        kernel.trim().split('-').next().unwrap_or_default()
    )
}

const BEGIN: &str = "<!-- bench: what stands up to the end mark is written by `make bench PUBLISH=1` -->";
const END: &str = "<!-- bench: end -->";

fn publish(document: &Path, tables: &str) -> io::Result<()> {
    let text = fs::read_to_string(document)?;
    let missing = || io::Error::other(format!("{} has no place for the tables", document.display()));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    fs::write(document, format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
}
