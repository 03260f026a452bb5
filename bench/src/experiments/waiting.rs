//! Ways to wait for the next millisecond, outside the server: how late each comes, and what CPU it uses.
//!
//! A session that waits at the ceiling has 4,096 ids to make in the millisecond that it wakes up in, which takes less
//! than half of it. So it may come late; what it uses of the CPU is lost for good.

use std::thread;
use std::time::Duration;

use super::Scale;
use crate::figures::{Figure, Sample};
use crate::report::Report;

const TICKS: i64 = 300;
const NS_PER_MS: i64 = 1_000_000;
/// What the kernel may add to a sleep of a normal thread (`timerslack_ns`, 50 us), and as much again.
const SHORT_NS: i64 = 100_000;

/// A way to wait for so many nanoseconds of the wall clock, until that time.
type Way = (&'static str, fn(ns: i64, until_ns: i64));

const WAYS: [Way; 3] = [
    ("sleep", |ns, _| sleep(ns)),
    ("sleep 100 us short, spin the rest", |ns, until_ns| {
        sleep(ns - SHORT_NS);
        spin(until_ns);
    }),
    ("spin", |_, until_ns| spin(until_ns)),
];

pub fn run(scale: &Scale, report: &mut Report) {
    let mut late = WAYS.map(|_| Sample::default());
    let mut cores = WAYS.map(|_| Sample::default());
    for _ in 0..scale.short_rounds {
        for ((number, (_, wait)), late) in WAYS.iter().enumerate().zip(&mut late) {
            let (began, cpu_before) = (now_ns(), cpu_ns());
            let ticks = TICKS / scale.divisor;
            late.extend((0..ticks).map(|_| {
                let now = now_ns();
                let until = (now / NS_PER_MS + 1) * NS_PER_MS;
                wait(until - now, until);
                (now_ns() - until) as f64 / 1e3
            }));
            cores[number].extend([(cpu_ns() - cpu_before) as f64 / (now_ns() - began) as f64]);
        }
    }
    for (((name, _), late), cores) in WAYS.iter().zip(late).zip(cores) {
        let mut record = |metric, unit, sample| {
            let (contestant, parameter) = ((*name).to_owned(), None);
            report.record(Figure { experiment: "waiting", contestant, parameter, metric, unit, sample });
        };
        record("late, p50", "us", Sample::from_iter([late.quantile(0.5)]));
        record("late, p99", "us", Sample::from_iter([late.quantile(0.99)]));
        record("CPU used", "cores", cores);
    }
}

fn sleep(ns: i64) {
    if let Ok(ns) = u64::try_from(ns) {
        thread::sleep(Duration::from_nanos(ns));
    }
}

fn spin(until_ns: i64) {
    while now_ns() < until_ns {
        std::hint::spin_loop();
    }
}

fn now_ns() -> i64 {
    super::core_alone::read(libc::CLOCK_REALTIME)
}

fn cpu_ns() -> i64 {
    super::core_alone::read(libc::CLOCK_THREAD_CPUTIME_ID)
}
