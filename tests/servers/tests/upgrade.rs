//! From one version to the next: catalogs, dumps, and a library that is replaced while the server runs.

use snowflake_servers::ids::next_ids;
use snowflake_servers::{Cluster, ClusterBuilder, Generating, Library, OlderVersion, Promise, Watch};

/// What an older version of each extension lacks. There is no released one yet.
const MISSING: [(&str, &[&str]); 2] = [
    ("snowflake", &["snowflake_observe", "COMMENT ON FUNCTION snowflake_next()"]),
    ("sequencer", &["sequencer_unscatter", "COMMENT ON FUNCTION sequencer_designs()"]),
];

/// All that an extension has in the catalogs of a database.
fn catalog(cluster: &Cluster, database: &str, extension: &str) -> Vec<String> {
    let objects = "
        WITH member AS (
            SELECT d.classid, d.objid
            FROM pg_depend d
            JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
            WHERE e.extname = $1::text AND d.deptype = 'e')
        SELECT pg_describe_object(d.classid, d.objid, 0) || ' | ' || coalesce(obj_description(d.objid), '-') || ' | '
               || coalesce(concat_ws(' ', f.prosrc, f.probin, f.prolang, f.provolatile, f.proisstrict, f.proparallel,
                                     f.prosecdef, f.proleakproof, f.proretset, f.procost, f.prorows, f.prokind,
                                     f.proargnames, f.proargmodes, f.proconfig, pg_get_function_result(f.oid)), '-')
        FROM member d
        LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND d.objid = f.oid
        UNION ALL
        SELECT f.oid::regprocedure || ' | ' || coalesce((
                   SELECT string_agg(a.grantee::regrole || ' ' || a.privilege_type, ', ' ORDER BY a.grantee, 1)
                   FROM aclexplode(f.proacl) a), 'default')
        FROM pg_proc f WHERE f.oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
        UNION ALL
        SELECT concat_ws(' ', extversion, extrelocatable, extnamespace::regnamespace, extconfig::regclass[], extcondition)
        FROM pg_extension WHERE extname = $1::text
        ORDER BY 1";
    let rows = cluster.connect(database).query(objects, &[&extension]).expect("the catalogs");
    rows.iter().map(|row| row.get(0)).collect()
}

fn assert_same(one: &[String], other: &[String], what: &str) {
    let missing: Vec<_> = one.iter().filter(|line| !other.contains(line)).collect();
    let more: Vec<_> = other.iter().filter(|line| !one.contains(line)).collect();
    assert!(missing.is_empty() && more.is_empty(), "{what}\nfresh: {missing:#?}\nthis: {more:#?}");
    assert!(one.len() > 40, "only {} lines", one.len());
}

/// An older version, brought up to the newest, is what a fresh installation is; before, it lacks what it is to lack.
/// Seen to fail with an upgrade script that brings nothing.
#[test]
fn an_older_version_updates_to_what_is_fresh() {
    let cluster = Cluster::builder().start();
    for (extension, missing) in MISSING {
        let older = OlderVersion::without(&cluster, extension, missing);
        let [fresh, updated] = ["fresh", "updated"].map(|name| format!("{extension}_{name}"));
        for (database, version) in [(&fresh, ""), (&updated, &*format!("VERSION '{}'", older.name))] {
            cluster.execute("postgres", &format!("CREATE DATABASE {database}"));
            cluster.execute(database, &format!("CREATE EXTENSION {extension} {version} CASCADE"));
        }
        let fresh = catalog(&cluster, &fresh, extension);
        let old = catalog(&cluster, &updated, extension);
        // Its version, a function, the function's rights, and a comment.
        assert_eq!(fresh.iter().filter(|line| !old.contains(line)).count(), 4, "{old:#?}");
        cluster.execute(&updated, &format!("ALTER EXTENSION {extension} UPDATE"));
        assert_same(&fresh, &catalog(&cluster, &updated, extension), extension);
    }
}

/// Every kind of object that can depend on a function of the extension, and a right that was given.
const OBJECTS: &str = "
    CREATE TABLE orders (
        id bigint PRIMARY KEY DEFAULT snowflake_next(),
        made timestamptz GENERATED ALWAYS AS (snowflake_decode_timestamp(id, 1288834974657)) STORED,
        CHECK (snowflake_decode_node_id(id) BETWEEN 0 AND 1023)
    );
    CREATE INDEX ON orders (snowflake_decode_timestamp_ms(id, 1288834974657));
    CREATE VIEW recent AS SELECT * FROM orders WHERE id >= snowflake_min_id(now() - interval '1 day');
    CREATE TABLE parts (id bigint DEFAULT snowflake_next()) PARTITION BY RANGE (id);
    CREATE TABLE parts_new PARTITION OF parts
        FOR VALUES FROM (snowflake_min_id('2020-01-01 00:00+00', 1288834974657)) TO (MAXVALUE);
    INSERT INTO orders SELECT FROM generate_series(1, 1000);
    INSERT INTO parts SELECT FROM generate_series(1, 1000);
    GRANT EXECUTE ON FUNCTION snowflake_advance(bigint) TO loader";

