//! The text of an id, there and back, and what is no such text.

use std::format;
use std::string::ToString;

use super::*;

fn text(id: i64) -> std::string::String {
    Base32::encode(Id::new(id).unwrap()).to_string()
}

#[test]
fn known_ids() {
    for (id, expected) in [
        (0, "0000000000000"),
        (1, "0000000000001"),
        (31, "000000000000Z"),
        (32, "0000000000010"),
        (517_811_994_666, "00000F280001A"),
        (i64::MAX, "7ZZZZZZZZZZZZ"),
    ] {
        assert_eq!(text(id), expected);
        assert_eq!(decode(expected.as_bytes()).map(Id::get), Ok(id));
    }
}

// The ids of the vectors whose text stands there.
#[test]
fn vectors() {
    let mut seen = 0;
    for line in include_str!("../../tests/data/decode-vectors.tsv").lines() {
        if let Some((_, expected)) = line.split_once("Crockford base32 ") {
            let id = line.split('\t').next().unwrap().parse().unwrap();
            assert_eq!(Some(text(id).as_str()), expected.split('\t').next());
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

#[test]
fn each_character_in_each_place() {
    for place in 0..LENGTH {
        for (digit, character) in ALPHABET.iter().enumerate() {
            let mut text = [b'0'; LENGTH];
            text[place] = *character;
            let id = (digit as u128) << (BITS * (LENGTH - 1 - place) as u32);
            let expected = match i64::try_from(id) {
                Ok(id) => Ok(Id::new(id).unwrap()),
                Err(_) => Err(Base32Error::Overflow(id)),
            };
            assert_eq!(decode(&text), expected);
            assert_eq!(decode(&text.to_ascii_lowercase()), expected);
        }
    }
}

#[test]
fn look_alikes_and_hyphens() {
    let id = Id::new(517_811_994_666).unwrap();
    for text in
        ["00000F280001A", "ooooof28oooia", "OOOOOF28OOOLA", "00000f280001a", "00000f280001A", "00000f28000la"]
    {
        assert_eq!(decode(text.as_bytes()), Ok(id), "{text}");
    }
    for text in
        ["00000-F2800-01A", "-00000F280001A-", "0-0-0-0-0-F-2-8-0-0-0-1-A", "--------------00000F280001A"]
    {
        assert_eq!(decode(text.as_bytes()), Ok(id), "{text}");
    }
}

#[test]
fn every_other_byte_is_refused_by_its_number() {
    for byte in 0..=u8::MAX {
        let known = byte.is_ascii_alphanumeric() && !b"uU".contains(&byte);
        if known || byte == b'-' {
            continue;
        }
        let mut text = *b"00-00F280001A0";
        text[4] = byte;
        assert_eq!(decode(&text), Err(Base32Error::Character { byte, position: 5 }));
    }
}

#[test]
fn every_other_length_is_refused() {
    for length in (0..40).filter(|length| *length != LENGTH) {
        assert_eq!(decode(&std::vec![b'1'; length]), Err(Base32Error::Length(length)));
    }
    assert_eq!(decode(b"-------------"), Err(Base32Error::Length(0)));
}

#[test]
fn more_than_63_bits_overflow() {
    assert_eq!(decode(b"8000000000000"), Err(Base32Error::Overflow(1 << 63)));
    assert_eq!(decode(b"zzzzzzzzzzzzz"), Err(Base32Error::Overflow((1 << 65) - 1)));
}

#[test]
fn messages() {
    let message = |text: &[u8]| decode(text).unwrap_err().to_string();
    assert_eq!(message(b"0000U"), r#"invalid base32 character "U" at position 5"#);
    assert_eq!(message(b"\xc3\xa9"), r#"invalid base32 character "\xc3" at position 1"#);
    assert_eq!(message(b"12"), "base32 of a snowflake id must have 13 characters, got 2");
    let highest = format!("7ZZZZZZZZZZZZ ({})", i64::MAX);
    assert_eq!(
        message(b"8000000000000"),
        format!("base32 of a snowflake id must not be above {highest}, got 9223372036854775808")
    );
}
