//! What the server says of its generator, and the kernel of its processes.

use std::fs;
use std::time::Duration;

use crate::cluster::{Cluster, PATIENCE};
use crate::process;

/// A row of `snowflake_status()`.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// None before the first id.
    pub last_id: Option<i64>,
    /// None before the first id.
    pub ahead_ms: Option<i64>,
    /// None before the first id.
    pub ceiling_id: Option<i64>,
    /// Times the clock was seen set back.
    pub clock_regressions: i64,
    /// The largest of them.
    pub largest_regression_ms: f64,
    /// Times the clock was seen to have leapt ahead too far.
    pub leaps_refused: i64,
    /// Replication origins that could have progress yet.
    pub free_origin_slots: i32,
}

impl Cluster {
    /// The state of the generator, asked in the database `postgres`.
    pub fn status(&self) -> Status {
        let query = "SELECT last_id, ahead_ms, ceiling_id, clock_regressions, largest_regression_ms,
                            leaps_refused, free_origin_slots FROM snowflake_status()";
        let row = self.connect("postgres").query_one(query, &[]).expect("a status");
        Status {
            last_id: row.get(0),
            ahead_ms: row.get(1),
            ceiling_id: row.get(2),
            clock_regressions: row.get(3),
            largest_regression_ms: row.get(4),
            leaps_refused: row.get(5),
            free_origin_slots: row.get(6),
        }
    }

    /// Waits until the state of the generator is as wanted, and returns it.
    ///
    /// # Panics
    /// Where it never is, with the last one.
    pub fn wait_for_status(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let mut status = self.status();
        process::wait_until(PATIENCE, || {
            status = self.status();
            wanted(&status)
        });
        assert!(wanted(&status), "{status:?}");
        status
    }
}

/// How a session shows that it waits for the ceiling, which another raises.
pub fn waits_for_ceiling(cluster: &Cluster) -> &'static str {
    if cluster.version_num() >= 17_0000 { "SnowflakeCeiling" } else { "Extension" }
}

/// How a session shows that it waits for the WAL to be flushed.
pub fn waits_for_flush(cluster: &Cluster) -> &'static str {
    if cluster.version_num() >= 17_0000 { "WalSync" } else { "WALSync" }
}

/// Waits until so many sessions at once are seen to wait for something, and returns their pids.
pub fn wait_until_waiting(cluster: &Cluster, sessions: usize, event: &str) -> Vec<i32> {
    let mut watcher = cluster.connect("postgres");
    let query = "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity
                 WHERE wait_event = $1 AND backend_type = 'client backend'";
    let mut pids: Vec<i32> = Vec::new();
    process::wait_until(PATIENCE, || {
        pids = watcher.query_one(query, &[&event]).expect("the activity").get(0);
        pids.len() >= sessions
    });
    assert!(pids.len() >= sessions, "{pids:?} wait for {event}, not {sessions} sessions");
    pids
}

/// What a process has used of the machine since it began.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// CPU time, in steps of ten milliseconds.
    pub cpu: Duration,
    /// How often it gave the CPU away by itself: it went to sleep.
    pub sleeps: u64,
}

/// What a process has used.
///
/// # Panics
/// Where there is no such process.
pub fn usage(pid: i32) -> Usage {
    // /proc shows CPU time in units of USER_HZ, which is 100 on every Linux that PostgreSQL runs on.
    const TICK: Duration = Duration::from_millis(10);
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).expect("the process runs");
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_ascii_whitespace().collect();
    // utime and stime are fields 14 and 15; the state, number 3, is the first here.
    let ticks = [11, 12].map(|field: usize| fields[field].parse::<u32>().expect("a number"));
    let status = read("status");
    let sleeps = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let sleeps = sleeps.and_then(|count| count.trim().parse().ok()).expect("a count");
    Usage { cpu: TICK * (ticks[0] + ticks[1]), sleeps }
}
