//! Sessions of every kind, which go on through whatever happens to the server.

use std::sync::atomic::Ordering;

use postgres::{Client, Config, NoTls};
use snowflake_servers::load::is_end_of_server;
use snowflake_servers::{Order, SqlError};

use super::Soak;

/// SQLSTATE of generation that is refused for now.
const REFUSED: &str = "55000";
/// Rows in the table of a session before it is emptied.
const ROWS: u64 = 200_000;

/// What a session does again and again.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Ids that are only returned, so many in a statement, with this `snowflake.cache`.
    Select { cache: i64, ids: i64 },
    /// A batch.
    Batch { ids: i64 },
    /// Rows of a table with a primary key, which refuses an id that comes twice while its row is there.
    Insert { cache: i64, rows: i64 },
    /// A new session for each call.
    Connect,
}

impl Work {
    /// One session for each.
    pub const ALL: [Self; 10] = [
        Self::Select { cache: 1, ids: 1 },
        Self::Select { cache: 1, ids: 500 },
        Self::Select { cache: 1, ids: 5_000 },
        Self::Select { cache: 16, ids: 5 },
        Self::Select { cache: 256, ids: 2_000 },
        Self::Batch { ids: 7 },
        Self::Batch { ids: 10_000 },
        Self::Insert { cache: 1, rows: 20 },
        Self::Insert { cache: 64, rows: 3 },
        Self::Connect,
    ];

    fn order(self) -> Order {
        match self {
            Self::Select { cache: 1, .. } | Self::Insert { cache: 1, .. } | Self::Connect => Order::Ids,
            _ => Order::Milliseconds,
        }
    }

    fn query(self, number: usize) -> String {
        match self {
            Self::Select { ids, .. } => format!("SELECT snowflake_next() FROM generate_series(1, {ids})"),
            Self::Batch { ids } => format!("SELECT snowflake_next_batch({ids})"),
            Self::Insert { rows, .. } => {
                format!("INSERT INTO t{number} SELECT FROM generate_series(1, {rows}) RETURNING id")
            }
            Self::Connect => "SELECT snowflake_next()".to_owned(),
        }
    }
}

/// Works until the soak is over.
///
/// # Panics
/// Where an id breaks the promise, or a session meets an error that is neither a refusal nor the end of the server.
pub fn run(soak: &Soak, config: &Config, number: usize, work: Work) {
    let (query, mut client, mut statements) = (work.query(number), None, 0);
    while !soak.is_over() {
        let Some(session) = &mut client else {
            client = connect(soak, config, number, work);
            continue;
        };
        let call = soak.promise.begin();
        match session.query(&query, &[]) {
            Ok(rows) => {
                let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
                soak.promise.end(&call, &ids, work.order());
                statements += 1;
                if let Work::Connect = work {
                    client = None;
                } else if let Work::Insert { rows, .. } = work
                    && statements % (ROWS / rows as u64) == 0
                {
                    // Where this fails, so does the next statement.
                    let _ = session.batch_execute(&format!("TRUNCATE t{number}"));
                }
            }
            Err(error) => {
                soak.promise.end(&call, &[], work.order());
                if is_end_of_server(&error) {
                    client = None;
                } else {
                    let error = SqlError::of(&error);
                    assert_eq!(error.code, REFUSED, "{work:?}: {error}");
                    soak.refused.fetch_add(1, Ordering::Relaxed);
                    soak.sleep(20);
                }
            }
        }
    }
}

/// A session, or nothing while the server is down.
fn connect(soak: &Soak, config: &Config, number: usize, work: Work) -> Option<Client> {
    let connected = config.connect(NoTls).and_then(|mut client| {
        match work {
            Work::Insert { cache, .. } => client.batch_execute(&format!(
                "SET client_min_messages = warning;
                 CREATE TABLE IF NOT EXISTS t{number} (id bigint PRIMARY KEY DEFAULT snowflake_next());
                 SET snowflake.cache = {cache}"
            ))?,
            Work::Select { cache, .. } => client.batch_execute(&format!("SET snowflake.cache = {cache}"))?,
            // The server's own setting changes with reloads.
            Work::Connect => client.batch_execute("SET snowflake.cache = 1")?,
            Work::Batch { .. } => {}
        }
        Ok(client)
    });
    match connected {
        Ok(client) => {
            soak.reconnected.fetch_add(1, Ordering::Relaxed);
            Some(client)
        }
        Err(error) => {
            assert!(is_end_of_server(&error), "{work:?}: {error:?}");
            soak.sleep(20);
            None
        }
    }
}
