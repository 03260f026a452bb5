//! Ids that other generators made: one table of their layouts, and one way to read them all.
//!
//! To add a layout, add a row to [`LAYOUTS`]; nothing else has to change.

use crate::layout::{EPOCH_MS_DEFAULT, Id, NODE_ID_BITS, SEQUENCE_ID_BITS, TIMESTAMP_BITS};

const US_PER_MS: i64 = 1_000;
/// Bits of an id that are not its sign.
pub(crate) const ID_BITS: u32 = i64::BITS - 1;

/// One field of an id: `bits` wide, and `shift` bits above the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// How far it is from the lowest bit.
    pub shift: u32,
    /// How wide it is.
    pub bits: u32,
    /// What its owner calls it.
    pub meaning: &'static str,
}

impl Field {
    pub(crate) const fn new(shift: u32, bits: u32, meaning: &'static str) -> Self {
        assert!(bits > 0 && shift + bits <= ID_BITS, "a field lies within the 63 bits of an id");
        Self { shift, bits, meaning }
    }

    /// The largest value it holds.
    pub const fn max(self) -> i64 {
        i64::MAX >> (ID_BITS - self.bits)
    }

    pub(crate) const fn of(self, id: Id) -> i64 {
        id.get() >> self.shift & self.max()
    }
}

/// How one kind of id is laid out. The time is what stands above `timestamp_shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The name by which SQL asks for it.
    pub name: &'static str,
    /// What its time counts from, in Unix milliseconds.
    pub epoch_ms: i64,
    /// What one step of its time lasts, in microseconds.
    pub unit_us: i64,
    /// How far the time is from the lowest bit.
    pub timestamp_shift: u32,
    /// Which machine, process or shard made the id; not every layout tells.
    pub node: Option<Field>,
    /// What tells ids of the same time and node apart.
    pub sequence: Option<Field>,
}

impl Layout {
    /// Width of the time, without the sign bit. Where the owner counts the sign bit in, as Discord does, that is one
    /// more.
    pub const fn timestamp_bits(&self) -> u32 {
        ID_BITS - self.timestamp_shift
    }

    /// The layout of this name.
    pub fn named(name: &[u8]) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.name.as_bytes() == name)
    }

    /// The fields of an id that was made in this layout.
    ///
    /// # Overflow
    /// None: the latest time that a layout of the table can hold is in the year 6429.
    pub const fn decode(&self, id: Id) -> Decoded {
        let timestamp = id.get() >> self.timestamp_shift;
        Decoded {
            unix_us: self.epoch_ms * US_PER_MS + timestamp * self.unit_us,
            node_id: self.part(self.node, id),
            sequence_id: self.part(self.sequence, id),
        }
    }

    const fn part(&self, field: Option<Field>, id: Id) -> Option<i64> {
        match field {
            Some(field) => Some(field.of(id)),
            None => None,
        }
    }

    /// Whether the fields cover all bits below the time, each once.
    const fn is_whole(&self) -> bool {
        let (mut covered, mut bits) = (0, 0);
        let fields = [self.node, self.sequence];
        let mut n = 0;
        while n < fields.len() {
            if let Some(field) = fields[n] {
                covered |= ((1_i64 << field.bits) - 1) << field.shift;
                bits += field.bits;
            }
            n += 1;
        }
        bits == self.timestamp_shift && covered == (1 << self.timestamp_shift) - 1
    }

    /// Whether the time of the highest id is in the range that [`decode`](Self::decode) computes with.
    const fn fits(&self) -> bool {
        let longest = (ID_MAX_I128 >> self.timestamp_shift) * self.unit_us as i128;
        longest + self.epoch_ms as i128 * US_PER_MS as i128 <= i64::MAX as i128
    }
}

const ID_MAX_I128: i128 = Id::MAX.get() as i128;

/// What an id says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// When it was made, in Unix microseconds: as exact as its layout is.
    pub unix_us: i64,
    /// The node, where the layout has one.
    pub node_id: Option<i64>,
    /// The sequence, where the layout has one.
    pub sequence_id: Option<i64>,
}

impl Decoded {
    /// When it was made, in Unix milliseconds, rounded down.
    pub const fn unix_ms(&self) -> i64 {
        self.unix_us.div_euclid(US_PER_MS)
    }
}

