//! Servers, sessions, clocks, crashes and failovers, simulated step by step on the real core.
//!
//! Sessions are small state machines that drive [`Word`](snowflake_core::Word), [`Block`](snowflake_core::Block),
//! [`Ceiling`](snowflake_core::Ceiling) and [`ClockStep`](snowflake_core::ClockStep) as a PostgreSQL backend does;
//! chance decides who runs next, when a clock is set, when a server crashes. All of it follows from one seed.
//!
//! | module | is |
//! |---|---|
//! | [`history`] | the plan of a history and its run |
//! | [`session`], [`raise`], [`advance`], [`observe`] | the driver of the core, one step at a time |
//! | [`client`] | what is done with ids |
//! | [`server`], [`wal`], [`machine`] | shared memory, what survives it, and the clocks |
//! | [`events`] | what the world does |
//! | [`oracle`] | what must hold |
//! | [`fault`] | faults of a driver, each of which must be found |
//!
//! ```text
//! SIMULATION_HISTORIES=1000000 cargo test -p snowflake-core --release --test simulation -- --nocapture
//! SIMULATION_SEED=17 SIMULATION_HISTORIES=1 SIMULATION_TRACE=1 cargo test ...    replays one history
//! ```

mod advance;
mod client;
mod events;
mod fault;
mod history;
mod machine;
mod observe;
mod oracle;
mod raise;
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
fn no_history_breaks_the_promise() {
    let histories = if cfg!(miri) { 20 } else { setting("SIMULATION_HISTORIES", 10_000) };
    let first = setting("SIMULATION_SEED", 0);
    let trace = setting("SIMULATION_TRACE", 0) > 0;
    let mut tally = Tally::default();
    for seed in first..first + histories {
        if let Err(violation) = history::run(seed, None, None, trace, &mut tally) {
            panic!(
                "{violation:?}\nreplay: SIMULATION_SEED={seed} SIMULATION_HISTORIES=1 SIMULATION_TRACE=1 \
                 cargo test -p snowflake-core --test simulation no_history -- --nocapture"
            );
        }
    }
    println!("{tally:#?}");
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
