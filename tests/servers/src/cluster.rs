//! A PostgreSQL server of one test.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use std::{io, thread};

use postgres::{Client, Config, NoTls};
use rustix::process::Signal;

use crate::clock::FakeClock;
use crate::flush_gate::FlushGate;
use crate::kernel_clock::KernelClock;
use crate::{paths, process};

/// Longer than anything here takes on a busy machine: reaching it means that something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const PORT: u16 = 5432;

/// What a server is to be like.
#[derive(Default)]
pub struct ClusterBuilder {
    settings: Vec<(String, String)>,
    environment: Vec<(OsString, OsString)>,
    not_preloaded: bool,
    address_space_mb: Option<u64>,
    primary: Option<PathBuf>,
    copied: Option<PathBuf>,
}

impl ClusterBuilder {
    /// A line of postgresql.conf, from the first start on.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves the extension out of `shared_preload_libraries`.
    pub fn not_preloaded(mut self) -> Self {
        self.not_preloaded = true;
        self
    }

    /// A variable in the environment of the server and its sessions.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// No process of the server gets more memory than this: an allocation beyond it fails.
    pub fn address_space_mb(mut self, megabytes: u64) -> Self {
        self.address_space_mb = Some(megabytes);
        self
    }

    /// The server sees this clock in place of the machine's. Its monotonic clock and CLOCK_BOOTTIME go on as they
    /// are.
    pub fn clock(self, clock: &FakeClock) -> Self {
        self.environment(clock.environment())
    }

    /// The server's kernel knows this of the clock.
    pub fn kernel_clock(self, clock: &KernelClock) -> Self {
        self.environment(clock.environment())
    }

    /// The server's flushes go through this gate.
    pub fn flushes_through(self, gate: &FlushGate) -> Self {
        let environment = gate.environment("SNOWFLAKE_FLUSH_GATE");
        self.set("fsync", "on").set("wal_sync_method", "fdatasync").environment(environment)
    }

    /// While this gate is closed, nothing of the WAL leaves the server's memory: a server that is killed then loses
    /// what it has not flushed, as in a power cut.
    pub fn writes_through(self, gate: &FlushGate) -> Self {
        self.environment(gate.environment("SNOWFLAKE_WRITE_GATE"))
    }

    fn environment(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        for (name, value) in variables {
            match self.environment.iter_mut().find(|(known, _)| *known == name && name == "LD_PRELOAD") {
                Some((_, libraries)) => {
                    libraries.push(" ");
                    libraries.push(value);
                }
                None => self.environment.push((name, value)),
            }
        }
        self
    }

    /// A streaming standby of a running server.
    pub fn standby_of(mut self, primary: &Cluster) -> Self {
        self.primary = Some(primary.socket_dir.clone());
        self
    }

    /// A copy of a data directory: that of a stopped server, or a base backup.
    pub fn copy_of(mut self, data: &Path) -> Self {
        self.copied = Some(data.to_owned());
        self
    }

    /// Makes the server and starts it.
    ///
    /// # Panics
    /// Where it does not start, with its log.
    pub fn start(self) -> Cluster {
        let mut cluster = self.create();
        cluster.start();
        cluster
    }

    /// Makes the server, not running.
    pub fn create(self) -> Cluster {
        let dir = paths::base_dir().join(paths::unique_name());
        paths::make_private_dir(&dir);
        let cluster = Cluster {
            data: dir.join("data"),
            log: dir.join("log"),
            socket_dir: paths::socket_dir(&dir),
            dir,
            environment: self.environment,
            address_space_mb: self.address_space_mb,
            postmaster: None,
            past_postmasters: Vec::new(),
        };
        match (&self.primary, &self.copied) {
            (Some(primary), _) => cluster.copy_of_primary(primary),
            (None, Some(data)) => cluster.copy_of(data),
            (None, None) => cluster.copy_of_template(),
        }
        let socket_dir = cluster.socket_dir.to_str().expect("paths of tests are UTF-8").to_owned();
        cluster.set("unix_socket_directories", &socket_dir);
        if self.not_preloaded {
            cluster.set("shared_preload_libraries", "");
        }
        for (name, value) in &self.settings {
            cluster.set(name, value);
        }
        cluster
    }
}

