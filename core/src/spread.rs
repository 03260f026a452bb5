//! Where a new millisecond begins, for `snowflake.sequence_spread`.

/// The sequence number that the first id of a new millisecond gets, by the wall clock: 0, or one drawn from `0..=highest`.
#[inline]
pub fn first_sequence_id(unix_ns: i64, highest: i64) -> i64 {
    match highest {
        0 => 0,
        highest => draw(unix_ns, highest),
    }
}

/// A number in `0..=highest`, all equally likely, from the nanoseconds of a clock that has been read anyway: no state,
/// no call. It spreads ids; it hides nothing, and repeats where the clock does.
fn draw(unix_ns: i64, highest: i64) -> i64 {
    // The last step of SplitMix64, by Sebastiano Vigna: <https://prng.di.unimi.it/splitmix64.c>. Each bit of the clock
    // changes about half of the result's, so a clock that ticks in microseconds will do.
    let mut z = (unix_ns as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    // The highest bits, scaled to the range: no division.
    (((z >> 32) * (highest as u64 + 1)) >> 32) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each number is drawn, by a clock that moves on by so much from one draw to the next.
    fn drawn<const NUMBERS: usize>(tick_ns: i64) -> [usize; NUMBERS] {
        let mut times = [0; NUMBERS];
        for n in 0..1_000 * NUMBERS as i64 {
            let drawn = draw(1_700_000_000_000_000_000 + n * tick_ns, NUMBERS as i64 - 1);
            times[drawn as usize] += 1;
        }
        times
    }

    // Six standard deviations, which are of 32 for a thousand of each.
    #[test]
    fn all_numbers_are_drawn_evenly_however_coarse_the_clock() {
        for tick_ns in [1, 100, 1_000, 1_000_000, 4_000_000, 1_000_000_000] {
            assert!(drawn::<2>(tick_ns).iter().all(|times| times.abs_diff(1_000) < 190));
            assert!(drawn::<16>(tick_ns).iter().all(|times| times.abs_diff(1_000) < 190));
            assert!(drawn::<1_024>(tick_ns).iter().all(|times| times.abs_diff(1_000) < 190));
        }
    }

    #[test]
    fn any_clock_will_do() {
        for unix_ns in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert!((0..=1_023).contains(&draw(unix_ns, 1_023)));
        }
    }
}
