//! Nobody gets another's rights: every function of both extensions, called by a superuser, by the owner of the database,
//! by the role that created the extensions, and by a role that is none of these, in databases where others have prepared what
//! they can: objects of the same names, schemas that were renamed, tables with code of theirs, other types.
//!
//! | module | is |
//! |---|---|
//! | [`calls`] | the functions, a call of each, and who may |
//! | [`hostile`] | what others prepare |
//!
//! What they prepare ends in a [trap](hostile::TRAP), which says whose rights it has got.

mod calls;
mod hostile;

use std::collections::BTreeSet;

use calls::{CALLS, Call};
use postgres::Client;
use snowflake_servers::{Cluster, SqlError};

/// A superuser, the owner of the database, the role that created the extensions, and a role that is none of these.
const ROLES: [&str; 4] = ["postgres", "dbo", "ext", "plain"];

/// A server with the extensions in the schema `public` of the database `app`.
fn server() -> Cluster {
    let cluster = Cluster::builder().set("sequencer.clock_max_error", "1ms").start();
    cluster.execute(
        "postgres",
        "CREATE ROLE dbo LOGIN; CREATE ROLE ext LOGIN; CREATE ROLE plain LOGIN; CREATE ROLE mal LOGIN",
    );
    create_database(&cluster, "app");
    cluster
}

fn create_database(cluster: &Cluster, database: &str) {
    cluster.execute("postgres", &format!("CREATE DATABASE {database} OWNER dbo"));
    let grants = format!(
        "GRANT CREATE ON DATABASE {database} TO ext, mal; GRANT CREATE ON SCHEMA public TO ext, mal;
         CREATE SCHEMA own; GRANT USAGE ON SCHEMA own TO PUBLIC; CREATE SEQUENCE own.numbers;
         CREATE VIEW own.ranges AS SELECT 1::bigint AS first, 9::bigint AS last; GRANT SELECT ON own.ranges TO PUBLIC;
         GRANT USAGE, UPDATE ON SEQUENCE own.numbers TO PUBLIC"
    );
    cluster.execute(database, &grants);
    for role in ROLES {
        cluster.execute(
            database,
            &format!("CREATE TABLE own.{role} (id integer); ALTER TABLE own.{role} OWNER TO {role}"),
        );
    }
    cluster
        .connect_as("ext", database)
        .batch_execute("CREATE EXTENSION sequencer CASCADE")
        .expect("it is trusted");
}

/// Runs what may fail, and returns its SQLSTATE.
fn attempt(client: &mut Client, statement: &str) -> String {
    let result = client.batch_execute(statement);
    result.map_or_else(|error| SqlError::of(&error).code, |()| "00000".to_owned())
}

/// Calls every function as every role, the extensions being in a schema.
fn call_all(cluster: &Cluster, database: &str, schema: &str, search_path: &str) {
    for role in ROLES {
        let mut client = cluster.connect_as(role, database);
        for call in &CALLS {
            client.batch_execute(&format!("SET search_path = {search_path}; BEGIN")).expect("set");
            let statement = call.statement(schema, role);
            let got = attempt(&mut client, &statement);
            client.batch_execute("ROLLBACK; RESET search_path").expect("rolled back");
            assert_eq!(got, call.expected(role), "{role}: {statement}\n{}", trapped(cluster));
        }
    }
    assert_safe(cluster);
}

fn trapped(cluster: &Cluster) -> String {
    let log = cluster.log();
    log.lines().filter(|line| line.contains(hostile::TRAPPED)).collect::<Vec<_>>().join("\n")
}

/// No trap has got other rights than those of who set it, nobody has become a superuser, and the server has not ended.
fn assert_safe(cluster: &Cluster) {
    assert_eq!(trapped(cluster), "");
    let superusers = "SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolsuper";
    let superusers: String = cluster.connect("postgres").query_one(superusers, &[]).expect("roles").get(0);
    assert_eq!(superusers, "postgres");
    assert_eq!(cluster.count_in_log("terminated by signal"), 0, "{}", cluster.log());
}

/// A function that is not in the table of calls is tried by none of these tests.
#[test]
fn every_function_is_called() {
    let cluster = server();
    let functions =
        "SELECT p.oid::regprocedure::text FROM pg_depend AS d JOIN pg_proc AS p ON d.objid = p.oid
        WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
        AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('snowflake', 'sequencer'))";
    let functions = cluster.connect("app").query(functions, &[]).expect("the functions");
    let functions: BTreeSet<String> = functions.iter().map(|row| row.get(0)).collect();
    let called: BTreeSet<String> = CALLS.iter().map(|call| call.signature.to_owned()).collect();
    assert_eq!(functions, called);
    call_all(&cluster, "app", "public", "public");
}

