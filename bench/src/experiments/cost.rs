//! What an id costs below the ceiling: CPU time of the session, net of an empty function.
//!
//! At full speed the generator is at the format's ceiling, and waits. So the calls come in bursts that fit into a
//! millisecond, with a pause between them: nobody waits, and what is measured is the work.

use std::thread::sleep;
use std::time::{Duration, Instant};

use postgres::Statement;
use snowflake_servers::Cluster;

use super::{Scale, empty_samples};
use crate::contestants::{
    AFTER, CLOCK, Contestant, EMPTY, GUARDED, OBSERVE_NEW, OBSERVE_PASSED, keys, server,
};
use crate::figures::Sample;
use crate::report::Report;
use crate::session::Session;

/// Fewer than a millisecond's 4,096.
const BURST: i64 = 3_000;
/// A little more than a millisecond from the beginning of a burst to that of the next.
const PERIOD: Duration = Duration::from_micros(1_200);
const BURSTS: i64 = 200;

pub fn run(scale: &Scale, report: &mut Report) {
    let cluster = server(&[]);
    let mut contestants = vec![EMPTY, CLOCK, GUARDED, AFTER, OBSERVE_PASSED, OBSERVE_NEW];
    contestants.extend(keys(&cluster));
    let mut paced: Vec<Paced> =
        contestants.iter().map(|contestant| Paced::open(&cluster, contestant)).collect();
    let mut samples = empty_samples(&contestants);
    let (mut batch, mut scan) = (Batch::of("snowflake_next_batch"), Batch::of("generate_series"));
    let mut session = Session::open(&cluster, "");
    for _ in 0..scale.short_rounds {
        for (paced, sample) in paced.iter_mut().zip(&mut samples) {
            sample.extend([paced.ns_a_call(BURSTS / scale.divisor)]);
        }
        for batch in [&mut batch, &mut scan] {
            batch.measure(&mut session, BURSTS / scale.divisor);
        }
    }
    let empty = &samples[0];
    for (contestant, sample) in contestants.iter().zip(&samples) {
        report.of(("cost", contestant), ("CPU", "ns"), sample.clone());
    }
    for (contestant, sample) in contestants.iter().zip(&samples).skip(1) {
        report.of(("cost", contestant), ("net CPU", "ns"), sample.net_of(empty));
    }
    // A function that returns a set is compared with its like.
    let batches = Contestant { name: "snowflake_next_batch(n)", ..EMPTY };
    report.of(("cost", &batches), ("net CPU", "ns"), batch.sample.net_of(&scan.sample));
}

/// A session that calls in bursts.
pub struct Paced {
    session: Session,
    calls: Statement,
}

impl Paced {
    pub fn open(cluster: &Cluster, contestant: &Contestant) -> Self {
        let mut session = Session::open(cluster, contestant.settings);
        let calls = session.prepare_calls(contestant.call);
        // The first call of a session is another matter.
        session.client.query(&calls, &[&1_i64]).expect("a call");
        Self { session, calls }
    }

    fn ns_a_call(&mut self, bursts: i64) -> f64 {
        self.cpu_of(bursts, BURST, PERIOD).as_nanos() as f64 / (bursts * BURST) as f64
    }

    /// The CPU time of so many bursts.
    pub fn cpu_of(&mut self, bursts: i64, calls: i64, period: Duration) -> Duration {
        let before = self.session.cpu();
        for _ in 0..bursts {
            let began = Instant::now();
            self.session.client.query(&self.calls, &[&calls]).expect("calls");
            sleep(period.saturating_sub(began.elapsed()));
        }
        self.session.cpu() - before
    }
}

/// A function that returns rows.
struct Batch {
    query: String,
    sample: Sample,
}

impl Batch {
    fn of(function: &str) -> Self {
        let arguments = if function == "generate_series" { "1, $1::bigint" } else { "$1" };
        Self { query: format!("SELECT count(*) FROM {function}({arguments})"), sample: Sample::default() }
    }

    fn measure(&mut self, session: &mut Session, bursts: i64) {
        let statement = session.client.prepare(&self.query).expect("a statement");
        let before = session.cpu();
        for _ in 0..bursts {
            let began = Instant::now();
            session.client.query(&statement, &[&BURST]).expect("rows");
            sleep(PERIOD.saturating_sub(began.elapsed()));
        }
        let cpu = session.cpu() - before;
        self.sample.extend([cpu.as_nanos() as f64 / (bursts * BURST) as f64]);
    }
}