/// The layouts that are known.
pub const LAYOUTS: [Layout; 8] = [
    // https://github.com/twitter-archive/snowflake/tree/snowflake-2010: IdWorker.scala. The node is five bits of
    // data center and five of worker.
    Layout {
        name: "twitter",
        epoch_ms: EPOCH_MS_DEFAULT,
        unit_us: US_PER_MS,
        timestamp_shift: SEQUENCE_ID_BITS + NODE_ID_BITS,
        node: Some(Field::new(SEQUENCE_ID_BITS, NODE_ID_BITS, "data center * 32 + worker")),
        sequence: Some(Field::new(0, SEQUENCE_ID_BITS, "sequence")),
    },
    // https://discord.com/developers/docs/reference#snowflakes: from 2015-01-01.
    Layout {
        name: "discord",
        epoch_ms: 1_420_070_400_000,
        unit_us: US_PER_MS,
        timestamp_shift: 22,
        node: Some(Field::new(12, 10, "worker * 32 + process")),
        sequence: Some(Field::new(0, 12, "increment")),
    },
    // https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c: 41 bits of time, 13 of shard, 10 of
    // sequence, and this epoch in the PL/pgSQL function: 2011-08-24 21:07:01.721.
    Layout {
        name: "instagram",
        epoch_ms: 1_314_220_021_721,
        unit_us: US_PER_MS,
        timestamp_shift: 23,
        node: Some(Field::new(10, 13, "shard")),
        sequence: Some(Field::new(0, 10, "sequence modulo 1024")),
    },
    // https://github.com/mastodon/mastodon/blob/main/lib/mastodon/snowflake.rb: Unix time, and 16 bits made of a
    // hash and a sequence.
    Layout {
        name: "mastodon",
        epoch_ms: 0,
        unit_us: US_PER_MS,
        timestamp_shift: 16,
        node: None,
        sequence: Some(Field::new(0, 16, "hash of table and time + sequence")),
    },
    // https://github.com/sony/sonyflake: 39 bits of time in units of 10 ms, 8 of sequence, 16 of machine; version 1
    // counts from 2014-09-01 where nothing else is set.
    Layout {
        name: "sonyflake",
        epoch_ms: 1_409_529_600_000,
        unit_us: 10 * US_PER_MS,
        timestamp_shift: 24,
        node: Some(Field::new(0, 16, "machine")),
        sequence: Some(Field::new(16, 8, "sequence")),
    },
    // https://github.com/cockroachdb/cockroach/blob/master/pkg/sql/sem/builtins/builtins.go: GenerateUniqueInt, which
    // is unique_rowid(): units of 10 microseconds from 2015-01-01, and 15 bits of instance.
    Layout {
        name: "cockroachdb",
        epoch_ms: 1_420_070_400_000,
        unit_us: 10,
        timestamp_shift: 15,
        node: Some(Field::new(0, 15, "instance")),
        sequence: None,
    },
    // https://github.com/pgEdge/snowflake/blob/main/snowflake.c: from 2023-01-01.
    Layout {
        name: "pgedge",
        epoch_ms: 1_672_531_200_000,
        unit_us: US_PER_MS,
        timestamp_shift: 22,
        node: Some(Field::new(12, 10, "node")),
        sequence: Some(Field::new(0, 12, "count")),
    },
    // https://clickhouse.com/docs/sql-reference/functions/uuid-functions#generatesnowflakeid: Twitter's fields, from
    // 1970.
    Layout {
        name: "unix",
        epoch_ms: 0,
        unit_us: US_PER_MS,
        timestamp_shift: SEQUENCE_ID_BITS + NODE_ID_BITS,
        node: Some(Field::new(SEQUENCE_ID_BITS, NODE_ID_BITS, "machine")),
        sequence: Some(Field::new(0, SEQUENCE_ID_BITS, "sequence")),
    },
];

const _: () = {
    assert!(TIMESTAMP_BITS + NODE_ID_BITS + SEQUENCE_ID_BITS == ID_BITS, "the layout of Twitter");
    let mut n = 0;
    while n < LAYOUTS.len() {
        assert!(LAYOUTS[n].is_whole(), "every bit belongs to one field");
        assert!(LAYOUTS[n].fits(), "the highest id has a time");
        n += 1;
    }
};

#[cfg(test)]
mod tests;
