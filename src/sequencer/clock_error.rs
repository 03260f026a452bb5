//! How wrong the clock may be: what the kernel says, or a setting.

use crate::settings;

const US_PER_MS: i64 = 1_000;

/// The greatest error of the wall clock, in microseconds.
///
/// The kernel's is `maxerror` of `adjtimex(2)`: what the daemon that synchronises the clock has told it, growing by
/// 500 microseconds for each second since (the kernel's MAXFREQ).
///
/// # Errors
/// 55000 where nobody synchronises the clock: then nothing is known.
pub fn greatest_us() -> i64 {
    settings::clock_max_error_ms().map_or_else(of_kernel_us, |ms| ms * US_PER_MS)
}

#[cfg(target_os = "linux")]
fn of_kernel_us() -> i64 {
    // SAFETY: all zeroes is a valid timex, which asks for nothing to be changed.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: a valid timex; without a mode the call only reads, and needs no right.
    let state = unsafe { libc::adjtimex(&mut timex) };
    if state == libc::TIME_ERROR || state < 0 || timex.status & libc::STA_UNSYNC != 0 {
        super::errors::clock_not_synchronised();
    }
    timex.maxerror
}

/// Elsewhere there is no such call.
#[cfg(not(target_os = "linux"))]
fn of_kernel_us() -> i64 {
    super::errors::clock_not_synchronised()
}
