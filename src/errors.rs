//! What the user reads when something is refused. The SQLSTATEs of the designs are in [`crate::sequencer`], those of log
//! messages in [`crate::host`].
//!
//! Style: PostgreSQL's own. The primary message is lower case and names the value; DETAIL tells facts; HINT tells
//! what to do.

use std::fmt::Display;

use pgrx::prelude::*;
use snowflake_core::driver::{Given, Refusal};
use snowflake_core::foreign::LAYOUTS;
use snowflake_core::layout::TIMESTAMP_MS_MAX;
use snowflake_core::{Base32Error, FieldError, GenerateError, UuidError};

use crate::settings;
use crate::shown::Shown;

/// Reports an error and does not return. What a user has chosen is shown as a [`Shown`].
#[cold]
pub fn raise(code: PgSqlErrorCode, message: impl Display, detail: Option<String>, hint: Option<&str>) -> ! {
    report(PgLogLevel::ERROR, code, message, detail, hint);
    unreachable!("ERROR does not return")
}

/// Reports something, at any level.
pub fn report(
    level: PgLogLevel,
    code: PgSqlErrorCode,
    message: impl Display,
    detail: Option<String>,
    hint: Option<&str>,
) {
    let mut report = pgrx::pg_sys::panic::ErrorReport::new(code, message.to_string(), function_name!());
    if let Some(detail) = detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = hint {
        report = report.set_hint(hint);
    }
    report.report(level);
}

/// Unwraps a result of the core, or raises its error with the SQLSTATE, DETAIL and HINT that belong to it.
pub trait OrRaise<T> {
    /// The value, or an ERROR.
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T, FieldError> {
    #[inline]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => field(PgLogLevel::ERROR, error),
        }
    }
}

impl<T> OrRaise<T> for Result<T, GenerateError> {
    #[inline]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => generate(error),
        }
    }
}

impl<T> OrRaise<T> for Result<T, Refusal> {
    #[inline]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(refusal) => refuse(refusal),
        }
    }
}

impl<T> OrRaise<T> for Result<T, Base32Error> {
    fn or_raise(self) -> T {
        self.unwrap_or_else(|error| base32(error))
    }
}

impl<T> OrRaise<T> for Result<T, UuidError> {
    fn or_raise(self) -> T {
        self.unwrap_or_else(|error| uuid(error))
    }
}

/// Prints the error as a WARNING with the same text.
#[cold]
pub fn warn(error: FieldError) {
    let (hint, code) = (field_hint(error), PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE);
    report(PgLogLevel::WARNING, code, error.to_string(), None, Some(hint));
}

#[cold]
fn field(level: PgLogLevel, error: FieldError) -> ! {
    let (hint, code) = (field_hint(error), PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE);
    report(level, code, error.to_string(), None, Some(hint));
    unreachable!("ERROR does not return")
}

fn field_hint(error: FieldError) -> &'static str {
    match error {
        FieldError::NodeId(_) => "Pass a node number within the range.",
        FieldError::SequenceId(_) => "Pass a sequence number within the range.",
        FieldError::Timestamp(_) => {
            "The time less the epoch, both in Unix milliseconds, must be within the range."
        }
        FieldError::TimestampNotAfterEpoch(_) => {
            "The epoch must be past, by no more than the range, and be given in Unix milliseconds."
        }
        FieldError::NegativeId(_) => "A snowflake id is never negative: look for where this number was made.",
    }
}

#[cold]
fn base32(error: Base32Error) -> ! {
    let (code, hint) = match error {
        Base32Error::Character { .. } => (
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            "Crockford's base 32 has the digits and the letters without I, L, O and U; I and L are read as 1, O as 0.",
        ),
        Base32Error::Length(_) => (
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            "Pass the whole text, with its leading zeros. Hyphens do not count.",
        ),
        Base32Error::Overflow(_) => (
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "The first character of a snowflake id's text is 0 to 7: look for where this text was made.",
        ),
    };
    raise(code, error.to_string(), None, Some(hint))
}

