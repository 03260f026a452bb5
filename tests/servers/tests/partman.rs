//! pg_partman over a table of ids, set up by the statements of docs/partitioning.md, while weeks go by.

use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use postgres::Client;
use snowflake_servers::ids::timestamp_of;
use snowflake_servers::{Cluster, FakeClock, assert_sql_error};

const EPOCH_MS: i64 = 1_288_834_974_657;
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// How many partitions pg_partman makes ahead.
const AHEAD: usize = 4;
/// How many weeks the document keeps.
const KEPT: usize = 8;

/// The statements of the document's section, which partition the table `log` by weeks, as a version takes them.
fn statements(version: Version) -> String {
    let page = include_str!("../../../docs/partitioning.md");
    let (_, section) = page.split_once("\n## With pg_partman\n").expect("the section is there");
    let (_, code) = section.split_once("\n```sql no-run\n").expect("its code is there");
    let (code, _) = code.split_once("\n```\n").expect("the code ends");
    code.replace("'native', ", version.native())
}

/// A version of pg_partman, by what differs.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    Four,
    Five,
}

impl Version {
    /// The argument that 5 has no more.
    fn native(self) -> &'static str {
        match self {
            Self::Four => "'native', ",
            Self::Five => "",
        }
    }
}

/// The version of pg_partman that there is. None is said aloud, but on PostgreSQL 15 there has to be one.
fn version_of_partman(cluster: &Cluster) -> Option<Version> {
    const VERSION: &str = "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'";
    if let Some(row) = cluster.connect("postgres").query_opt(VERSION, &[]).expect("a catalog") {
        return match &row.get::<_, String>(0)[..2] {
            "4." => Some(Version::Four),
            "5." => Some(Version::Five),
            other => panic!("pg_partman {other} has not been looked at"),
        };
    }
    let major = cluster.version_num() / 1_0000;
    assert_ne!(major, 15, "pg_partman is missing: apt-get install postgresql-15-partman");
    // eprintln!() would be captured.
    let skipped = format!("SKIPPED: pg_partman is not installed for PostgreSQL {major}\n");
    let _ = std::io::stderr().write_all(skipped.as_bytes());
    None
}

/// A server with the document's table, whose clock stands in the middle of a week.
struct Weeks {
    cluster: Cluster,
    clock: FakeClock,
    first_offset_ms: i64,
    version: Version,
}

impl Weeks {
    fn begin() -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
        let first_offset_ms = WEEK_MS / 2 - (now.as_millis() as i64 - EPOCH_MS) % WEEK_MS;
        let clock = FakeClock::new();
        clock.set_offset_ms(first_offset_ms);
        let cluster = Cluster::builder().clock(&clock).start();
        let version = version_of_partman(&cluster)?;
        cluster.create_extension("postgres");
        cluster.execute("postgres", &statements(version));
        Some(Self { cluster, clock, first_offset_ms, version })
    }

    /// So many weeks after the first, the server having been down for the last of them.
    fn go_to(&mut self, week: usize) -> Client {
        self.cluster.stop();
        self.clock.set_offset_ms(self.first_offset_ms + week as i64 * WEEK_MS);
        self.cluster.start();
        self.client()
    }

    fn client(&self) -> Client {
        self.cluster.connect("postgres")
    }

    /// The partitions were made from the present week on, and the last row is past them.
    fn maintain_beside_a_row_in_default(&self, client: &mut Client) {
        const COUNT: &str = "SELECT (SELECT count(*) FROM log_default), (SELECT count(*) FROM pg_inherits WHERE inhparent = 'log'::regclass)";
        let maintained = maintain(client);
        match self.version {
            Version::Four => {
                assert_sql_error(maintained, "P0001", &["log_default", "would be violated by some row"]);
            }
            Version::Five => maintained.expect("maintenance"),
        }
        let row = client.query_one(COUNT, &[]).expect("counts");
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, AHEAD as i64 + 2));
    }
}

/// A partition with bounds.
#[derive(Debug)]
struct Partition {
    name: String,
    from_id: i64,
    to_id: i64,
}

