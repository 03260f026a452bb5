//! Settings that change while sessions generate: ids stay distinct, and rise.

use snowflake_servers::{Cluster, Generating, Promise};

/// One round of values for each setting.
const SETTINGS: [(&str, [&str; 6]); 3] = [
    ("snowflake.node", ["1", "1023", "0", "512", "2", "513"]),
    ("snowflake.cache", ["1", "256", "2", "64", "255", "3"]),
    ("snowflake.max_clock_step", ["1d", "10s", "1h", "10s", "2d", "60s"]),
];

/// All at once, in the file, in sessions of two databases that take what the server says. Seen to fail with a node
/// number that ignores the order within a millisecond.
#[test]
fn all_settings_under_load() {
    let cluster = Cluster::builder().start();
    cluster.create_database("one");
    cluster.create_database("two");
    let promise = Promise::default();
    let generating = Generating {
        databases: &["one", "two"],
        ids_a_statement: 50,
        ..Generating::sessions(&cluster, &[Generating::SERVERS_CACHE; 6])
    };
    generating.run(&promise, |watch| {
        for round in 0..30 {
            for (turn, (name, values)) in SETTINGS.iter().enumerate() {
                // They change at different times, so that every pair of values comes together.
                if round % (turn + 1) == 0 {
                    cluster.set(name, values[round / (turn + 1) % values.len()]);
                }
            }
            cluster.reload();
            watch.wait_until_served();
        }
    });
    assert!(promise.ids() > 10_000);
}