#[cold]
fn uuid(error: UuidError) -> ! {
    let (code, hint) = match error {
        UuidError::Timestamp(_) => (
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            "Check that the epoch is given in Unix milliseconds.",
        ),
        UuidError::Foreign(_) => (
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "Only what snowflake_to_uuid() has returned can be turned back.",
        ),
        UuidError::Field(error) => field(PgLogLevel::ERROR, error),
    };
    raise(code, error.to_string(), None, Some(hint))
}

/// A name that no layout has.
#[cold]
pub fn unknown_layout(name: Shown) -> ! {
    let known: Vec<&str> = LAYOUTS.iter().map(|layout| layout.name).collect();
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("unknown layout of ids \"{name}\""),
        None,
        Some(&format!("Known are {}. See snowflake_layouts().", known.join(", "))),
    )
}

/// A key of another length.
#[cold]
pub fn bad_key_length(got: usize, expected: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("key must have {expected} bytes, got {got}"),
        None,
        Some("Make one from random bytes once, and keep it: other keys give other numbers."),
    )
}

#[cold]
fn refuse(refusal: Refusal) -> ! {
    match refusal {
        Refusal::Generate(error) => generate(error),
        Refusal::InRecovery => in_recovery(),
        Refusal::TooFarAhead { given: Given::Advance(id), ahead_ms, .. } => {
            advance_too_far(id.get(), ahead_ms, settings::max_clock_step_ms())
        }
        Refusal::TooFarAhead { given: Given::Observe(id), ahead_ms, most_ms } => {
            observed_too_far(id.get(), ahead_ms, most_ms)
        }
        Refusal::WouldWaitTooLong { what, by_ms, max_ms } => would_wait_too_long(what, by_ms, max_ms),
    }
}

#[cold]
fn generate(error: GenerateError) -> ! {
    let untrusted = PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    let (code, detail, hint) = match error {
        GenerateError::BeforeEpoch { .. } => (
            untrusted,
            "An id holds the milliseconds since the epoch, which cannot be negative.".to_owned(),
            "Set the server's clock right, or snowflake.epoch to an instant that is past.",
        ),
        GenerateError::PastEnd { .. } => (
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("The last millisecond of the format is {TIMESTAMP_MS_MAX} after the epoch."),
            "If the server's clock is right, the format has ended for this snowflake.epoch; \
             snowflake_status() shows when.",
        ),
        GenerateError::ClockBehind { .. } => (
            untrusted,
            "Either the server's clock was set back, or snowflake.epoch was moved later, or the last id was \
             issued while the clock stood too far ahead."
                .to_owned(),
            "Set the clock or snowflake.epoch right. If both are right, raise snowflake.max_clock_step above \
             this distance until the clock has caught up.",
        ),
        GenerateError::ClockLeapt { .. } => (
            untrusted,
            "The clock went ahead by more than the machine has been running since ids were last issued."
                .to_owned(),
            "If the clock is wrong, set it right. If it is right, raise snowflake.max_clock_step above this \
             distance and reload until one id has been issued, then set it back.",
        ),
    };
    raise(code, error.to_string(), Some(detail), Some(hint))
}

/// The library is not where it has to be for generating ids on this version of PostgreSQL.
#[cold]
pub fn not_preloaded() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "snowflake must be loaded via shared_preload_libraries to generate ids".to_owned(),
        Some(
            "Before PostgreSQL 17, the state that all sessions share can only be made while the server starts. \
             Decoding works without it."
                .to_owned(),
        ),
        Some(
            "Add the line shared_preload_libraries = 'snowflake' to postgresql.conf (with what is there already, \
             separated by commas) and restart the server.",
        ),
    )
}

/// Another version of the library made the shared state.
#[cold]
pub fn other_layout(found: u32, expected: u32) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("snowflake's shared state has layout {found}, this library expects {expected}"),
        Some("The library was replaced while the server ran.".to_owned()),
        Some("Restart the server."),
    )
}

