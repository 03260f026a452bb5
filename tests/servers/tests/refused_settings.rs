//! A value that was given and cannot be taken never becomes the default in silence: generation refuses, with 55000,
//! and names the setting and the value. Where PostgreSQL itself refuses first, that is as good.

use std::sync::mpsc::channel;

use postgres::{Client, NoTls};
use snowflake_servers::ids::{next_ids, node_of};
use snowflake_servers::{Cluster, SqlError, assert_sql_error};

const BAD: [(&str, &str); 5] = [
    ("snowflake.node", "1024"),
    ("snowflake.node", "-1"),
    ("snowflake.node", "seven"),
    ("snowflake.epoch", "2010-11-04"),
    ("snowflake.epoch", "32503680000000"),
];

fn assert_refused(client: &mut Client, setting: &str, value: &str) {
    assert_sql_error(client.query_one("SELECT snowflake_next()", &[]), "55000", &[setting, value]);
}

/// A server that starts is a server that says so; one that does not start has said so. Seen to fail without the
/// refusal.
#[test]
fn in_the_file_of_a_server_that_preloads() {
    for (setting, value) in BAD {
        let mut cluster = Cluster::builder().set(setting, value).create();
        match cluster.try_start() {
            Err(log) => assert!(log.contains(setting), "{setting} = {value}: {log}"),
            Ok(()) => {
                cluster.create_extension("postgres");
                assert_refused(&mut cluster.connect("postgres"), setting, value);
                // A good value is enough, with a reload, or a restart for what only a start can set.
                if setting == "snowflake.node" {
                    cluster.set(setting, "77");
                    cluster.reload();
                } else {
                    cluster.set(setting, "1288834974657");
                    cluster.restart();
                }
                assert_eq!(next_ids(&mut cluster.connect("postgres"), 1).len(), 1);
            }
        }
    }
}

#[test]
fn in_the_file_of_a_server_that_does_not_preload() {
    for (setting, value) in BAD {
        let cluster = Cluster::builder().not_preloaded().set(setting, value).start();
        cluster.create_extension("postgres");
        if !cluster.generates_unloaded() {
            return;
        }
        assert_refused(&mut cluster.connect("postgres"), setting, value);
    }
}

/// A setting of the server cannot be given by a connection, valid or not. Seen to fail with a number that a session
/// may set.
#[test]
fn in_connection_options() {
    for preloaded in [true, false] {
        let builder = if preloaded { Cluster::builder() } else { Cluster::builder().not_preloaded() };
        let cluster = builder.start();
        cluster.create_extension("postgres");
        cluster.execute("postgres", "CREATE ROLE somebody LOGIN");
        if !preloaded && !cluster.generates_unloaded() {
            return;
        }
        for (setting, value) in
            BAD.into_iter().chain([("snowflake.node", "9"), ("snowflake.epoch", "1500000000000")])
        {
            for user in ["somebody", "postgres"] {
                let connected = cluster
                    .config("postgres")
                    .user(user)
                    .options(&format!("-c {setting}={value}"))
                    .connect(NoTls);
                match connected {
                    Err(error) => {
                        let error = SqlError::of(&error);
                        assert!(
                            ["55P02", "22023"].contains(&&*error.code),
                            "{user}, {setting}={value}: {error}"
                        );
                        assert!(error.message.contains(setting), "{user}, {setting}={value}: {error}");
                    }
                    Ok(mut client) => {
                        assert!(!preloaded, "{user}, {setting}={value}: accepted by a server that preloads");
                        assert_refused(&mut client, setting, value);
                    }
                }
            }
        }
    }
}

/// `ALTER ROLE ... SET` can be stored while the library is not loaded, by a superuser. Seen to fail with a number that
/// a session may set.
#[test]
fn in_alter_role() {
    let mut cluster = Cluster::builder().not_preloaded().start();
    cluster.execute("postgres", "CREATE ROLE somebody LOGIN");
    cluster.create_extension("postgres");
    let connect = |cluster: &Cluster| cluster.connect_as("somebody", "postgres");
    for (setting, value) in BAD.into_iter().chain([("snowflake.node", "9")]) {
        cluster.execute("postgres", "ALTER ROLE somebody RESET ALL");
        cluster.execute("postgres", &format!("ALTER ROLE somebody SET {setting} = '{value}'"));
        if cluster.generates_unloaded() {
            assert_refused(&mut connect(&cluster), setting, value);
        }
        // Others are not concerned.
        if cluster.generates_unloaded() {
            assert_eq!(node_of(next_ids(&mut cluster.connect("postgres"), 1)[0]), 1);
        }
        // From the next start on the server knows the setting, and PostgreSQL refuses the role's value with a
        // WARNING at each connection: the value in force is the server's.
        cluster.set("shared_preload_libraries", "snowflake");
        cluster.set("snowflake.node", "3");
        cluster.restart();
        assert_eq!(node_of(next_ids(&mut connect(&cluster), 1)[0]), 3, "{setting} = {value}");
        cluster.set("shared_preload_libraries", "");
        cluster.set("snowflake.node", "1");
        cluster.restart();
    }
}

