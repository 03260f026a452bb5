//! The word, driven by any requests of three sessions, honest or not: whatever they ask for, no id comes twice, each
//! is above all that were issued before, and what is refused is refused for the reason given.

use std::collections::BTreeSet;

use snowflake_core::generator::{EARLY_MS_MAX, RESERVE_EARLY_MAX, RESERVE_MAX};
use snowflake_core::layout::{Id, TIMESTAMP_MS_MAX};
use snowflake_core::{Answer, Block, GenerateError, NodeId, Request, Started, Word};

use super::bytes::Bytes;

const SESSIONS: usize = 3;
/// Enough for every order of what can happen, and quick.
const STEPS: usize = 200;

pub fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut history = History {
        word: Word::new(),
        now: bytes.number(),
        ceiling: Id::MAX,
        blocks: [Block::EMPTY; SESSIONS],
        handed_out: BTreeSet::new(),
        highest: 0,
    };
    history.start(any_id(&mut bytes));
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        history.step(&mut bytes);
    }
}

fn any_id(bytes: &mut Bytes) -> Id {
    Id::new(bytes.number() & i64::MAX).expect("it is not negative")
}

fn any_node(bytes: &mut Bytes) -> NodeId {
    NodeId::new(bytes.number() & 1023).expect("it is in range")
}

struct History {
    word: Word,
    now: i64,
    ceiling: Id,
    blocks: [Block; SESSIONS],
    handed_out: BTreeSet<Id>,
    /// No id at or below it may be reserved from now on.
    highest: i64,
}

impl History {
    fn start(&mut self, ceiling: Id) {
        assert!(self.word.started().is_none());
        assert!(self.word.start(ceiling));
        self.highest = ceiling.get().max(1);
        assert_eq!(self.last().get(), self.highest);
        // Whoever comes later changes nothing.
        assert!(!self.word.start(Id::MAX));
        assert_eq!(self.last().get(), self.highest);
    }