impl Partition {
    /// Checks that it is as long as a week, and that its middle is so many weeks from the clock, to the minute.
    fn assert_is_weeks_from(&self, now_ms: i64, weeks: i64) {
        assert_eq!(timestamp_of(self.to_id - self.from_id), WEEK_MS, "{self:?}");
        let middle_ms = timestamp_of(self.from_id) + WEEK_MS / 2;
        let off_ms = EPOCH_MS + middle_ms - (now_ms + weeks * WEEK_MS);
        assert!(off_ms.abs() < 60_000, "{self:?} is off by {off_ms} ms");
    }
}

/// Checks that the partitions with bounds are those of the weeks from `first` on, and returns them.
fn assert_weeks(client: &mut Client, first: i64, count: usize) -> Vec<Partition> {
    const PARTITIONS: &str = r"
        SELECT c.oid::regclass::text, (regexp_match(bounds, 'FROM \(''(\d+)''\)'))[1]::bigint AS from_id,
               (regexp_match(bounds, 'TO \(''(\d+)''\)'))[1]::bigint
          FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid, pg_get_expr(relpartbound, c.oid) AS bounds
         WHERE inhparent = 'log'::regclass AND bounds <> 'DEFAULT'
         ORDER BY from_id";
    const NOW_MS: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let rows = client.query(PARTITIONS, &[]).expect("a catalog");
    let partition =
        |row: &postgres::Row| Partition { name: row.get(0), from_id: row.get(1), to_id: row.get(2) };
    let partitions: Vec<_> = rows.iter().map(partition).collect();
    assert_eq!(partitions.len(), count, "{partitions:?}");
    let now_ms = client.query_one(NOW_MS, &[]).expect("the clock").get(0);
    for (weeks, partition) in (first..).zip(&partitions) {
        partition.assert_is_weeks_from(now_ms, weeks);
    }
    partitions
}

/// Inserts a row, whose id is of now, and returns the name of its partition.
fn insert(client: &mut Client, line: &str) -> String {
    const INSERT: &str = "INSERT INTO log (line) VALUES ($1) RETURNING tableoid::regclass::text";
    client.query_one(INSERT, &[&line]).expect("a row").get(0)
}

fn maintain(client: &mut Client) -> Result<(), postgres::Error> {
    client.batch_execute("SELECT partman.run_maintenance()")
}

fn lines(client: &mut Client) -> Vec<String> {
    let rows = client.query("SELECT line FROM log ORDER BY id", &[]).expect("the rows");
    rows.iter().map(|row| row.get(0)).collect()
}

fn week(week: usize) -> String {
    format!("week {week}")
}

