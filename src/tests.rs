//! What only a look from inside a backend can tell: the shared words against each other, and the errors that a
//! server would have to live for decades, or with a broken clock, to raise. The SQL functions are tested with
//! `pg_regress`, and what takes more than one session with real servers.

#[pgrx::pg_schema]
mod tests {
    use pgrx::prelude::*;
    use pgrx::spi::Spi;
    use snowflake_core::layout::{Id, TIMESTAMP_MS_MAX};
    use snowflake_core::{FieldError, GenerateError};

    use crate::errors::OrRaise;
    use crate::{generator, host, shared};

    /// The SQLSTATE, message, DETAIL and HINT of the error that a call raises.
    fn error_of<T>(
        call: impl FnOnce() -> T + std::panic::UnwindSafe,
    ) -> (PgSqlErrorCode, String, bool, bool) {
        PgTryBuilder::new(|| {
            call();
            panic!("no error was raised")
        })
        .catch_others(|error| match error {
            pg_sys::panic::CaughtError::ErrorReport(report)
            | pg_sys::panic::CaughtError::PostgresError(report) => (
                report.sql_error_code(),
                report.message().to_owned(),
                report.detail().is_some(),
                report.hint().is_some(),
            ),
            other => other.rethrow(),
        })
        .execute()
    }

    #[pg_test]
    fn each_id_is_the_word_and_below_a_durable_ceiling() {
        let shared = shared::get();
        let mut before = Id::MIN;
        for _ in 0..20_000 {
            let id = generator::next();
            assert!(id > before);
            before = id;
            // Other sessions of the test server may have moved the word further.
            assert!(shared.core.snowflake.last() >= Some(id));
            assert!(id <= shared.core.limits.ceiling());
            assert!(shared.core.limits.raise_at() <= shared.core.limits.ceiling());
        }
        assert!(shared.core.limits.ceiling() <= host::durable_ceiling());
    }

    #[pg_test]
    fn a_session_hands_out_the_block_it_has_reserved() {
        Spi::run("SET LOCAL snowflake.cache = 64").unwrap();
        let ids: Vec<i64> = (0..1_000).map(|_| generator::next().get()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        // The word stands at the end of a block, so some id handed out last is below it.
        let consecutive = ids.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
        assert!(consecutive > 500, "{consecutive} of 999 ids follow their predecessor");
    }

    #[pg_test]
    fn what_a_batch_left_is_not_handed_out_later() {
        assert_eq!(generator::batch(256).take(1).count(), 1);
        let other = generator::next();
        let first = generator::batch(256).next().unwrap();
        assert!(first > other);
    }

    #[pg_test]
    fn advance_moves_the_word_to_the_next_millisecond_and_the_ceiling_over_it() {
        let shared = shared::get();
        let last = generator::next();
        let target = Id::last_of(last.timestamp() + 5_000);
        generator::advance(target);
        assert!(shared.core.snowflake.last() >= Some(Id::first_of(target.timestamp() + 1)));
        assert!(host::durable_ceiling() >= Id::first_of(target.timestamp() + 1));
        assert!(generator::next() > target);
    }

    #[pg_test]
    fn each_refusal_has_its_sqlstate() {
        let untrusted = PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
        let end = PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED;
        for (error, code, value) in [
            (GenerateError::BeforeEpoch { by_ms: 41 }, untrusted, "41 ms"),
            (GenerateError::PastEnd { timestamp: TIMESTAMP_MS_MAX + 1 }, end, "2199023255552"),
            (GenerateError::ClockBehind { by_ms: 42, max_ms: 10 }, untrusted, "42 ms"),
            (GenerateError::ClockLeapt { by_ms: 43, max_ms: 10 }, untrusted, "43 ms"),
        ] {
            let (raised, message, detail, hint) = error_of(move || Err::<(), _>(error).or_raise());
            assert_eq!(raised, code, "{message}");
            assert!(message.contains(value), "{message}");
            assert!(detail && hint, "{message}");
        }
        for error in [
            FieldError::NodeId(1_024),
            FieldError::SequenceId(4_096),
            FieldError::Timestamp(-1),
            FieldError::TimestampNotAfterEpoch(0),
            FieldError::NegativeId(-1),
        ] {
            let (raised, message, _, hint) = error_of(move || Err::<(), _>(error).or_raise());
            assert_eq!(raised, PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "{message}");
            assert!(hint, "{message}");
        }
    }
}
