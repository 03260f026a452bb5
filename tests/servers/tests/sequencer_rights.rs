//! Whose rights a claim of a range is made with.

use postgres::NoTls;
use postgres::config::Host;
use snowflake_servers::{Cluster, SqlError};

/// Who may attach, and has a foreign table with a trigger, has the rights of nobody who claims. Seen to fail where the
/// row was inserted with the caller's.
#[test]
fn a_trigger_of_who_may_attach() {
    let cluster = Cluster::builder().start();
    let config = cluster.config("postgres");
    let [Host::Unix(socket)] = config.get_hosts() else { panic!("{config:?}") };
    let setup = format!(
        "CREATE EXTENSION sequencer CASCADE; CREATE EXTENSION postgres_fdw;
         CREATE SERVER central FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{}', port '5432', dbname 'postgres');
         CREATE USER MAPPING FOR postgres SERVER central;
         CREATE ROLE mal LOGIN; CREATE USER MAPPING FOR mal SERVER central OPTIONS (password_required 'false'); GRANT CREATE ON SCHEMA public TO mal;
         GRANT EXECUTE ON FUNCTION snowflake_range_attach TO mal; GRANT USAGE ON FOREIGN SERVER central TO mal",
        socket.display()
    );
    cluster.execute("postgres", &setup);
    let mut mal = cluster.config("postgres").user("mal").connect(NoTls).expect("a session");
    mal.batch_execute(
        "CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS
             $$BEGIN RAISE EXCEPTION 'ran as %', current_user; END$$;
         CREATE FOREIGN TABLE mine (name text, first bigint, size bigint, node_id int) SERVER central;
         CREATE TRIGGER trap BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION trap();
         SELECT snowflake_range_attach('mal', 10, 'mine')",
    )
    .expect("she may");
    let mut superuser = cluster.connect("postgres");
    let refused = superuser.query("SELECT snowflake_range_next('mal')", &[]).expect_err("the trigger's");
    SqlError::of(&refused).assert("P0001", &["ran as mal"]);
    // Nor does she have those of an owner whose table she may not insert into.
    superuser
        .batch_execute(
            "CREATE FOREIGN TABLE ours (name text, first bigint, size bigint, node_id int) SERVER central",
        )
        .expect("made");
    mal.batch_execute("SELECT snowflake_range_attach('ours', 10, 'ours')").expect("attached");
    let refused = mal.query("SELECT snowflake_range_next('ours')", &[]).expect_err("no right");
    SqlError::of(&refused).assert("42501", &["foreign table ours"]);
}

/// Names and schemas of a database that is not in UTF-8.
#[test]
fn in_another_encoding() {
    let cluster = Cluster::builder().start();
    cluster.execute("postgres", "CREATE DATABASE old ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    let mut client = cluster.connect("old");
    client
        .batch_execute(
            "CREATE SCHEMA \"größe\"; CREATE EXTENSION sequencer SCHEMA \"größe\" CASCADE;
             SELECT \"größe\".snowflake_range_create('maß', 10)",
        )
        .expect("created");
    let next = |client: &mut postgres::Client| -> i64 {
        client
            .query_one("SELECT \"größe\".snowflake_range_next('maß')", &[])
            .unwrap_or_else(|error| panic!("{error:?}"))
            .get(0)
    };
    assert_eq!([next(&mut client), next(&mut client)], [1, 2]);
    cluster.execute("old", "UPDATE \"größe\".snowflake_range_names SET size = 20");
    assert_eq!(next(&mut client), 3);
    let refused =
        client.query("SELECT \"größe\".snowflake_range_next('höhe')", &[]).expect_err("it does not exist");
    // Not the letters of the name: an error that passes through the library is taken for UTF-8.
    SqlError::of(&refused).assert("42704", &["range name", "does not exist"]);
}
