//! Each layout: its bits, the ends of its fields, and what does not fit.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::*;
use crate::layout::{self, ID_MAX, NODE_ID_MAX};

fn bits(fields: &[Field]) -> Vec<u32> {
    fields.iter().map(|field| field.bits).collect()
}

#[test]
fn every_bit_belongs_to_one_field_and_the_highest_comes_first() {
    let names: BTreeSet<_> = DESIGNS.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), DESIGNS.len());
    for (name, fields) in DESIGNS {
        let mut above = ID_BITS;
        for field in fields {
            assert_eq!(field.shift + field.bits, above, "{name}: {}", field.meaning);
            above = field.shift;
        }
        assert_eq!(above, 0, "{name}");
    }
}

#[test]
fn bits_are_those_of_the_documents() {
    assert_eq!(bits(&SNOWFLAKE.fields), [41, 10, 12]);
    assert_eq!(bits(&TRUETIME.fields), [41, 4, 10, 8]);
    for design in [&STRIDED, &LAMPORT, &UNIX, &VECTOR] {
        assert_eq!(bits(&design.fields), [53, 10], "{}", design.name);
    }
    assert_eq!(VALUE_MAX, 9_007_199_254_740_991);
}

#[test]
fn snowflake_is_the_layout_of_the_generator() {
    for id in [0, 1, 4_096, 4_194_303, 4_194_304, 1_593_572_310_593_806_338, ID_MAX] {
        let id = Id::new(id).unwrap();
        let fields = id.fields();
        assert_eq!(SNOWFLAKE.fields(id), [fields.timestamp, fields.node_id, fields.sequence_id]);
        let [timestamp, node, sequence] = SNOWFLAKE.fields(id);
        assert_eq!(SNOWFLAKE.compose([timestamp, node, sequence]), Ok(id));
        assert_eq!(layout::compose(timestamp, node, sequence, 0), Ok(id));
    }
}

#[test]
fn a_value_stands_in_its_own_bits_alone() {
    assert_eq!(STRIDED.compose([1, 0]).unwrap().get(), 1024);
    assert_eq!(STRIDED.compose([0, NODE_ID_MAX]).unwrap().get(), 1023);
    assert_eq!(STRIDED.compose([7, 3]).unwrap().get(), 7 * 1024 + 3);
    assert_eq!(TRUETIME.compose([1, 0, 0, 0]).unwrap().get(), 1 << 22);
    assert_eq!(TRUETIME.compose([0, 1, 0, 0]).unwrap().get(), 1 << 18);
    assert_eq!(TRUETIME.compose([0, 0, 1, 1]).unwrap().get(), 1 << 8 | 1);
}

#[test]
fn the_highest_of_all_fields_is_the_highest_id() {
    assert_eq!(VECTOR.compose([VALUE_MAX, NODE_ID_MAX]), Ok(Id::MAX));
    assert_eq!(VECTOR.fields(Id::MAX), [VALUE_MAX, NODE_ID_MAX]);
    assert_eq!(TRUETIME.compose(TRUETIME.fields.map(Field::max)), Ok(Id::MAX));
}

#[test]
fn one_past_each_end_is_refused_and_named() {
    let refused = |field, max, got| Err(DesignFieldError { field, max, got });
    assert_eq!(STRIDED.compose([VALUE_MAX + 1, 0]), refused("value", VALUE_MAX, VALUE_MAX + 1));
    assert_eq!(STRIDED.compose([-1, 0]), refused("value", VALUE_MAX, -1));
    assert_eq!(STRIDED.compose([0, NODE_ID_MAX + 1]), refused("node", NODE_ID_MAX, 1024));
    assert_eq!(STRIDED.compose([i64::MIN, -1]), refused("value", VALUE_MAX, i64::MIN));
    assert_eq!(TRUETIME.compose([0, 16, 0, 0]), refused("uncertainty", 15, 16));
    assert_eq!(TRUETIME.compose([0, 0, 0, 256]), refused("sequence", 255, 256));
    let error = STRIDED.compose([0, 1024]).unwrap_err();
    assert_eq!(std::string::ToString::to_string(&error), "node must be in [0, 1023], got 1024");
}

#[test]
fn reversing_puts_the_lowest_bit_highest() {
    let of = |id| reversed(Id::new(id).unwrap()).get();
    assert_eq!(of(0), 0);
    assert_eq!(of(1), 1 << 62);
    assert_eq!(of(1 << 62), 1);
    assert_eq!(of(0b1101), 0b1011 << 59);
    assert_eq!(of(ID_MAX), ID_MAX);
}
