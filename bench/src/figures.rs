//! What was measured: one value a round, shown as the median with the lowest and the highest.

use std::fmt;

/// The values of one figure, one a round.
#[derive(Debug, Clone, Default)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// The value in the middle.
    ///
    /// # Panics
    /// Without a value.
    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        }
    }

    /// The value that this share of the others is not above: 0.99 for the 99th percentile.
    pub fn quantile(&self, share: f64) -> f64 {
        let sorted = self.sorted();
        sorted[((sorted.len() - 1) as f64 * share).round() as usize]
    }

    /// The lowest value.
    pub fn lowest(&self) -> f64 {
        self.sorted()[0]
    }

    /// The highest value.
    pub fn highest(&self) -> f64 {
        self.sorted()[self.0.len() - 1]
    }

    /// Each value less the other's of the same round.
    pub fn net_of(&self, other: &Self) -> Self {
        self.0.iter().zip(&other.0).map(|(value, other)| value - other).collect()
    }

    /// How many rounds.
    pub fn rounds(&self) -> usize {
        self.0.len()
    }

    fn sorted(&self) -> Vec<f64> {
        assert!(!self.0.is_empty(), "nothing was measured");
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Extend<f64> for Sample {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        self.0.extend(values);
    }
}

/// One line of the CSV.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The experiment's name.
    pub experiment: &'static str,
    /// Who.
    pub contestant: String,
    /// What was varied, the number of sessions say, where something was.
    pub parameter: Option<i64>,
    /// What was measured.
    pub metric: &'static str,
    /// In what.
    pub unit: &'static str,
    /// The values.
    pub sample: Sample,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameter = self.parameter.map(|parameter| format!("[{parameter}] ")).unwrap_or_default();
        let (median, lowest, highest) = (self.sample.median(), self.sample.lowest(), self.sample.highest());
        write!(
            f,
            "  {:<26} {parameter}{}: {} {} ({} to {})",
            self.contestant,
            self.metric,
            short(median),
            self.unit,
            short(lowest),
            short(highest)
        )
    }
}

/// Three digits that matter, and no exponent.
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => grouped(value.round() as i64),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!([3.0, 1.0, 2.0].into_iter().collect::<Sample>().median(), 2.0);
        assert_eq!([4.0, 1.0, 2.0, 3.0].into_iter().collect::<Sample>().median(), 2.5);
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let sample: Sample = (0..=1_000).map(f64::from).collect();
        assert_eq!((sample.quantile(0.5), sample.quantile(0.999)), (500.0, 999.0));
        assert_eq!((sample.lowest(), sample.highest()), (0.0, 1_000.0));
    }

    #[test]
    fn the_net_is_taken_round_by_round() {
        let (busy, empty): (Sample, Sample) =
            ([5.0, 9.0].into_iter().collect(), [1.0, 4.0].into_iter().collect());
        assert_eq!(busy.net_of(&empty).median(), 4.5);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(1_234_567.4), "1,234,567");
        assert_eq!(short(-12.345), "-12.3");
        assert_eq!(short(0.349), "0.35");
        assert_eq!(short(0.001_234), "0.0012");
        assert_eq!(short(0.0), "0");
    }
}
