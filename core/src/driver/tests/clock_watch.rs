//! What the operator is told, and which clocks are trusted.

use std::vec::Vec;

use super::*;
use crate::clock_step::TOLERANCE_NS;
use crate::driver::clock_watch::{Look, look_back, trust};

const YEAR: i64 = 365 * DAY;

#[test]
fn the_formats_end_is_reported_once_a_day_in_its_last_year() {
    let (host, client) = (TestHost::new(), Client::new());
    host.set_ms(TIMESTAMP_MS_MAX - YEAR - 3 * DAY);
    let mut told: Vec<(i64, i64)> = Vec::new();
    while host.now_ms() < TIMESTAMP_MS_MAX - DAY / 4 {
        host.pass_ns(DAY / 4 * NS_PER_MS);
        client.next(&host).unwrap();
        // The ceiling is raised more than once on a day, by whichever session.
        client.advance(&host, host.last()).unwrap();
        Client::new().next(&host).unwrap();
        for event in host.take_events() {
            match event {
                Event::Ends { days } => told.push((host.now_ms(), days)),
                Event::NoCeiling => {}
                other => panic!("{other:?}"),
            }
        }
    }
    let days: Vec<i64> = told.iter().map(|(now, _)| now / DAY).collect();
    let all_days: Vec<i64> = (days[0]..=TIMESTAMP_MS_MAX / DAY).collect();
    assert_eq!(days, all_days);
    assert!(told.iter().all(|(now, days)| *days == (TIMESTAMP_MS_MAX - now) / DAY));
    let first = TIMESTAMP_MS_MAX - told[0].0;
    assert!(YEAR - DAY / 4 < first && first <= YEAR, "first told {first} ms before the end");

    host.set_ms(TIMESTAMP_MS_MAX + 1);
    let refused = GenerateError::PastEnd { timestamp: TIMESTAMP_MS_MAX + 1 };
    assert_eq!(client.next(&host), Err(refused.into()));
    assert_eq!(host.take_events(), []);
}

/// Readings of a clock mostly take nothing, and sometimes as long as a session is put to sleep.
fn read_slowly(host: &TestHost, mut random: u64) {
    host.before_each(move |host, call| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if matches!(call, Call::Wall | Call::Machine) {
            let ns = (random >> 33) as i64 % (4 * TOLERANCE_NS);
            host.pass_ns(if random >> 62 == 0 { ns } else { ns / 1_000 });
        }
    });
}

// Also where the clock that is trusted was read slowly, and with looks of both kinds.
#[test]
fn a_clock_that_nobody_sets_has_no_steps() {
    for server in 0..100 {
        let (host, client) = (TestHost::new(), Client::new());
        read_slowly(&host, server);
        client.next(&host).unwrap();
        assert_eq!(host.take_events(), [Event::NoCeiling]);
        let driver = Driver { host: &host, session: &client.session, settings: &client.settings };
        for look in 0..100 {
            if look % 2 == 0 {
                host.calls(|| look_back(driver));
            } else {
                let look = host.calls(|| Look::now(&host));
                assert_eq!(look.leap(&host.shared, 0), None);
                assert_eq!(host.calls(|| trust(driver, &look)), None);
            }
            assert_eq!(host.take_events(), []);
        }
    }
}

// A machine where two readings are never close to each other has to do with the last.
#[test]
fn a_clock_that_is_always_read_slowly_is_read_so() {
    let (host, client) = (TestHost::new(), Client::new());
    host.before_each(|host, call| {
        if call == Call::Wall {
            host.pass_ns(2 * TOLERANCE_NS);
        }
    });
    assert!(client.next(&host).is_ok());
}

#[test]
fn a_leap_is_further_than_the_limit() {
    let most_ns = 60 * SECOND * NS_PER_MS;
    for (by_ns, refused) in [(most_ns, false), (most_ns + 1, true)] {
        let (host, client) = (TestHost::running(), careful());
        host.wall_ns.set(host.wall_ns.get() + by_ns);
        assert_eq!(client.next(&host).is_err(), refused);
    }
}

#[test]
fn a_step_back_is_reported_once_and_trusted() {
    let (host, client) = (TestHost::running(), Client::new());
    let trusted = host.shared.clock.trusted_offset_ns().unwrap();
    host.set_ms(START - 10 * SECOND);
    for session in [&client, &Client::new()] {
        for _ in 0..100 {
            session.next(&host).unwrap();
        }
    }
    let events = host.take_events();
    assert_eq!(events, [Event::SetBack { by_ns: 10 * SECOND * NS_PER_MS, begins: true }]);
    let step_ns = trusted - host.shared.clock.trusted_offset_ns().unwrap();
    assert_eq!(step_ns, 10 * SECOND * NS_PER_MS);
}

/// A client whose clock may step by a minute.
fn careful() -> Client {
    let Client { settings, .. } = Client::new();
    Client::with(Settings { max_clock_step_ms: 60 * SECOND, ..settings })
}

