//! At the ceiling: how many of a millisecond's 4,096 ids sessions get, and how much CPU they use to wait for more.

use std::sync::Barrier;
use std::thread;

use snowflake_servers::Cluster;

use super::Scale;
use crate::contestants::{SNOWFLAKE, SNOWFLAKE_CACHE, server};
use crate::figures::{Figure, Sample};
use crate::report::Report;
use crate::session::Session;

const IDS_A_MS: i64 = 4_096;
/// Two seconds of the ceiling.
const IDS: i64 = 2_000 * IDS_A_MS;

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    for contestant in [SNOWFLAKE, SNOWFLAKE_CACHE] {
        // What the work itself costs, with the same statement, is known from the experiment `cost`.
        let work = report.median("cost", "CPU", contestant.name, None);
        for sessions in [1, 2, 8, 32] {
            let (mut share, mut rate, mut cores, mut waiting) =
                (Sample::default(), Sample::default(), Sample::default(), Sample::default());
            for _ in 0..scale.long_rounds {
                let run = saturate(&cluster, contestant.settings, sessions, IDS / scale.divisor);
                let ids_a_ms = run.ids as f64 / run.milliseconds as f64;
                share.extend([ids_a_ms / IDS_A_MS as f64]);
                rate.extend([ids_a_ms * 1_000.0]);
                let used = run.cpu_ns / (run.milliseconds as f64 * 1e6);
                cores.extend([used]);
                waiting.extend(work.map(|ns| (used - ids_a_ms * ns / 1e6).max(0.0)));
            }
            let mut record = |metric, unit, sample: Sample| {
                let (contestant, parameter) = (contestant.name.to_owned(), Some(sessions));
                report.record(Figure { experiment: "ceiling", contestant, parameter, metric, unit, sample });
            };
            record("share of the ceiling", "", share);
            record("ids a second", "", rate);
            record("cores used in all", "", cores);
            if work.is_some() {
                record("cores used to wait", "", waiting);
            }
        }
    }
}

struct Run {
    ids: i64,
    /// From the first id's to the last id's, by the ids themselves.
    milliseconds: i64,
    cpu_ns: f64,
}

fn saturate(cluster: &Cluster, settings: &str, sessions: i64, ids: i64) -> Run {
    let each = ids / sessions;
    let together = Barrier::new(sessions as usize);
    let parts: Vec<(i64, i64, f64)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = Session::open(cluster, settings);
                    let calls = session.prepare_calls("snowflake_next()");
                    let first = session.client.prepare("SELECT snowflake_next()").expect("a statement");
                    let mut id = || -> i64 { session.client.query_one(&first, &[]).expect("an id").get(0) };
                    id();
                    together.wait();
                    let began = id();
                    let before = session.cpu();
                    session.client.query(&calls, &[&each]).expect("ids");
                    let cpu = session.cpu() - before;
                    let ended: i64 = session.client.query_one(&first, &[]).expect("an id").get(0);
                    (began >> 22, ended >> 22, cpu.as_nanos() as f64)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a session")).collect()
    });
    let first = parts.iter().map(|part| part.0).min().unwrap_or(0);
    let last = parts.iter().map(|part| part.1).max().unwrap_or(0);
    Run {
        ids: each * sessions,
        milliseconds: last - first + 1,
        cpu_ns: parts.iter().map(|part| part.2).sum(),
    }
}
