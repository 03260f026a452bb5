//! A wall clock that a test moves while a server runs: libfaketime, preloaded into the server.
//!
//! The offset stands in a file that libfaketime reads at each look at the clock, so a step takes effect even inside
//! one statement. The monotonic clock and CLOCK_BOOTTIME are left alone (checked with libfaketime 0.9.10).

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::paths;

/// The clock of one or several servers.
pub struct FakeClock {
    file: PathBuf,
}

impl FakeClock {
    /// A clock that shows the right time.
    #[allow(clippy::new_without_default, reason = "it makes a file")]
    pub fn new() -> Self {
        let clock = Self { file: paths::base_dir().join(format!("clock-{}", paths::unique_name())) };
        clock.set_offset_ms(0);
        clock
    }

    /// Sets how far the clock is ahead of the right time, or behind it where negative.
    pub fn set_offset_ms(&self, offset_ms: i64) {
        let sign = if offset_ms < 0 { '-' } else { '+' };
        self.write(&format!("{sign}{}", seconds(offset_ms.abs())));
    }

    /// Stops the clock, at this distance from the right time, until an offset is set.
    pub fn freeze_at_offset_ms(&self, offset_ms: i64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
        self.write(&seconds(now.as_millis() as i64 + offset_ms));
    }

    fn write(&self, time: &str) {
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{time}\n")).expect("the directory is ours");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o644)).expect("the file is ours");
        // Renamed, so that nobody reads half a file.
        fs::rename(&new, &self.file).expect("the directory is ours");
    }

    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![
            ("LD_PRELOAD".into(), library().into()),
            ("FAKETIME_TIMESTAMP_FILE".into(), self.file.clone().into()),
            ("FAKETIME_NO_CACHE".into(), "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC".into(), "1".into()),
            // A time without a sign is in seconds since 1970, and stands.
            ("FAKETIME_FMT".into(), "%s".into()),
        ]
    }
}

impl Drop for FakeClock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn seconds(ms: i64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

fn library() -> PathBuf {
    let found = fs::read_dir("/usr/lib").into_iter().flatten().flatten().find_map(|entry| {
        let library = entry.path().join("faketime/libfaketime.so.1");
        library.exists().then_some(library)
    });
    found.unwrap_or_else(|| panic!("libfaketime is missing: apt-get install libfaketime"))
}

/// Removes what libfaketime leaves in /dev/shm where a server is killed.
pub(crate) fn remove_shared_memory(pids: &[u32]) {
    for pid in pids {
        let _ = fs::remove_file(format!("/dev/shm/faketime_shm_{pid}"));
        let _ = fs::remove_file(format!("/dev/shm/sem.faketime_sem_{pid}"));
    }
}