/// Before PostgreSQL 17 the shared state needs preloading. Nothing else does. Seen to fail with state of its own in
/// each session that has none to share.
#[test]
fn not_preloaded() {
    let cluster = Cluster::builder().not_preloaded().start();
    cluster.create_extension("postgres");
    let mut client = cluster.connect("postgres");
    if cluster.generates_unloaded() {
        assert_eq!(next_ids(&mut client, 10).len(), 10);
    } else {
        for query in [
            "SELECT snowflake_next()",
            "SELECT * FROM snowflake_next_batch(3)",
            "SELECT snowflake_advance(1)",
        ] {
            assert_sql_error(
                client.query(query, &[]),
                "55000",
                &["shared_preload_libraries = 'snowflake'", "restart"],
            );
        }
    }
    for (query, expected) in [
        ("SELECT snowflake_decode_timestamp_ms(1593572310593806336)::text", "1668772220644"),
        ("SELECT snowflake_decode_node_id(snowflake_generate(5, 9))::text", "9"),
        ("SELECT snowflake_decode_sequence_id(snowflake_try_generate(5))::text", "5"),
        ("SELECT (snowflake_min_id('2024-01-01') < snowflake_max_id('2024-01-01'))::text", "true"),
        ("SELECT (snowflake_current_millis() > 0)::text", "true"),
        ("SELECT snowflake_node()::text", "1"),
        ("SELECT snowflake_epoch_ms()::text", "1288834974657"),
        ("SELECT node_id::text FROM snowflake_status()", "1"),
    ] {
        let row = client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        assert_eq!(row.get::<_, String>(0), expected, "{query}");
    }
}

/// What a user is told while creating the extension in a database of its own: each WARNING with its HINT.
fn warnings_of_create_extension(cluster: &Cluster, user: &str) -> Vec<(String, String)> {
    let database = format!("of_{user}");
    cluster.execute("postgres", &format!("DROP DATABASE IF EXISTS {database}"));
    cluster.execute("postgres", &format!("CREATE DATABASE {database} OWNER {user}"));
    let (sender, notices) = channel();
    let mut config = cluster.config(&database);
    config.user(user).notice_callback(move |notice| sender.send(notice).expect("the test listens"));
    let mut client = config.connect(NoTls).expect("a session");
    client.batch_execute("CREATE EXTENSION snowflake").expect("the extension");
    // The callback has the sender.
    drop((client, config));
    let warnings = notices.iter().filter(|notice| notice.severity() == "WARNING");
    warnings
        .map(|notice| (notice.message().to_owned(), notice.hint().unwrap_or_default().to_owned()))
        .collect()
}

/// The line to add has the libraries that are there, which the owner of a database is not told. With the line there is
/// no WARNING. Seen to fail without the WARNING.
#[test]
fn preloading_is_asked_for() {
    let mut cluster = Cluster::builder().not_preloaded().start();
    let needed = !cluster.generates_unloaded();
    cluster.execute("postgres", "CREATE ROLE somebody LOGIN");
    let line = |libraries: &str| {
        let hint = format!("Add the line shared_preload_libraries = '{libraries}' to postgresql.conf");
        vec![("snowflake must be loaded via shared_preload_libraries to generate ids".to_owned(), hint)]
    };
    let assert_told = |cluster: &Cluster, user: &str, libraries: &str| {
        let expected = if needed { line(libraries) } else { Vec::new() };
        let told = warnings_of_create_extension(cluster, user);
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for ((text, hint), (expected_text, expected_hint)) in told.iter().zip(&expected) {
            assert_eq!(text, expected_text);
            assert!(hint.starts_with(expected_hint) && hint.ends_with(" and restart the server."), "{hint}");
        }
    };
    assert_told(&cluster, "postgres", "snowflake");
    // A library that every server has.
    cluster.set("shared_preload_libraries", "plpgsql");
    cluster.restart();
    assert_told(&cluster, "postgres", "plpgsql, snowflake");
    assert_told(&cluster, "somebody", "snowflake");
    cluster.set("shared_preload_libraries", "plpgsql, snowflake");
    cluster.restart();
    assert_eq!(warnings_of_create_extension(&cluster, "postgres"), []);
    assert_eq!(next_ids(&mut cluster.connect("of_postgres"), 10).len(), 10);
}
