//! Known answers, and that nothing is lost.

use std::collections::HashSet;

use fpe::ff1::FlexibleNumeralString;

use super::*;

/// The key of NIST's samples for AES-256.
const KEY: [u8; KEY_LENGTH] = [
    0x2B, 0x7E, 0x15, 0x16, 0x28, 0xAE, 0xD2, 0xA6, 0xAB, 0xF7, 0x15, 0x88, 0x09, 0xCF, 0x4F, 0x3C, 0xEF,
    0x43, 0x59, 0xD8, 0xD5, 0x80, 0xAA, 0x4F, 0x7F, 0x03, 0x6D, 0x6F, 0x04, 0xFC, 0x6A, 0x94,
];

fn id(id: i64) -> Id {
    Id::new(id).unwrap()
}

/// Spread over all ids: multiples of the golden ratio.
fn ids() -> impl Iterator<Item = Id> {
    (0..2_000_u64).map(|n| id((n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1) as i64))
}

// Samples 7 and 8 of https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values, FF1. They
// have decimal digits, so they test the arithmetic with a base that is no power of two.
#[test]
fn samples_of_nist() {
    let ff1 = FF1::<Aes256>::new(&KEY, 10).unwrap();
    let digits = Number::<10, 10>(123_456_789);
    let tweak = [0x39, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x30];
    for (tweak, expected) in [(&[][..], 6_657_667_009), (&tweak[..], 1_001_623_463)] {
        let encrypted = ff1.encrypt(tweak, &digits).unwrap();
        assert_eq!(encrypted, Number(expected));
        assert_eq!(ff1.decrypt(tweak, &encrypted).unwrap(), digits);
    }
}

// Computed with another implementation of FF1, which gives the samples of NIST.
#[test]
fn known_ids() {
    let permutation = Permutation::new(&KEY);
    for (plain, encrypted) in [
        (0, 4_324_959_997_293_592_711),
        (1, 4_694_632_794_459_499_269),
        (517_811_994_666, 3_708_296_789_749_807_454),
        (1_593_572_310_593_806_338, 4_851_469_835_128_059_423),
        (i64::MAX, 2_900_474_083_761_485_816),
    ] {
        assert_eq!(permutation.encrypt(id(plain)), id(encrypted));
        assert_eq!(permutation.decrypt(id(encrypted)), id(plain));
    }
}

// The crate's own number strings, of a big integer, compute the same.
#[test]
fn as_with_the_crates_own_numbers() {
    let (permutation, ff1) = (Permutation::new(&KEY), FF1::<Aes256>::new(&KEY, 2).unwrap());
    for id in ids() {
        let digits: Vec<u16> = (0..63).rev().map(|bit| (id.get() >> bit & 1) as u16).collect();
        let encrypted: Vec<u16> = ff1.encrypt(&[], &FlexibleNumeralString::from(digits)).unwrap().into();
        let encrypted = encrypted.iter().fold(0, |number, digit| number << 1 | i64::from(*digit));
        assert_eq!(permutation.encrypt(id).get(), encrypted);
    }
}

#[test]
fn decrypting_is_the_inverse() {
    let permutation = Permutation::new(&KEY);
    for id in ids().chain([Id::MIN, Id::MAX]) {
        assert_eq!(permutation.decrypt(permutation.encrypt(id)), id);
        assert_eq!(permutation.encrypt(permutation.decrypt(id)), id);
    }
}

#[test]
fn another_key_is_another_permutation() {
    let (first, second) = (Permutation::new(&KEY), Permutation::new(&[0; KEY_LENGTH]));
    assert!(ids().all(|id| first.encrypt(id) != second.encrypt(id)));
}

#[test]
fn ids_in_a_row_are_distinct_and_look_like_chance() {
    let permutation = Permutation::new(&KEY);
    let start = 1_593_572_310_593_806_338;
    let encrypted: Vec<i64> = (start..start + 100_000).map(|n| permutation.encrypt(id(n)).get()).collect();
    assert_eq!(encrypted.iter().collect::<HashSet<_>>().len(), encrypted.len());
    // About half rise, and each bit is set in about half: within six standard deviations.
    let near_half = |count: usize| count.abs_diff(50_000) < 6 * 158;
    assert!(near_half(encrypted.windows(2).filter(|pair| pair[0] < pair[1]).count()));
    assert!((0..63).all(|bit| near_half(encrypted.iter().filter(|n| *n >> bit & 1 == 1).count())));
}
