//! Where the server's programs are, where clusters are made, and as whom servers run.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// A Unix socket's path may have 107 bytes, of which `/.s.PGSQL.5432` takes 14.
const SOCKET_DIR_MAX: usize = 107 - 14;

/// A program of the server under test.
pub(crate) fn program(name: &str) -> PathBuf {
    static BINDIR: OnceLock<PathBuf> = OnceLock::new();
    let bindir = BINDIR.get_or_init(|| {
        let bindir = env::var_os("SNOWFLAKE_TEST_BINDIR").unwrap_or_else(|| {
            panic!(
                "SNOWFLAKE_TEST_BINDIR is not set: run these tests with `make test SUITES=servers`, or name the \
                 directory with the programs of a PostgreSQL that has the extension installed"
            )
        });
        PathBuf::from(bindir)
    });
    bindir.join(name)
}

/// The user that servers run as, where that is not the caller.
pub(crate) struct ServerUser {
    pub name: &'static str,
    uid: u32,
    gid: u32,
}

pub(crate) fn server_user() -> Option<&'static ServerUser> {
    static USER: OnceLock<Option<ServerUser>> = OnceLock::new();
    let find = || {
        let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        root.then(|| {
            let name = "postgres";
            let id = |what: &str| {
                let output = Command::new("id").args([what, name]).output().expect("id runs");
                let text = String::from_utf8_lossy(&output.stdout);
                text.trim().parse().unwrap_or_else(|_| {
                    panic!("PostgreSQL refuses to run as root, and there is no user {name}")
                })
            };
            ServerUser { name, uid: id("-u"), gid: id("-g") }
        })
    };
    USER.get_or_init(find).as_ref()
}

/// A command that runs as the server's user, in a directory that anybody may enter.
pub(crate) fn as_server_user(program: &Path) -> Command {
    let mut command = match server_user() {
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", user.name, "--regid", user.name, "--init-groups", "--"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.current_dir("/");
    command
}

/// Makes a directory that only the server's user can enter.
pub(crate) fn make_private_dir(path: &Path) {
    fs::create_dir(path).unwrap_or_else(|error| panic!("cannot create {}: {error}", path.display()));
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("the directory is ours");
    give_to_server_user(path);
}

pub(crate) fn give_to_server_user(path: &Path) {
    if let Some(user) = server_user() {
        chown(path, Some(user.uid), Some(user.gid)).expect("root may give files away");
    }
}

/// A name that no other cluster, file or process of this run has.
pub(crate) fn unique_name() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// The directory in which clusters are made.
pub(crate) fn base_dir() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        let base = env::var_os("SNOWFLAKE_TEST_DIR")
            .map_or_else(|| env::temp_dir().join("snowflake-servers"), PathBuf::from);
        fs::create_dir_all(&base).unwrap_or_else(|error| panic!("cannot create {}: {error}", base.display()));
        base
    })
}

/// Where the socket of the cluster in `dir` goes: there, or in a short directory where that path is too long.
pub(crate) fn socket_dir(dir: &Path) -> PathBuf {
    if dir.as_os_str().len() <= SOCKET_DIR_MAX {
        return dir.to_path_buf();
    }
    let name = dir.file_name().expect("a cluster's directory has a name").to_string_lossy();
    let short = PathBuf::from(format!("/tmp/snowflake-{name}"));
    if !short.exists() {
        make_private_dir(&short);
    }
    short
}

/// A data directory as initdb leaves it, made by the first caller of each server version and copied by the others.
pub(crate) fn template() -> &'static Path {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let version = crate::process::run(Command::new(program("postgres")).arg("--version"));
        let version: String = version.chars().filter(char::is_ascii_alphanumeric).collect();
        let template = base_dir().join(format!("template-{version}"));
        if template.join("PG_VERSION").exists() {
            return template;
        }
        let new = base_dir().join(format!("template-{}", unique_name()));
        make_private_dir(&new);
        let mut initdb = as_server_user(&program("initdb"));
        initdb.arg("--pgdata").arg(&new).args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        crate::process::run(&mut initdb);
        // Another test program may have been faster; then its template serves as well.
        if fs::rename(&new, &template).is_err() {
            let _ = fs::remove_dir_all(&new);
        }
        template
    })
}
