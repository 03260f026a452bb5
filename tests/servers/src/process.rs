//! Child processes: run to the end, or started and stopped by their pid.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// Runs a command to its end and returns what it printed.
///
/// # Panics
/// Where it fails, with what it said.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        panic!("{command:?}: {}\n{stdout}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    stdout
}

/// Starts a server. It ends with this process, however this process ends.
///
/// The kernel tells a child when the *thread* that started it ends; so one thread, which stays, starts them all.
pub(crate) fn spawn(command: Command) -> Child {
    type Request = (Command, Sender<std::io::Result<Child>>);
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, requests) = channel::<Request>();
        thread::spawn(move || {
            for (mut command, reply) in requests {
                let _ = reply.send(command.spawn());
            }
        });
        sender
    });
    let (reply, answer) = channel();
    let shown = format!("{command:?}");
    spawner.send((command, reply)).expect("the spawning thread stays");
    match answer.recv().expect("the spawning thread answers") {
        Ok(child) => child,
        Err(error) => panic!("cannot start {shown}: {error}"),
    }
}

/// Sends a signal to processes. One that has just ended is no error.
pub(crate) fn signal(signal: Signal, pids: &[u32]) {
    for &pid in pids {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("the pid of a process");
        match kill_process(pid, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => panic!("cannot send {signal:?} to {pid:?}: {error}"),
        }
    }
}

/// The running children of a process.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| state_and_parent(pid).is_some_and(|(_, its_parent)| its_parent == parent)).collect()
}

/// Whether a process is there and runs: one that only waits to be collected does not.
pub(crate) fn is_running(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != 'Z')
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let mut stat = String::new();
    fs::File::open(format!("/proc/{pid}/stat")).ok()?.read_to_string(&mut stat).ok()?;
    // pid (name) state parent ...; the name may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Looks again and again until something holds; false where it does not within the time.
pub(crate) fn wait_until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
