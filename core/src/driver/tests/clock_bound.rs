//! Designs that are bound to the clock: their ids are never dated ahead of it, and their waits end.

use super::*;
use crate::designs::{TrueTimeSeries, UnixSeries};
use crate::generator::Series;

const LONGEST_MS: i64 = 1_000 + 2 * LEAD_MS;

/// An id of the Unix design, of which there is one a millisecond.
fn unix_id(host: &TestHost, client: &Client) -> Result<Id, Refusal> {
    let Client { session, settings } = client;
    let read = |node| Reading { unix_ns: host.wall_ns(), series: UnixSeries(node) };
    host.calls(|| next_of(host, session, settings, unix, read)).map(|(id, _)| id)
}

fn wait(host: &TestHost, client: &Client, timestamp: i64) -> Result<(), Refusal> {
    let left_ns = |epoch_ms| (timestamp + 1 + epoch_ms) * NS_PER_MS - host.wall_ns();
    let Client { session, settings } = client;
    host.calls(|| wait_until_passed(host, session, settings, truetime, timestamp, left_ns))
}

fn sleeps(host: &TestHost) -> usize {
    host.take_log().iter().filter(|call| matches!(call, Call::Sleep(..))).count()
}

#[test]
fn no_id_is_dated_ahead_of_the_clock() {
    let (host, client) = (TestHost::running(), Client::new());
    let mut last = Id::MIN;
    for turn in 0..3_000 {
        match turn {
            1_000 => host.set_ms(host.now_ms() - 3 * SECOND),
            2_000 => host.set_ms(host.now_ms() + 3 * SECOND),
            _ => {}
        }
        let id = unix_id(&host, &client).unwrap();
        assert!(id > last && id.timestamp() <= host.now_ms());
        last = id;
    }
    // One a millisecond, and the wait for the clock.
    assert_eq!(host.now_ms(), START + 2_998 + 3 * SECOND);
}

#[test]
fn a_clock_too_far_behind_is_not_waited_for() {
    let (host, client) = (TestHost::running(), Client::new());
    let last = unix_id(&host, &client).unwrap();
    host.set_ms(START - LONGEST_MS - 1);
    host.take_log();
    let what = "the last id of this design";
    let refused = Refusal::WouldWaitTooLong { what, by_ms: LONGEST_MS + 1, max_ms: LONGEST_MS };
    assert_eq!(unix_id(&host, &client), Err(refused));
    assert_eq!(sleeps(&host), 0);
    host.set_ms(START - LONGEST_MS);
    assert_eq!(unix_id(&host, &client).map(Id::timestamp), Ok(last.timestamp() + 1));
    // Snowflake ids go on meanwhile.
    host.set_ms(START - LONGEST_MS - 1);
    assert!(Client::new().next(&host).is_ok());
}

// While an id is waited for, others are, too: set back within what is waited for, it is waited out.
#[test]
fn a_clock_set_back_while_an_id_is_waited_for_is_waited_for_or_refused() {
    for (back_ms, refused) in [(LONGEST_MS - 2, false), (LONGEST_MS + 2, true)] {
        let (host, client) = (TestHost::running(), Client::new());
        unix_id(&host, &client).unwrap();
        host.before_one(|call| matches!(call, Call::Sleep(..)), move |host| host.set_ms(START - back_ms));
        let id = unix_id(&host, &client);
        assert_eq!(matches!(id, Err(Refusal::WouldWaitTooLong { .. })), refused, "{id:?}");
        assert_eq!(id.is_ok(), !refused);
        assert!(id.is_err() || host.now_ms() == START + 1);
    }
}

// The operator says how far the clock may step ahead; how long a call waits is another matter.
#[test]
fn a_step_ahead_that_is_allowed_is_no_leap() {
    let (host, client) = (TestHost::running(), Client::new());
    unix_id(&host, &client).unwrap();
    for ahead_ms in [2 * LONGEST_MS, DAY - 1] {
        host.set_ms(host.now_ms() + ahead_ms);
        assert_eq!(unix_id(&host, &client).map(Id::timestamp), Ok(host.now_ms()));
    }
    host.set_ms(host.now_ms() + DAY + 1_000);
    let refused = GenerateError::ClockLeapt { by_ms: DAY + 1_000, max_ms: DAY };
    assert_eq!(unix_id(&host, &client), Err(refused.into()));
}

#[test]
fn a_wait_lasts_until_the_millisecond_has_passed() {
    let (host, client) = (TestHost::running(), Client::new());
    host.wall_ns.set(START * NS_PER_MS + 400_000);
    wait(&host, &client, START + 7).unwrap();
    assert_eq!(host.wall_ns.get(), (START + 8) * NS_PER_MS);
    assert_eq!(host.shared.truetime.last(), Some(Id::last_of(START + 7)));
    assert_eq!(sleeps(&host), 8);
    // What has passed is not waited for, and takes nothing back.
    for timestamp in [START + 7, START - DAY, 0] {
        wait(&host, &client, timestamp).unwrap();
        assert_eq!(host.shared.truetime.last(), Some(Id::last_of(START + 7)));
    }
    assert_eq!(sleeps(&host), 0);
    let (what, max_ms) = ("the id to wait for", LONGEST_MS);
    let refused = Refusal::WouldWaitTooLong { what, by_ms: LONGEST_MS + 1, max_ms };
    assert_eq!(wait(&host, &client, START + 8 + LONGEST_MS), Err(refused));
    assert_eq!(sleeps(&host), 0);
}

