//! Several servers whose rows meet in one table, by pglogical, where it is installed.

use snowflake_servers::ids::node_of;
use snowflake_servers::load::Life;
use snowflake_servers::{Cluster, Load, Work, skipped};

/// Whether a query that counts finds something on a server as it comes.
fn finds(query: &str) -> bool {
    let count: i64 =
        Cluster::builder().start().connect("postgres").query_one(query, &[]).expect("a catalog").get(0);
    count > 0
}

fn start(node: i64) -> Cluster {
    let mut builder = Cluster::builder()
        .set("shared_preload_libraries", "pglogical, snowflake")
        .set("max_worker_processes", "20");
    // Newer minor versions take none but their own output plugins unless they are told.
    if finds("SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'") {
        builder = builder.set("output_plugin_libraries", "pgoutput, pglogical_output");
    }
    let cluster = builder.start_with_publication(node);
    cluster.execute(
        "postgres",
        &format!(
            "CREATE EXTENSION pglogical;
             SELECT pglogical.create_node('node_{node}', '{}');
             SELECT pglogical.replication_set_add_table('default', 't')",
            cluster.connection_string("postgres")
        ),
    );
    cluster
}

/// Two providers write while the subscriber copies, follows and writes itself. Then a row comes that the subscriber has
/// from the other provider: pglogical puts the later one in the place of the first, and says so in the log only. Seen
/// to fail with one node number on all.
#[test]
fn two_providers() {
    if !finds("SELECT count(*) FROM pg_available_extensions WHERE name = 'pglogical'") {
        return skipped("pglogical is not installed");
    }
    let providers = [start(1), start(2)];
    let subscriber = start(3);
    let loads: Vec<Load> =
        providers.iter().map(|provider| Load::start(provider, "postgres", &Work::ALL)).collect();
    let own = Load::start(&subscriber, "postgres", &[Work::Insert]);
    for (provider, name) in providers.iter().zip(["one", "two"]) {
        subscriber.execute(
            "postgres",
            &format!(
                "SELECT pglogical.create_subscription('{name}', '{}')",
                provider.connection_string("postgres")
            ),
        );
    }
    subscriber.wait_until("postgres", "SELECT count(DISTINCT writer) = 3 FROM t");
    let more = format!("SELECT count(*) > {} FROM t", subscriber.rows().len() + 5_000);
    subscriber.wait_until("postgres", &more);
    let mut lives = Life::default();
    for load in loads.into_iter().chain([own]) {
        lives.extend(load.stop());
    }
    lives.drawn.assert_unique();
    let mut committed = lives.committed;
    committed.sort_unstable();
    subscriber.wait_for_rows(committed.len());
    let rows = subscriber.rows();
    assert_eq!(rows.iter().find(|&&(id, writer)| node_of(id) != writer), None);
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), committed);
    assert_eq!(subscriber.count_in_log("CONFLICT"), 0, "{}", subscriber.log());

    let repeated = "snowflake_compose(1668772220644, 9, 0)";
    for (writer, provider) in (1..).zip(&providers) {
        provider.execute("postgres", &format!("INSERT INTO t VALUES ({repeated}, {writer})"));
        let taken = format!("SELECT count(*) = 1 FROM t WHERE id = {repeated} AND writer = {writer}");
        subscriber.wait_until("postgres", &taken);
    }
    assert_eq!(subscriber.count_in_log("CONFLICT: remote INSERT on relation public.t"), 1);
}
