//! What happens to the server, one after the other, in an order that the seed decides.

use std::collections::BTreeMap;
use std::fmt;

use snowflake_servers::{Cluster, End, FakeClock, SqlError};

use super::Soak;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const NODES: [&str; 5] = ["1", "1023", "0", "512", "2"];
const CACHES: [&str; 3] = ["1", "32", "256"];
const LIMITS: [&str; 3] = ["10s", "1h", "1d"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    StepOfTheClock,
    ClockFiftyDaysOff,
    ClockThatStands,
    Reload,
    Advance,
    KillOfASession,
    ImmediateStop,
    KillOfAll,
    FastStop,
}

/// The more often a trouble stands here, the more often it comes.
const TROUBLES: [Trouble; 20] = {
    use Trouble::*;
    [
        StepOfTheClock,
        StepOfTheClock,
        StepOfTheClock,
        StepOfTheClock,
        StepOfTheClock,
        StepOfTheClock,
        Reload,
        Reload,
        Reload,
        Reload,
        Reload,
        Advance,
        Advance,
        Advance,
        ClockFiftyDaysOff,
        ClockThatStands,
        KillOfASession,
        ImmediateStop,
        KillOfAll,
        FastStop,
    ]
};

/// The troubles so far, and what decides the next.
pub struct Troubles {
    random: u64,
    counts: BTreeMap<Trouble, u64>,
    offset_ms: i64,
}

impl Troubles {
    pub fn new(seed: u64) -> Self {
        Self { random: seed | 1, counts: BTreeMap::new(), offset_ms: 0 }
    }

    /// A number below a limit: Marsaglia's xorshift64, <https://doi.org/10.18637/jss.v008.i14>.
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % limit as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Waits a while, and makes the next trouble.
    pub fn next(&mut self, soak: &Soak, cluster: &mut Cluster, clock: &FakeClock) {
        let pause = self.below(3_000) as u64;
        soak.sleep(pause);
        if soak.is_over() {
            return;
        }
        let trouble = self.one_of(&TROUBLES);
        *self.counts.entry(trouble).or_default() += 1;
        match trouble {
            Trouble::StepOfTheClock => {
                // At most eight seconds between any two, which is within every limit.
                self.offset_ms = self.one_of(&[0, 0, -5, 5, -100, 1_000, -2_000, 3_000, -4_000, 4_000]);
                clock.set_offset_ms(self.offset_ms);
            }
            Trouble::ClockFiftyDaysOff => {
                let off = self.one_of(&[50 * DAY_MS, -50 * DAY_MS]);
                clock.set_offset_ms(self.offset_ms + off);
                soak.sleep(500);
                clock.set_offset_ms(self.offset_ms);
            }
            Trouble::ClockThatStands => {
                clock.freeze_at_offset_ms(self.offset_ms);
                soak.sleep(1_000);
                clock.set_offset_ms(self.offset_ms);
            }
            Trouble::Reload => {
                let node = self.one_of(&NODES);
                cluster.set("snowflake.node", node);
                cluster.set("snowflake.cache", self.one_of(&CACHES));
                cluster.set("snowflake.max_clock_step", self.one_of(&LIMITS));
                cluster.reload();
            }
            Trouble::Advance => self.advance(soak, cluster),
            Trouble::KillOfASession => {
                // Right after a start there may be none.
                soak.sleep(300);
                cluster.kill_a_session();
                // Until PostgreSQL has noticed it still takes connections.
                soak.sleep(1_000);
                cluster.wait_until_up();
            }
            Trouble::ImmediateStop => restart(cluster, End::Immediate),
            Trouble::KillOfAll => restart(cluster, End::Kill),
            Trouble::FastStop => restart(cluster, End::Fast),
        }
    }

    /// Refused, where ids are ahead of the clock already.
    fn advance(&mut self, soak: &Soak, cluster: &Cluster) {
        let target = soak.promise.highest() + (self.one_of(&[0, 1, 20, 500]) << 22);
        match cluster.connect("postgres").query("SELECT snowflake_advance($1)", &[&target]) {
            Ok(_) => soak.promise.forbid_up_to(target),
            Err(error) => {
                let error = SqlError::of(&error);
                assert!(matches!(&*error.code, "22023" | "55000"), "{error}");
            }
        }
    }
}

fn restart(cluster: &mut Cluster, how: End) {
    cluster.end(how);
    cluster.start();
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> =
            self.counts.iter().map(|(trouble, count)| format!("{trouble:?} {count}")).collect();
        f.write_str(&counts.join(", "))
    }
}
