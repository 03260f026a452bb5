//! When ids are returned: never before their millisecond has come, and soon.

use super::*;
use crate::ceiling::Ceiling;

/// No call takes longer on a host whose clocks go on in sleep alone.
const MOST_NS: i64 = 2 * NS_PER_MS;

/// Makes one call, and returns its id, which may not take longer than that.
fn timed(host: &TestHost, call: impl FnOnce(&TestHost) -> Result<Id, Refusal>) -> Id {
    let began_ns = host.running_ns.get();
    let id = call(host).unwrap();
    let took_ns = host.running_ns.get() - began_ns;
    assert!(took_ns <= MOST_NS, "{id:?} took {took_ns} ns");
    id
}

#[test]
fn no_id_comes_before_its_millisecond_by_the_clock() {
    for cache in [1, 7, 256] {
        let (host, client) = (TestHost::running(), Client::with_cache(cache));
        let mut last = host.last();
        for _ in 0..30_000 {
            let id = timed(&host, |host| client.next(host));
            assert!(id > last && id.timestamp() <= host.now_ms(), "{id:?} at {}", host.now_ms());
            last = id;
        }
        // Nor later than it has to.
        assert_eq!(host.now_ms(), START + 30_000 / 4_096);
    }
}

#[test]
fn nor_does_one_of_a_batch() {
    let (host, client) = (TestHost::running(), Client::new());
    let mut batch = Batch::new(30_000);
    let mut last = host.last();
    while let Some(id) = host.calls(|| batch.next(&host, &client.session, &client.settings)) {
        let id = id.unwrap();
        assert!(id > last && id.timestamp() <= host.now_ms());
        last = id;
    }
    assert_eq!(host.now_ms(), START + 30_000 / 4_096);
}

/// Takes ids as fast as can be while the wall clock is of no use, and compares them with the running time. The first are
/// of this time.
fn goes_on_at_the_pace(host: &TestHost, client: &Client, first_ms: i64) {
    goes_on_at_the_pace_from(host, client, first_ms * NS_PER_MS);
}

fn goes_on_at_the_pace_from(host: &TestHost, client: &Client, first_ns: i64) {
    const IDS: i64 = 30_000;
    let (began_ns, mut last) = (host.running_ns.get(), host.last());
    for _ in 0..IDS {
        let id = timed(host, |host| client.next(host));
        let gone_ns = host.running_ns.get() - began_ns;
        assert!(id > last);
        assert!(id.timestamp() * NS_PER_MS <= first_ns + gone_ns, "{id:?} after {gone_ns} ns");
        last = id;
    }
    assert!(host.running_ns.get() - began_ns <= (IDS / 4_096 + 2) * NS_PER_MS);
    assert!(last.timestamp() <= first_ns / NS_PER_MS + IDS / 4_096 + 2);
}

#[test]
fn a_clock_that_stands_still_is_gone_on_without() {
    for wall_ns in [0, 1, 300_000, 999_999].map(|ns| START * NS_PER_MS + ns) {
        let host = TestHost::running();
        host.stands.set(true);
        host.wall_ns.set(wall_ns);
        goes_on_at_the_pace_from(&host, &Client::new(), wall_ns);
        assert_eq!(host.now_ms(), START);
    }
}

#[test]
fn so_is_one_that_was_set_back() {
    for back_ms in [1, 2, 3, 10 * SECOND, DAY - 1_000] {
        for stands in [false, true] {
            for cache in [1, 100] {
                let host = TestHost::running();
                host.stands.set(stands);
                host.set_ms(START - back_ms);
                goes_on_at_the_pace(&host, &Client::with_cache(cache), START);
            }
        }
    }
}

// After a quiet time there is nothing to make up for.
#[test]
fn what_was_not_used_is_not_made_up_for() {
    let (host, client) = (TestHost::running(), Client::new());
    host.set_ms(START - DAY / 2);
    host.stands.set(true);
    goes_on_at_the_pace(&host, &client, START);
    host.pass_ns(5 * SECOND * NS_PER_MS);
    let last_ms = host.last().timestamp();
    goes_on_at_the_pace(&host, &client, last_ms);
}

#[test]
fn after_a_restart_ids_go_on_at_the_pace_above_the_ceiling() {
    for ahead_ms in [0, 1, 2, 50, LEAD_MS, 2 * LEAD_MS] {
        let ceiling = Id::last_of(START + ahead_ms);
        let (host, client) = (TestHost::restarted(ceiling), Client::new());
        let first = timed(&host, |host| client.next(host));
        assert_eq!(first, at(START + ahead_ms + 1, 1, 0));
        goes_on_at_the_pace(&host, &client, first.timestamp());
    }
}

