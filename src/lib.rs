//! Snowflake ids for PostgreSQL: the thin glue between the server and `snowflake-core`.
//!
//! The way of an id is straight: [`sql`] -> [`generator`] -> `snowflake_core::driver` -> [`host`], and back. The host is
//! PostgreSQL as the driver sees it; the driver keeps the promise across crashes and failover; [`errors`] tells the user
//! what is wrong.

mod clock;
mod errors;
mod generator;
mod host;
mod permutation;
mod sequencer;
mod settings;
mod shared;
mod shown;
mod sql;
#[cfg(any(test, feature = "pg_test"))]
mod tests;
mod unguarded;

use pgrx::prelude::*;

pgrx::pg_module_magic!(name, version);

extension_sql_file!("../sql/adopt.sql", name = "adopt");
extension_sql_file!("../sql/audit.sql", name = "audit");
extension_sql_file!("../sql/registry.sql", name = "registry");
extension_sql_file!("../sql/install.sql", name = "install", finalize);

/// Called by PostgreSQL when the library is loaded: in the postmaster where it is preloaded, else in a session.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    // Rust would add a backtrace to each error's DETAIL, for every client to read, and take the memory for it where there
    // may be none left.
    for variable in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        // SAFETY: a process of PostgreSQL's has one thread.
        unsafe { std::env::remove_var(variable) };
    }
    settings::define();
    shared::request();
}

#[cfg(test)]
pub mod pg_test {
    //! What `cargo pgrx test` needs at the crate's root.

    /// One-off initialization: none.
    pub fn setup(_options: Vec<&str>) {}

    /// PostgreSQL 15 and 16 keep the generator's state in the main shared memory.
    pub fn postgresql_conf_options() -> Vec<&'static str> {
        vec!["shared_preload_libraries = 'snowflake'"]
    }
}
