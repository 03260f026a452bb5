//! Several servers whose rows meet in one table, by logical replication: unique by their node numbers, whatever their
//! clocks say; and what happens where two have one number.

use snowflake_servers::ids::{next_ids, node_of};
use snowflake_servers::load::Life;
use snowflake_servers::{Cluster, FakeClock, Load, Work, skipped};

const TEN_MINUTES_MS: i64 = 600_000;

/// How many conflicts a server has met, as PostgreSQL puts it before and since 18.
fn conflicts(cluster: &Cluster) -> usize {
    cluster.count_in_log("duplicate key value") + cluster.count_in_log("conflict detected")
}

/// Each row was made where its id says.
fn assert_made_where_they_say(rows: &[(i64, i64)]) {
    let elsewhere = rows.iter().find(|&&(id, writer)| node_of(id) != writer);
    assert_eq!(elsewhere, None);
}

fn made_by(writer: i64, rows: &[(i64, i64)]) -> Vec<i64> {
    rows.iter().filter(|row| row.1 == writer).map(|row| row.0).collect()
}

/// Three servers write, one with a clock that is ten minutes behind, and a fourth takes the rows of all, while it makes
/// rows of its own and crashes. It has as many slots for origins as docs/operations.md says it needs, and no more. Seen
/// to fail with one node number on all, and with an origin that a subscription gets.
#[test]
fn three_publishers_into_one() {
    let behind = FakeClock::new();
    behind.set_offset_ms(-TEN_MINUTES_MS);
    let publishers = [
        Cluster::builder().start_with_publication(1),
        Cluster::builder().start_with_publication(2),
        Cluster::builder().clock(&behind).start_with_publication(3),
    ];
    let slots = publishers[0].origin_slots_setting();
    let mut subscriber = Cluster::builder()
        .set("max_sync_workers_per_subscription", "1")
        .set(slots, "7")
        .set("max_logical_replication_workers", "8")
        .set("max_worker_processes", "16")
        .start_with_publication(4);

    let writing = || publishers.iter().map(|publisher| Load::start(publisher, "postgres", &Work::ALL));
    let loads: Vec<Load> = writing().collect();
    let mut own = Load::start(&subscriber, "postgres", &[Work::Insert, Work::InsertFromCache]);
    // The first copies what there is, while more comes. The slot of a copy is dropped when the copy is committed, and a
    // subscriber that crashes before the commit is flushed asks for the slot for ever.
    for (publisher, name) in publishers.iter().zip(["one", "two", "three"]) {
        subscriber.subscribe_to(publisher, name, "WITH (synchronous_commit = on)");
    }
    let all_write = "SELECT count(DISTINCT writer) = 4 FROM t";
    subscriber.wait_until("postgres", all_write);
    subscriber.stop_immediately();
    let mut lives = own.stop();
    subscriber.start();
    own = Load::start(&subscriber, "postgres", &[Work::Insert, Work::InsertFromCache]);
    let crashed_at = next_ids(&mut publishers[0].connect("postgres"), 1)[0];
    subscriber.wait_until("postgres", &format!("SELECT max(id) > {crashed_at} FROM t WHERE writer = 1"));
    lives.extend(own.stop());
    for load in loads {
        lives.extend(load.stop());
    }
    // Rolled back or committed, on whichever server.
    lives.drawn.assert_unique();

    let published: Vec<Vec<(i64, i64)>> = publishers.iter().map(Cluster::rows).collect();
    let own = made_by(4, &subscriber.rows());
    subscriber.wait_for_rows(published.iter().map(Vec::len).sum::<usize>() + own.len());
    let rows = subscriber.rows();
    assert_made_where_they_say(&rows);
    for (publisher, published) in (1..).zip(&published) {
        assert!(!published.is_empty());
        let published: Vec<i64> = published.iter().map(|row| row.0).collect();
        assert_eq!(made_by(publisher, &rows), published, "the rows of {publisher}");
    }
    assert!(lives.committed.iter().all(|id| rows.binary_search_by_key(id, |row| row.0).is_ok()));
    assert_eq!(conflicts(&subscriber), 0, "{}", subscriber.log());
    let counts: Vec<_> = (1..=4).map(|node| (node, made_by(node, &rows).len() as i64, Some(0))).collect();
    assert_eq!(subscriber.audit(), counts);
    // Across servers the order is that of their clocks, and no better.
    let late = made_by(3, &rows);
    assert!(late.last() < made_by(1, &rows).first(), "ten minutes behind");
}

