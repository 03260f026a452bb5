#!/usr/bin/env bash
# Puts one fault after the other into the code, and looks whether a test notices: `make mutants`. With arguments, only
# these, where "core" is all of the core and core/src/FILE is one file of it:
#
#   mutants.sh core/src/pace.rs no-flush no-wait-event
#
# The faults of the core are made by cargo-mutants (.cargo/mutants.toml), about a thousand. The unit tests have to notice
# each, or else the properties and the simulation, which SIMULATION_HISTORIES (3000) shortens. What nothing noticed is in
# target/mutants-core/mutants.out/missed.txt. Takes about three hours; a file takes minutes.
#
# The others are patches in tests/mutants: faults that only a real server shows. Above its diff each says what it
# removes, and which tests have to fail then (a file of tests/servers/tests without its ending, and the test):
#
#   Guard: the flush of the ceiling
#   Fails: crash ids_that_are_only_returned
#
# They are applied to the caller's HEAD in a clone, target/mutants/tree, and run on a private server. Every test named
# has to pass there without a patch first. One that takes longer than $patience seconds counts as failed. What the tests
# said is kept in target/mutants/log. Takes about 20 minutes; the patches are made for PostgreSQL 15.
#
# The exit status is 0 only if every fault was noticed.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

cargo_mutants_version=27.1.0
patience=100
patches=$project/tests/mutants

# What a patch says above its diff: said Guard NAME.
said() { sed -n "/^diff /q; s/^$1: //p" "$patches/$2.patch"; }

# Runs cargo-mutants. A fault that makes the tests run for ever (3) was noticed; 2 tells that some were not.
cargo_mutants() {
    local status=0
    CARGO_PROFILE_TEST_DEBUG=0 "$target/cargo-mutants/bin/cargo-mutants" mutants \
        --package snowflake-core --output "$target/mutants-core" "${core[@]}" "$@" || status=$?
    case $status in 0 | 3) noticed=yes ;; 2) noticed=no ;; *) die "cargo-mutants failed ($status)" ;; esac
}

mutate_core() {
    step "Installing cargo-mutants $cargo_mutants_version below target/, unless it is there"
    cargo install --quiet --locked --root "$target/cargo-mutants" "cargo-mutants@$cargo_mutants_version"
    step "What the unit tests notice"
    cargo_mutants --cargo-arg=--lib
    step "What the properties and the simulation notice of the rest"
    export SIMULATION_HISTORIES=${SIMULATION_HISTORIES:-3000} CARGO_PROFILE_TEST_OPT_LEVEL=1
    cargo_mutants --iterate --cargo-arg=--test=properties --cargo-arg=--test=simulation
    [[ $noticed == yes ]] || failed=1
}

# Builds what is in the clone and installs it into the private server. Not what is shipped, but fast to build.
build() {
    PG_CONFIG=$private$bindir/pg_config CARGO_TARGET_DIR=$mutants/target PATH=$(dirname "$cargo_pgrx"):$PATH \
        CARGO_INCREMENTAL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        "$tree/tests/tools/install.sh" >"$1" 2>&1 </dev/null
}

# Runs one test of the clone's: run_test FILE TEST LOG. 0 if it passed.
run_test() {
    (cd "$tree" && CARGO_TARGET_DIR=$mutants/target SNOWFLAKE_TEST_BINDIR=$private$bindir SNOWFLAKE_TEST_DIR=$servers \
        timeout --kill-after=5 "$patience" cargo test --quiet --package snowflake-servers --test "$1" -- --exact "$2") \
        </dev/null >"$3" 2>&1 || { remove_servers && return 1; }
}

# Ends the servers that a failed test left, and removes what it left to be looked at.
remove_servers() {
    local file
    while read -r file; do
        as_server_user "$private$bindir/pg_ctl" stop --mode=immediate --silent --timeout=20 \
            --pgdata="${file%/*}" >/dev/null 2>&1 || true
    done < <(find "$servers" -name postmaster.pid 2>/dev/null)
    rm -rf "$servers"/{[0-9]*,clock-*,closed-*}
}

# Prepares the clone, as the caller's HEAD has it (files that are the same keep their time, so that little is built
# again), and the server.
prepare() {
    install_missing for-tests
    use_state_dir
    mutants=$target/mutants tree=$target/mutants/tree servers=$state/mutants-servers
    mkdir -p "$mutants" "$servers"
    exec 8>"$mutants/.lock"
    flock --nonblock 8 || die "another make mutants is running"
    rm -rf "$mutants/log"
    mkdir "$mutants/log"
    [[ -d $tree/.git ]] || git clone --quiet --shared --no-checkout "$project" "$tree"
    git -C "$tree" fetch --quiet "$project" HEAD
    git -C "$tree" checkout --quiet --force --detach FETCH_HEAD
    private_copy "$major-mutants"
    trap remove_servers EXIT
    build "$mutants/log/build.log" || die "the build failed: see $mutants/log/build.log"
    (cd "$tree" && CARGO_TARGET_DIR=$mutants/target cargo test --quiet --package snowflake-servers --tests --no-run)
}

failed=0 core=() names=()
for name in "$@"; do
    case $name in
        core) core=(--file 'core/src/**') ;;
        core/*) core+=(--file "$name") ;;
        *) names+=("$name") ;;
    esac
done
if ! (($#)); then
    core=(--file 'core/src/**')
    names=("$patches"/*.patch)
    names=("${names[@]##*/}") names=("${names[@]%.patch}")
fi
for name in "${names[@]}"; do
    [[ -e $patches/$name.patch ]] || die "there is no patch $name in tests/mutants"
    [[ $(said Guard "$name") && $(said Fails "$name") ]] || die "$name does not say what it removes, or what fails"
done

cd "$project"
((${#core[@]} == 0)) || mutate_core
((${#names[@]})) || exit $failed

step "Preparing: every test named passes without a patch"
prepare
while read -r file test; do
    log=$mutants/log/$file-$test.log
    run_test "$file" "$test" "$log" || die "$file $test fails without a patch: see $log"
    grep -q '^test result: ok. 1 passed' "$log" || die "$file.rs has no test $test"
done < <(for name in "${names[@]}"; do said Fails "$name"; done | sort -u)

for name in "${names[@]}"; do
    step "$name: $(said Guard "$name")"
    log=$mutants/log/$name
    git -C "$tree" apply "$patches/$name.patch"
    build "$log.log" || die "does not build: see $log.log"
    while read -r file test; do
        if run_test "$file" "$test" "$log-$file-$test.log"; then
            say "SURVIVED  $file $test"
            failed=1
        else
            say "killed    $file $test"
        fi
    done < <(said Fails "$name")
    git -C "$tree" checkout --quiet --force -- .
done
exit $failed
