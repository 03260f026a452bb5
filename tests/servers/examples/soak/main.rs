//! Ids for as long as is wanted, in two databases of one server that is given every kind of trouble: `make soak`.
//!
//! Each id is checked as it comes: none twice, none below what had been returned when its call began. The memory for
//! that does not grow with the time (see `promise.rs`). A summary is printed each minute. It ends by itself, or with the
//! first id that breaks the promise.
//!
//! `soak MINUTES [SEED]`: the seed, which is printed, decides the order of the troubles.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use snowflake_servers::{Cluster, FakeClock, Promise};

mod sessions;
mod trouble;

use sessions::Work;
use trouble::Troubles;

/// What sessions share.
pub struct Soak {
    promise: Promise,
    done: AtomicBool,
    refused: AtomicU64,
    reconnected: AtomicU64,
    failed: AtomicBool,
}

impl Soak {
    /// Whether it is time to end.
    pub fn is_over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Sleeps, unless it is time to end.
    pub fn sleep(&self, ms: u64) {
        let end = Instant::now() + Duration::from_millis(ms);
        while !self.is_over() && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn main() {
    let mut arguments = env::args().skip(1);
    let minutes: f64 = arguments.next().map_or(60.0, |minutes| minutes.parse().expect("a number of minutes"));
    let seed = arguments.next().map_or_else(seed_of_now, |seed| seed.parse().expect("a number as seed"));
    println!("soak for {minutes} minutes, seed {seed}");

    let clock = FakeClock::new();
    // Refusals are many; each is a line in the log, and no more.
    let mut cluster = Cluster::builder()
        .clock(&clock)
        .set("log_error_verbosity", "terse")
        .set("log_min_error_statement", "panic")
        .start();
    for database in ["postgres", "one", "two"] {
        if database != "postgres" {
            cluster.execute("postgres", &format!("CREATE DATABASE {database}"));
        }
        cluster.create_extension(database);
    }
    let soak = Soak {
        promise: Promise::default(),
        done: AtomicBool::new(false),
        refused: AtomicU64::new(0),
        reconnected: AtomicU64::new(0),
        failed: AtomicBool::new(false),
    };
    let configs = ["one", "two"].map(|database| cluster.config(database));
    let mut troubles = Troubles::new(seed);
    thread::scope(|scope| {
        for (number, work) in Work::ALL.into_iter().enumerate() {
            let (soak, config) = (&soak, configs[number % configs.len()].clone());
            scope.spawn(move || {
                let _failed = SetOnPanic(&soak.failed);
                sessions::run(soak, &config, number, work);
            });
        }
        let _done = SetOnDrop(&soak.done);
        let began = Instant::now();
        let end = began + Duration::from_secs_f64(minutes * 60.0);
        let mut last = (began, 0);
        while Instant::now() < end && !soak.is_over() {
            troubles.next(&soak, &mut cluster, &clock);
            if last.0.elapsed() >= Duration::from_secs(60) {
                last = summary(&soak, &cluster, &troubles, began, last);
            }
        }
        if last.0.elapsed() > Duration::from_secs(5) {
            summary(&soak, &cluster, &troubles, began, last);
        }
    });
    println!("the promise held for {} ids", soak.promise.ids());
}

fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_nanos() as u64
}

/// One line, and what the next one counts from.
fn summary(
    soak: &Soak,
    cluster: &Cluster,
    troubles: &Troubles,
    began: Instant,
    (last, ids_before): (Instant, u64),
) -> (Instant, u64) {
    let (now, ids) = (Instant::now(), soak.promise.ids());
    assert!(soak.is_over() || ids > ids_before, "no id since the last summary: {:?}", cluster.status());
    let rate = (ids - ids_before) as f64 / (now - last).as_secs_f64();
    println!(
        "{:4} min: {ids} ids ({rate:.0}/s), {} refusals, {} new connections, {} ms ahead, {} MB; {troubles}",
        began.elapsed().as_secs() / 60,
        soak.refused.load(Ordering::Relaxed),
        soak.reconnected.load(Ordering::Relaxed),
        cluster.status().ahead_ms.unwrap_or(0),
        memory_mb(),
    );
    (now, ids)
}

/// What this process takes.
fn memory_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kb.unwrap_or(0_u64) / 1024
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct SetOnPanic<'a>(&'a AtomicBool);

impl Drop for SetOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
