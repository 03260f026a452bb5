//! The designs, each as an expression in SQL, and what is expected of it.

/// What a unique id is asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// No id twice, though servers leave, crash, and have their clocks set back.
    Unique,
    /// A billion ids a day.
    Scalable,
    /// Whatever else is down, a server that is up gives ids.
    Available,
    /// A `bigint` that is not negative.
    Numeric,
    /// An id that was made knowing of another is greater, or says that it comes after.
    Causal,
}

impl Requirement {
    pub const ALL: [Self; 5] = [Self::Unique, Self::Scalable, Self::Available, Self::Numeric, Self::Causal];
}

/// Whether it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Yes,
    /// Not quite: see the figures.
    Partly,
    No,
}

use Verdict::{No, Partly, Yes};

/// A way to make ids.
pub struct Design {
    /// The section of the document.
    pub section: u32,
    pub name: &'static str,
    /// The expression of an id.
    pub next: &'static str,
    /// The id of a reply, which knows of the id `$1`.
    pub reply: &'static str,
    /// Whether the id `$2` comes after the id `$1`.
    pub comes_after: &'static str,
    /// How far apart the clocks of servers are when their order is looked at: ahead and behind, as far as the design
    /// is made for.
    pub clocks_ms: i64,
    /// How many ids the layout has room for, all nodes together, where that is what ends it.
    pub room: Option<f64>,
    /// The first PostgreSQL that has it.
    pub since: i32,
    /// In the order of [`Requirement::ALL`].
    expected: [Verdict; 5],
}

/// Those that a server of this version has.
pub fn designs(version: i32) -> Vec<&'static Design> {
    DESIGNS.iter().filter(|design| design.since <= version).collect()
}

impl Design {
    pub fn expected(&self, requirement: Requirement) -> Verdict {
        self.expected[requirement as usize]
    }

    const fn of(section: u32, name: &'static str, next: &'static str, expected: [Verdict; 5]) -> Self {
        Self {
            section,
            name,
            next,
            reply: next,
            comes_after: "$2::bigint > $1::bigint",
            clocks_ms: APART_MS / 2,
            room: None,
            since: 0,
            expected,
        }
    }
}

/// How far apart the clocks of two servers are.
pub const APART_MS: i64 = 900;
/// The servers, and so the counters of a vector clock.
pub const NODES: u32 = 3;

/// A vector clock's counter: 53 bits, divided evenly.
const VECTOR_COUNTER_MAX: u64 = (1 << (53 / NODES)) - 1;

static DESIGNS: [Design; 13] = [
    Design {
        comes_after: "$2::uuid > $1::uuid",
        ..Design::of(1, "UUID, version 4", "gen_random_uuid()", [Yes, Yes, Yes, No, No])
    },
    Design {
        comes_after: "$2::uuid > $1::uuid",
        since: 18_0000,
        ..Design::of(1, "UUID, version 7", "uuidv7()", [Yes, Yes, Yes, No, Partly])
    },
    Design::of(2, "Counter with a step of the servers", "nextval('usual')", [No, Yes, Yes, Yes, Partly]),
    Design::of(
        2,
        "Counter with a step of all node numbers",
        "sequencer_strided_next('strided')",
        [Yes, Yes, Yes, Yes, Partly],
    ),
    Design::of(3, "Range handler", "sequencer_range_next('ranges')", [Yes, Yes, Partly, Yes, No]),
    Design::of(4, "Unix time, without the wait", "sequencer_unix_now()", [No, Yes, Yes, Yes, No]),
    Design::of(4, "Unix time", "sequencer_unix_next()", [Yes, Partly, Yes, Yes, Partly]),
    Design::of(5, "Snowflake", "snowflake_next()", [Yes, Yes, Yes, Yes, Partly]),
    Design {
        reply: "snowflake_next(after => $1::bigint)",
        ..Design::of(5, "Snowflake, told of its cause", "snowflake_next(after => 1)", [Yes; 5])
    },
    Design {
        reply: "CASE WHEN sequencer_lamport_observe('lamport', $1::bigint)::text = '' THEN sequencer_lamport_next('lamport') END",
        ..Design::of(6, "Lamport clock", "sequencer_lamport_next('lamport')", [Yes; 5])
    },
    Design {
        reply: "(SELECT event() FROM observe($1::bigint))",
        comes_after: "sequencer_vector_compare($1::bigint, $2::bigint, 3) = 'before'",
        room: Some((VECTOR_COUNTER_MAX * NODES as u64) as f64),
        ..Design::of(6, "Vector clock", "event()", [Yes, No, Yes, Yes, Yes])
    },
    Design {
        comes_after: "sequencer_truetime_compare($1::bigint, $2::bigint) <> 'after'",
        clocks_ms: 6,
        ..Design::of(7, "TrueTime", "sequencer_truetime_next()", [Yes; 5])
    },
    Design::of(8, "Snowflake, scattered", "sequencer_scatter(snowflake_next())", [Yes, Yes, Yes, Yes, No]),
];
