//! Each layout: the vectors of core/tests/data, and the ends of its fields.

use std::collections::BTreeSet;
use std::string::String;
use std::vec::Vec;

use super::*;

fn decode(name: &str, id: i64) -> Decoded {
    Layout::named(name.as_bytes()).unwrap().decode(Id::new(id).unwrap())
}

fn decoded(unix_us: i64, node_id: Option<i64>, sequence_id: Option<i64>) -> Decoded {
    Decoded { unix_us, node_id, sequence_id }
}

#[test]
fn names_are_known_as_they_are_written() {
    let names: BTreeSet<_> = LAYOUTS.iter().map(|layout| layout.name).collect();
    assert_eq!(names.len(), LAYOUTS.len());
    for layout in &LAYOUTS {
        assert_eq!(Layout::named(layout.name.as_bytes()), Some(layout));
    }
    for unknown in [&b""[..], b"Twitter", b"twitter ", b"twitte", b"\xff\0"] {
        assert_eq!(Layout::named(unknown), None);
    }
}

#[test]
fn bits_are_as_their_owners_say() {
    let bits = |name: &str| {
        let layout = Layout::named(name.as_bytes()).unwrap();
        let of = |field: Option<Field>| field.map_or(0, |field| field.bits);
        (layout.timestamp_bits(), of(layout.node), of(layout.sequence))
    };
    for name in ["twitter", "discord", "pgedge", "unix"] {
        assert_eq!(bits(name), (41, 10, 12));
    }
    assert_eq!(bits("instagram"), (40, 13, 10));
    assert_eq!(bits("mastodon"), (47, 0, 16));
    assert_eq!(bits("sonyflake"), (39, 16, 8));
    assert_eq!(bits("cockroachdb"), (48, 15, 0));
}

#[test]
fn the_lowest_id_is_the_epoch() {
    for layout in &LAYOUTS {
        let fields = layout.decode(Id::MIN);
        assert_eq!(fields.unix_us, layout.epoch_ms * 1_000, "{}", layout.name);
        assert!(fields.node_id.unwrap_or(0) == 0 && fields.sequence_id.unwrap_or(0) == 0);
    }
}

#[test]
fn the_highest_id_fills_every_field() {
    for layout in &LAYOUTS {
        let fields = layout.decode(Id::MAX);
        let full = |field: Option<Field>| field.map(|field| (1 << field.bits) - 1);
        assert_eq!((fields.node_id, fields.sequence_id), (full(layout.node), full(layout.sequence)));
        let steps = (1_i64 << layout.timestamp_bits()) - 1;
        assert_eq!(fields.unix_us, layout.epoch_ms * 1_000 + steps * layout.unit_us, "{}", layout.name);
    }
    // 2^47 ms: the latest of all.
    assert_eq!(decode("mastodon", i64::MAX).unix_ms(), 140_737_488_355_327);
}

#[test]
fn units_that_are_no_milliseconds() {
    // 1.23456 s after 2015-01-01, in units of 10 microseconds, of instance 3.
    let row = decode("cockroachdb", 123_456 << 15 | 3);
    assert_eq!(row, decoded(1_420_070_401_234_560, Some(3), None));
    assert_eq!(row.unix_ms(), 1_420_070_401_234);
    assert_eq!(decode("sonyflake", 7 << 24).unix_ms(), 1_409_529_600_070);
    assert_eq!(decode("pgedge", 1 << 22 | 5 << 12 | 9), decoded(1_672_531_200_001_000, Some(5), Some(9)));
    assert_eq!(decode("instagram", 1 << 23 | 8_191 << 10 | 1_023).node_id, Some(8_191));
}

#[test]
fn a_time_before_1970_is_rounded_down() {
    assert_eq!(decoded(-1, None, None).unix_ms(), -1);
}

#[test]
fn vectors() {
    let lines: Vec<_> = include_str!("../../tests/data/decode-vectors.tsv").lines().skip(1).collect();
    // How each is read, and what its fields are.
    let vectors = [
        ("1593572310593806338", "twitter", 1_668_772_220_644, Some(378), Some(2)),
        ("175928847299117063", "discord", 1_462_015_105_796, Some(32), Some(7)),
        ("105484726235607040", "discord", 1_445_219_918_546, Some(11), Some(0)),
        ("101767036616676231", "mastodon", 1_552_841_745_249, None, Some(37_767)),
        ("7195510166884597760", "unix", 1_715_543_309_899, Some(484), Some(0)),
        ("16908291", "sonyflake", 1_409_529_600_010, Some(3), Some(2)),
    ];
    for (id, name, unix_ms, node_id, sequence_id) in vectors {
        let line = lines.iter().find(|line| line.starts_with(&std::format!("{id}\t"))).unwrap();
        let fields = decode(name, id.parse().unwrap());
        assert_eq!((fields.unix_ms(), fields.node_id, fields.sequence_id), (unix_ms, node_id, sequence_id));
        // The words of the file say the same.
        let columns: Vec<&str> = line.split('\t').collect();
        let epoch_ms = Layout::named(name.as_bytes()).unwrap().epoch_ms;
        assert!(columns[2] == "any" || columns[2].parse() == Ok(epoch_ms), "{line}");
        let said = |what: &str| {
            let (_, after) = columns[3].split_once(what)?;
            let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<i64>().ok()
        };
        match name {
            "discord" => {
                let node_id = said("worker").unwrap() * 32 + said("process").unwrap();
                assert_eq!((fields.node_id, fields.sequence_id), (Some(node_id), said("increment")));
            }
            "mastodon" => assert_eq!(fields.sequence_id, said("tail")),
            "sonyflake" => {
                assert_eq!((fields.node_id, fields.sequence_id), (said("machine"), said("sequence")));
                assert_eq!(Some((fields.unix_ms() - epoch_ms) / 10), said("time field"));
            }
            _ => assert_eq!((fields.node_id, fields.sequence_id), (said("node"), said("sequence"))),
        }
    }
}
