//! Who is measured: the ways to make a key, each as an expression.

use snowflake_servers::Cluster;

/// A way to make a key.
#[derive(Debug, Clone, Copy)]
pub struct Contestant {
    /// As the tables show it.
    pub name: &'static str,
    /// The expression: the default of the key's column.
    pub call: &'static str,
    /// The column's type.
    pub column: &'static str,
    /// What a session sets before.
    pub settings: &'static str,
}

/// An empty function: one of PostgreSQL's own in C that returns a variable. What it costs is the executor's.
pub const EMPTY: Contestant =
    Contestant { name: "empty function", call: "pg_backend_pid()", column: "integer", settings: NO_SETTINGS };

/// The reading of the clock, as SQL has it.
pub const CLOCK: Contestant = Contestant {
    name: "clock_timestamp()",
    call: "clock_timestamp()",
    column: "timestamptz",
    settings: NO_SETTINGS,
};

pub const SNOWFLAKE: Contestant = Contestant {
    name: "snowflake_next()",
    call: "snowflake_next()",
    column: "bigint",
    settings: NO_SETTINGS,
};

pub const SNOWFLAKE_CACHE: Contestant =
    Contestant { name: "snowflake_next(), cache 64", settings: "SET snowflake.cache = 64", ..SNOWFLAKE };

/// The whole way, behind pgrx's guard, of which the first attempt is spared.
pub const GUARDED: Contestant =
    Contestant { name: "without the first attempt", call: "bench_guarded_next()", ..SNOWFLAKE };

/// An id after another that the server has passed: what a reply costs where both are of one server, or the clocks agree.
pub const AFTER: Contestant =
    Contestant { name: "snowflake_next(after)", call: "snowflake_next(1)", ..SNOWFLAKE };

/// An id that the server has passed long ago.
pub const OBSERVE_PASSED: Contestant =
    Contestant { name: "snowflake_observe, passed", call: "snowflake_observe(1)", ..SNOWFLAKE };

/// An id of the server's own last millisecond, of which sessions may have blocks: the word, and what is observed, are
/// written. It includes the cost of the id.
pub const OBSERVE_NEW: Contestant = Contestant {
    name: "snowflake_observe(snowflake_next())",
    call: "snowflake_observe(snowflake_next())",
    ..SNOWFLAKE
};

pub const NEXTVAL: Contestant =
    Contestant { name: "nextval", call: "nextval('bench_seq')", column: "bigint", settings: NO_SETTINGS };

pub const NEXTVAL_CACHE: Contestant =
    Contestant { name: "nextval, CACHE 32", call: "nextval('bench_seq_32')", ..NEXTVAL };

pub const UUID: Contestant = Contestant {
    name: "gen_random_uuid()",
    call: "gen_random_uuid()",
    column: "uuid",
    settings: NO_SETTINGS,
};

pub const UUID_V7: Contestant = Contestant { name: "uuidv7()", call: "uuidv7()", ..UUID };

pub const PLPGSQL: Contestant = Contestant {
    name: "PL/pgSQL snowflake",
    call: "bench_plpgsql_snowflake()",
    column: "bigint",
    settings: NO_SETTINGS,
};

const NO_SETTINGS: &str = "";
/// The first PostgreSQL with `uuidv7()`.
const HAS_UUID_V7: i32 = 18_0000;

/// The ways to make a key that this server has.
pub fn keys(cluster: &Cluster) -> Vec<Contestant> {
    let mut keys = vec![SNOWFLAKE, SNOWFLAKE_CACHE, NEXTVAL, NEXTVAL_CACHE, UUID];
    if cluster.version_num() >= HAS_UUID_V7 {
        keys.push(UUID_V7);
    }
    keys.push(PLPGSQL);
    keys
}

/// A server with all contestants. Nothing runs in it by itself: neither autovacuum nor a checkpoint nor the compiler
/// falls into one contestant's turn.
pub fn server(settings: &[(&str, &str)]) -> Cluster {
    let quiet = [
        ("autovacuum", "off"),
        ("checkpoint_timeout", "1h"),
        ("max_wal_size", "16GB"),
        ("shared_buffers", "512MB"),
        ("max_connections", "300"),
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("max_parallel_maintenance_workers", "0"),
    ];
    let builder = quiet
        .iter()
        .chain(settings)
        .fold(Cluster::builder(), |builder, (name, value)| builder.set(name, value));
    let cluster = builder.start();
    cluster.create_extension("postgres");
    cluster.execute("postgres", SETUP);
    cluster
}

/// The guarded functions are the extension's own, by the entries that stand behind those that SQL knows. The snowflake
/// in PL/pgSQL is of the kind found in many articles: milliseconds, a shard's number, and a sequence
/// that wraps around. Two calls of one millisecond that are 4,096 apart get the same id.
const SETUP: &str = "
CREATE SEQUENCE bench_seq;
CREATE SEQUENCE bench_seq_32 CACHE 32;
CREATE SEQUENCE bench_plpgsql_seq;
CREATE FUNCTION bench_guarded_next() RETURNS bigint
    VOLATILE STRICT PARALLEL SAFE LANGUAGE c AS '$libdir/snowflake', 'snowflake_next_wrapper';
CREATE FUNCTION bench_guarded_decode(bigint) RETURNS bigint
    STABLE STRICT PARALLEL SAFE LANGUAGE c AS '$libdir/snowflake', 'snowflake_decode_timestamp_ms_wrapper';
CREATE FUNCTION bench_plpgsql_snowflake() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    epoch CONSTANT bigint := 1288834974657;
    node CONSTANT bigint := 1;
    now_ms bigint;
    seq bigint;
BEGIN
    SELECT nextval('bench_plpgsql_seq') % 4096 INTO seq;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
    RETURN ((now_ms - epoch) << 22) | (node << 12) | seq;
END $$;";
