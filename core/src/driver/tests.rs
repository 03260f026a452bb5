//! The driver, on a host that does what a test says: its clocks go on when somebody sleeps, and not otherwise.

mod clock_bound;
mod clock_watch;
mod fast;
mod host;
mod raise;
mod time;

use super::*;
use crate::ceiling::LEAD_MS;
use crate::error::GenerateError;
use crate::generator::Word;
use crate::layout::{SEQUENCE_ID_MAX, TIMESTAMP_MS_MAX, compose};
use crate::shared::Shared;
use host::{Call, TestHost};

/// The millisecond that the clock begins in. The epoch is 1970.
const START: i64 = 1_000_000_000;

const SECOND: i64 = 1_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;

fn at(timestamp: i64, node_id: i64, sequence_id: i64) -> Id {
    compose(timestamp, node_id, sequence_id, 0).unwrap()
}

/// A session of node 1, and its settings.
struct Client {
    session: Session,
    settings: Settings,
}

impl Client {
    const fn with(settings: Settings) -> Self {
        Self { session: Session::new(), settings }
    }

    fn new() -> Self {
        Self::of_node(1)
    }

    fn of_node(node_id: i64) -> Self {
        Self::with(Settings {
            node: NodeId::new(node_id).unwrap(),
            epoch_ms: 0,
            cache: 1,
            sequence_spread: 0,
            max_clock_step_ms: DAY,
            max_clock_skew_ms: 1_000,
        })
    }

    fn with_cache(cache: i64) -> Self {
        let Self { settings, .. } = Self::new();
        Self::with(Settings { cache, ..settings })
    }

    /// As the extension does.
    fn next(&self, host: &TestHost) -> Result<Id, Refusal> {
        host.calls(|| match self.next_fast(host) {
            Some(id) => Ok(id),
            None => next(host, &self.session, &self.settings),
        })
    }

    fn next_fast(&self, host: &TestHost) -> Option<Id> {
        next_fast(host, &self.session, &self.settings)
    }

    fn batch(&self, host: &TestHost, n: i64) -> Result<std::vec::Vec<Id>, Refusal> {
        let mut batch = Batch::new(n);
        core::iter::from_fn(|| host.calls(|| batch.next(host, &self.session, &self.settings))).collect()
    }

    fn observe(&self, host: &TestHost, id: Id) -> Result<(), Refusal> {
        host.calls(|| observe(host, &self.session, &self.settings, id))
    }

    fn advance(&self, host: &TestHost, id: Id) -> Result<(), Refusal> {
        host.calls(|| advance(host, &self.session, &self.settings, id))
    }

    fn next_after(&self, host: &TestHost, id: Id) -> Result<Id, Refusal> {
        host.calls(|| next_after(host, &self.session, &self.settings, id))
    }
}
