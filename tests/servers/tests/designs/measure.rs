//! The measurements, and what they say of a design.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_servers::SqlError;

use crate::design::{Design, NODES, Requirement, Verdict};
use crate::fleet::Fleet;

/// The bar of the textbook: a billion ids a day.
pub const IDS_A_DAY: f64 = 1e9;
const BAR_IDS_A_SECOND: f64 = IDS_A_DAY / (24.0 * 60.0 * 60.0);
/// How many ids a transaction makes when their number is looked at.
const IDS_A_TRANSACTION: i64 = 100;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(100);
/// What is asked for when the coordinator is down: more than a range.
const ASKED_FOR: usize = 1_500;
/// What is no number is a UUID.
const UUID_BITS: u32 = 128;
/// Replies between two sessions of one server, and between two servers.
const REPLIES: usize = 300;

/// What was measured of a design.
#[derive(Debug, Default)]
pub struct Measured {
    /// Lowest, median and highest of the rounds, with one session and with eight, on one server.
    pub ids_a_second: [[f64; 3]; 2],
    pub ids: usize,
    pub duplicates: usize,
    /// Of so many replies, those that do not come after what they answer.
    pub replies: usize,
    pub disorder_on_one_server: usize,
    pub disorder_on_two: usize,
    pub is_bigint: bool,
    pub is_negative: bool,
    pub bits: u32,
    /// How many ids one session got of those it asked for, and the SQLSTATE that ended it.
    pub without_coordinator: (usize, Option<String>),
}

impl Measured {
    pub fn verdict(&self, design: &Design, requirement: Requirement) -> Verdict {
        let yes_if = |holds| if holds { Verdict::Yes } else { Verdict::No };
        match requirement {
            Requirement::Unique => yes_if(self.duplicates == 0),
            Requirement::Scalable if design.room.is_some_and(|room| room < IDS_A_DAY) => Verdict::No,
            Requirement::Scalable if self.ids_a_second[1][1] >= BAR_IDS_A_SECOND => Verdict::Yes,
            // Not with one server.
            Requirement::Scalable => Verdict::Partly,
            Requirement::Available => match self.without_coordinator {
                (ASKED_FOR, None) => Verdict::Yes,
                (1.., _) => Verdict::Partly,
                _ => Verdict::No,
            },
            Requirement::Numeric => yes_if(self.is_bigint && !self.is_negative),
            Requirement::Causal => match (self.disorder_on_one_server, self.disorder_on_two) {
                (0, 0) => Verdict::Yes,
                (0, _) => Verdict::Partly,
                _ => Verdict::No,
            },
        }
    }

    /// How many servers a billion ids a day take.
    pub fn servers_needed(&self) -> f64 {
        (BAR_IDS_A_SECOND / self.ids_a_second[1][1]).ceil()
    }
}

/// Ids of the design, as text, whatever they are.
fn ids(client: &mut Client, design: &Design, count: i64) -> Vec<String> {
    let query = format!("SELECT ({})::text FROM generate_series(1, $1::bigint)", design.next);
    let rows = client.query(&query, &[&count]).unwrap_or_else(|error| panic!("{}: {error:?}", design.name));
    rows.iter().map(|row| row.get(0)).collect()
}

/// In rounds that take turns, so that what else the machine does falls on all.
pub fn ids_a_second(fleet: &Fleet, designs: &[&Design], measured: &mut [Measured]) {
    for (place, sessions) in [1, 8].into_iter().enumerate() {
        let mut samples = vec![Vec::new(); designs.len()];
        for _ in 0..ROUNDS {
            for (design, samples) in designs.iter().zip(&mut samples) {
                samples.push(one_round(fleet, design, sessions));
            }
        }
        for (mut samples, measured) in samples.into_iter().zip(measured.iter_mut()) {
            samples.sort_by(f64::total_cmp);
            measured.ids_a_second[place] = [samples[0], samples[ROUNDS / 2], samples[ROUNDS - 1]];
        }
    }
}

fn one_round(fleet: &Fleet, design: &Design, sessions: usize) -> f64 {
    let query = format!("SELECT count({}) FROM generate_series(1, $1::bigint)", design.next);
    let mut clients: Vec<Client> = (0..sessions).map(|_| fleet.connect(0)).collect();
    thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| {
                let query = &query;
                scope.spawn(move || {
                    let statement = client.prepare(query).expect("an expression");
                    let (begun, mut made) = (Instant::now(), 0);
                    while begun.elapsed() < ROUND {
                        client.query(&statement, &[&IDS_A_TRANSACTION]).expect("ids");
                        made += IDS_A_TRANSACTION;
                    }
                    made as f64 / begun.elapsed().as_secs_f64()
                })
            })
            .collect();
        running.into_iter().map(|session| session.join().expect("a session")).sum()
    })
}

