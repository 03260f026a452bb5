//! Load: sessions that generate ids, each in its own way, until they are told to stop or the server goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::{Client, Config, NoTls};

use crate::cluster::Cluster;
use crate::ids::Drawn;

/// A statement that takes longer than this hangs. It ends with an error, and the test with it.
pub(crate) const HANGS: &str = "-c statement_timeout=60s";

/// What a session does again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Ids that are only returned: nothing is written.
    Select,
    /// One row at a time, committed.
    Insert,
    /// Two rows at a time, committed, with numbers of the session's own (`snowflake.cache`).
    InsertFromCache,
    /// One row at a time, rolled back.
    RollBack,
}

impl Work {
    /// One session of each kind.
    pub const ALL: [Self; 4] = [Self::Select, Self::Insert, Self::InsertFromCache, Self::RollBack];
}

/// What sessions got while the server lived.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// The ids that were returned.
    pub drawn: Drawn,
    /// Those whose rows were committed, as the server said.
    pub committed: Vec<i64>,
}

impl Life {
    /// What other sessions got in the same time.
    pub fn extend(&mut self, other: Self) {
        self.drawn.sessions.extend(other.drawn.sessions);
        self.committed.extend(other.committed);
    }
}

/// Sessions at work.
pub struct Load {
    stop: Arc<AtomicBool>,
    sessions: Vec<JoinHandle<Session>>,
}

#[derive(Default)]
struct Session {
    ids: Vec<i64>,
    committed: Vec<i64>,
}

impl Cluster {
    /// Creates the extension, and the table `t` that the load writes to, in a database.
    pub fn create_table(&self, database: &str) {
        self.create_extension(database);
        self.execute(database, "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next())");
    }
}

impl Load {
    /// Starts a session for each work, and returns when each has got its first ids.
    pub fn start(cluster: &Cluster, database: &str, works: &[Work]) -> Self {
        let mut config = cluster.config(database);
        config.options(HANGS);
        let (stop, working) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let sessions: Vec<_> = works
            .iter()
            .map(|&work| {
                let (config, stop, working) = (config.clone(), Arc::clone(&stop), Arc::clone(&working));
                thread::spawn(move || run(&config, work, &stop, &working))
            })
            .collect();
        while working.load(Ordering::Relaxed) < works.len() && !sessions.iter().any(JoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(1));
        }
        Self { stop, sessions }
    }

    /// Stops the sessions, where the server has not ended them.
    ///
    /// # Panics
    /// Where a session met an error other than the end of the server.
    pub fn stop(self) -> Life {
        self.stop.store(true, Ordering::Relaxed);
        let mut life = Life::default();
        for session in self.sessions {
            let session = session.join().expect("a session failed");
            life.drawn.sessions.push(session.ids);
            life.committed.extend(session.committed);
        }
        life
    }
}

fn run(config: &Config, work: Work, stop: &AtomicBool, working: &AtomicUsize) -> Session {
    let mut session = Session::default();
    let mut client = config.connect(NoTls).expect("the server takes connections");
    let mut first = true;
    while !stop.load(Ordering::Relaxed) {
        match session.work(&mut client, work, first) {
            Ok(()) => {}
            Err(error) if is_end_of_server(&error) => break,
            Err(error) => panic!("{work:?}: {error:?}"),
        }
        if first {
            working.fetch_add(1, Ordering::Relaxed);
            first = false;
        }
    }
    session
}

impl Session {
    fn work(&mut self, client: &mut Client, work: Work, first: bool) -> Result<(), postgres::Error> {
        const INSERT: &str = "INSERT INTO t DEFAULT VALUES RETURNING id";
        let got = |rows: Vec<postgres::Row>| -> Vec<i64> { rows.iter().map(|row| row.get(0)).collect() };
        match work {
            Work::Select => {
                let query = "SELECT snowflake_next() FROM generate_series(1, 20)";
                self.ids.extend(got(client.query(query, &[])?));
            }
            Work::Insert => {
                // query() returns when the server is ready for the next query, which is after the commit.
                let ids = got(client.query(INSERT, &[])?);
                self.committed.extend(&ids);
                self.ids.extend(ids);
            }
            Work::InsertFromCache => {
                if first {
                    client.batch_execute("SET snowflake.cache = 64")?;
                }
                let insert = "INSERT INTO t SELECT FROM generate_series(1, 2) RETURNING id";
                let ids = got(client.query(insert, &[])?);
                self.committed.extend(&ids);
                self.ids.extend(ids);
            }
            Work::RollBack => {
                client.batch_execute("BEGIN")?;
                self.ids.extend(got(client.query(INSERT, &[])?));
                client.batch_execute("ROLLBACK")?;
            }
        }
        Ok(())
    }
}

/// Whether an error says that the server, or this session, was ended.
pub fn is_end_of_server(error: &postgres::Error) -> bool {
    match error.as_db_error() {
        // admin_shutdown, crash_shutdown, cannot_connect_now
        Some(error) => matches!(error.code().code(), "57P01" | "57P02" | "57P03"),
        None => true,
    }
}
