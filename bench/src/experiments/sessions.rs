//! How the cost of an id grows with the sessions that make them, below the ceiling: all together make about half of
//! what the format allows, in bursts.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::cost::Paced;
use super::{Scale, empty_samples};
use crate::contestants::{EMPTY, NEXTVAL, NEXTVAL_CACHE, SNOWFLAKE, SNOWFLAKE_CACHE, server};
use crate::figures::Figure;
use crate::report::Report;

const BURST: i64 = 1_000;
/// Of all sessions together, on average.
const IDS_A_MS: u32 = 2_000;
/// Bursts of all sessions together in one turn.
const BURSTS: i64 = 512;
/// Up to so many sessions there are targets.
const CLAIMED: i64 = 8;

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    let contestants = [EMPTY, SNOWFLAKE, SNOWFLAKE_CACHE, NEXTVAL, NEXTVAL_CACHE];
    for sessions in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let mut samples = empty_samples(&contestants);
        // The first few are what is claimed about.
        let rounds = if sessions <= CLAIMED { scale.short_rounds } else { scale.long_rounds };
        for _ in 0..rounds {
            for (contestant, sample) in contestants.iter().zip(&mut samples) {
                let mut paced: Vec<Paced> =
                    (0..sessions).map(|_| Paced::open(&cluster, contestant)).collect();
                sample.extend([ns_a_call(&mut paced)]);
            }
        }
        let empty = &samples[0];
        for (contestant, sample) in contestants.iter().zip(&samples).skip(1) {
            report.record(Figure {
                experiment: "sessions",
                contestant: contestant.name.to_owned(),
                parameter: Some(sessions),
                metric: "net CPU",
                unit: "ns",
                sample: sample.net_of(empty),
            });
        }
    }
}

fn ns_a_call(paced: &mut [Paced]) -> f64 {
    let sessions = paced.len() as u32;
    let bursts = (BURSTS / i64::from(sessions)).max(4);
    let period = Duration::from_millis(u64::from(sessions)) * BURST as u32 / IDS_A_MS;
    let together = Barrier::new(paced.len());
    let cpu: Duration = thread::scope(|scope| {
        let threads: Vec<_> = paced
            .iter_mut()
            .enumerate()
            .map(|(number, paced)| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    // Spread over the period, as sessions are that know nothing of each other.
                    thread::sleep(period * number as u32 / sessions);
                    paced.cpu_of(bursts, BURST, period)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a session")).sum()
    });
    cpu.as_nanos() as f64 / (bursts * BURST * i64::from(sessions)) as f64
}