// A server whose clock is half a second ahead, and whose node number is higher, answers each id of this one at once.
#[test]
fn answers_to_a_server_that_is_ahead_do_not_wait_for_it() {
    let (host, ours) = (TestHost::running(), Client::new());
    let mut theirs = Id::MIN;
    for turn in 0..20_000 {
        let their_clock = at(host.now_ms() + 500, 9, 0);
        let goes_on = Id::new(theirs.get() + 1).unwrap();
        let above = Id::new(host.last().get() | 9 << 12).unwrap();
        theirs = their_clock.max(goes_on).max(if above.node_id() == 9 { above } else { theirs });
        let id = if turn % 2 == 0 {
            timed(&host, |host| ours.next_after(host, theirs))
        } else {
            ours.observe(&host, theirs).unwrap();
            timed(&host, |host| ours.next(host))
        };
        assert!(id > theirs);
        assert!(id.timestamp() <= host.now_ms() + 501, "{id:?} at {}", host.now_ms());
        theirs = theirs.max(id);
    }
}

// Within this server, too: sessions that have seen the new node number, and one that has not.
#[test]
fn nor_do_ids_of_a_lower_node_number_wait_for_those_of_a_higher() {
    let (host, lower, higher) = (TestHost::running(), Client::new(), Client::of_node(9));
    lower.observe(&host, at(START + 500, 9, 0)).unwrap();
    for turn in 0..20_000 {
        let client = if turn % 3 == 0 { &lower } else { &higher };
        let id = timed(&host, |host| client.next(host));
        assert!(id.timestamp() <= host.now_ms().max(START + (host.now_ms() - START) + 501));
    }
}

// For longer than the clock may step, between any two calls, while other sessions make ids: the clock that it has read is
// old then, and was not set back.
#[test]
fn a_session_that_is_put_to_sleep_is_not_refused() {
    const ASLEEP_MS: i64 = 20 * SECOND;
    for cache in [1, 3] {
        for asleep_at in 0..60 {
            let (host, Client { settings, .. }) = (TestHost::running(), Client::with_cache(cache));
            let client = Client::with(Settings { max_clock_step_ms: ASLEEP_MS / 2, ..settings });
            client.next(&host).unwrap();
            let mut calls = 0;
            host.before_each(move |host, _| {
                calls += 1;
                if calls == asleep_at {
                    host.pass_ns(ASLEEP_MS * NS_PER_MS);
                    let ceiling = Ceiling::above(host.now_ms(), DAY);
                    host.durable.set(ceiling.id.max(host.durable.get()));
                    host.shared.limits.publish(&ceiling);
                    host.shared.snowflake.started().unwrap().follow(at(host.now_ms(), 1, SEQUENCE_ID_MAX));
                }
            });
            // The second finds a millisecond that is used up.
            for _ in 0..3 {
                let id = client.next(&host).unwrap_or_else(|refusal| panic!("{asleep_at}: {refusal:?}"));
                assert!(id.timestamp() <= host.now_ms());
                host.shared.snowflake.started().unwrap().follow(at(host.now_ms(), 1, SEQUENCE_ID_MAX));
            }
            assert!(host.take_events().is_empty());
        }
    }
}

#[test]
fn an_advance_by_hand_is_gone_on_from_at_once() {
    let (host, client) = (TestHost::running(), Client::new());
    let id = Id::last_of(START + DAY / 2);
    client.advance(&host, id).unwrap();
    assert_eq!(timed(&host, |host| client.next(host)), at(id.timestamp() + 1, 1, 0));
    goes_on_at_the_pace(&host, &client, id.timestamp() + 1);
}

#[test]
fn a_batch_of_nothing_leaves_the_block_alone() {
    let (host, client) = (TestHost::running(), Client::with_cache(10));
    let first = client.next(&host).unwrap();
    for n in [0, -1, i64::MIN] {
        assert_eq!(client.batch(&host, n), Ok(std::vec![]));
    }
    let word = host.last();
    assert_eq!(client.next(&host).unwrap().get(), first.get() + 1);
    assert_eq!(host.last(), word);
    // One of a single id does not.
    assert!(client.batch(&host, 1).unwrap()[0] > word);
    assert!(client.next(&host).unwrap() > host.shared.limits.ceiling().min(word));
}
