//! An update whose library is not loaded yet. Alone in its file: the servers of other tests are not to find the library
//! of this one.

use snowflake_servers::ids::next_ids;
use snowflake_servers::{Cluster, Library, OlderVersion, assert_sql_error, newest_version};

fn installed_version(cluster: &Cluster) -> String {
    let query = "SELECT extversion FROM pg_extension WHERE extname = 'snowflake'";
    cluster.connect("postgres").query_one(query, &[]).expect("the extension").get(0)
}

/// Files first, restart, `UPDATE`: the order that the README gives. Who updates before the restart is refused by
/// PostgreSQL, if there are functions that the old library lacks, and has lost nothing. Where nothing is preloaded no
/// restart is needed: a session with the old library goes on. Seen to fail where the old library had the functions.
#[test]
fn an_update_before_the_restart() {
    let cluster = Cluster::builder().start();
    let newest = newest_version(&cluster, "snowflake");
    let older = OlderVersion::without(&cluster, "snowflake", &["snowflake_observe"]);
    assert!(!older.lacks.is_empty());
    let library = Library::of(&cluster);
    let unloaded = cluster.generates_unloaded();
    drop(cluster);

    for preloaded in [true, false] {
        if !preloaded && !unloaded {
            continue;
        }
        library.replace_by_one_without(&older.lacks);
        let builder = Cluster::builder();
        let mut cluster = if preloaded { builder } else { builder.not_preloaded() }.start();
        cluster.execute("postgres", &format!("CREATE EXTENSION snowflake VERSION '{}'", older.name));
        let mut session = cluster.connect("postgres");
        let mut highest = next_ids(&mut session, 100)[99];

        library.restore();
        let update = cluster.connect("postgres").batch_execute("ALTER EXTENSION snowflake UPDATE");
        if preloaded {
            assert_sql_error(update, "42883", &["could not find function"]);
            assert_eq!(installed_version(&cluster), older.name);
            highest = highest.max(next_ids(&mut cluster.connect("postgres"), 100)[99]);
        } else {
            update.expect("an update");
            assert_eq!(installed_version(&cluster), newest);
        }
        let after = next_ids(&mut session, 100);
        assert!(after[0] > highest, "{} after {highest}", after[0]);

        cluster.restart();
        cluster.execute("postgres", "ALTER EXTENSION snowflake UPDATE");
        assert_eq!(installed_version(&cluster), newest);
        assert!(next_ids(&mut cluster.connect("postgres"), 1)[0] > after[99]);
    }
}