/// A standby issues nothing: it shares its primary's node number.
#[cold]
fn in_recovery() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        "cannot generate snowflake ids during recovery".to_owned(),
        Some("A standby has its primary's node number, so both could issue the same id.".to_owned()),
        Some("Generate ids on the primary. After a promotion nothing has to be done here."),
    )
}

/// A value of a setting was given and could not be taken, so that only the default is in force.
#[cold]
pub fn setting_refused(name: Shown, given: Option<&Shown>) -> ! {
    let message = match given {
        Some(value) => format!("setting \"{name}\" is \"{value}\", which was refused"),
        None => format!("the value given for setting \"{name}\" was refused"),
    };
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        message,
        Some("Ids are not generated with the default in the place of a value that was meant.".to_owned()),
        Some(
            "Give a valid value in postgresql.conf or with ALTER SYSTEM, and reload; to go back to the default, \
             restart. Remove it from connection options and from ALTER ROLE or ALTER DATABASE ... SET, where it \
             cannot be set.",
        ),
    )
}

/// The durable ceiling found at the start is not an id.
#[cold]
pub fn ceiling_not_an_id(found: u64, origin: u16) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("the progress of replication origin {origin} is {found}, which is not a snowflake id"),
        Some("Something else has written to the origin that keeps snowflake's ceiling.".to_owned()),
        Some("See \"Repairing the ceiling\" in docs/operations.md."),
    )
}

/// PostgreSQL found no slot for the replication origin that carries the ceiling.
#[cold]
pub fn no_origin_slot(setting: &str, slots: i32) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        format!("no free replication origin slot for the ceiling of snowflake ids, of {slots}"),
        Some(
            "The ceiling takes one slot, each subscription one, and each of its table synchronizations one more."
                .to_owned(),
        ),
        Some(&format!("Raise {setting} here and on every standby, and restart. No id was issued.")),
    )
}

/// An argument that is no number of ids.
#[cold]
pub fn bad_batch(n: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("number of ids must not be negative, got {n}"),
        None,
        Some("Pass 0 or more."),
    )
}

/// An id that is too far ahead to advance to.
#[cold]
fn advance_too_far(id: i64, by_ms: i64, max_ms: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("snowflake id {id} is {by_ms} ms ahead of the clock, must be less than {max_ms} ms"),
        Some("Ids from now on would be dated ahead of the clock until it has caught up.".to_owned()),
        Some(
            "Check that the id was made with this server's snowflake.epoch. If it was, raise \
             snowflake.max_clock_step above this distance.",
        ),
    )
}

/// An id of a design that is bound to the clock, which the clock will not reach for long.
#[cold]
fn would_wait_too_long(id: &str, by_ms: i64, max_ms: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("clock is {by_ms} ms behind {id}, more than the {max_ms} ms that are waited for"),
        Some(
            "These ids are never dated ahead of the clock. Either the clock was set back, or the server was restarted \
             while its ids were ahead of the clock, or advanced over ids ahead of it, or the id is of another server."
                .to_owned(),
        ),
        Some("Set the clock right, or wait until it has caught up."),
    )
}

/// An id from a message that is further ahead of the clock than an honest server's can be.
#[cold]
fn observed_too_far(id: i64, by_ms: i64, most_ms: i64) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("snowflake id {id} is {by_ms} ms ahead of the clock, must be at most {most_ms} ms"),
        Some(
            "The limit is snowflake.max_clock_skew and the two seconds that a server may be ahead after a restart, \
             below snowflake.max_clock_step."
                .to_owned(),
        ),
        Some(
            "Check that the id was made with this server's snowflake.epoch, and the clocks of both servers. If they \
             are to be that far apart, raise snowflake.max_clock_skew.",
        ),
    )
}

/// A time that PostgreSQL's timestamps cannot show.
#[cold]
pub fn timestamp_out_of_range(unix_ms: i128) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{unix_ms} milliseconds after 1970 is out of range"),
        None,
        Some("Check that the epoch is given in Unix milliseconds."),
    )
}
