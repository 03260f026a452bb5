//! The fast path: nothing but the word and the wall clock; where there is more to do, nothing at all.

use std::boxed::Box;
use std::vec::Vec;

use super::*;

fn is_fast(call: &Call) -> bool {
    matches!(call, Call::Shared | Call::Between | Call::Wall)
}

#[test]
fn an_id_costs_one_look_at_the_clock() {
    let (host, client) = (TestHost::running(), Client::new());
    for (ms, id) in [(0, at(START, 1, 1)), (3, at(START + 3, 1, 0)), (3, at(START + 3, 1, 1))] {
        host.set_ms(START + ms);
        assert_eq!(client.next_fast(&host), Some(id));
        assert_eq!(host.take_log(), [Call::Wall, Call::Between]);
    }
}

#[test]
fn blocks_are_handed_out() {
    let (host, client) = (TestHost::running(), Client::with_cache(3));
    let ids: Vec<_> = (0..4).map(|_| client.next_fast(&host).unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4].map(|sequence_id| at(START, 1, sequence_id)));
    let wall = host.take_log().into_iter().filter(|call| *call == Call::Wall).count();
    assert_eq!(wall, 4);
}

#[test]
fn gives_up_wherever_there_is_more_to_do() {
    type Prepare = Box<dyn Fn(&TestHost)>;
    let word_at =
        |id| -> Prepare { Box::new(move |host| host.shared.snowflake.started().unwrap().follow(id)) };
    let clock_at = |ms| -> Prepare { Box::new(move |host| host.set_ms(ms)) };
    let cases: [(&str, Prepare); 10] = [
        ("the millisecond is used up", word_at(at(START, 1, SEQUENCE_ID_MAX))),
        ("a higher node number is in the way", word_at(at(START, 9, 0))),
        ("the word is ahead of the clock", word_at(at(START + 1, 1, 0))),
        ("so is it by far", word_at(at(START + 500, 1, 0))),
        ("the clock is before the epoch", clock_at(-1)),
        ("the clock is past the end", clock_at(TIMESTAMP_MS_MAX + 1)),
        ("half of the ceiling's lead is gone", clock_at(START + LEAD_MS / 2 + 1)),
        ("the ceiling is reached", clock_at(START + LEAD_MS + 1)),
        (
            "another session is faster",
            Box::new(|host| {
                let faster = at(START, 1, 1);
                host.before_one(
                    |call| call == Call::Between,
                    move |host| {
                        host.shared.snowflake.started().unwrap().follow(faster);
                    },
                );
            }),
        ),
        (
            "the other session's id is ahead of this one's clock",
            Box::new(|host| {
                let ahead = at(START + 1, 1, 0);
                let mut readings = 0;
                host.before_each(move |host, call| {
                    readings += i32::from(call == Call::Wall);
                    if call == Call::Shared && readings == 1 {
                        host.shared.snowflake.started().unwrap().follow(ahead);
                    }
                });
            }),
        ),
    ];
    for (why, prepare) in cases {
        let (host, client) = (TestHost::running(), Client::new());
        prepare(&host);
        let before = host.last();
        assert_eq!(client.next_fast(&host), None, "{why}");
        assert!(host.take_log().iter().all(is_fast), "{why}");
        let word = match why {
            "another session is faster" => at(START, 1, 1),
            "the other session's id is ahead of this one's clock" => at(START + 1, 1, 0),
            _ => before,
        };
        assert_eq!(host.last(), word, "{why}");
    }
}

#[test]
fn gives_up_before_the_start_and_for_another_epoch() {
    let (host, client) = (TestHost::new(), Client::new());
    assert_eq!(client.next_fast(&host), None);
    // A session has fixed the epoch, and not come to start the words.
    host.shared.limits.fix_epoch_ms(0);
    assert_eq!(client.next_fast(&host), None);
    assert!(host.shared.snowflake.last().is_none() && host.take_log().iter().all(is_fast));
    assert_eq!(client.next(&host), Ok(at(START, 1, 0)));

    let other = Client::with(Settings { epoch_ms: 5, ..client.settings });
    host.take_log();
    assert_eq!(other.next_fast(&host), None);
    assert_eq!(host.take_log(), []);
    assert_eq!(other.next(&host), Ok(at(START, 1, 1)));
}
