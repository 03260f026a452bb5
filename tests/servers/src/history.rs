//! What one server has issued in all its lives, and the promise that is checked at each step.

use std::collections::HashSet;

use crate::cluster::Cluster;
use crate::ids::{Drawn, node_of, show};
use crate::load::Life;

/// The ids of one server through crashes, restarts and failovers.
#[derive(Clone)]
pub struct History {
    node: i64,
    highest: i64,
    committed: Vec<i64>,
}

impl History {
    /// Nothing has been issued. Every id is to have this node number.
    pub fn new(node: i64) -> Self {
        Self { node, highest: 0, committed: Vec::new() }
    }

    /// The server has another node number from now on.
    pub fn renumber(&mut self, node: i64) {
        self.node = node;
    }

    /// Adds what was returned since the last start.
    ///
    /// # Panics
    /// Where an id came twice, is not above all that came before this life, is of another node, or where a
    /// session's ids did not rise; and where there is none.
    pub fn add(&mut self, life: Life) {
        self.committed.extend(&life.committed);
        self.add_drawn(&life.drawn);
    }

    /// The same, for ids of which no row was made.
    pub fn add_drawn(&mut self, drawn: &Drawn) {
        drawn.assert_unique_and_rising();
        let sorted = drawn.sorted();
        let (lowest, highest) = (sorted[0], sorted[sorted.len() - 1]);
        assert!(lowest > self.highest, "{} came after {}", show(lowest), show(self.highest));
        if let Some(&other) = sorted.iter().find(|&&id| node_of(id) != self.node) {
            panic!("{} is not of node {}", show(other), self.node);
        }
        self.highest = highest;
    }

    /// Looks at the rows of `t`: all that were committed are there. The others there are (whose commit nobody was
    /// told of) have to be below all ids to come, as well.
    pub fn check_rows(&mut self, cluster: &Cluster, database: &str) {
        let rows = rows_of(cluster, database);
        for &id in &self.committed {
            assert!(rows.contains(&id), "the committed row with {} is lost", show(id));
        }
        self.highest = rows.into_iter().fold(self.highest, i64::max);
    }
}

/// The ids in the table `t`.
pub fn rows_of(cluster: &Cluster, database: &str) -> HashSet<i64> {
    let rows = cluster.connect(database).query("SELECT id FROM t", &[]).expect("the table is there");
    rows.iter().map(|row| row.get(0)).collect()
}
