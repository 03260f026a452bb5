//! Raising the ceiling: the lock is free after each call, and what is published is durable, however a call ends.
//! `TestHost::calls` asserts both after each.

use core::cell::RefCell;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::vec::Vec;

use super::*;
use crate::ceiling::Ceiling;
use crate::designs::UnixSeries;

/// A running server whose clock has gone past the ceiling.
fn past_the_ceiling() -> TestHost {
    let host = TestHost::running();
    host.pass_ns(2 * LEAD_MS * NS_PER_MS);
    host
}

/// The clock is set to so much more, between the attempt and the raise.
fn set_when_raised(host: &TestHost, by_ms: i64) {
    host.before_one(|call| call == Call::TryLock, move |host| host.set_ms(host.now_ms() + by_ms));
}

#[test]
fn the_lock_is_free_after_each_refusal() {
    type Case = (&'static str, i64, fn(&Client, &TestHost) -> Result<(), Refusal>, fn(&Refusal) -> bool);
    let next = |client: &Client, host: &TestHost| client.next(host).map(|_| ());
    let cases: [Case; 5] = [
        ("a leap", 2 * DAY, next, |refusal| {
            matches!(refusal, Refusal::Generate(GenerateError::ClockLeapt { .. }))
        }),
        ("before the epoch", -START - DAY, next, |refusal| {
            matches!(refusal, Refusal::Generate(GenerateError::BeforeEpoch { .. }))
        }),
        (
            "observed too far ahead",
            -10 * SECOND,
            |client, host| client.observe(host, at(host.now_ms() + 2 * SECOND, 9, 0)),
            |refusal| matches!(refusal, Refusal::TooFarAhead { given: Given::Observe(_), .. }),
        ),
        (
            "answered too far ahead",
            -10 * SECOND,
            |client, host| client.next_after(host, at(host.now_ms() + 2 * SECOND, 9, 0)).map(|_| ()),
            |refusal| matches!(refusal, Refusal::TooFarAhead { given: Given::Observe(_), .. }),
        ),
        (
            "advanced too far ahead",
            -10 * SECOND,
            |client, host| client.advance(host, at(host.now_ms() + DAY - 5 * SECOND, 9, 0)),
            |refusal| matches!(refusal, Refusal::TooFarAhead { given: Given::Advance(_), .. }),
        ),
    ];
    for (why, by_ms, call, expected) in cases {
        let (host, client) = (past_the_ceiling(), Client::new());
        let (durable, word, now) = (host.durable.get(), host.last(), host.now_ms());
        set_when_raised(&host, by_ms);
        let refusal = call(&client, &host).expect_err(why);
        assert!(expected(&refusal), "{why}: {refusal:?}");
        let log = host.take_log();
        assert!(log.contains(&Call::TryLock) && log.contains(&Call::Unlock), "{why}: {log:?}");
        assert_eq!((host.durable.get(), host.last()), (durable, word), "{why}");
        // The clock is set right, and whoever comes next raises the ceiling.
        host.set_ms(now);
        client.next(&host).unwrap();
        assert!(host.durable.get() > durable, "{why}");
    }
}

#[test]
fn so_it_is_past_the_formats_end() {
    let (host, Client { settings, .. }) = (past_the_ceiling(), Client::new());
    let client = Client::with(Settings { max_clock_step_ms: i64::MAX, ..settings });
    set_when_raised(&host, TIMESTAMP_MS_MAX);
    assert!(matches!(client.next(&host), Err(Refusal::Generate(GenerateError::PastEnd { .. }))));
    assert!(host.take_log().contains(&Call::Unlock));
}

#[test]
fn and_where_another_session_has_raised_it() {
    let (host, client) = (past_the_ceiling(), Client::new());
    host.before_one(
        |call| call == Call::TryLock,
        |host| {
            let ceiling = Ceiling::above(host.now_ms(), LEAD_MS);
            host.durable.set(ceiling.id);
            host.shared.limits.publish(&ceiling);
        },
    );
    assert_eq!(client.next(&host), Ok(at(host.now_ms(), 1, 0)));
    let log = host.take_log();
    assert!(log.contains(&Call::Unlock));
    assert!(!log.iter().any(|call| matches!(call, Call::MakeDurable(_))));
}

#[test]
fn a_ceiling_leads_by_the_time_that_the_server_has_been_up() {
    let (host, client) = (TestHost::new(), Client::new());
    for uptime_ms in [0, 500, LEAD_MS - 1, 2 * LEAD_MS] {
        host.pass_ns((START + uptime_ms - host.now_ms()) * NS_PER_MS);
        client.next(&host).unwrap();
        assert_eq!(host.durable.get(), Ceiling::above(START + uptime_ms, uptime_ms).id);
    }
}

#[test]
fn a_standby_starts_nothing() {
    let (host, client) = (TestHost::new(), Client::new());
    host.in_recovery.set(true);
    let id = at(START, 1, 1);
    assert_eq!(client.next(&host), Err(Refusal::InRecovery));
    assert_eq!(client.batch(&host, 2), Err(Refusal::InRecovery));
    assert_eq!(client.observe(&host, id), Err(Refusal::InRecovery));
    assert_eq!(client.advance(&host, id), Err(Refusal::InRecovery));
    assert_eq!(client.next_after(&host, id), Err(Refusal::InRecovery));
    assert!(host.take_log().iter().all(|call| *call == Call::InRecovery));
    assert_eq!((host.shared.limits.epoch_ms(), host.shared.snowflake.last()), (None, None));
    host.in_recovery.set(false);
    assert_eq!(client.next(&host), Ok(at(START, 1, 0)));
    assert!(host.take_log().contains(&Call::Report(Event::NoCeiling)));
}

#[test]
fn nobody_waits_for_the_lock_who_has_ids_below_the_ceiling() {
    let (host, client) = (TestHost::running(), Client::new());
    host.raised_by_another.set(true);
    host.pass_ns((LEAD_MS / 2 + 1) * NS_PER_MS);
    client.next(&host).unwrap();
    let log = host.take_log();
    assert!(log.contains(&Call::TryLock));
    assert!(!log.iter().any(|call| matches!(call, Call::Sleep(..))));
    // Whoever has none sleeps, and looks again.
    host.pass_ns(LEAD_MS * NS_PER_MS);
    let mut sleeps = 0;
    host.before_each(move |host, call| {
        if let Call::Sleep(wait, ns) = call {
            assert_eq!((wait, ns), (Wait::Ceiling, NS_PER_MS));
            sleeps += 1;
            host.raised_by_another.set(sleeps < 5);
        }
    });
    let began_ms = host.now_ms();
    assert_eq!(client.next(&host), Ok(at(began_ms + 5, 1, 0)));
}

/// Everything that the driver does, on a server with everything in its way. The ids are given one by one.
fn everything(host: &TestHost, client: &Client, ids: &RefCell<Vec<Id>>) {
    let give = |id: Result<Id, Refusal>| ids.borrow_mut().push(id.unwrap());
    let next = || give(client.next(host));
    // What an earlier call has advanced over has come.
    let last_ms = host.shared.snowflake.last().map_or(0, Id::timestamp);
    host.set_ms(host.now_ms().max(last_ms));
    next();
    // A used-up millisecond, an id beside a higher node number, an early raise, a reached ceiling.
    host.shared.snowflake.started().unwrap().follow(at(host.now_ms(), 1, SEQUENCE_ID_MAX));
    next();
    host.shared.snowflake.started().unwrap().follow(at(host.now_ms(), 9, 0));
    next();
    host.pass_ns(LEAD_MS * 2 / 3 * NS_PER_MS);
    next();
    host.pass_ns(2 * LEAD_MS * NS_PER_MS);
    next();
    host.set_ms(host.now_ms() - 2 * SECOND);
    next();
    let mut batch = Batch::new(40);
    while let Some(id) = host.calls(|| batch.next(host, &client.session, &client.settings)) {
        give(id);
    }
    client.observe(host, at(host.last().timestamp() + SECOND / 2, 9, 0)).unwrap();
    give(client.next_after(host, at(host.last().timestamp() + SECOND / 2, 9, 0)));
    client.advance(host, at(host.last().timestamp() + DAY / 2, 9, 0)).unwrap();
    next();
    host.set_ms(host.last().timestamp());
    host.calls(|| {
        let read = |node| Reading { unix_ns: host.wall_ns(), series: UnixSeries(node) };
        next_of(host, &client.session, &client.settings, unix, read).unwrap();
        let timestamp = host.now_ms() + 3;
        wait_until_passed(host, &client.session, &client.settings, truetime, timestamp, |epoch_ms| {
            (timestamp + 1 + epoch_ms) * NS_PER_MS - host.wall_ns()
        })
        .unwrap();
    });
}

/// How a call is left: without a word about it.
struct Left;

fn leave() -> ! {
    resume_unwind(Box::new(Left))
}

/// Whether it was left so.
fn is_left<T>(run: impl FnOnce() -> T) -> bool {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(_) => false,
        Err(panic) if panic.is::<Left>() => true,
        Err(panic) => resume_unwind(panic),
    }
}

