//! The ways in which a server ends.

use std::thread;
use std::time::{Duration, Instant};

use postgres::NoTls;
use rustix::process::Signal;

use crate::cluster::{Cluster, PATIENCE};
use crate::process;

/// How a server ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// `kill -9` of the postmaster and all its children.
    Kill,
    /// `pg_ctl stop -m immediate`.
    Immediate,
    /// `pg_ctl stop -m fast`.
    Fast,
}

impl Cluster {
    /// Tells the postmaster alone to end, and does not wait. [`end`](Self::end) collects what is left.
    pub fn begin_to_end(&self, how: End) {
        let signal = match how {
            End::Kill => Signal::KILL,
            End::Immediate => Signal::QUIT,
            End::Fast => Signal::INT,
        };
        process::signal(signal, &[self.pid()]);
    }

    /// Ends the server.
    pub fn end(&mut self, how: End) {
        match how {
            End::Kill => self.kill(),
            End::Immediate => self.stop_immediately(),
            End::Fast => self.stop(),
        }
    }

    /// Kills one of the sessions (`kill -9`): PostgreSQL ends all others and recovers, as after a crash.
    /// [`wait_until_up`](Self::wait_until_up) is for the time after the other sessions are gone.
    pub fn kill_a_session(&self) {
        let mut witness = self.connect("postgres");
        let pid: i32 = witness
            .query_one(
                "SELECT pid FROM pg_stat_activity
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
                &[],
            )
            .expect("there is a session")
            .get(0);
        process::signal(Signal::KILL, &[pid.unsigned_abs()]);
        // Until the postmaster has noticed, it takes connections as before: the witness goes with all the others.
        let end = Instant::now() + PATIENCE;
        while witness.simple_query("SELECT 1").is_ok() {
            assert!(Instant::now() < end, "the server goes on without its session\n{}", self.log());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the sessions that are open (`pg_terminate_backend`).
    pub fn end_all_sessions(&self) {
        let query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        self.execute("postgres", query);
    }

    /// Waits until the server takes connections again.
    pub fn wait_until_up(&self) {
        let end = Instant::now() + PATIENCE;
        while let Err(error) = self.config("postgres").connect(NoTls) {
            assert!(Instant::now() < end, "the server does not come up: {error:?}\n{}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }
}
