//! A session whose CPU time is known.

use std::fs;
use std::time::Duration;

use postgres::{Client, Statement};
use snowflake_servers::Cluster;

/// A session, and its backend process.
pub struct Session {
    /// The client's side.
    pub client: Client,
    pid: i32,
}

impl Session {
    /// Connects, and runs some settings.
    pub fn open(cluster: &Cluster, settings: &str) -> Self {
        let mut client = cluster.connect("postgres");
        client.batch_execute(settings).expect("settings");
        let pid = client.query_one("SELECT pg_backend_pid()", &[]).expect("a pid").get(0);
        Self { client, pid }
    }

    /// The backend process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The CPU time of the backend. The kernel counts it to the nanosecond, up to when the process last left the
    /// CPU: exact while the session is idle.
    pub fn cpu(&self) -> Duration {
        let stat =
            fs::read_to_string(format!("/proc/{}/schedstat", self.pid)).expect("a kernel with schedstat");
        let ns = stat.split_ascii_whitespace().next().and_then(|ns| ns.parse().ok());
        Duration::from_nanos(ns.expect("nanoseconds of CPU time"))
    }

    /// A statement that calls an expression so many times (its one parameter), row by row, and returns nothing else.
    pub fn prepare_calls(&mut self, call: &str) -> Statement {
        let query = format!("SELECT count({call}) FROM (SELECT generate_series(1, $1::bigint)) calls");
        self.client.prepare(&query).expect("a statement")
    }
}