    fn started(&self) -> Started<'_> {
        self.word.started().expect("it was started")
    }

    fn last(&self) -> Id {
        self.started().last()
    }

    fn step(&mut self, bytes: &mut Bytes) {
        let before = self.last();
        let kind = bytes.byte();
        let session = usize::from(kind / 8) % SESSIONS;
        match kind % 8 {
            0 => self.now = self.now.wrapping_add(bytes.number()),
            1 => self.now = before.timestamp().wrapping_add(i64::from(bytes.byte() as i8)),
            2 => self.ceiling = any_id(bytes),
            3 => self.ceiling = Id::MAX,
            4 => self.take(session, bytes),
            5 => self.raise(any_id(bytes)),
            6 => self.observe(any_id(bytes)),
            _ => self.reserve(session, bytes),
        }
        assert!(self.last() >= before, "the word went back");
    }

    /// What `snowflake_advance` does.
    fn raise(&mut self, id: Id) {
        match self.started().raise(id) {
            Ok(()) => {
                self.highest = self.highest.max(id.get());
                assert!(self.last().timestamp() > id.timestamp());
            }
            Err(error) => {
                assert_eq!(error, GenerateError::PastEnd { timestamp: TIMESTAMP_MS_MAX + 1 });
                assert_eq!(id.timestamp(), TIMESTAMP_MS_MAX);
            }
        }
    }

    /// What `snowflake_observe` does.
    fn observe(&mut self, id: Id) {
        self.started().observe(id);
        self.highest = self.highest.max(id.get());
        assert!(self.last() >= id && self.started().has_passed(id));
    }

    fn take(&mut self, session: usize, bytes: &mut Bytes) {
        let (seen, node, max_ms) = (self.last(), any_node(bytes), bytes.number());
        let observed = self.started().observed();
        let Some(id) = self.blocks[session].take(seen, observed, self.now, node, max_ms) else { return };
        assert_eq!(id.timestamp(), seen.timestamp(), "a block outlived its millisecond");
        assert_eq!(id.node_id(), node.get());
        assert!((0..=id.timestamp()).contains(&self.now) && id.timestamp() - self.now <= max_ms);
        assert!(id > observed, "a block went on below an observed id");
        assert!(id <= seen && self.handed_out.insert(id), "{id:?} came twice");
    }

    fn reserve(&mut self, session: usize, bytes: &mut Bytes) {
        let last = self.last();
        let flags = bytes.byte();
        // A session may have read the word long ago.
        let seen = if flags & 1 == 0 { last } else { any_id(bytes) };
        let paced = match flags & 4 {
            0 => i64::MIN,
            _ => seen.timestamp().wrapping_add(bytes.number()),
        };
        let request = Request {
            seen,
            now: self.now,
            node: any_node(bytes),
            ceiling: self.ceiling,
            max_clock_step_ms: bytes.number(),
            want: bytes.number(),
            paced,
            waits: flags & 2 != 0,
            first_sequence_id: match flags >> 3 {
                31 => bytes.number(),
                n => i64::from(n) * 136,
            },
        };
        match self.started().reserve(&request) {
            Ok(Answer::Reserved(block)) => self.reserved(session, &request, last, block),
            Ok(other) => {
                assert_eq!(self.last(), last, "{other:?} changed the word");
                self.not_reserved(&request, last, other);
            }
            Err(error) => {
                assert_eq!(self.last(), last, "{error:?} changed the word");
                refused(&request, error);
            }
        }
    }

    fn reserved(&mut self, session: usize, request: &Request, last: Id, mut block: Block) {
        assert_eq!(request.seen, last, "reserved from a word that had moved");
        assert_eq!(self.last(), block.last());
        assert!(block.last() <= request.ceiling);
        assert!((0..=TIMESTAMP_MS_MAX).contains(&request.now), "the clock was outside the format");
        assert!((1..=request.want.clamp(1, RESERVE_MAX)).contains(&block.remaining()));
        let behind = last.timestamp() - request.now;
        assert!(behind <= 0 || behind <= request.max_clock_step_ms, "the clock was too far behind");
        let timestamp = block.last().timestamp();
        assert!((last.timestamp().max(request.now)..=last.timestamp().max(request.now - 1) + 1).contains(&timestamp));
        // What has not come is for those who wait, near, and little; further for those whose node is outranked.
        let early = timestamp - come(request);
        if early > 0 {
            let outranked = last.node_id() > request.node.get();
            assert!(request.waits && early <= EARLY_MS_MAX - i64::from(!outranked), "{request:?}");
            assert!(early < EARLY_MS_MAX || timestamp > last.timestamp(), "{request:?}");
            assert!(block.remaining() <= RESERVE_EARLY_MAX);
        }

        let mut before = Id::new(self.highest).expect("an id");
        let mut rest = block;
        while let Some(id) = rest.take_reserved() {
            assert!(id > before, "{id:?} came after {before:?}");
            assert_eq!((id.timestamp(), id.node_id()), (timestamp, request.node.get()));
            before = id;
        }
        assert_eq!(before, block.last());
        self.highest = before.get();
        let first = block.take_reserved().expect("at least one");
        assert!(self.handed_out.insert(first), "{first:?} came twice");
        self.blocks[session] = block;
    }

    fn not_reserved(&self, request: &Request, last: Id, answer: Answer) {
        match answer {
            Answer::LostRace => assert_ne!(request.seen, last),
            Answer::UsedUp => {
                let Request { seen, node, .. } = *request;
                assert!(request.now <= seen.timestamp());
                let highest_of_node = (seen.timestamp() << 22) + (node.get() << 12) + 4095;
                let next_ms = seen.timestamp() + i64::from(seen.get() >= highest_of_node);
                let most = match (request.waits, next_ms > seen.timestamp() && seen.node_id() != node.get()) {
                    (false, _) => 0,
                    (true, outranked) => EARLY_MS_MAX - i64::from(!outranked),
                };
                assert!(i128::from(next_ms) - i128::from(come(request)) > i128::from(most), "{request:?}");
            }
            Answer::CeilingReached { timestamp } => {
                assert!(timestamp >= request.now.max(request.seen.timestamp()));
                assert!(request.ceiling < Id::last_of(timestamp));
            }
            Answer::Reserved(_) => unreachable!("looked at by the caller"),
        }
    }
}

/// The last millisecond that has come.
fn come(request: &Request) -> i64 {
    request.now.max(request.paced)
}

fn refused(request: &Request, error: GenerateError) {
    let Request { seen, now, max_clock_step_ms, .. } = *request;
    match error {
        GenerateError::BeforeEpoch { by_ms } => assert_eq!(by_ms, now.saturating_neg()),
        GenerateError::PastEnd { timestamp } => {
            assert!(timestamp > TIMESTAMP_MS_MAX && (timestamp == now || timestamp == seen.timestamp() + 1));
        }
        GenerateError::ClockBehind { by_ms, max_ms } => {
            assert_eq!((by_ms, max_ms), (seen.timestamp() - now, max_clock_step_ms));
            assert!(by_ms > max_ms);
        }
        GenerateError::ClockLeapt { .. } => unreachable!("the word knows of no leap"),
    }
    let _ = error.to_string();
}
