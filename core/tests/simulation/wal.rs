//! The write-ahead log of one server: what is flushed survives a crash, what is not may.

use snowflake_core::Id;

use crate::random::Random;

#[derive(Clone, Copy, Debug)]
pub enum Record {
    Ceiling(Id),
    /// Rows with the ids of a range.
    Rows {
        first: Id,
        last: Id,
    },
    Commit,
    Prepare(u32),
    CommitPrepared(u32),
}

#[derive(Default)]
pub struct Wal {
    records: Vec<Record>,
    flushed: usize,
    /// The highest ceiling among the flushed records.
    durable: i64,
    /// The highest ceiling that a checkpoint wrote to its own file.
    checkpointed: i64,
}

impl Wal {
    /// Appends a record and returns the position after it.
    pub fn append(&mut self, record: Record) -> usize {
        self.records.push(record);
        self.records.len()
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn flushed(&self) -> usize {
        self.flushed
    }

    /// Flushes everything up to a position: the log has one order.
    pub fn flush(&mut self, position: usize) {
        for record in &self.records[self.flushed.min(position)..position] {
            if let Record::Ceiling(id) = record {
                self.durable = self.durable.max(id.get());
            }
        }
        self.flushed = self.flushed.max(position);
    }

    pub fn durable(&self) -> Id {
        Id::new(self.durable).unwrap()
    }

    /// A checkpoint writes the register as it stands in memory, which may be ahead of what is flushed.
    pub fn checkpoint(&mut self, register: Id) {
        self.checkpointed = self.checkpointed.max(register.get());
    }

    /// The unflushed tail is lost, from a point that chance decides: the system may have written some of it.
    pub fn crash(&mut self, random: &mut Random) {
        let survived = random.within(self.flushed as i64, self.records.len() as i64) as usize;
        self.records.truncate(survived);
        self.flush(survived);
    }

    /// What a standby that has received the log up to a position goes on with.
    pub fn received(&self, position: usize) -> Self {
        let mut wal = Self { records: self.records[..position].to_vec(), ..Self::default() };
        wal.flush(position);
        wal
    }

    /// The register after replay.
    pub fn recovered(&self) -> Id {
        Id::new(self.durable.max(self.checkpointed)).unwrap()
    }

    /// The ranges of ids of all rows in the log, whether or not their transaction has committed.
    pub fn rows(&self) -> impl Iterator<Item = (Id, Id)> + '_ {
        self.records.iter().filter_map(|record| match *record {
            Record::Rows { first, last } => Some((first, last)),
            _ => None,
        })
    }

    /// The transactions that are prepared and not finished.
    pub fn prepared(&self) -> Vec<u32> {
        let mut prepared = Vec::new();
        for record in &self.records {
            match *record {
                Record::Prepare(xid) => prepared.push(xid),
                Record::CommitPrepared(xid) => prepared.retain(|other| *other != xid),
                _ => {}
            }
        }
        prepared
    }
}