/// A server. Dropped, it is stopped at once (as by `pg_ctl stop -m immediate`) and removed; after a panic its
/// directory stays and is named.
pub struct Cluster {
    dir: PathBuf,
    data: PathBuf,
    log: PathBuf,
    socket_dir: PathBuf,
    environment: Vec<(OsString, OsString)>,
    address_space_mb: Option<u64>,
    postmaster: Option<Child>,
    past_postmasters: Vec<u32>,
}

impl Cluster {
    /// A server with the extension preloaded, unless told otherwise.
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::default()
    }

    fn copy_of(&self, data: &Path) {
        let mut copy = paths::as_server_user(Path::new("cp"));
        process::run(copy.arg("-a").arg(data).arg(&self.data));
    }

    fn copy_of_template(&self) {
        self.copy_of(paths::template());
        let mut main = OpenOptions::new()
            .append(true)
            .open(self.data.join("postgresql.conf"))
            .expect("initdb made postgresql.conf");
        writeln!(main, "include_if_exists 'test.conf'").expect("the file can be written");
        for (name, value) in [
            ("listen_addresses", ""),
            // What is written survives the death of any process; these tests do not cut the machine's power.
            ("fsync", "off"),
            ("max_connections", "200"),
            ("log_line_prefix", "%m [%p] %q%a "),
            ("shared_preload_libraries", "snowflake"),
        ] {
            self.set(name, value);
        }
    }

    /// Starts the server and waits until it takes connections.
    ///
    /// # Panics
    /// Where it does not start, with its log.
    pub fn start(&mut self) {
        if let Err(log) = self.try_start() {
            panic!("the server did not start:\n{log}");
        }
    }

    /// Starts the server and waits until it takes connections, or returns what it logged where it ends instead.
    pub fn try_start(&mut self) -> Result<(), String> {
        assert!(self.postmaster.is_none(), "the server runs already");
        let log_before = self.log().len();
        let log =
            OpenOptions::new().create(true).append(true).open(&self.log).expect("the log can be opened");
        let errors = log.try_clone().expect("a file can be opened twice");
        let mut command = Command::new("setpriv");
        if let Some(user) = paths::server_user() {
            command.args(["--reuid", user.name, "--regid", user.name, "--init-groups"]);
        }
        // If this process dies without a word, the server shuts down at once. The variables are for the server
        // only, hence env. With RUST_BACKTRACE, pgrx would add a backtrace to each error's DETAIL.
        command.args(["--pdeathsig", "QUIT", "--", "env", "-u", "RUST_BACKTRACE"]);
        for (name, value) in &self.environment {
            let mut assignment = name.clone();
            assignment.push("=");
            assignment.push(value);
            command.arg(assignment);
        }
        if let Some(megabytes) = self.address_space_mb {
            let kilobytes = (megabytes * 1_024).to_string();
            command.args(["sh", "-c", r#"ulimit -v "$0" && exec "$@""#, &kilobytes]);
        }
        command.arg(paths::program("postgres")).arg("-D").arg(&self.data);
        command.current_dir("/").stdin(std::process::Stdio::null()).stdout(log).stderr(errors);
        let child = process::spawn(command);
        let pid = child.id();
        self.postmaster = Some(child);

        let mut ended = false;
        let started = process::wait_until(PATIENCE, || {
            ended = self.has_ended();
            ended || self.is_ready(pid)
        });
        if ended || !started {
            self.stop_immediately();
            return Err(self.log()[log_before..].to_owned());
        }
        Ok(())
    }

    /// What pg_ctl looks at: the last line of the pid file.
    fn is_ready(&self, pid: u32) -> bool {
        let Ok(file) = fs::read_to_string(self.data.join("postmaster.pid")) else { return false };
        let mut lines = file.lines();
        let ours = lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid);
        ours && lines.last().is_some_and(|state| matches!(state.trim(), "ready" | "standby"))
    }

    fn has_ended(&mut self) -> bool {
        let child = self.postmaster.as_mut().expect("the server was started");
        child.try_wait().expect("the child is ours").is_some()
    }

    /// The postmaster's pid.
    pub fn pid(&self) -> u32 {
        self.postmaster.as_ref().expect("the server runs").id()
    }

    /// Ends all sessions and stops the server in order (`pg_ctl stop -m fast`).
    pub fn stop(&mut self) {
        self.stop_by(Signal::INT);
    }

    /// Stops the server without a checkpoint, as in a crash (`pg_ctl stop -m immediate`).
    pub fn stop_immediately(&mut self) {
        self.stop_by(Signal::QUIT);
    }

    fn stop_by(&mut self, signal: Signal) {
        if self.postmaster.is_none() {
            return;
        }
        let pid = self.pid();
        let children = process::children_of(pid);
        if !self.has_ended() {
            process::signal(signal, &[pid]);
        }
        let ended = process::wait_until(PATIENCE, || self.has_ended());
        self.collect(children);
        assert!(ended, "the server did not stop; it was killed. Its log:\n{}", self.log_tail());
    }

    /// Kills the postmaster and all its children in one moment (`kill -9`).
    pub fn kill(&mut self) {
        let pid = self.pid();
        // Stopped, it makes no more children while they are counted.
        process::signal(Signal::STOP, &[pid]);
        let children = process::children_of(pid);
        self.collect(children);
    }

    /// Kills what is left of the server, by pid.
    fn collect(&mut self, children: Vec<u32>) {
        let Some(mut postmaster) = self.postmaster.take() else { return };
        self.past_postmasters.push(postmaster.id());
        let mut left: Vec<u32> = children.into_iter().filter(|&pid| process::is_running(pid)).collect();
        if process::is_running(postmaster.id()) {
            left.push(postmaster.id());
        }
        if !left.is_empty() {
            process::signal(Signal::KILL, &left);
        }
        let _ = postmaster.wait();
        process::wait_until(PATIENCE, || !left.iter().any(|&pid| process::is_running(pid)));
    }

    /// Stops in order, and starts.
    pub fn restart(&mut self) {
        self.stop();
        self.start();
    }

    /// Appends a line to the configuration: the last one counts. For [`reload`](Self::reload) or the next start.
    pub fn set(&self, name: &str, value: &str) {
        let path = self.data.join("test.conf");
        let mut file = OpenOptions::new().create(true).append(true).open(&path).expect("the data is ours");
        writeln!(file, "{name} = '{}'", value.replace('\'', "''")).expect("the file can be written");
        paths::give_to_server_user(&path);
    }

    /// Makes the server read its configuration, and waits until every session has been told: it follows at its next
    /// command.
    pub fn reload(&self) {
        let before = self.count_in_log("received SIGHUP");
        process::signal(Signal::HUP, &[self.pid()]);
        let done = process::wait_until(PATIENCE, || self.count_in_log("received SIGHUP") > before);
        assert!(done, "the server did not reload:\n{}", self.log_tail());
        // The postmaster tells the sessions before it takes the next connection.
        drop(self.connect("postgres"));
    }

    /// What the server has logged since it was made.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// How many times the log contains a text.
    pub fn count_in_log(&self, text: &str) -> usize {
        self.log().matches(text).count()
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The cluster's own directory, in which the data directory lies.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// How a client reaches a database, as the superuser.
    pub fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config.host_path(&self.socket_dir).port(PORT).user("postgres").dbname(database);
        config
    }

    /// A session in a database, as the superuser.
    pub fn connect(&self, database: &str) -> Client {
        self.connect_by(&self.config(database))
    }

    /// A session of a role in a database.
    pub fn connect_as(&self, role: &str, database: &str) -> Client {
        self.connect_by(self.config(database).user(role))
    }

    fn connect_by(&self, config: &Config) -> Client {
        config
            .connect(NoTls)
            .unwrap_or_else(|error| panic!("cannot connect by {config:?}: {error:?}\n{}", self.log_tail()))
    }

    /// Runs statements in a session of their own.
    pub fn execute(&self, database: &str, statements: &str) {
        if let Err(error) = self.connect(database).batch_execute(statements) {
            panic!("{statements}: {error:?}");
        }
    }

    /// Creates a database with the extension in it.
    pub fn create_database(&self, name: &str) {
        self.execute("postgres", &format!("CREATE DATABASE {name}"));
        self.create_extension(name);
    }

    /// Creates the extension in a database.
    pub fn create_extension(&self, database: &str) {
        self.execute(database, "CREATE EXTENSION snowflake");
    }

    /// The server's version, as `server_version_num` shows it: 150020 for 15.20.
    pub fn version_num(&self) -> i32 {
        let text: String =
            self.connect("postgres").query_one("SHOW server_version_num", &[]).expect("SHOW works").get(0);
        text.parse().expect("a number")
    }

    /// Whether ids can be generated without `shared_preload_libraries` on this server: from PostgreSQL 17 on.
    pub fn generates_unloaded(&self) -> bool {
        self.version_num() >= 17_0000
    }

    /// The setting that limits the slots for replication origins.
    pub fn origin_slots_setting(&self) -> &'static str {
        let since_18 = self.version_num() >= 18_0000;
        if since_18 { "max_active_replication_origins" } else { "max_replication_slots" }
    }

    /// Runs a client program of the server (psql, pgbench, pg_dump) to its end and returns what it printed.
    ///
    /// # Panics
    /// Where it fails, with what it said.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        process::run(
            Command::new(paths::program(program))
                .args(arguments)
                .env("PGHOST", &self.socket_dir)
                .env("PGPORT", PORT.to_string())
                .env("PGUSER", "postgres")
                .env("PGDATABASE", "postgres"),
        )
    }

    /// Copies what is in a database into an empty one, by the pg_dump and psql of a role. Returns the dump.
    ///
    /// # Panics
    /// Where one of them fails.
    pub fn dump_and_restore(&self, role: &str, original: &str, copy: &str) -> String {
        let dump = self.run("pg_dump", &["--username", role, original]);
        let file = self.write_file("dump.sql", &dump);
        let file = file.to_str().expect("paths of tests are UTF-8");
        self.run("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "--username", role, "-d", copy, "-f", file]);
        dump
    }

    /// A command that runs the statements on its standard input on this server, which is stopped, without a
    /// postmaster, and under another program, a profiler say.
    pub fn single_user(&self, under: &[&str], database: &str) -> Command {
        let mut command = paths::as_server_user(Path::new(under[0]));
        command.args(&under[1..]).arg(paths::program("postgres"));
        command.args(["--single", "-D"]).arg(&self.data).arg(database);
        command
    }

    /// Writes a file that client programs can read, into the cluster's directory.
    pub fn write_file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.join(name);
        fs::write(&path, content).expect("the directory is ours");
        path
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.postmaster.is_some() {
            let children = process::children_of(self.pid());
            process::signal(Signal::QUIT, &[self.pid()]);
            process::wait_until(Duration::from_secs(10), || self.has_ended());
            self.collect(children);
        }
        crate::clock::remove_shared_memory(&self.past_postmasters);
        if thread::panicking() {
            let mut message = String::new();
            let _ = write!(
                message,
                "the server's directory is kept: {}\n{}",
                self.dir.display(),
                self.log_tail()
            );
            eprintln!("{message}");
            return;
        }
        for dir in [&self.socket_dir, &self.dir] {
            match fs::remove_dir_all(dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    eprintln!("cannot remove {}: {error}", dir.display());
                }
                _ => {}
            }
        }
    }
}
