//! What a server refused, for tests that expect it to.

use std::fmt;

/// An error that the server reported.
#[derive(Debug, Clone)]
pub struct SqlError {
    /// SQLSTATE.
    pub code: String,
    /// The primary message.
    pub message: String,
    /// DETAIL, or nothing.
    pub detail: String,
    /// HINT, or nothing.
    pub hint: String,
}

impl SqlError {
    /// The server's part of a client's error. A connection that ended is 08006.
    ///
    /// # Panics
    /// Where the error is the client's own.
    pub fn of(error: &postgres::Error) -> Self {
        let Some(error) = error.as_db_error() else {
            assert!(error.is_closed(), "not an error of the server's: {error:?}");
            let (code, message) = ("08006".to_owned(), "connection closed".to_owned());
            return Self { code, message, detail: String::new(), hint: String::new() };
        };
        Self {
            code: error.code().code().to_owned(),
            message: error.message().to_owned(),
            detail: error.detail().unwrap_or_default().to_owned(),
            hint: error.hint().unwrap_or_default().to_owned(),
        }
    }

    /// Checks SQLSTATE, and that each text stands in message, DETAIL or HINT.
    pub fn assert(&self, code: &str, texts: &[&str]) {
        assert_eq!(self.code, code, "{self}");
        for text in texts {
            assert!(self.to_string().contains(text), "{text:?} is not in {self}");
        }
    }

    /// Checks that the session was ended by `pg_terminate_backend`. The client reports only that the connection
    /// ended where it finds the server's last word and the end together.
    pub fn assert_terminated(&self) {
        assert!(["57P01", "08006"].contains(&&*self.code), "{self}");
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, detail, hint } = self;
        write!(f, "{code}: {message} DETAIL: {detail} HINT: {hint}")
    }
}

/// Checks that something was refused with this SQLSTATE and these texts in message, DETAIL or HINT.
pub fn assert_sql_error<T>(result: Result<T, postgres::Error>, code: &str, texts: &[&str]) {
    match result {
        Ok(_) => panic!("expected an error {code} with {texts:?}, but it was done"),
        Err(error) => SqlError::of(&error).assert(code, texts),
    }
}
