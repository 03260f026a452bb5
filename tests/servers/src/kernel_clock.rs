//! What the kernel knows of its clock, as a test says it: `adjtimex`, preloaded into the server.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::paths;
use crate::preload::library;

/// The kernel's knowledge of one or several servers' clock.
pub struct KernelClock {
    file: PathBuf,
}

impl KernelClock {
    /// State and status of a clock that is synchronised, as of one that is not: `TIME_OK`, and `TIME_ERROR` with
    /// `STA_UNSYNC`, of adjtimex(2).
    pub const SYNCHRONISED: (i32, i32) = (0, 0);
    /// As above.
    pub const NOT_SYNCHRONISED: (i32, i32) = (5, 0x40);

    /// A daemon synchronises the clock, which is at most so wrong.
    pub fn synchronised(max_error_us: i64) -> Self {
        let clock = Self { file: paths::base_dir().join(format!("clock-kernel-{}", paths::unique_name())) };
        clock.set(Self::SYNCHRONISED, max_error_us);
        clock
    }

    /// What `adjtimex` answers from now on.
    pub fn set(&self, (state, status): (i32, i32), max_error_us: i64) {
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{state} {status} {max_error_us}\n")).expect("the directory is ours");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o644)).expect("the file is ours");
        // Renamed, so that nobody reads half a file.
        fs::rename(&new, &self.file).expect("the directory is ours");
    }

    pub(crate) fn environment(&self) -> [(OsString, OsString); 2] {
        [
            ("LD_PRELOAD".into(), library("kernel_clock").into()),
            ("SNOWFLAKE_KERNEL_CLOCK".into(), self.file.clone().into()),
        ]
    }
}

impl Drop for KernelClock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}
