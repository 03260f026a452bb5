//! What stands in the WAL, and what of it is known to replication origins.

use crate::cluster::Cluster;

/// A replication origin that has progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its number.
    pub id: i64,
    /// Its progress: a WAL position, or a ceiling.
    pub progress: String,
}

impl Cluster {
    /// The replication origins that have progress.
    pub fn origins(&self) -> Vec<Origin> {
        let query = "SELECT local_id::bigint, remote_lsn::text FROM pg_show_replication_origin_status()
                     ORDER BY local_id";
        let rows = self.connect("postgres").query(query, &[]).expect("a superuser may look");
        rows.iter().map(|row| Origin { id: row.get(0), progress: row.get(1) }).collect()
    }

    /// Where the next WAL record goes.
    pub fn wal_position(&self) -> String {
        let query = "SELECT pg_current_wal_insert_lsn()::text";
        self.connect("postgres").query_one(query, &[]).expect("a primary knows its WAL").get(0)
    }

    /// How many ceilings have been written since a position: the records of replication origins.
    pub fn ceilings_written_since(&self, from: &str) -> usize {
        // pg_waldump wants at least one record; and all of them flushed.
        self.execute("postgres", "SELECT pg_logical_emit_message(false, 'end', ''); CHECKPOINT");
        let directory = self.data().join("pg_wal");
        let directory = directory.to_str().expect("paths of tests are UTF-8");
        let to = self.wal_position();
        let range = ["--path", directory, "--start", from, "--end", &to];
        let records = self.run("pg_waldump", &[&range[..], &["--rmgr=ReplicationOrigin"]].concat());
        records.lines().filter(|line| line.contains("ReplicationOrigin")).count()
    }
}
