#!/usr/bin/env bash
# Takes one guard away after the other, and looks whether a test fails: `make mutants`. With arguments, only these:
#
#   mutants.sh core no-flush no-wait-event
#
# "core" stands for the core, whose mutants cargo-mutants makes (.cargo/mutants.toml): the unit tests, the properties and
# the simulation have to notice each. SIMULATION_HISTORIES (3000) shortens the simulation. Takes hours.
#
# The others are patches in tests/mutants: faults that only a real server shows. Above its diff each says what it
# removes, and which tests of a real server have to fail then (a file of tests/servers/tests without its ending, and the
# test):
#
#   Guard: the flush of the ceiling
#   Fails: crash ids_that_are_only_returned
#
# What is built here is built from the caller's HEAD, the tests too, in a clone of its own, target/mutants/tree, and
# installed into a private server of its own. Every test named has to pass on the unchanged build first. A test that
# takes longer than $patience seconds counts as failed. The exit status is 0 only if every test failed that has to. What
# the tests said is kept in target/mutants/log. The patches take about 20 minutes, and are made for PostgreSQL 15.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

patience=100
patches=$project/tests/mutants

guard_of() { sed -n '/^diff /q; s/^Guard: //p' "$1"; }
tests_of() { sed -n '/^diff /q; s/^Fails: //p' "$1"; }

# The clone as the caller's HEAD has it. Files that are the same keep their time, so that little is
# built again.
checkout() {
    [[ -d $tree/.git ]] || git clone --quiet --shared --no-checkout "$project" "$tree"
    git -C "$tree" fetch --quiet "$project" HEAD
    git -C "$tree" checkout --quiet --force --detach FETCH_HEAD
    restore
}

# Takes a mutant back.
restore() {
    git -C "$tree" checkout --quiet --force -- .
    git -C "$tree" clean --quiet --force -d
}

# Builds what is in the clone and installs it into the private copy: build_clone LOG.
# Sets built to yes or no. In a shell of its own, where the clone is the project, and not in the
# condition of an if, where set -e would not hold.
build_clone() {
    local status
    set +e
    (
        set -e
        project=$tree
        target=$mutants/target
        export CARGO_TARGET_DIR=$target
        # Not what is shipped, but as fast to build as it can be.
        export CARGO_INCREMENTAL=1
        export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
        use_pgrx_home "$private$bindir/pg_config"
        build_package
        copy_package "$private"
    ) >"$1" 2>&1
    status=$?
    set -e
    built=no
    ((status != 0)) || built=yes
}

# Runs one test of a real server: run_test FILE TEST LOG. 0 if it passed.
run_test() {
    local status=0
    (
        cd "$tree"
        export CARGO_TARGET_DIR=$mutants/target
        export SNOWFLAKE_TEST_BINDIR=$private$bindir SNOWFLAKE_TEST_DIR=$servers
        timeout --kill-after=5 "$patience" \
            cargo test --quiet --package snowflake-servers --test "$1" -- --exact "$2"
    ) </dev/null >"$3" 2>&1 || status=$?
    ((status == 0)) || remove_servers
    # A name that no test has passes as well.
    ((status != 0)) || grep -q '^test result: ok. 1 passed' "$3" || die "$1.rs has no test $2"
    return "$status"
}

# Ends the servers that a test left, and removes what it left to be looked at.
remove_servers() {
    local file
    while read -r file; do
        as_server_user "$private$bindir/pg_ctl" stop --mode=immediate --silent --timeout=20 \
            --pgdata="${file%/*}" >/dev/null 2>&1 || true
    done < <(find "$servers" -name postmaster.pid 2>/dev/null)
    rm -rf "$servers"/{[0-9]*,clock-*,closed-*}
}

cargo_mutants_version=27.1.0

# The mutants of the core.
mutate_core() {
    local program=$target/cargo-mutants/bin/cargo-mutants
    if [[ $("$program" mutants --version 2>/dev/null) != "cargo-mutants $cargo_mutants_version" ]]; then
        step "Installing cargo-mutants $cargo_mutants_version below target/ (about two minutes, once)"
        cargo install --locked cargo-mutants --version "$cargo_mutants_version" --root "$target/cargo-mutants"
    fi
    SIMULATION_HISTORIES=${SIMULATION_HISTORIES:-3000} CARGO_PROFILE_TEST_OPT_LEVEL=1 \
        "$program" mutants --package snowflake-core --output "$target/mutants-core"
}

names=()
core=no
for name in "$@"; do
    if [[ $name == core ]]; then core=yes; else names+=("$name"); fi
done
if ! (($#)); then
    core=yes
    for patch in "$patches"/*.patch; do
        names+=("$(basename "$patch" .patch)")
    done
fi
for name in "${names[@]}"; do
    patch=$patches/$name.patch
    [[ -e $patch ]] || die "there is no mutant $name in tests/mutants"
    [[ -n $(guard_of "$patch") && -n $(tests_of "$patch") ]] ||
        die "$name does not say what guard it removes, or what fails"
done

cd "$project"
if [[ $core == yes ]]; then
    mutate_core
    ((${#names[@]})) || exit 0
fi
step "Looking for what is needed"
install_missing for-tests
use_state_dir
mutants=$target/mutants
tree=$mutants/tree
servers=$state/mutants-servers
mkdir -p "$mutants"
exec 8>"$mutants/.lock"
flock --nonblock 8 || die "another make mutants is running"
rm -rf "$mutants/log"
mkdir -p "$mutants/log" "$servers"
private_copy "$major-mutants"
trap remove_servers EXIT

step "Without a mutant every test named passes"
checkout
build_clone "$mutants/log/build.log"
[[ $built == yes ]] || die "the build failed: see $mutants/log/build.log"
while read -r file test; do
    run_test "$file" "$test" "$mutants/log/$file-$test.log" ||
        die "$file $test fails without a mutant: see $mutants/log/$file-$test.log"
done < <(for name in "${names[@]}"; do tests_of "$patches/$name.patch"; done | sort -u)
say "All pass."

failed=0
for name in "${names[@]}"; do
    patch=$patches/$name.patch
    step "$name: $(guard_of "$patch")"
    log=$mutants/log/$name
    restore
    if ! git -C "$tree" apply "$patch"; then
        say "DOES NOT APPLY"
        failed=1
        continue
    fi
    build_clone "$log.log"
    if [[ $built == no ]]; then
        say "DOES NOT BUILD: see $log.log"
        failed=1
        continue
    fi
    while read -r file test; do
        if run_test "$file" "$test" "$log-$file-$test.log"; then
            say "SURVIVED  $file $test"
            failed=1
        else
            say "killed    $file $test"
        fi
    done < <(tests_of "$patch")
done

if ((failed)); then verdict=FAILED; else verdict="every test failed that has to"; fi
step "${#names[@]} mutants in $SECONDS s: $verdict"
exit $failed
