//! Standbys: made, caught up, promoted.

use std::path::Path;
use std::time::Duration;

use crate::cluster::{Cluster, PORT};
use crate::{paths, process};

const PATIENCE: Duration = Duration::from_secs(60);

impl Cluster {
    /// Copies a running server and makes this one stream from it.
    pub(crate) fn copy_of_primary(&self, primary_socket_dir: &Path) {
        let mut backup = paths::as_server_user(&paths::program("pg_basebackup"));
        backup
            .arg("--host")
            .arg(primary_socket_dir)
            .args([
                "--username=postgres",
                "--write-recovery-conf",
                "--wal-method=stream",
                "--checkpoint=fast",
            ])
            .args(["--no-sync", "--pgdata"])
            .arg(self.data());
        process::run(&mut backup);
    }

    /// Waits until a standby has replayed everything this server has written so far.
    pub fn wait_for(&self, standby: &Cluster) {
        let written: String = self
            .connect("postgres")
            .query_one("SELECT pg_current_wal_insert_lsn()::text", &[])
            .expect("a primary knows its WAL")
            .get(0);
        let mut session = standby.connect("postgres");
        let query = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{written}', false)");
        let caught_up = process::wait_until(PATIENCE, || {
            session.query_one(&query, &[]).expect("a standby knows its WAL").get(0)
        });
        assert!(caught_up, "the standby did not reach {written}:\n{}", standby.log());
    }

    /// Makes this standby a primary, and waits until it is.
    pub fn promote(&self) {
        let promoted: bool = self
            .connect("postgres")
            .query_one("SELECT pg_promote(true, 60)", &[])
            .expect("a standby can be promoted")
            .get(0);
        assert!(promoted, "the standby was not promoted:\n{}", self.log());
    }

    /// Waits until a query in a database, which says whether something is so, says yes.
    pub fn wait_until(&self, database: &str, query: &str) {
        let mut session = self.connect(database);
        let so = process::wait_until(PATIENCE, || {
            session.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
        });
        assert!(so, "never so: {query}\n{}", self.log());
    }

    /// How another server reaches a database of this one.
    pub fn connection_string(&self, database: &str) -> String {
        format!("host={} port={PORT} user=postgres dbname={database}", self.socket_dir().display())
    }
}