#[test]
fn a_refused_clock_is_not_trusted_and_its_return_is_no_leap() {
    let (host, client) = (TestHost::running(), careful());
    let trusted = host.shared.clock.trusted_offset_ns();
    host.set_ms(START - 10 * DAY);
    for _ in 0..3 {
        let refused = GenerateError::ClockBehind { by_ms: 10 * DAY, max_ms: 60 * SECOND };
        assert_eq!(client.next(&host), Err(refused.into()));
    }
    // Nor by whoever raises the ceiling for another reason.
    let observed = client.observe(&host, at(START - 5 * DAY, 1, 0));
    assert!(matches!(observed, Ok(())));
    assert_eq!(host.shared.clock.trusted_offset_ns(), trusted);
    let by_ns = 10 * DAY * NS_PER_MS;
    assert_eq!(host.take_events(), [Event::SetBack { by_ns, begins: true }]);

    // Past the ceiling, so that the clock is looked at.
    host.set_ms(START + 2 * LEAD_MS);
    host.running_ns.set(host.running_ns.get() + 2 * LEAD_MS * NS_PER_MS);
    assert_eq!(client.next(&host), Ok(at(START + 2 * LEAD_MS, 1, 0)));
    assert_eq!(host.take_events(), []);
}

// The ceiling is raised ahead of its need, by a clock that was set back since the id was reserved.
#[test]
fn nor_is_one_trusted_that_a_ceiling_is_raised_by() {
    let (host, client) = (TestHost::running(), careful());
    let trusted = host.shared.clock.trusted_offset_ns();
    host.pass_ns((LEAD_MS / 2 + 1) * NS_PER_MS);
    let now = host.now_ms();
    host.before_one(|call| call == Call::TryLock, move |host| host.set_ms(now - 10 * DAY));
    assert_eq!(client.next(&host), Ok(at(now, 1, 0)));
    assert!(host.take_log().iter().any(|call| matches!(call, Call::MakeDurable(_))));
    assert_eq!(host.shared.clock.trusted_offset_ns(), trusted);
}

#[test]
fn nor_is_the_return_of_a_clock_that_was_set_back_step_by_step() {
    let (host, client) = (TestHost::running(), careful());
    for _ in 0..5 {
        // The word stays behind, as it does where ids are few: each step may pass.
        host.set_ms(host.now_ms() - 50 * SECOND);
        client.next(&host).unwrap();
        host.pass_ns(60 * SECOND * NS_PER_MS);
        client.next(&host).unwrap();
    }
    host.set_ms(host.now_ms() + 5 * 50 * SECOND);
    client.next(&host).unwrap();
    // Further than it ever was is a leap.
    host.take_log();
    host.set_ms(host.now_ms() + 61 * SECOND);
    let refused = GenerateError::ClockLeapt { by_ms: 61 * SECOND, max_ms: 60 * SECOND };
    assert_eq!(client.next(&host), Err(refused.into()));
    assert_eq!(host.take_events(), [Event::Leapt { by_ns: 61 * SECOND * NS_PER_MS }]);
}

#[test]
fn a_leap_is_refused_and_reported_once_for_each() {
    let (host, client) = (TestHost::running(), careful());
    let (trusted, ceiling) = (host.shared.clock.trusted_offset_ns(), host.durable.get());
    for times in 1..=2 {
        host.set_ms(host.now_ms() + 100 * DAY);
        for _ in 0..3 {
            let refused = GenerateError::ClockLeapt { by_ms: 100 * DAY, max_ms: 60 * SECOND };
            assert_eq!(client.next(&host), Err(refused.into()));
        }
        assert_eq!(host.take_events(), [Event::Leapt { by_ns: 100 * DAY * NS_PER_MS }], "{times}");
        assert_eq!(host.shared.clock.trusted_offset_ns(), trusted);
        host.set_ms(host.now_ms() - 100 * DAY);
        host.pass_ns(2 * LEAD_MS * NS_PER_MS);
        client.next(&host).unwrap();
        assert_eq!(host.take_events(), []);
    }
    assert!(host.durable.get().timestamp() < ceiling.timestamp() + 5 * LEAD_MS);
}

#[test]
fn another_epoch_is_reported_once_for_each_session_and_value() {
    let (host, client) = (TestHost::running(), Client::new());
    let waits = |set_ms| Event::EpochWaits { fixed_ms: 0, set_ms };
    let set = |session: Session, epoch_ms| Client {
        session,
        settings: Settings { epoch_ms, ..Client::new().settings },
    };
    let (old, new) = (set(Session::new(), 5), set(Session::new(), 6));
    host.set_ms(START + 100);
    for _ in 0..3 {
        assert_eq!(old.next(&host).unwrap().timestamp(), START + 100);
    }
    assert_eq!(host.take_events(), [waits(5)]);
    // Another session sees the same.
    set(Session::new(), 5).next(&host).unwrap();
    assert_eq!(host.take_events(), []);
    // One sees the next, while others have not.
    for _ in 0..3 {
        new.next(&host).unwrap();
        old.next(&host).unwrap();
    }
    assert_eq!(host.take_events(), [waits(6)]);
    let old = set(old.session, 6);
    old.next(&host).unwrap();
    client.next(&host).unwrap();
    assert_eq!(host.take_events(), []);
}
