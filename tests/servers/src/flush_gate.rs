//! A disk that a test makes slow: while the gate is closed, no flush of the WAL ends.
//!
//! A small library, compiled here and preloaded into the server, stands before the flush. The server needs
//! `fsync = on`, which [`ClusterBuilder::flushes_through`](crate::ClusterBuilder::flushes_through) sets.
//!
//! What has been written and not flushed outlives the death of a process. To be lost as in a power cut, the WAL has
//! to be held back before it is written:
//! [`ClusterBuilder::writes_through`](crate::ClusterBuilder::writes_through).

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::paths;
use crate::preload::library;

/// The gate before the flushes of one server. Dropped, it is open.
pub struct FlushGate {
    closed: PathBuf,
}

impl FlushGate {
    /// An open gate.
    #[allow(clippy::new_without_default, reason = "it names a file")]
    pub fn new() -> Self {
        Self { closed: paths::base_dir().join(format!("closed-{}", paths::unique_name())) }
    }

    /// From now on no flush ends.
    pub fn close(&self) {
        fs::write(&self.closed, "").expect("the directory is ours");
    }

    /// Lets all flushes through.
    pub fn open(&self) {
        let _ = fs::remove_file(&self.closed);
    }

    /// `variable` names the calls that are to wait.
    pub(crate) fn environment(&self, variable: &str) -> [(OsString, OsString); 2] {
        [("LD_PRELOAD".into(), library("flush_gate").into()), (variable.into(), self.closed.clone().into())]
    }
}

impl Drop for FlushGate {
    fn drop(&mut self) {
        self.open();
    }
}
