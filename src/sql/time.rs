//! Between Unix milliseconds and PostgreSQL's timestamps, exactly.

use pgrx::prelude::*;
use snowflake_core::layout::Id;

use crate::errors;

const US_PER_MS: i64 = 1_000;
const US_PER_S: i64 = 1_000_000;
const S_PER_DAY: i64 = 86_400;
/// PostgreSQL counts from 2000-01-01: its Julian day less that of 1970-01-01.
const POSTGRES_EPOCH_US: i64 =
    (pg_sys::POSTGRES_EPOCH_JDATE as i64 - pg_sys::UNIX_EPOCH_JDATE as i64) * S_PER_DAY * US_PER_S;
/// `MIN_TIMESTAMP` and `END_TIMESTAMP` of PostgreSQL's datatype/timestamp.h: 4714-11-24 BC, and the first instant
/// past the year 294276, in microseconds after 2000-01-01.
const TIMESTAMPS_US: std::ops::Range<i128> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// The time of an id in Unix milliseconds, unless that is no `bigint`.
#[inline]
pub fn unix_ms_at_once(id: Id, epoch_ms: i64) -> Option<i64> {
    id.unix_ms(epoch_ms).try_into().ok()
}

/// The time of an id as PostgreSQL counts it, unless it cannot.
#[inline]
pub fn timestamptz_at_once(id: Id, epoch_ms: i64) -> Option<pg_sys::TimestampTz> {
    let postgres_us = id.unix_ms(epoch_ms) * i128::from(US_PER_MS) - i128::from(POSTGRES_EPOCH_US);
    TIMESTAMPS_US.contains(&postgres_us).then_some(postgres_us as pg_sys::TimestampTz)
}

/// An instant in Unix microseconds.
pub fn timestamptz_of_us(unix_us: i64) -> TimestampWithTimeZone {
    let postgres_us = i128::from(unix_us) - i128::from(POSTGRES_EPOCH_US);
    Some(postgres_us)
        .filter(|us| TIMESTAMPS_US.contains(us))
        .and_then(|us| TimestampWithTimeZone::try_from(us as pg_sys::TimestampTz).ok())
        .unwrap_or_else(|| errors::timestamp_out_of_range(i128::from(unix_us) / i128::from(US_PER_MS)))
}

/// The time of an id in Unix milliseconds.
pub fn unix_ms(id: Id, epoch_ms: i64) -> i64 {
    unix_ms_at_once(id, epoch_ms).unwrap_or_else(|| errors::timestamp_out_of_range(id.unix_ms(epoch_ms)))
}

/// The time of an id.
pub fn timestamptz(id: Id, epoch_ms: i64) -> TimestampWithTimeZone {
    timestamptz_at_once(id, epoch_ms)
        .and_then(|postgres_us| TimestampWithTimeZone::try_from(postgres_us).ok())
        .unwrap_or_else(|| errors::timestamp_out_of_range(id.unix_ms(epoch_ms)))
}

/// The Unix millisecond that an instant lies in; the infinities are the ends of `i64`.
pub fn millisecond_of(instant: TimestampWithTimeZone) -> i64 {
    match pg_sys::TimestampTz::from(instant) {
        i64::MIN => i64::MIN,
        i64::MAX => i64::MAX,
        // The division comes first: the sum in microseconds would be past `i64` for the last years of the range.
        us => us.div_euclid(US_PER_MS) + POSTGRES_EPOCH_US / US_PER_MS,
    }
}
