//! Private PostgreSQL servers, for tests that need real ones: many sessions, clocks that step, crashes, failover.
//!
//! A [`Cluster`] is a server of its own: data directory, log and socket in a directory of their own, no TCP port, so
//! that any number of tests run side by side. It stops when it is dropped, also by a panic, and its directory is
//! removed unless the test failed.
//!
//! ```no_run
//! use snowflake_servers::{Cluster, draw};
//!
//! let cluster = Cluster::builder().set("snowflake.node", "5").start();
//! cluster.create_extension("postgres");
//! let drawn = draw(&cluster, &["postgres"], 4, 1_000);
//! drawn.assert_unique_and_rising();
//! ```
//!
//! `make test` sets two variables: `SNOWFLAKE_TEST_BINDIR` is the directory of the server's programs, with the
//! extension installed there, and `SNOWFLAKE_TEST_DIR` is where clusters are made (the system's temporary directory
//! without it). PostgreSQL refuses root, so called by root the servers run as the user `postgres`.

#![forbid(unsafe_code)]

mod backup;
pub mod calls;
pub mod clock;
pub mod cluster;
pub mod crash;
mod documents;
pub mod errors;
mod flush_gate;
pub mod history;
pub mod ids;
mod kernel_clock;
mod library;
pub mod load;
mod logical;
mod older;
mod paths;
mod preload;
mod process;
pub mod promise;
mod skip;
mod standby;
pub mod status;
mod vector;
pub mod wal;
pub mod watch;

pub use clock::FakeClock;
pub use cluster::{Cluster, ClusterBuilder};
pub use crash::End;
pub use documents::sql_of_designs;
pub use errors::{SqlError, assert_sql_error};
pub use flush_gate::FlushGate;
pub use history::History;
pub use ids::{Drawn, draw, draw_while};
pub use kernel_clock::KernelClock;
pub use library::Library;
pub use load::{Load, Work};
pub use older::{OlderVersion, newest_version};
pub use promise::{Order, Promise};
pub use skip::skipped;
pub use status::{Status, usage};
pub use vector::vector_clock;
pub use watch::{Generating, Watch};
