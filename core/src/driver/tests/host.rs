//! The host of the driver's tests. What the contract of [`Host`] forbids to the driver, it asserts.

use core::cell::RefCell;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::vec::Vec;

use super::*;

/// What the driver has called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Shared,
    Between,
    Wall,
    Machine,
    Monotonic,
    Sleep(Wait, i64),
    InRecovery,
    DurableCeiling,
    TryLock,
    Unlock,
    MakeDurable(Id),
    Report(Event),
}

/// Runs before each call.
type Hook = Box<dyn FnMut(&TestHost, Call)>;

pub struct TestHost {
    pub shared: Shared,
    pub wall_ns: Cell<i64>,
    /// Both clocks that nobody sets.
    pub running_ns: Cell<i64>,
    /// The wall clock does not go on.
    pub stands: Cell<bool>,
    pub in_recovery: Cell<bool>,
    pub durable: Cell<Id>,
    /// Another session holds the raise lock.
    pub raised_by_another: Cell<bool>,
    locked: Cell<bool>,
    log: RefCell<Vec<Call>>,
    /// Calls since the last sleep: a driver that goes on and on without one is stuck.
    awake: Cell<usize>,
    /// Sleeps of one call of the driver's.
    sleeps: Cell<usize>,
    hook: RefCell<Option<Hook>>,
}

impl TestHost {
    /// A new server, whose clock shows [`START`].
    pub fn new() -> Self {
        Self::restarted(Id::MIN)
    }

    /// A server that has just been started, with a ceiling from before.
    pub fn restarted(durable: Id) -> Self {
        let running_ns = 77 * DAY * NS_PER_MS;
        Self {
            shared: Shared::new(running_ns),
            wall_ns: Cell::new(START * NS_PER_MS),
            running_ns: Cell::new(running_ns),
            stands: Cell::new(false),
            in_recovery: Cell::new(false),
            durable: Cell::new(durable),
            raised_by_another: Cell::new(false),
            locked: Cell::new(false),
            log: RefCell::default(),
            awake: Cell::new(0),
            sleeps: Cell::new(0),
            hook: RefCell::new(None),
        }
    }

    /// A server that has run for long, and issued an id now.
    pub fn running() -> Self {
        let host = Self::new();
        host.pass_ns(DAY * NS_PER_MS);
        host.set_ms(START);
        Client::new().next(&host).expect("the first id");
        host.take_log();
        host
    }

    pub fn now_ms(&self) -> i64 {
        self.wall_ns.get().div_euclid(NS_PER_MS)
    }

    pub fn set_ms(&self, ms: i64) {
        self.wall_ns.set(ms * NS_PER_MS);
    }

    pub fn pass_ns(&self, ns: i64) {
        self.running_ns.set(self.running_ns.get() + ns);
        if !self.stands.get() {
            self.wall_ns.set(self.wall_ns.get() + ns);
        }
    }

    pub fn last(&self) -> Id {
        self.shared.snowflake.last().expect("the word is started")
    }

    /// From now on, this is done before each call.
    pub fn before_each(&self, hook: impl FnMut(&Self, Call) + 'static) {
        *self.hook.borrow_mut() = Some(Box::new(hook));
    }

    /// Once, before the first such call.
    pub fn before_one(&self, is_it: impl Fn(Call) -> bool + 'static, act: impl FnOnce(&Self) + 'static) {
        let mut act = Some(act);
        self.before_each(move |host, call| {
            if is_it(call) {
                act.take().into_iter().for_each(|act| act(host));
            }
        });
    }

    pub fn take_log(&self) -> Vec<Call> {
        self.log.take()
    }

    /// What was reported since the log was taken.
    pub fn take_events(&self) -> Vec<Event> {
        let event = |call| if let Call::Report(event) = call { Some(event) } else { None };
        self.take_log().into_iter().filter_map(event).collect()
    }

    /// One call of the driver's, and what holds after each. A host that is left by unwinding releases the lock.
    pub fn calls<T>(&self, run: impl FnOnce() -> T) -> T {
        self.awake.set(0);
        self.sleeps.set(0);
        let left = catch_unwind(AssertUnwindSafe(run));
        if left.is_err() {
            self.locked.set(false);
        }
        assert!(!self.locked.get(), "the raise lock is still held");
        let Limits { ceiling, raise_at } = Limits::of(self);
        assert!(ceiling <= self.durable.get() && raise_at <= ceiling, "published above what is durable");
        for last in self.shared.words().into_iter().filter_map(Word::last) {
            assert!(last <= self.durable.get().max(Id::FIRST_START), "{last:?} is above what is durable");
        }
        left.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn called(&self, call: Call) {
        self.awake.set(self.awake.get() + 1);
        assert!(self.awake.get() < 10_000, "the driver goes on and on without a sleep");
        if !matches!(call, Call::Shared) {
            self.log.borrow_mut().push(call);
        }
        let hook = self.hook.take();
        if let Some(mut hook) = hook {
            hook(self, call);
            self.hook.borrow_mut().get_or_insert(hook);
        }
    }
}

struct Limits {
    ceiling: Id,
    raise_at: Id,
}

impl Limits {
    fn of(host: &TestHost) -> Self {
        Self { ceiling: host.shared.limits.ceiling(), raise_at: host.shared.limits.raise_at() }
    }
}

impl Host for TestHost {
    fn shared(&self) -> &Shared {
        self.called(Call::Shared);
        &self.shared
    }
    fn wall_ns(&self) -> i64 {
        self.called(Call::Wall);
        self.wall_ns.get()
    }
    fn machine_ns(&self) -> i64 {
        self.called(Call::Machine);
        self.running_ns.get()
    }
    fn monotonic_ns(&self) -> i64 {
        self.called(Call::Monotonic);
        self.running_ns.get()
    }
    fn sleep(&self, wait: Wait, ns: i64) {
        assert!((1..=NS_PER_MS).contains(&ns), "a sleep of {ns} ns");
        assert!(!self.locked.get(), "asleep with the raise lock");
        self.called(Call::Sleep(wait, ns));
        self.awake.set(0);
        self.sleeps.set(self.sleeps.get() + 1);
        assert!(self.sleeps.get() < 10_000, "the driver sleeps and sleeps");
        self.pass_ns(ns);
    }
    fn is_in_recovery(&self) -> bool {
        self.called(Call::InRecovery);
        self.in_recovery.get()
    }
    fn durable_ceiling(&self) -> Id {
        self.called(Call::DurableCeiling);
        self.durable.get()
    }
    fn try_lock_raise(&self) -> bool {
        self.called(Call::TryLock);
        assert!(!self.locked.get(), "locked twice");
        self.locked.set(!self.raised_by_another.get());
        self.locked.get()
    }
    fn unlock_raise(&self) {
        self.called(Call::Unlock);
        assert!(self.locked.replace(false), "released without being held");
    }
    fn make_durable(&self, ceiling: Id) {
        self.called(Call::MakeDurable(ceiling));
        assert!(self.locked.get(), "raised without the lock");
        self.durable.set(ceiling.max(self.durable.get()));
    }
    fn report(&self, event: Event) {
        assert!(!self.locked.get(), "reports with the raise lock");
        self.called(Call::Report(event));
    }
    fn between(&self) {
        self.called(Call::Between);
    }
}
