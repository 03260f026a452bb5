//! Three servers that give ids, and the one that counts for the range handler.

use postgres::Client;
use postgres::config::Host;
use snowflake_servers::{Cluster, ClusterBuilder, End, FakeClock, sql_of_designs, vector_clock};

use crate::design::{APART_MS, NODES};

/// The coordinator of the range handler has a number of its own.
const COORDINATOR: i64 = 9;

pub struct Fleet {
    pub servers: Vec<Cluster>,
    clocks: Vec<FakeClock>,
    pub coordinator: Cluster,
}

/// What is flushed is flushed, as on a server that somebody relies on.
fn server(node: i64, clock: Option<&FakeClock>) -> Cluster {
    let builder = Cluster::builder()
        .set("snowflake.node", &node.to_string())
        .set("sequencer.clock_max_error", "7ms")
        .set("fsync", "on");
    let cluster = clock.into_iter().fold(builder, ClusterBuilder::clock).start();
    cluster.execute("postgres", "CREATE EXTENSION sequencer CASCADE; CREATE EXTENSION postgres_fdw");
    cluster
}

impl Fleet {
    pub fn start() -> Self {
        let coordinator = server(COORDINATOR, None);
        coordinator.execute("postgres", sql_of_designs("CREATE VIEW order_ranges"));
        coordinator.execute("postgres", "ALTER SEQUENCE order_numbers INCREMENT 1000 RESTART WITH 1000");
        let config = coordinator.config("postgres");
        let [Host::Unix(socket)] = config.get_hosts() else { panic!("{config:?}") };

        let clocks: Vec<_> = (0..NODES).map(|_| FakeClock::new()).collect();
        let mut servers = Vec::new();
        for (node, clock) in clocks.iter().enumerate() {
            // A clock that can be set costs more to read: the rates are those of the first server, whose cannot.
            let server = server(node as i64, (node > 0).then_some(clock));
            let first = node + 1;
            server.execute(
                "postgres",
                &format!(
                    "CREATE SEQUENCE usual START {first} INCREMENT {NODES};
                     CREATE SEQUENCE strided;
                     CREATE SEQUENCE lamport;
                     {};
                     CREATE SERVER coordinator FOREIGN DATA WRAPPER postgres_fdw
                         OPTIONS (host '{}', port '5432', dbname 'postgres');
                     CREATE USER MAPPING FOR postgres SERVER coordinator OPTIONS (user 'postgres');
                     CREATE FOREIGN TABLE ranges (first bigint, last bigint)
                         SERVER coordinator OPTIONS (table_name 'order_ranges')",
                    vector_clock(NODES),
                    socket.display()
                ),
            );
            servers.push(server);
        }
        Self { servers, clocks, coordinator }
    }

    pub fn connect(&self, server: usize) -> Client {
        self.servers[server].connect("postgres")
    }

    /// The second server's clock is ahead by so much, and the third's behind.
    pub fn set_clocks_apart(&self, ms: i64) {
        self.clocks[1].set_offset_ms(ms);
        self.clocks[2].set_offset_ms(-ms);
    }

    /// The usual counters, as on servers that begin together.
    pub fn begin_counting(&self) {
        for server in &self.servers {
            server.execute("postgres", "ALTER SEQUENCE usual RESTART");
        }
    }

    /// What happens to servers: the third leaves, and who counts in steps of the servers changes the step; the second
    /// crashes, and comes up with its clock set back.
    pub fn lose_one_and_crash_another(&mut self) {
        self.servers.truncate(2);
        for server in &self.servers {
            server.execute("postgres", "ALTER SEQUENCE usual INCREMENT 2");
        }
        self.servers[1].end(End::Kill);
        self.clocks[1].set_offset_ms(-APART_MS);
        self.servers[1].start();
    }
}
