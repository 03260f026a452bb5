//! The charts: SVG that is readable on a light and on a dark page. Text and lines take their colour from the reader's
//! preference, through a style sheet in the file.

use plotters::prelude::*;

use crate::figures::{Sample, short};
use crate::report::Report;

const WIDTH: u32 = 760;
const BAR: i32 = 30;
const FONT: &str = "sans-serif";
/// Stands for the colour of text, and is replaced by a class.
const INK: RGBColor = RGBColor(1, 2, 3);
/// As INK, for lines behind the data.
const GRID: RGBColor = RGBColor(3, 2, 1);
/// Of this project's own bars.
const OURS: RGBColor = RGBColor(0x33, 0x67, 0x91);
const OTHERS: RGBColor = RGBColor(0x8c, 0x95, 0x9f);
/// Told apart also by those who see no red or no green (Okabe and Ito).
const SERIES: [RGBColor; 5] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
];
const STYLE: &str = "<style>.ink{fill:#1f2328}.grid{stroke:#d0d7de}\
@media (prefers-color-scheme:dark){.ink{fill:#e6edf3}.grid{stroke:#444c56}}</style>";

/// The charts that the run has figures for, with their file names.
pub fn draw(report: &Report) -> Vec<(&'static str, String)> {
    let bars = [
        ("cost.svg", "CPU time of an id, net of an empty function (ns)", "cost", "net CPU"),
        (
            "insert.svg",
            "INSERT of 1,000,000 rows with the key as default (s)",
            "insert",
            "insert of a million rows",
        ),
        ("index.svg", "Index of 1,000,000 keys, half of them replaced (MB)", "size", "index, half replaced"),
    ];
    let lines = [
        ("sessions.svg", "CPU time of an id by sessions, net (ns)", "sessions", "net CPU"),
        ("core.svg", "The generator alone: time an id by threads (ns)", "core", "time an id"),
    ];
    let mut charts = Vec::new();
    for (file, title, experiment, metric) in bars {
        let bars: Vec<(&str, &Sample)> = report
            .figures(experiment, metric)
            .map(|figure| (figure.contestant.as_str(), &figure.sample))
            .collect();
        if !bars.is_empty() {
            charts.push((file, themed(bar_chart(title, &bars))));
        }
    }
    for (file, title, experiment, metric) in lines {
        let mut series: Vec<Series> = Vec::new();
        for figure in report.figures(experiment, metric) {
            let point = (figure.parameter.unwrap_or(1) as f64, figure.sample.median());
            match series.iter_mut().find(|series| series.0 == figure.contestant) {
                Some(series) => series.1.push(point),
                None => series.push((&figure.contestant, vec![point])),
            }
        }
        if series.iter().any(|series| series.1.len() > 1) {
            charts.push((file, themed(line_chart(title, &series))));
        }
    }
    charts
}

type Series<'a> = (&'a str, Vec<(f64, f64)>);

/// One bar a contestant, with a whisker from the lowest to the highest round.
fn bar_chart(title: &str, bars: &[(&str, &Sample)]) -> String {
    const NAMES: i32 = 210;
    const VALUES: i32 = 150;
    const TOP: i32 = 44;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, (TOP + BAR * bars.len() as i32 + 8) as u32))
            .into_drawing_area();
        let scale = f64::from(WIDTH as i32 - NAMES - VALUES)
            / bars.iter().map(|(_, sample)| sample.highest()).fold(f64::MIN_POSITIVE, f64::max);
        let length = |value: f64| NAMES + (value.max(0.0) * scale) as i32;
        let text = |size: i32| (FONT, size).into_font().color(&INK);
        let drawn = (|| {
            area.draw(&Text::new(title.to_owned(), (8, 10), text(17)))?;
            for (number, (name, sample)) in bars.iter().enumerate() {
                let top = TOP + BAR * number as i32;
                let colour = if name.starts_with("snowflake") { OURS } else { OTHERS };
                let (low, high) = (length(sample.lowest()), length(sample.highest()));
                let middle = top + 10;
                area.draw(&Text::new((*name).to_owned(), (8, top + 3), text(14)))?;
                area.draw(&Rectangle::new(
                    [(NAMES, top), (length(sample.median()), top + 20)],
                    colour.filled(),
                ))?;
                area.draw(&PathElement::new([(low, middle), (high, middle)], GRID.stroke_width(2)))?;
                area.draw(&Text::new(short(sample.median()), (high + 8, top + 3), text(14)))?;
            }
            area.present()
        })();
        drawn.expect("a string takes what is drawn");
    }
    svg
}

fn line_chart(title: &str, series: &[Series]) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, 360)).into_drawing_area();
        let points = || series.iter().flat_map(|series| &series.1);
        let most = points().map(|point| point.0).fold(1.0, f64::max);
        let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.1;
        let text = |size: i32| (FONT, size).into_font().color(&INK);
        let drawn = (|| -> Result<(), DrawingAreaErrorKind<_>> {
            area.draw(&Text::new(title.to_owned(), (8, 10), text(17)))?;
            let mut chart = ChartBuilder::on(&area)
                .margin_top(40)
                .margin_right(230)
                .x_label_area_size(30)
                .y_label_area_size(60)
                .build_cartesian_2d((1.0..most).log_scale().base(2.0), 0.0..top)?;
            chart
                .configure_mesh()
                .axis_style(GRID)
                .bold_line_style(GRID)
                .light_line_style(TRANSPARENT)
                .label_style(text(13))
                .x_label_formatter(&|sessions| format!("{sessions:.0}"))
                .draw()?;
            for (number, ((name, points), colour)) in series.iter().zip(SERIES.iter().cycle()).enumerate() {
                chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
                chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
                let (left, row) = (WIDTH as i32 - 222, 50 + 22 * number as i32);
                area.draw(&Rectangle::new([(left, row), (left + 14, row + 12)], colour.filled()))?;
                area.draw(&Text::new((*name).to_owned(), (left + 20, row - 1), text(13)))?;
            }
            area.present()
        })();
        drawn.expect("a string takes what is drawn");
    }
    svg
}

fn themed(svg: String) -> String {
    let hex = |RGBColor(red, green, blue): RGBColor| format!("#{red:02X}{green:02X}{blue:02X}");
    let svg = svg
        .replace(&format!("fill=\"{}\"", hex(INK)), "class=\"ink\"")
        .replace(&format!("stroke=\"{}\"", hex(GRID)), "class=\"grid\"");
    match svg.split_once(">\n") {
        Some((head, rest)) => format!("{head}>\n{STYLE}\n{rest}"),
        None => svg,
    }
}
