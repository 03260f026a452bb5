//! The tables of docs/designs.md, made of what was measured.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::design::{Design, Requirement, Verdict};
use crate::measure::Measured;

const BEGIN: &str = "<!-- Made by `make designs`: begin -->";
const END: &str = "<!-- Made by `make designs`: end -->";

/// Replaces what stands between the marks.
///
/// # Panics
/// Where a mark is missing.
pub fn write_into(document: &Path, designs: &[&Design], measured: &[Measured]) {
    let text = fs::read_to_string(document).expect("the document is there");
    let (before, rest) = text.split_once(BEGIN).expect("the mark where the table begins");
    let (_, after) = rest.split_once(END).expect("the mark where it ends");
    let rows = || designs.iter().copied().zip(measured);
    let new = format!("{before}{BEGIN}\n\n{}\n{}\n{END}{after}", requirements(rows()), figures(rows()));
    fs::write(document, new).expect("the document can be written");
}

fn requirements<'a>(rows: impl Iterator<Item = (&'a Design, &'a Measured)>) -> String {
    let mut table = "\
| | design | unique | a billion ids a day | available | 64 bits, numeric | causal |
| --- | --- | --- | --- | --- | --- | --- |
"
    .to_owned();
    for (design, measured) in rows {
        let mut row = format!("| {} | {} |", design.section, design.name);
        for requirement in Requirement::ALL {
            let _ = write!(row, " {} |", cell(design, measured, requirement));
        }
        table.push_str(&row);
        table.push('\n');
    }
    table
}

/// The verdict, and what makes it less than a yes.
fn cell(design: &Design, measured: &Measured, requirement: Requirement) -> String {
    let verdict = measured.verdict(design, requirement);
    let because = match (requirement, verdict) {
        (_, Verdict::Yes) => return "**yes**".to_owned(),
        (Requirement::Scalable, Verdict::Partly) => format!("with {} servers", measured.servers_needed()),
        (Requirement::Scalable, _) => format!("room for {} ids", thousands(design.room.unwrap_or(0.0))),
        (Requirement::Available, _) => "for the rest of a range".to_owned(),
        (Requirement::Causal, Verdict::Partly) => "on one server".to_owned(),
        (Requirement::Numeric, _) => "128 bits".to_owned(),
        _ => return "no".to_owned(),
    };
    match verdict {
        Verdict::Partly => because,
        _ => format!("no: {because}"),
    }
}

fn figures<'a>(rows: impl Iterator<Item = (&'a Design, &'a Measured)>) -> String {
    let mut table = "\
| design | ids/s, 1 session | ids/s, 8 sessions | duplicates | without the coordinator | bits used | replies out of \
         order, one server | two servers, clocks apart |
| --- | --: | --: | --: | --- | --: | --: | --: |
"
    .to_owned();
    for (design, measured) in rows {
        let [one, eight] = measured.ids_a_second.map(|[low, median, high]| {
            format!("{} ({} to {})", thousands(median), thousands(low), thousands(high))
        });
        let without = match &measured.without_coordinator {
            (_, None) => "goes on".to_owned(),
            (got, Some(code)) => format!("{got} ids, then `{code}`"),
        };
        let apart = 2 * design.clocks_ms;
        let _ = writeln!(
            table,
            "| {} | {one} | {eight} | {} of {} | {without} | {} | {} of {replies} | {} of {replies}, {apart} ms |",
            design.name,
            thousands(measured.duplicates as f64),
            thousands(measured.ids as f64),
            measured.bits,
            measured.disorder_on_one_server,
            measured.disorder_on_two,
            replies = measured.replies,
        );
    }
    table
}

/// Three digits that mean something, with a comma for each thousand.
fn thousands(number: f64) -> String {
    let scale = 10_f64.powi((number.max(1.0).log10().floor() as i32 - 2).max(0));
    let digits = format!("{:.0}", (number / scale).round() * scale);
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
