//! An update whose library is not loaded yet. Alone in its file: the servers of other tests are not to find the library
//! of this one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use snowflake_servers::ids::next_ids;
use snowflake_servers::{Cluster, Library, assert_sql_error};

const RELEASED: &str = "0.1.0";

/// The C functions that a version's install script names.
fn functions(cluster: &Cluster, version: &str) -> BTreeSet<String> {
    let directory = cluster.run("pg_config", &["--sharedir"]);
    let script = Path::new(directory.trim()).join(format!("extension/snowflake--{version}.sql"));
    let script = fs::read_to_string(&script).expect("the version is installed");
    let names = script.split("'MODULE_PATHNAME', '").skip(1);
    names.map(|rest| rest.split('\'').next().expect("a name").to_owned()).collect()
}

fn installed_version(cluster: &Cluster) -> String {
    let query = "SELECT extversion FROM pg_extension WHERE extname = 'snowflake'";
    cluster.connect("postgres").query_one(query, &[]).expect("the extension").get(0)
}

/// Files first, restart, `UPDATE`: the order that the README gives. Who updates before the restart is refused by
/// PostgreSQL, if there are functions that the old library lacks, and has lost nothing. Where nothing is preloaded no
/// restart is needed: a session with the old library goes on. Seen to fail, with a function that the released version
/// lacked, where the library had it.
#[test]
fn an_update_before_the_restart() {
    let cluster = Cluster::builder().start();
    let newest = "SELECT default_version FROM pg_available_extensions WHERE name = 'snowflake'";
    let newest: String = cluster.connect("postgres").query_one(newest, &[]).expect("ours").get(0);
    let new: Vec<String> =
        functions(&cluster, &newest).difference(&functions(&cluster, RELEASED)).cloned().collect();
    let library = Library::of(&cluster);
    let unloaded = cluster.generates_unloaded();
    drop(cluster);

    for preloaded in [true, false] {
        if !preloaded && !unloaded {
            continue;
        }
        library.replace_by_one_without(&new);
        let builder = Cluster::builder();
        let mut cluster = if preloaded { builder } else { builder.not_preloaded() }.start();
        cluster.execute("postgres", &format!("CREATE EXTENSION snowflake VERSION '{RELEASED}'"));
        let mut session = cluster.connect("postgres");
        let mut highest = next_ids(&mut session, 100)[99];

        library.restore();
        let update = cluster.connect("postgres").batch_execute("ALTER EXTENSION snowflake UPDATE");
        if preloaded && !new.is_empty() {
            assert_sql_error(update, "42883", &["could not find function"]);
            assert_eq!(installed_version(&cluster), RELEASED);
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
