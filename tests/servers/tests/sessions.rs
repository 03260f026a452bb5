//! Many sessions, many databases, one server: no id twice, and each session's ids rise.
//!
//! Each test was seen to fail with a word in each session, but for the one that says otherwise.

use std::thread;
use std::time::Duration;

use snowflake_servers::{Cluster, calls, draw, draw_while};

#[test]
fn sixteen_sessions_in_two_databases() {
    let cluster = Cluster::builder().start();
    cluster.create_database("one");
    cluster.create_database("two");
    draw(&cluster, &["one", "two"], 16, 100_000).assert_unique_and_rising();
}

#[test]
fn sixteen_sessions_with_numbers_of_their_own() {
    let cluster = Cluster::builder().set("snowflake.cache", "256").start();
    cluster.create_database("one");
    cluster.create_database("two");
    draw(&cluster, &["one", "two"], 16, 20_000).assert_unique_and_rising();
}

#[test]
fn a_hundred_short_sessions() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    draw(&cluster, &["postgres"], 100, 2_000).assert_unique_and_rising();
}

/// pgbench -C connects anew for each transaction; the primary key refuses a repeated id.
#[test]
fn a_new_session_for_each_call() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    cluster.execute("postgres", "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next())");
    let script = cluster.write_file("insert.sql", "INSERT INTO t DEFAULT VALUES;\n");
    let script = script.to_str().expect("paths of tests are UTF-8");
    cluster.run("pgbench", &["-n", "-C", "-c", "8", "-j", "2", "-t", "100", "-f", script]);
    let rows: i64 =
        cluster.connect("postgres").query_one("SELECT count(*) FROM t", &[]).expect("a count").get(0);
    assert_eq!(rows, 800);
}

#[test]
fn parallel_workers() {
    let cluster = Cluster::builder().set("max_parallel_workers", "8").start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    let force = if cluster.version_num() >= 16_0000 { "debug_parallel_query" } else { "force_parallel_mode" };
    client
        .batch_execute(&format!(
            "CREATE TABLE source AS SELECT n FROM generate_series(1, 200000) n;
             ANALYZE source;
             SET {force} = on;
             SET max_parallel_workers_per_gather = 4;
             SET parallel_setup_cost = 0;
             SET parallel_tuple_cost = 0;
             SET min_parallel_table_scan_size = 0;"
        ))
        .expect("the source");
    let create = "CREATE TABLE copy AS SELECT snowflake_next() AS id, n FROM source";
    let plan = client.query(&format!("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) {create}"), &[]).expect("a plan");
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    let launched = plan.split("Workers Launched: ").nth(1).and_then(|rest| rest.lines().next());
    assert!(launched.is_some_and(|count| count.trim() != "0"), "no worker ran:\n{plan}");
    // Below the Gather is where the workers are.
    let below = plan.split("Gather").nth(1).unwrap_or_default();
    let scan = below.split("Parallel Seq Scan").nth(1).unwrap_or_default();
    assert!(scan.contains("snowflake_next()"), "the workers did not generate:\n{plan}");
    let row = client.query_one("SELECT count(*), count(DISTINCT id) FROM copy", &[]).expect("counts");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (200_000, 200_000));
}

#[test]
fn an_id_is_greater_than_all_returned_before_its_call() {
    let cluster = Cluster::builder().start();
    cluster.create_extension("postgres");
    calls::assert_order(&calls::call(&cluster, "postgres", 8, 5_000));
}

/// Seen to fail with blocks that outlive their millisecond.
#[test]
fn with_numbers_of_their_own_sessions_keep_the_order_of_milliseconds() {
    let cluster = Cluster::builder().set("snowflake.cache", "256").start();
    cluster.create_extension("postgres");
    calls::assert_order_of_milliseconds(&calls::call(&cluster, "postgres", 8, 5_000));
}

/// The generator is the server's, not the extension's: to drop and create it changes nothing.
#[test]
fn drop_and_create_extension_while_another_database_generates() {
    let cluster = Cluster::builder().start();
    cluster.create_database("busy");
    cluster.create_database("changed");
    let mut before = draw(&cluster, &["changed"], 1, 1_000);
    let busy = draw_while(&cluster, &["busy"], 2, || {
        for _ in 0..10 {
            cluster.execute("changed", "DROP EXTENSION snowflake");
            cluster.create_extension("changed");
            let after = draw(&cluster, &["changed"], 1, 100);
            after.assert_above(&before);
            before.sessions.extend(after.sessions);
        }
    });
    before.sessions.extend(busy.sessions);
    before.assert_unique_and_rising();
}

/// A database made from another as template has the same object identifiers.
#[test]
fn a_database_and_its_copy() {
    let cluster = Cluster::builder().start();
    cluster.create_database("original");
    cluster.execute("postgres", "CREATE DATABASE copy TEMPLATE original");
    let drawn = draw_while(&cluster, &["original", "copy"], 4, || thread::sleep(Duration::from_millis(500)));
    drawn.assert_unique_and_rising();
}