/// A server was cloned, and nobody gave the copy a number. In the same millisecond both make the same id; the fourth
/// takes the first row and stops at the second. The audit sees one node where there are two. A number of its own ends
/// it, after the transaction was skipped.
#[test]
fn two_publishers_with_one_number() {
    let clock = FakeClock::new();
    let original = Cluster::builder().clock(&clock).start_with_publication(5);
    let copy = Cluster::builder().clock(&clock).start_with_publication(5);
    let subscriber = Cluster::builder().start_with_publication(4);
    subscriber.subscribe_to(&original, "original", "");
    subscriber.subscribe_to(&copy, "copy", "");
    subscriber.wait_until("postgres", "SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate = 'r'");
    clock.freeze_at_offset_ms(0);
    let insert = |cluster: &Cluster| -> i64 {
        let insert = "INSERT INTO t DEFAULT VALUES RETURNING id";
        cluster.connect("postgres").query_one(insert, &[]).expect("a row").get(0)
    };
    let id = insert(&original);
    subscriber.wait_for_rows(1);
    assert_eq!(insert(&copy), id, "the same number in the same millisecond");
    clock.set_offset_ms(0);
    let stuck = "SELECT apply_error_count > 0 FROM pg_stat_subscription_stats WHERE subname = 'copy'";
    subscriber.wait_until("postgres", stuck);
    assert!(conflicts(&subscriber) > 0, "{}", subscriber.log());
    assert_eq!(subscriber.audit(), [(5, 1, Some(0))]);

    copy.set("snowflake.node", "6");
    copy.reload();
    let log = subscriber.log();
    let (_, rest) = log.rsplit_once("finished at ").expect("the log tells where to skip");
    let finish: String = rest.chars().take_while(|&c| c.is_ascii_hexdigit() || c == '/').collect();
    subscriber.execute("postgres", &format!("ALTER SUBSCRIPTION copy SKIP (lsn = '{finish}')"));
    insert(&original);
    insert(&copy);
    subscriber.wait_for_rows(3);
    assert_eq!(subscriber.audit(), [(5, 2, Some(0)), (6, 1, Some(0))]);
}

/// Each takes the rows that the other made itself, and both write, one with a clock that is ahead: in the end they have
/// the same. `origin = none` is there from PostgreSQL 16 on. Seen to fail with one node number on both.
#[test]
fn two_that_take_each_others_rows() {
    let ahead = FakeClock::new();
    ahead.set_offset_ms(TEN_MINUTES_MS);
    let one = Cluster::builder().start_with_publication(1);
    if one.version_num() < 16_0000 {
        return skipped("PostgreSQL 15 has no subscription with origin = none; `make matrix` tests it on 17");
    }
    let other = Cluster::builder().clock(&ahead).start_with_publication(2);
    for (subscriber, publisher) in [(&one, &other), (&other, &one)] {
        subscriber.subscribe_to(publisher, "s", "WITH (origin = none, copy_data = false)");
    }
    let servers = [&one, &other];
    let loads = servers.map(|server| Load::start(server, "postgres", &Work::ALL));
    for server in servers {
        server.wait_until("postgres", "SELECT count(DISTINCT writer) = 2 AND count(*) > 2000 FROM t");
    }
    let mut lives = Life::default();
    for load in loads {
        lives.extend(load.stop());
    }
    lives.drawn.assert_unique();
    let mut committed = lives.committed;
    committed.sort_unstable();
    for server in servers {
        server.wait_for_rows(committed.len());
        let rows = server.rows();
        assert_made_where_they_say(&rows);
        assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), committed);
        assert_eq!(conflicts(server), 0, "{}", server.log());
    }
}
