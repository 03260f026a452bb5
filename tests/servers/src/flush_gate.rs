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
use std::process::Command;
use std::sync::OnceLock;

use crate::{paths, process};

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
        [("LD_PRELOAD".into(), library().into()), (variable.into(), self.closed.clone().into())]
    }
}

impl Drop for FlushGate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Compiled by the first caller of each test program.
fn library() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    let compile = || {
        let library = paths::base_dir().join("flush_gate.so");
        let new = paths::base_dir().join(format!("flush_gate-{}.so", paths::unique_name()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/flush_gate.c");
        process::run(Command::new("cc").args(["-O1", "-shared", "-fPIC", source, "-ldl", "-o"]).arg(&new));
        fs::rename(&new, &library).expect("the directory is ours");
        library
    };
    LIBRARY.get_or_init(compile).clone()
}