/// Replies that do not come after what they answer: between two sessions of one server, and between two servers whose
/// clocks are apart, to and fro.
pub fn order(fleet: &Fleet, designs: &[&Design], measured: &mut [Measured]) {
    for (design, measured) in designs.iter().zip(measured) {
        fleet.set_clocks_apart(design.clocks_ms);
        measured.replies = REPLIES;
        measured.disorder_on_one_server = disorder(design, &mut [fleet.connect(1), fleet.connect(1)]);
        measured.disorder_on_two = disorder(design, &mut [fleet.connect(1), fleet.connect(2)]);
    }
    fleet.set_clocks_apart(0);
}

fn disorder(design: &Design, sessions: &mut [Client; 2]) -> usize {
    let next = format!("SELECT ({})::text", design.next);
    // A design that is told of nothing has no argument.
    let told = design.reply.contains("$1");
    let reply = format!("SELECT ({})::text", design.reply.replace("$1", "$1::text"));
    let comes_after =
        format!("SELECT {}", design.comes_after.replace("$1", "$1::text").replace("$2", "$2::text"));
    let mut wrong = 0;
    for turn in 0..REPLIES {
        let [post, answer] = [turn % 2, 1 - turn % 2];
        let cause: String = sessions[post].query_one(&next, &[]).expect("an id").get(0);
        let effect: String = if told {
            sessions[answer].query_one(&reply, &[&cause]).expect("an id").get(0)
        } else {
            sessions[answer].query_one(&reply, &[]).expect("an id").get(0)
        };
        let in_order: bool =
            sessions[answer].query_one(&comes_after, &[&cause, &effect]).expect("ids").get(0);
        wrong += usize::from(!in_order);
    }
    wrong
}

pub fn width(fleet: &Fleet, designs: &[&Design], measured: &mut [Measured]) {
    let mut client = fleet.connect(0);
    for (design, measured) in designs.iter().zip(measured) {
        let query = format!("SELECT pg_typeof({0})::text, ({0})::text", design.next);
        let row = client.query_one(&query, &[]).expect("an id");
        measured.is_bigint = row.get::<_, &str>(0) == "bigint";
        let id = row.get::<_, &str>(1).parse::<i64>();
        measured.is_negative = id.as_ref().is_ok_and(|id| *id < 0);
        measured.bits = id.map_or(UUID_BITS, |id| i64::BITS - id.leading_zeros());
    }
}

/// Ids of all servers at once, before and after one leaves and one crashes.
pub fn duplicates(fleet: &mut Fleet, designs: &[&Design], measured: &mut [Measured]) {
    let mut seen: Vec<HashSet<String>> = designs.iter().map(|_| HashSet::new()).collect();
    fleet.begin_counting();
    for crashed in [false, true] {
        if crashed {
            fleet.lose_one_and_crash_another();
        }
        for ((design, seen), measured) in designs.iter().zip(&mut seen).zip(measured.iter_mut()) {
            for id in ids_of_all_servers(fleet, design) {
                measured.ids += 1;
                measured.duplicates += usize::from(!seen.insert(id));
            }
        }
    }
}

fn ids_of_all_servers(fleet: &Fleet, design: &Design) -> Vec<String> {
    const SESSIONS: usize = 2;
    // Some servers have more to do than others.
    let statements = |server| 1 + 2 * server;
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..fleet.servers.len() * SESSIONS)
            .map(|session| {
                scope.spawn(move || {
                    let server = session / SESSIONS;
                    let mut client = fleet.connect(server);
                    (0..statements(server))
                        .flat_map(|_| ids(&mut client, design, IDS_A_TRANSACTION))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().expect("a session")).collect()
    })
}

/// One session of a server, of which each statement asks for one id, when the coordinator is down.
pub fn without_the_coordinator(fleet: &mut Fleet, designs: &[&Design], measured: &mut [Measured]) {
    // It has begun before.
    let mut clients: Vec<Client> = designs.iter().map(|_| fleet.connect(0)).collect();
    for (design, client) in designs.iter().zip(&mut clients) {
        ids(client, design, 1);
    }
    fleet.coordinator.stop_immediately();
    for ((design, client), measured) in designs.iter().zip(&mut clients).zip(measured) {
        let statement = client.prepare(&format!("SELECT ({})::text", design.next)).expect("an expression");
        let (mut got, mut ended) = (0, None);
        while got < ASKED_FOR {
            match client.query(&statement, &[]) {
                Ok(_) => got += 1,
                Err(error) => {
                    ended = Some(SqlError::of(&error).code);
                    break;
                }
            }
        }
        measured.without_coordinator = (got, ended);
    }
}

/// What the vector clock says of two events of which neither knows the other.
pub fn unrelated_events(fleet: &Fleet) -> String {
    let mut sessions = [fleet.connect(0), fleet.connect(1)];
    let [a, b] = sessions
        .each_mut()
        .map(|session| session.query_one("SELECT event()", &[]).expect("an id").get::<_, i64>(0));
    let compare = format!("SELECT sequencer_vector_compare($1, $2, {NODES})");
    sessions[0].query_one(&compare, &[&a, &b]).expect("two ids").get(0)
}
