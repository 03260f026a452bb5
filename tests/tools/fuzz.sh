#!/usr/bin/env bash
# Fuzzes every target of core/fuzz, so many seconds each: `make fuzz SECONDS=60`. Needs a nightly toolchain; installs
# cargo-fuzz where it is missing.
#
# What it finds interesting goes to target/fuzz-corpus, where the next run takes it up. An input that breaks a rule ends
# the run, and is kept in core/fuzz/artifacts: make a unit test of it.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || die "SECONDS is a number, not $seconds"
cargo +nightly --version >/dev/null 2>&1 || die "a nightly toolchain is needed: rustup toolchain install nightly"
if ! has cargo-fuzz; then
    export PATH=$target/cargo-fuzz/bin:$PATH
    has cargo-fuzz || {
        step "Installing cargo-fuzz below $target (about two minutes, once)"
        env -u CARGO_TARGET_DIR cargo install --locked cargo-fuzz --root "$target/cargo-fuzz" </dev/null
    }
fi

cd "$project/core"
export CARGO_TARGET_DIR=$target/fuzz
for target_file in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$target_file" .rs)
    step "Fuzzing $name for $seconds s"
    found=$target/fuzz-corpus/$name
    mkdir -p "$found"
    cargo +nightly fuzz run "$name" "$found" -- \
        -max_total_time="$seconds" -max_len=1024 -print_final_stats=1 -verbosity=0 </dev/null
done