/// A function has its caller's rights, and is written in C, or has been parsed when it was created, or has a search path
/// of its own; and none knows a schema by its name.
#[test]
fn no_function_has_other_rights_or_a_frozen_schema() {
    let cluster = server();
    cluster.connect_as("ext", "app")
        .batch_execute(
            "DROP EXTENSION snowflake CASCADE; CREATE SCHEMA \"Frozen Here\";
             CREATE EXTENSION snowflake SCHEMA \"Frozen Here\"; CREATE EXTENSION sequencer SCHEMA \"Frozen Here\"",
        )
        .expect("created");
    let wrong = "SELECT p.oid::regprocedure::text FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang
        WHERE pronamespace = '\"Frozen Here\"'::regnamespace AND (prosecdef OR prosrc LIKE '%Frozen%'
            OR NOT (lanname = 'c' OR prosqlbody IS NOT NULL
                OR coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)))";
    let wrong = cluster.connect("app").query(wrong, &[]).expect("the functions");
    let wrong: Vec<String> = wrong.iter().map(|row| row.get(0)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Functions, operators, types and relations of the same names, in a schema that comes first.
#[test]
fn shadowed_names() {
    let cluster = server();
    hostile::shadow(&mut cluster.connect_as("mal", "app"), "early", "public");
    call_all(&cluster, "app", "public", "early, pg_catalog, public");
}

/// The schema of the extensions is renamed, by the owner of the database or an administrator, and another is put in its
/// place, by whoever may create one.
#[test]
fn a_schema_that_was_renamed() {
    let cluster = server();
    create_database(&cluster, "other");
    for (database, renames, creates) in [("app", "dbo", "dbo"), ("other", "postgres", "mal")] {
        cluster
            .connect_as(renames, database)
            .batch_execute("ALTER SCHEMA public RENAME TO old")
            .expect("they may");
        hostile::shadow(&mut cluster.connect_as(creates, database), "public", "old");
        call_all(&cluster, database, "old", "public");
    }
}

/// A schema can be renamed while a call waits, and another object be found by the name: nothing is done by name for a caller
/// who could become the schema's owner. Seen to fail: the owner of the database became a superuser in a lock's wait.
#[test]
fn the_owner_of_a_schema_puts_nothing_in_the_place_of_something() {
    let cluster = server();
    cluster.execute(
        "app",
        "CREATE SCHEMA theirs AUTHORIZATION dbo; CREATE VIEW theirs.ranges AS SELECT 1::bigint AS first, 9::bigint AS last;
         CREATE TABLE theirs.mine (id integer)",
    );
    let mut superuser = cluster.connect("app");
    let calls = [
        "SELECT snowflake_adopt('own.postgres', 'id', true)",
        "SELECT snowflake_adopt('theirs.mine', 'id', true)",
        "SELECT snowflake_node_claim('one')",
        "SELECT sequencer_range_next('theirs.ranges')",
    ];
    for call in calls {
        assert_eq!(attempt(&mut superuser, call), "42501", "{call}");
    }
    cluster.execute("app", "ALTER SCHEMA public OWNER TO postgres; ALTER SCHEMA theirs OWNER TO postgres");
    for call in calls {
        assert_eq!(attempt(&mut superuser, call), "00000", "{call}");
    }
}

/// A function that fits its arguments better is not called in the place of the extension's. Seen to fail: whoever may create
/// functions in the schema became a superuser.
#[test]
fn overloads() {
    let cluster = server();
    let mut mal = cluster.connect_as("mal", "app");
    for name in [
        "compose(integer, integer, integer, integer)",
        "min_id(timestamptz, integer)",
        "decode_node_id(integer)",
    ] {
        let trap = format!(
            "CREATE FUNCTION public.snowflake_{name} RETURNS bigint LANGUAGE plpgsql AS
             $$BEGIN RAISE EXCEPTION 'called' USING ERRCODE = 'P0004'; END$$"
        );
        mal.batch_execute(&trap).expect("a function");
    }
    cluster.execute("app", "ALTER SCHEMA public OWNER TO postgres; INSERT INTO own.postgres VALUES (1)");
    let mut superuser = cluster.connect("app");
    for call in [
        "SELECT * FROM snowflake_audit('own.postgres', 'id')",
        "SELECT snowflake_adopt('own.postgres', 'id', true)",
        "SELECT snowflake_adopt('own.postgres', 'id')",
    ] {
        assert_eq!(attempt(&mut superuser, call), "00000", "{call}");
    }
}

/// Who has created the extensions adds code to the table of the registry: nobody else's claim runs it. Seen to fail where
/// the table was theirs.
#[test]
fn code_of_who_has_created_the_extension() {
    let cluster = server();
    for (place, code) in hostile::TABLE_CODE.into_iter().enumerate() {
        let database = format!("d{place}");
        create_database(&cluster, &database);
        let mut ext = cluster.connect_as("ext", &database);
        hostile::trap(&mut ext, "public");
        assert_eq!(attempt(&mut ext, &code.replace("TABLE_OF_NODES", "snowflake_nodes")), "42501", "{code}");
        let mut superuser = cluster.connect(&database);
        for call in ["node_claim('one')", "node_release('one')"] {
            attempt(&mut superuser, &format!("SELECT snowflake_{call}"));
        }
        assert_safe(&cluster);
        call_all(&cluster, &database, "public", "public");
    }
}

/// A superuser has given the table away. Then whoever may become its owner is refused before anything of it is touched.
#[test]
fn code_of_who_was_given_the_table() {
    let cluster = server();
    cluster.execute("postgres", "CREATE ROLE member LOGIN; GRANT mal TO member");
    for (place, code) in hostile::TABLE_CODE.into_iter().enumerate() {
        let database = format!("d{place}");
        create_database(&cluster, &database);
        cluster.execute(
            &database,
            "ALTER TABLE snowflake_nodes OWNER TO mal; INSERT INTO snowflake_nodes VALUES (7, 'there')",
        );
        let mut mal = cluster.connect_as("mal", &database);
        hostile::trap(&mut mal, "public");
        let code = code.replace("TABLE_OF_NODES", "snowflake_nodes");
        mal.batch_execute(&code).unwrap_or_else(|error| panic!("{code}: {error:?}"));
        for role in ["postgres", "member"] {
            let mut client = cluster.connect_as(role, &database);
            for call in ["node_claim('there')", "node_claim('new')", "node_release('there')"] {
                let refused = client.query(&format!("SELECT snowflake_{call}"), &[]).expect_err(&code);
                SqlError::of(&refused).assert("42501", &["snowflake_nodes", "Connect as role \"mal\""]);
            }
            // The code of the table can take back what the session has given up.
            client.batch_execute("SET ROLE mal").expect("they may");
            let refused = client.query("SELECT snowflake_node_claim('new')", &[]).expect_err(&code);
            SqlError::of(&refused).assert("42501", &["snowflake_nodes", "SET ROLE"]);
        }
        attempt(&mut mal, "SELECT snowflake_node_claim('new'), snowflake_node_release('new')");
        assert_safe(&cluster);
    }
}

/// Tables of other types, and functions that were replaced, give errors.
#[test]
fn retyped_and_replaced() {
    let cluster = server();
    let mut ext = cluster.connect_as("ext", "app");
    for (place, change) in hostile::RETYPED_NODES.into_iter().enumerate() {
        let database = format!("d{place}");
        create_database(&cluster, &database);
        let mut ext = cluster.connect_as("ext", &database);
        assert_eq!(attempt(&mut ext, change), "42501", "{change}");
        cluster.execute(
            &database,
            "ALTER TABLE snowflake_nodes OWNER TO mal; GRANT ALL ON snowflake_nodes TO plain",
        );
        let mut mal = cluster.connect_as("mal", &database);
        mal.batch_execute(change).unwrap_or_else(|error| panic!("{change}: {error:?}"));
        for role in ["mal", "plain"] {
            let mut client = cluster.connect_as(role, &database);
            for call in ["node_claim('there')", "node_claim('new')", "node_release('there')"] {
                let got = attempt(&mut client, &format!("SELECT snowflake_{call}"));
                assert!(!got.starts_with("XX") && !got.starts_with("08"), "{change}: {call}: {got}");
            }
        }
    }
    let ours: Vec<String> = CALLS.iter().map(Call::replacement).collect();
    for replacement in ours {
        assert_eq!(attempt(&mut ext, &replacement), "42501", "{replacement}");
    }
    assert_safe(&cluster);
}