/// Seen to fail with decoding that is not immutable.
#[test]
fn dump_and_restore() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE ROLE loader");
    cluster.create_database("original");
    cluster.execute("original", OBJECTS);
    cluster.execute("postgres", "CREATE DATABASE restored");
    cluster.dump_and_restore("postgres", "original", "restored");

    let original = catalog(&cluster, "original", "snowflake");
    assert!(original.iter().any(|line| line.contains("loader EXECUTE")), "{original:#?}");
    assert_same(&original, &catalog(&cluster, "restored", "snowflake"), "restored");
    let sums = "SELECT count(*), sum(id)::text, sum(extract(epoch FROM made))::text,
                       (SELECT sum(id)::text FROM parts), (SELECT count(*) FROM recent)
                FROM orders";
    let sums = |database: &str| {
        let row = cluster.connect(database).query_one(sums, &[]).expect("sums");
        let texts: [Option<String>; 3] = [row.get(1), row.get(2), row.get(3)];
        (row.get::<_, i64>(0), texts, row.get::<_, i64>(4))
    };
    assert_eq!(sums("original"), sums("restored"));
    // The default works, and goes on above what was restored.
    let new = "INSERT INTO orders DEFAULT VALUES
               RETURNING id > (SELECT max(id) FROM orders) AND id > (SELECT max(id) FROM parts)";
    let above: bool = cluster.connect("restored").query_one(new, &[]).expect("a row").get(0);
    assert!(above);
}

/// Preloaded, and where it is possible not.
fn servers() -> Vec<ClusterBuilder> {
    let mut builders = vec![Cluster::builder()];
    if Cluster::builder().start().generates_unloaded() {
        builders.push(Cluster::builder().not_preloaded());
    }
    builders
}

/// Sessions that have the old library and sessions that come after it was replaced issue ids of one generator. Where
/// nothing is preloaded, the new ones have the new library, and find the shared state of the old. Seen to fail with a
/// word in each session.
#[test]
fn a_library_that_is_replaced_under_load() {
    for builder in servers() {
        let mut cluster = builder.start();
        cluster.create_extension("postgres");
        let library = Library::of(&cluster);
        let promise = Promise::default();
        Generating::sessions(&cluster, &[1, 1, 64]).run(&promise, |_| {
            library.replace_by_another_build();
            Generating::sessions(&cluster, &[1, 1, 64]).run(&promise, |watch| watch.wait_until_served());
        });
        cluster.restart();
        let after = next_ids(&mut cluster.connect("postgres"), 1)[0];
        assert!(after > promise.highest());
    }
}

/// Databases are updated one after the other, in a transaction that is first rolled back, while sessions generate in
/// them: those with the old library and those with the new, by statements that were prepared before, and by a column
/// default. Nobody sees an error. Seen to fail with an upgrade script that makes the function anew.
#[test]
fn an_update_under_load() {
    const DATABASES: [&str; 2] = ["one", "two"];
    let insert = "INSERT INTO t SELECT FROM generate_series(1, $1::bigint) RETURNING id";
    let serve = |watches: &[&Watch]| watches.iter().for_each(|watch| watch.wait_until_served());
    for builder in servers() {
        let cluster = builder.start();
        let (extension, missing) = MISSING[0];
        let older = OlderVersion::without(&cluster, extension, missing);
        for database in DATABASES {
            cluster.execute("postgres", &format!("CREATE DATABASE {database}"));
            cluster.execute(database, &format!("CREATE EXTENSION snowflake VERSION '{}'", older.name));
            cluster.execute(database, "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next())");
        }
        let library = Library::of(&cluster);
        let promise = Promise::default();
        let old = Generating {
            databases: &DATABASES,
            ids_a_statement: 20,
            ..Generating::sessions(&cluster, &[1, 1, 64, 64])
        };
        let with_default = Generating { statement: insert, ids_a_statement: 2, ..old };
        let new = Generating { ids_a_statement: 3, ..old };
        old.run(&promise, |old| {
            with_default.run(&promise, |inserting| {
                library.replace_by_another_build();
                new.run(&promise, |new| {
                    for database in DATABASES {
                        for end in ["ROLLBACK", "COMMIT"] {
                            let mut session = cluster.connect(database);
                            session
                                .batch_execute("BEGIN; ALTER EXTENSION snowflake UPDATE")
                                .expect("an update");
                            serve(&[old, inserting, new]);
                            session.batch_execute(end).expect("its end");
                            serve(&[old, inserting, new]);
                        }
                    }
                    let refused = [old, inserting, new].map(|watch| watch.take_refusals().len());
                    assert_eq!(refused, [0; 3]);
                });
            });
        });
        for database in DATABASES {
            let updated = "SELECT count(*) FROM pg_available_extensions
                            WHERE name = 'snowflake' AND installed_version = default_version";
            let updated: i64 = cluster.connect(database).query_one(updated, &[]).expect("a count").get(0);
            assert_eq!(updated, 1, "{database}");
        }
    }
}
