//! The world as the driver sees it: each call of it stops the session, and the scheduler performs the call when it is the
//! session's turn again. So anything can come in between, and a session that is killed is abandoned where it stands.

use std::cell::Cell;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use snowflake_core::designs::{TrueTimeSeries, UnixSeries};
use snowflake_core::driver::{self, Batch, Event, Host, Reading, Refusal, Session, Settings, Wait};
use snowflake_core::{Id, NodeId, Shared};

use crate::machine::NS_PER_MS;

/// What a session calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Single,
    Batch(i64),
    /// Every id from now on is to be greater, and ids of the other kinds too.
    Advance(Id),
    /// Every id from now on is to be greater.
    Observe(Id),
    /// One id, greater than this one.
    After(Id),
    TrueTime,
    /// Until the interval of this TrueTime id has passed.
    TrueTimeWait(Id),
    Unix,
}

/// Which word an id comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Snowflake,
    TrueTime,
    Unix,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Snowflake, Self::TrueTime, Self::Unix];
}

/// What a session asks of the world. Every answer is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// One access to what is shared.
    Shared,
    Wall,
    Machine,
    Monotonic,
    Sleep(Wait, i64),
    InRecovery,
    Ceiling,
    Lock,
    Unlock,
    MakeDurable(Id),
    Report(Event),
    /// Ids in one run have reached the client, which may do something before it asks for the next.
    Give(Kind, Id, Id),
    /// The same, while the next has been asked for.
    GiveLate(Id, Id),
}

/// What all sessions of a server's life see. It lies still while there are sessions.
pub struct Life {
    pub shared: Shared,
    pub wall_ns: Cell<i64>,
    pub now_ns: Cell<i64>,
    /// The wall clock was read without a stop, since the session that runs went on.
    pub wall_read: Cell<bool>,
}

/// A batch's numbers from a block come without a stop; every so many of them, all stops are made.
const STOP_EVERY: i64 = 64;

struct SimulatedHost<'a> {
    life: &'a Life,
    world: &'a Yielder<i64, Ask>,
    /// No stops, until one has to be made.
    runs_on: Cell<bool>,
    /// Ids of a batch that the client has not been given.
    held: Cell<Option<(Id, Id)>>,
}

impl SimulatedHost<'_> {
    fn ask(&self, ask: Ask) -> i64 {
        if self.runs_on.get() {
            match ask {
                Ask::Shared => return 0,
                Ask::Wall => {
                    self.life.wall_read.set(true);
                    return self.life.wall_ns.get();
                }
                Ask::Machine | Ask::Monotonic => return self.life.now_ns.get(),
                _ => self.runs_on.set(false),
            }
        }
        self.give_held(Ask::GiveLate);
        self.world.suspend(ask)
    }

    fn give_held(&self, ask: impl Fn(Id, Id) -> Ask) {
        if let Some((first, last)) = self.held.take() {
            self.world.suspend(ask(first, last));
        }
    }

    /// Keeps an id of a batch together with those before it, where they are one run.
    fn hold(&self, id: Id) {
        let (first, last) = self.held.get().unwrap_or((id, id));
        if id.get() - last.get() > 1 {
            self.give_held(Ask::GiveLate);
            self.held.set(Some((id, id)));
        } else {
            self.held.set(Some((first, id)));
        }
    }
}

impl Host for SimulatedHost<'_> {
    fn shared(&self) -> &Shared {
        self.ask(Ask::Shared);
        &self.life.shared
    }
    fn wall_ns(&self) -> i64 {
        self.ask(Ask::Wall)
    }
    fn machine_ns(&self) -> i64 {
        self.ask(Ask::Machine)
    }
    fn monotonic_ns(&self) -> i64 {
        self.ask(Ask::Monotonic)
    }
    fn sleep(&self, wait: Wait, ns: i64) {
        assert!((1..=NS_PER_MS).contains(&ns), "a sleep of {ns} ns");
        self.ask(Ask::Sleep(wait, ns));
    }
    fn is_in_recovery(&self) -> bool {
        self.ask(Ask::InRecovery) != 0
    }
    fn durable_ceiling(&self) -> Id {
        Id::new(self.ask(Ask::Ceiling)).unwrap()
    }
    fn try_lock_raise(&self) -> bool {
        self.ask(Ask::Lock) != 0
    }
    fn unlock_raise(&self) {
        self.ask(Ask::Unlock);
    }
    fn make_durable(&self, ceiling: Id) {
        self.ask(Ask::MakeDurable(ceiling));
    }
    fn report(&self, event: Event) {
        self.ask(Ask::Report(event));
    }
    fn between(&self) {
        self.ask(Ask::Shared);
    }
}

