//! Servers, sessions, clocks, crashes and failovers, simulated step by step around the real driver.
//!
//! Each session runs [`snowflake_core::driver`] on a stack of its own, as a PostgreSQL backend does, and stops at every
//! call of its host; chance decides who goes on next, when a clock is set, when a server crashes. All of it follows from
//! one seed.
//!
//! | module | is |
//! |---|---|
//! | [`history`] | the plan of a history and its run |
//! | [`host`], [`session`] | the driver of the core, one call of the host at a time |
//! | [`client`] | what is called, and what is done with ids |
//! | [`server`], [`wal`], [`machine`] | shared memory, what survives it, and the clocks |
//! | [`events`] | what the world does |
//! | [`oracle`] | what must hold |
//! | [`fault`] | faults of the host, each of which must be found |
//!
//! ```text
//! SIMULATION_HISTORIES=1000000 cargo test -p snowflake-core --release --test simulation -- --nocapture
//! SIMULATION_SEED=17 SIMULATION_HISTORIES=1 SIMULATION_TRACE=1 cargo test ...    replays one history
//! ```

mod client;
mod events;
mod fault;
mod history;
mod host;
mod machine;
mod oracle;
mod random;
mod server;
mod session;
mod wal;

use fault::Fault;
use history::Tally;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name} must be a number, got {value}")),
        Err(_) => default,
    }
}

#[test]
#[cfg_attr(miri, ignore = "sessions run on stacks of their own")]
fn no_history_breaks_the_promise() {
    let first = setting("SIMULATION_SEED", 0);
    let end = first + setting("SIMULATION_HISTORIES", 10_000);
    let trace = setting("SIMULATION_TRACE", 0) > 0;
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let run = |thread| {
        let mut tally = Tally::default();
        for seed in (first + thread..end).step_by(threads as usize) {
            if let Err(violation) = history::run(seed, None, None, trace, &mut tally) {
                panic!(
                    "{violation:?}\nreplay: SIMULATION_SEED={seed} SIMULATION_HISTORIES=1 SIMULATION_TRACE=1 \
                     cargo test -p snowflake-core --test simulation no_history -- --nocapture"
                );
            }
        }
        tally
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        for thread in running {
            println!("{:#?}", thread.join().expect("no history breaks the promise"));
        }
    });
}

/// A simulation that finds nothing proves nothing: each fault must break the rule it is said to break.
#[test]
#[cfg_attr(miri, ignore = "some faults take thousands of histories to show")]
fn every_fault_of_a_driver_is_found() {
    const WITHIN: u64 = 20_000;
    for (fault, rule) in Fault::ALL {
        let mut tally = Tally::default();
        let found = (0..WITHIN).find_map(|seed| {
            history::run(seed, Some(fault), Some(rule), false, &mut tally).err().map(|v| (seed, v))
        });
        match found {
            Some((seed, violation)) => {
                println!("{fault:?} is found by history {seed}: {rule:?}: {}", violation.detail);
                assert_eq!(violation.rule, rule);
            }
            None => panic!("{fault:?} broke no {rule:?} in {WITHIN} histories"),
        }
    }
}