// A session is cancelled in its sleep, runs out of memory as it writes WAL, or is killed anywhere. A ceiling may have
// become durable, or not.
#[test]
fn a_call_that_is_left_anywhere_leaves_nothing_above_what_is_durable() {
    let mut places = 0;
    loop {
        for durable in [false, true] {
            let (host, client) = (TestHost::new(), Client::with_cache(3));
            let mut calls = 0;
            host.before_each(move |host, call| {
                calls += 1;
                if calls > places {
                    if let (Call::MakeDurable(ceiling), true) = (call, durable) {
                        host.durable.set(ceiling);
                    }
                    leave();
                }
            });
            let ids = RefCell::new(Vec::new());
            if !is_left(|| everything(&host, &client, &ids)) {
                assert!(places > 300, "{places} places to leave at");
                return;
            }
            for client in [&client, &Client::new()] {
                host.pass_ns(LEAD_MS * NS_PER_MS);
                everything(&host, client, &ids);
                assert!(ids.borrow().is_sorted_by(|a, b| a < b), "left at call {places}");
            }
        }
        places += 1;
    }
}

// A session that is cancelled while it waits for an id's millisecond does not find the id in its block later.
#[test]
fn a_wait_that_is_left_leaves_no_block() {
    let (host, client) = (TestHost::running(), Client::with_cache(10));
    host.shared.snowflake.started().unwrap().follow(at(START, 1, SEQUENCE_ID_MAX));
    host.before_one(|call| matches!(call, Call::Sleep(..)), |_| leave());
    assert!(is_left(|| client.next(&host)));
    assert_eq!(host.last(), at(START + 1, 1, 9));
    assert_eq!(host.now_ms(), START);
    assert_eq!(client.next(&host), Ok(at(START + 1, 1, 10)));
    assert_eq!(host.now_ms(), START + 1);
}