/// What a call does with the driver.
fn run(
    host: &SimulatedHost,
    session: &Session,
    set: &Settings,
    call: Call,
    error_ns: i64,
) -> Result<(), Refusal> {
    let give = |kind, id| {
        host.world.suspend(Ask::Give(kind, id, id));
    };
    match call {
        Call::Single => {
            let id =
                driver::next_fast(host, session, set).map_or_else(|| driver::next(host, session, set), Ok)?;
            give(Kind::Snowflake, id);
        }
        Call::Batch(n) => {
            let mut batch = Batch::new(n);
            for number in 0.. {
                host.runs_on.set(number % STOP_EVERY > 0);
                let Some(id) = batch.next(host, session, set) else { break };
                host.hold(id?);
            }
            host.give_held(|first, last| Ask::Give(Kind::Snowflake, first, last));
        }
        Call::Advance(id) => driver::advance(host, session, set, id)?,
        Call::Observe(id) => driver::observe(host, session, set, id)?,
        Call::After(id) => give(Kind::Snowflake, driver::next_after(host, session, set, id)?),
        Call::TrueTime => {
            let read = |node| truetime(host, node, error_ns);
            give(Kind::TrueTime, driver::next_of(host, session, set, driver::truetime, read)?.0);
        }
        Call::TrueTimeWait(id) => {
            let timestamp = id.timestamp();
            driver::wait_until_passed(host, session, set, driver::truetime, timestamp, |epoch_ms| {
                (timestamp + 1 + epoch_ms) * NS_PER_MS - (host.wall_ns() - error_ns)
            })?;
        }
        Call::Unix => {
            let read = |node| Reading { unix_ns: host.wall_ns(), series: UnixSeries(node) };
            give(Kind::Unix, driver::next_of(host, session, set, driver::unix, read)?.0);
        }
    }
    Ok(())
}

fn truetime(host: &SimulatedHost, node: NodeId, error_ns: i64) -> Reading<TrueTimeSeries> {
    let unix_ns = host.wall_ns() - error_ns;
    let uncertainty_ms = (unix_ns + 2 * error_ns).div_euclid(NS_PER_MS) - unix_ns.div_euclid(NS_PER_MS);
    Reading { unix_ns, series: TrueTimeSeries::new(uncertainty_ms, node).unwrap() }
}

/// A call under way, on a stack of its own.
pub struct Running(Option<Coroutine<i64, Ask, Result<(), Refusal>, DefaultStack>>);

thread_local! {
    static STACKS: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

const STACK_BYTES: usize = 64 * 1024;

impl Running {
    /// Begins a call.
    ///
    /// # Safety
    /// The life and the session lie still until this is dropped.
    pub unsafe fn begin(
        life: *const Life,
        session: *const Session,
        set: Settings,
        call: Call,
        error_ns: i64,
    ) -> Self {
        let mut stacks = STACKS.take();
        let stack = stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK_BYTES).unwrap());
        STACKS.set(stacks);
        Self(Some(Coroutine::with_stack(stack, move |world: &Yielder<i64, Ask>, _| {
            // SAFETY: it lies still, as the caller has promised.
            let life = unsafe { &*life };
            // SAFETY: as above.
            let session = unsafe { &*session };
            let host = SimulatedHost { life, world, runs_on: Cell::new(false), held: Cell::new(None) };
            run(&host, session, &set, call, error_ns)
        })))
    }

    /// Goes on with an answer, to the next question or to the end.
    pub fn resume(&mut self, answer: i64) -> Result<Ask, Result<(), Refusal>> {
        match self.0.as_mut().expect("a call goes on until it is dropped").resume(answer) {
            CoroutineResult::Yield(ask) => Ok(ask),
            CoroutineResult::Return(end) => Err(end),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut call) = self.0.take() else { return };
        if call.started() && !call.done() {
            // SAFETY: what lies on the stack is abandoned, as that of a killed process is; nothing there owns anything.
            unsafe { call.force_reset() };
        }
        if call.done() {
            let mut stacks = STACKS.take();
            stacks.push(call.into_stack());
            STACKS.set(stacks);
        }
    }
}