// The word would begin at the millisecond waited for, below ids that were issued before a crash.
#[test]
fn a_wait_starts_the_words_at_the_durable_ceiling() {
    let ceiling = Id::last_of(START + LEAD_MS);
    for epoch_is_fixed in [false, true] {
        let (host, client) = (TestHost::restarted(ceiling), Client::new());
        if epoch_is_fixed {
            // By a session that did not come to start the words.
            host.shared.limits.fix_epoch_ms(0);
        }
        wait(&host, &client, START - 1).unwrap();
        assert_eq!(host.shared.words().map(Word::last), [Some(ceiling); 3]);
    }
}

/// Half a minute after the last raise of the ceiling, and the millisecond before now.
fn long_after() -> (TestHost, Client, i64) {
    let (host, client) = (TestHost::running(), Client::new());
    host.pass_ns(30 * SECOND * NS_PER_MS);
    let timestamp = host.now_ms() - 1;
    assert!(host.shared.limits.ceiling().timestamp() < timestamp);
    (host, client, timestamp)
}

#[test]
fn a_clock_set_back_past_the_lead_ends_the_wait() {
    let hour = 60 * 60 * SECOND;
    for at_the_raise in [false, true] {
        let (host, client, timestamp) = long_after();
        let word = host.shared.truetime.last();
        let timestamp = if at_the_raise { timestamp } else { timestamp + 3 };
        host.before_one(
            move |call| if at_the_raise { call == Call::TryLock } else { matches!(call, Call::Sleep(..)) },
            move |host| host.set_ms(host.now_ms() - hour),
        );
        // `TestHost` counts the calls without a sleep.
        match wait(&host, &client, timestamp) {
            Err(Refusal::WouldWaitTooLong { what: "the id to wait for", by_ms, max_ms: LONGEST_MS }) => {
                assert!((hour..hour + 5).contains(&by_ms), "{by_ms}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(host.shared.truetime.last(), word);
        assert!(sleeps(&host) <= 1);
    }
}

#[test]
fn one_set_back_by_less_is_waited_for_again() {
    let (host, client, timestamp) = long_after();
    let now = host.now_ms();
    host.before_one(|call| call == Call::TryLock, move |host| host.set_ms(now - 4 * SECOND));
    wait(&host, &client, timestamp).unwrap();
    assert_eq!(host.now_ms(), now);
    assert_eq!(host.shared.truetime.last(), Some(Id::last_of(timestamp)));
    assert_eq!(sleeps(&host), 4_000);
}

#[test]
fn a_wait_beside_the_raise_of_another_session_sleeps() {
    let (host, client, timestamp) = long_after();
    host.raised_by_another.set(true);
    let mut slept = 0;
    host.before_each(move |host, call| {
        if matches!(call, Call::Sleep(..)) {
            slept += 1;
            host.raised_by_another.set(slept < 5);
        }
    });
    wait(&host, &client, timestamp).unwrap();
    assert_eq!(sleeps(&host), 5);
}

// Of the epoch's own millisecond, too: a ceiling that was never raised does not cover it.
#[test]
fn a_wait_never_moves_the_word_above_what_is_durable() {
    for timestamp in [0, 1] {
        let (host, client) = (TestHost::new(), Client::new());
        host.set_ms(timestamp + 1);
        wait(&host, &client, timestamp).unwrap();
        assert_eq!(host.shared.truetime.last(), Some(Id::last_of(timestamp)));
    }
}

#[test]
fn a_clock_that_stands_is_not_waited_for_for_ever() {
    let (host, client) = (TestHost::running(), Client::new());
    unix_id(&host, &client).unwrap();
    host.stands.set(true);
    for what in ["the last id of this design", "the id to wait for"] {
        let before_ns = host.running_ns.get();
        let refused = if what.starts_with("the last") {
            unix_id(&host, &client).map(|_| ())
        } else {
            wait(&host, &client, host.now_ms() + 1)
        };
        let refusal = Refusal::WouldWaitTooLong { what, by_ms: LONGEST_MS + 1, max_ms: LONGEST_MS };
        assert_eq!(refused, Err(refusal));
        let waited_ms = (host.running_ns.get() - before_ns) / NS_PER_MS;
        assert!((LONGEST_MS..=LONGEST_MS + 1_100).contains(&waited_ms), "{waited_ms}");
    }
    host.stands.set(false);
    assert!(unix_id(&host, &client).is_ok());
}

#[test]
fn a_millisecond_of_a_design_begins_with_its_first_number() {
    let (host, mut client) = (TestHost::running(), Client::new());
    client.settings.sequence_spread = 1_023;
    let Client { session, settings } = &client;
    for _ in 0..100 {
        host.pass_ns(NS_PER_MS);
        let read = |node| Reading { unix_ns: host.wall_ns(), series: TrueTimeSeries::new(3, node).unwrap() };
        let (id, _) = host.calls(|| next_of(&host, session, settings, truetime, read)).unwrap();
        assert_eq!(TrueTimeSeries::sequence_id_of(id), 0);
    }
}
