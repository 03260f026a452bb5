//! The clocks of one machine: the running time, which is the time of the simulation, and the wall clock, which
//! people and daemons set. Everything is nanoseconds; the wall clock counts from the snowflake epoch.

pub const NS_PER_MS: i64 = 1_000_000;

pub struct Machine {
    /// Wall clock minus running time.
    offset: i64,
    /// The reading at which the wall clock stands still.
    stalled_at: Option<i64>,
    /// A leap that the driver has to refuse, on top of the offset, for as long as it lasts.
    leap: i64,
    /// See [`Machine::excuse`].
    excuse: i64,
    /// How often anybody has touched the clock.
    changes: u32,
}

impl Machine {
    pub fn new(offset: i64) -> Self {
        Self { offset, stalled_at: None, leap: 0, excuse: 0, changes: 0 }
    }

    /// What the wall clock shows.
    pub fn wall(&self, t: i64) -> i64 {
        self.honest(t) + self.leap
    }

    /// What the wall clock would show without the leap that has to be refused.
    pub fn honest(&self, t: i64) -> i64 {
        self.stalled_at.unwrap_or(t + self.offset)
    }

    /// How far the word may stand ahead of the honest wall clock, and not a nanosecond further: what its steps
    /// back, its stalls, a start at the ceiling and an advance by hand account for.
    ///
    /// It is exact because the generator only ever steps to the clock, or by one millisecond for each millisecond
    /// of running time. Zero on a steady clock.
    pub fn excuse(&self, t: i64) -> i64 {
        self.excuse + self.stalled_at.map_or(0, |at| t + self.offset - at)
    }

    /// The word was moved, by other means than issuing ids, to this millisecond.
    pub fn excuse_word_at(&mut self, t: i64, timestamp: i64) {
        let stalled = self.excuse(t) - self.excuse;
        self.excuse = self.excuse.max(timestamp * NS_PER_MS - self.honest(t) - stalled);
    }

    /// The server starts anew: nothing is ahead yet. A leap that nobody can know of is the clock from now on.
    pub fn reboot(&mut self, t: i64) {
        self.resume(t, true);
        self.offset += self.leap;
        self.leap = 0;
        self.excuse = 0;
    }

    pub fn changes(&self) -> u32 {
        self.changes
    }

    pub fn leapt(&self) -> bool {
        self.leap != 0
    }

    pub fn stalled(&self) -> bool {
        self.stalled_at.is_some()
    }

    /// Sets the clock, ahead or back.
    pub fn step(&mut self, t: i64, by: i64) {
        self.resume(t, true);
        self.changes += 1;
        self.offset += by;
        self.excuse = (self.excuse - by).max(0);
    }

    pub fn stall(&mut self, t: i64) {
        if !self.stalled() {
            self.changes += 1;
            self.stalled_at = Some(t + self.offset);
        }
    }

    /// Ends a stall: the clock either catches up or goes on from where it stood.
    pub fn resume(&mut self, t: i64, catching_up: bool) {
        if let Some(at) = self.stalled_at.take() {
            self.changes += 1;
            if !catching_up {
                self.excuse += t + self.offset - at;
                self.offset = at - t;
            }
        }
    }

    /// Begins or ends (0) a leap that has to be refused.
    pub fn leap(&mut self, by: i64) {
        self.changes += 1;
        self.leap = by;
    }
}
