//! The first call of a new session, what memory it takes, and single calls of sessions that are all busy, the raises
//! of the ceiling included: this server flushes its WAL.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use snowflake_servers::Cluster;

use super::{Scale, empty_samples};
use crate::contestants::{EMPTY, NEXTVAL, NEXTVAL_CACHE, SNOWFLAKE, SNOWFLAKE_CACHE, server};
use crate::figures::{Figure, Sample};
use crate::report::Report;
use crate::session::Session;

const SESSIONS: usize = 4;
const SPAN: Duration = Duration::from_secs(3);

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[("fsync", "on")]);
    let contestants = [EMPTY, SNOWFLAKE, SNOWFLAKE_CACHE, NEXTVAL, NEXTVAL_CACHE];

    let (mut first, mut memory) = (empty_samples(&contestants), empty_samples(&contestants));
    for _ in 0..scale.short_rounds {
        for (number, contestant) in contestants.iter().enumerate() {
            let (elapsed, kib) = first_call(&cluster, contestant.settings, contestant.call);
            first[number].extend([elapsed.as_secs_f64() * 1e3]);
            memory[number].extend([kib]);
        }
    }
    for ((contestant, first), memory) in contestants.iter().zip(first).zip(memory) {
        report.of(("latency", contestant), ("first call", "ms"), first);
        report.of(("latency", contestant), ("memory for the first call", "KiB"), memory);
    }

    let mut calls = empty_samples(&contestants);
    for _ in 0..scale.long_rounds {
        for (contestant, calls) in contestants.iter().zip(&mut calls) {
            let span = SPAN / scale.divisor as u32 / scale.long_rounds as u32;
            calls.extend(single_calls(&cluster, contestant.settings, contestant.call, span));
        }
    }
    for (contestant, calls) in contestants.iter().zip(calls) {
        for (metric, share) in [("call, p50", 0.5), ("call, p99", 0.99), ("call, p99.9", 0.999)] {
            let (experiment, contestant, parameter) = ("latency", contestant.name.to_owned(), None);
            let sample = Sample::from_iter([calls.quantile(share)]);
            report.record(Figure { experiment, contestant, parameter, metric, unit: "us", sample });
        }
    }
}

/// The statement is planned before, and the extension's library has been used; what is new is the function.
fn first_call(cluster: &Cluster, settings: &str, call: &str) -> (Duration, f64) {
    let mut session = Session::open(cluster, settings);
    session.client.query("SELECT snowflake_decode_node_id(1)", &[]).expect("a node number");
    let statement = session.client.prepare(&format!("SELECT {call}")).expect("a statement");
    let before = session.private_kib();
    let began = Instant::now();
    session.client.query(&statement, &[]).expect("a call");
    (began.elapsed(), session.private_kib() - before)
}

/// How long each call took, in microseconds, from the client's side.
fn single_calls(cluster: &Cluster, settings: &str, call: &str, span: Duration) -> Vec<f64> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..SESSIONS)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = Session::open(cluster, settings);
                    let statement = session.client.prepare(&format!("SELECT {call}")).expect("a statement");
                    session.client.query(&statement, &[]).expect("a call");
                    let (end, mut calls) = (Instant::now() + span, Vec::new());
                    while Instant::now() < end {
                        let began = Instant::now();
                        session.client.query(&statement, &[]).expect("a call");
                        calls.push(began.elapsed().as_nanos() as f64 / 1e3);
                    }
                    calls
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a session")).collect()
    })
}

impl Session {
    /// Memory that the backend shares with nobody and has written.
    fn private_kib(&self) -> f64 {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid()));
        let rollup = rollup.expect("a kernel with smaps_rollup");
        let line = rollup.lines().find_map(|line| line.strip_prefix("Private_Dirty:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
        kib.expect("a size")
    }
}
