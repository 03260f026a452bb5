//! Servers whose rows come together by PostgreSQL's own logical replication.

use crate::cluster::{Cluster, ClusterBuilder};

impl ClusterBuilder {
    /// A server that publishes the rows of `t`, each with the number of the server that made it, and can take those of
    /// others.
    pub fn start_with_publication(self, node: i64) -> Cluster {
        let cluster = self
            .set("snowflake.node", &node.to_string())
            .set("wal_level", "logical")
            .set("wal_retrieve_retry_interval", "100ms")
            .start();
        cluster.create_extension("postgres");
        cluster.execute(
            "postgres",
            &format!(
                "CREATE TABLE t (
                     id bigint PRIMARY KEY DEFAULT snowflake_next(),
                     writer bigint NOT NULL DEFAULT {node}
                 );
                 CREATE PUBLICATION p FOR TABLE t"
            ),
        );
        cluster
    }
}

impl Cluster {
    /// Takes the rows of another server's `t` from now on, and those it has already unless the options say otherwise.
    pub fn subscribe_to(&self, publisher: &Cluster, name: &str, options: &str) {
        let connection = publisher.connection_string("postgres");
        let subscription =
            format!("CREATE SUBSCRIPTION {name} CONNECTION '{connection}' PUBLICATION p {options}");
        self.execute("postgres", &subscription);
    }

    /// The ids of `t` and who made each, in order of the ids.
    pub fn rows(&self) -> Vec<(i64, i64)> {
        let rows = self.connect("postgres").query("SELECT id, writer FROM t ORDER BY id", &[]);
        rows.expect("the table").iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// Waits until `t` has this many rows.
    pub fn wait_for_rows(&self, rows: usize) {
        self.wait_until("postgres", &format!("SELECT count(*) = {rows} FROM t"));
    }

    /// What `snowflake_audit` says of `t`: for each node, its ids and those that this server cannot have issued.
    pub fn audit(&self) -> Vec<(i64, i64, Option<i64>)> {
        let query =
            "SELECT node_id::bigint, ids, unissued_ids FROM snowflake_audit('t', 'id') ORDER BY node_id";
        let rows = self.connect("postgres").query(query, &[]).expect("the table");
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    }
}
