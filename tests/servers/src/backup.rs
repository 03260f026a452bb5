//! Copies of data directories: of a stopped server, and base backups with an archive of the WAL.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cluster::{Cluster, ClusterBuilder};
use crate::{paths, process};

impl ClusterBuilder {
    /// Archives the WAL into a directory of the cluster's own: [`Cluster::archive`].
    pub fn archiving(self) -> Self {
        // The command runs in the data directory; the archive lies beside it.
        self.set("archive_mode", "on").set("archive_command", "mkdir -p ../archive && cp %p ../archive/%f")
    }
}

impl Cluster {
    /// Where the WAL is archived.
    pub fn archive(&self) -> PathBuf {
        self.dir().join("archive")
    }

    /// Copies the running server's data directory, without the WAL: that comes from the archive.
    pub fn base_backup(&self) -> PathBuf {
        let backup = self.dir().join("backup");
        let mut command = paths::as_server_user(&paths::program("pg_basebackup"));
        command.arg("--host").arg(self.socket_dir());
        command.args(["--username=postgres", "--wal-method=none", "--checkpoint=fast", "--no-sync"]);
        process::run(command.arg("--pgdata").arg(&backup));
        backup
    }

    /// Waits until all WAL written so far is in the archive.
    pub fn archive_wal(&self) {
        let mut session = self.connect("postgres");
        let segment: String = session
            .query_one("SELECT pg_walfile_name(pg_switch_wal())", &[])
            .expect("a superuser may switch")
            .get(0);
        let archived =
            process::wait_until(crate::cluster::PATIENCE, || self.archive().join(&segment).exists());
        assert!(archived, "{segment} was not archived:\n{}", self.log());
    }

    /// Starts this copy of a base backup: it replays the WAL of an archive up to a restore point, and then becomes a
    /// primary.
    pub fn recover_to(&mut self, archive: &Path, restore_point: &str) {
        self.set("restore_command", &format!("cp '{}'/%f %p", archive.display()));
        self.set("recovery_target_name", restore_point);
        self.set("recovery_target_action", "promote");
        let signal = self.data().join("recovery.signal");
        fs::write(&signal, "").expect("the data is ours");
        paths::give_to_server_user(&signal);
        self.start();
        self.wait_until("postgres", "SELECT NOT pg_is_in_recovery()");
    }
}
