//! The text of an epoch: decimal digits that are at most `i64::MAX`, and nothing else.

use snowflake_core::layout::parse_epoch_ms;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let digits = !text.is_empty() && text.chars().all(|char| char.is_ascii_digit());
    let value = text
        .chars()
        .try_fold(0_i64, |value, char| value.checked_mul(10)?.checked_add(i64::from(char.to_digit(10)?)));
    assert_eq!(parse_epoch_ms(text), value.filter(|_| digits), "{text:?}");
}