/// The first partition is that of the present week, and a row goes where its time says, to the millisecond.
#[test]
fn rows_are_in_the_partition_of_their_week() {
    const LAST_MS: &str = "
        INSERT INTO log (id) VALUES
            (snowflake_min_id(snowflake_decode_timestamp($1))),
            (snowflake_max_id(snowflake_decode_timestamp($2) - interval '1 millisecond'))
        RETURNING id, tableoid::regclass::text";
    let Some(mut weeks) = Weeks::begin() else { return };
    for present in 0..=AHEAD {
        let mut client = weeks.go_to(present);
        let partitions = assert_weeks(&mut client, -(present as i64), 1 + AHEAD);
        let Partition { name, from_id, to_id } = &partitions[present];
        assert_eq!(insert(&mut client, &week(present)), *name);
        let rows = client.query(LAST_MS, &[from_id, to_id]).expect("rows");
        let ends: Vec<(i64, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(ends, [(*from_id, name.clone()), (to_id - 1, name.clone())]);
    }
}

/// As weeks go by, `run_maintenance()` makes partitions ahead, and drops those past the retention.
#[test]
fn maintenance_makes_partitions_and_drops_them() {
    let Some(mut weeks) = Weeks::begin() else { return };
    insert(&mut weeks.client(), &week(0));
    for present in 1..=KEPT + 2 {
        let mut client = weeks.go_to(present);
        insert(&mut client, &week(present));
        maintain(&mut client).expect("maintenance");
        // The retention counts back from the last id, in the middle of a week: of that long ago, half is kept.
        let first = present.saturating_sub(KEPT);
        assert_weeks(&mut client, first as i64 - present as i64, present - first + 1 + AHEAD);
        assert_eq!(lines(&mut client), (first..=present).map(week).collect::<Vec<_>>());
    }
}

/// Only the partition of the time asked for is read: known to the planner where the epoch is given, else when the
/// query starts.
#[test]
fn a_query_by_time_reads_one_partition() {
    let Some(weeks) = Weeks::begin() else { return };
    let mut client = weeks.client();
    let partitions = assert_weeks(&mut client, 0, 1 + AHEAD);
    let from_s = (EPOCH_MS + timestamp_of(partitions[1].from_id)) / 1_000;
    for (epoch, removed) in [("", true), (", 1288834974657", false)] {
        let query = format!(
            "EXPLAIN (COSTS OFF) SELECT count(*) FROM log
              WHERE id >= snowflake_min_id(to_timestamp({from_s} + 60){epoch})
                AND id <= snowflake_max_id(to_timestamp({from_s} + 86400){epoch})"
        );
        let rows = client.query(&query, &[]).expect("a plan");
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        for (number, partition) in partitions.iter().enumerate() {
            assert_eq!(plan.contains(&partition.name), number == 1, "{plan}");
        }
        assert!(!plan.contains("log_default"), "{plan}");
        assert_eq!(plan.contains("Subplans Removed"), removed, "{plan}");
    }
}

/// A row past the partitions that were made ahead is in the default partition, and stops the maintenance until it
/// has been moved. With pg_partman 5 the row stays there until then, and the maintenance makes nothing for it.
#[test]
fn a_row_in_the_default_partition_stops_the_maintenance() {
    let Some(mut weeks) = Weeks::begin() else { return };
    insert(&mut weeks.client(), "in time");
    let mut client = weeks.go_to(AHEAD + 1);
    assert_eq!(insert(&mut client, "late"), "log_default");
    weeks.maintain_beside_a_row_in_default(&mut client);
    move_from_default(&mut client);
    maintain(&mut client).expect("maintenance");
    let partitions = assert_weeks(&mut client, -(AHEAD as i64) - 1, 2 * AHEAD + 2);
    assert_eq!(insert(&mut client, "now"), partitions[AHEAD + 1].name);
    assert_eq!(lines(&mut client), ["in time", "late", "now"]);
}

fn move_from_default(client: &mut Client) {
    let moved = client.query_one("SELECT partman.partition_data_id('public.log')", &[]).expect("it moves");
    assert_eq!(moved.get::<_, i64>(0), 1);
}

/// The retention counts back from the highest id, not from the clock.
#[test]
fn an_id_far_ahead_drops_what_is_recent() {
    const FAR_AHEAD: &str =
        "INSERT INTO log VALUES (snowflake_min_id(clock_timestamp() + interval '10 weeks'), 'ahead')";
    let Some(weeks) = Weeks::begin() else { return };
    let mut client = weeks.client();
    insert(&mut client, "of now");
    client.batch_execute(FAR_AHEAD).expect("a row");
    weeks.maintain_beside_a_row_in_default(&mut client);
    move_from_default(&mut client);
    maintain(&mut client).expect("maintenance");
    assert_eq!(lines(&mut client), ["ahead"]);
}

/// Where no partition with bounds has a row, the maintenance does nothing.
#[test]
fn rows_in_the_default_partition_alone() {
    let Some(mut weeks) = Weeks::begin() else { return };
    let mut client = weeks.go_to(AHEAD + 1);
    assert_eq!(insert(&mut client, "late"), "log_default");
    maintain(&mut client).expect("maintenance");
    assert_weeks(&mut client, -(AHEAD as i64) - 1, 1 + AHEAD);
}

/// Without `p_start_partition`, the partitions of an empty table are those of the epoch.
#[test]
fn without_a_start_the_partitions_are_of_the_epoch() {
    let Some(weeks) = Weeks::begin() else { return };
    let mut client = weeks.client();
    let partitioned = format!(
        "CREATE TABLE other (id bigint PRIMARY KEY DEFAULT snowflake_next()) PARTITION BY RANGE (id);
         SELECT partman.create_parent('public.other', 'id', {}(604800000::bigint << 22)::text)",
        weeks.version.native()
    );
    client.batch_execute(&partitioned).expect("partitions");
    let inserted =
        client.query_one("INSERT INTO other DEFAULT VALUES RETURNING tableoid::regclass::text", &[]);
    assert_eq!(inserted.expect("a row").get::<_, String>(0), "other_default");
    let first = client.query_one("SELECT count(*) FROM pg_class WHERE relname = 'other_p0'", &[]);
    assert_eq!(first.expect("a catalog").get::<_, i64>(0), 1);
}
