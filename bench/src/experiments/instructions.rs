//! Instructions, which no other load on the machine changes: valgrind's callgrind counts them, in the core alone and
//! in a whole backend (`postgres --single`). Two runs of different length differ by the calls only.

use std::process::{Command, Stdio};
use std::{env, io};

use snowflake_servers::Cluster;

use super::Scale;
use crate::contestants::{
    CLOCK, Contestant, EMPTY, GUARDED, NEXTVAL, NEXTVAL_CACHE, SNOWFLAKE, SNOWFLAKE_CACHE, server,
};
use crate::figures::{Figure, Sample};
use crate::report::Report;

const CALLS: i64 = 20_000;

pub fn run(_: &Scale, report: &mut Report) {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("  not measured: valgrind is not installed");
        return;
    }
    let core = |ids: i64| {
        let this = env::current_exe()?;
        count(Command::new("valgrind").args(callgrind()).arg(this).args(["--core-ids", &ids.to_string()]))
    };
    if let Some(instructions) = difference(core) {
        report.record(Figure {
            experiment: "instructions",
            contestant: "the core alone".to_owned(),
            parameter: None,
            metric: "instructions a call",
            unit: "",
            sample: Sample::from_iter([instructions]),
        });
    }
    let mut cluster = server(&[]);
    cluster.stop();
    for contestant in [EMPTY, CLOCK, GUARDED, SNOWFLAKE, SNOWFLAKE_CACHE, NEXTVAL, NEXTVAL_CACHE] {
        if let Some(instructions) = difference(|calls| backend(&cluster, &contestant, calls)) {
            report.of(
                ("instructions", &contestant),
                ("instructions a call", ""),
                Sample::from_iter([instructions]),
            );
        }
    }
}

fn callgrind() -> [&'static str; 2] {
    ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
}

/// Instructions of one call, by two runs.
fn difference(run: impl Fn(i64) -> io::Result<i64>) -> Option<f64> {
    match (run(CALLS), run(2 * CALLS)) {
        (Ok(few), Ok(many)) => Some((many - few) as f64 / CALLS as f64),
        (Err(error), _) | (_, Err(error)) => {
            println!("  not measured: {error}");
            None
        }
    }
}

fn backend(cluster: &Cluster, contestant: &Contestant, calls: i64) -> io::Result<i64> {
    // A statement is a line here.
    let statements = format!(
        "{}\nSELECT count({}) FROM (SELECT generate_series(1, {calls})) calls\n",
        contestant.settings, contestant.call
    );
    let mut command = cluster.single_user(&["valgrind", callgrind()[0], callgrind()[1]], "postgres");
    command.stdin(Stdio::from(into_pipe(&statements)?));
    count(&mut command)
}

fn into_pipe(text: &str) -> io::Result<io::PipeReader> {
    use std::io::Write as _;
    let (reader, mut writer) = io::pipe()?;
    // A few hundred bytes fit into a pipe that nobody reads yet.
    writer.write_all(text.as_bytes())?;
    Ok(reader)
}

/// What callgrind has collected, which it says at the end.
fn count(command: &mut Command) -> io::Result<i64> {
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
        .ok_or_else(|| io::Error::other(format!("callgrind counted nothing: {said}")))
}
