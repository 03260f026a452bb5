#!/usr/bin/env bash
# Installs what is missing and runs every test: `make test`. With arguments, only the suites named:
#
#   test.sh core simulation loom regress docs clients servers pgrx
#
# A failed suite does not stop the others; the summary at the end tells, and the exit status is 0 only if all
# passed.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"
. "$tools/server.sh"
. "$tools/clients.sh"

suites=("$@")
((${#suites[@]})) || suites=(core simulation loom regress docs clients servers pgrx)

# The pure crate: unit, property and simulation tests.
suite_core() { cargo test --no-fail-fast --package snowflake-core; }

# Simulated histories, a million unless SIMULATION_HISTORIES says otherwise; the core's own tests run the first ten
# thousand.
suite_simulation() {
    SIMULATION_HISTORIES=${SIMULATION_HISTORIES:-1000000} \
        cargo test --release --package snowflake-core --test simulation no_history -- --nocapture
}

# Every interleaving of two and three threads on the word. --cfg loom changes every crate's build, hence the
# directory of its own; in release mode, for the number of interleavings.
suite_loom() {
    RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$target/loom cargo test --release --package snowflake-core --lib loom
}

# SQL in, text out.
suite_regress() {
    server_anew "$state/regress-server"
    PG_CONFIG=$private$bindir/pg_config "$tools/installcheck.sh"
}

# The SQL that the documents show.
suite_docs() {
    server_anew "$state/docs-server"
    PATH=$private$bindir:$PATH "$tools/check-docs.sh"
}

# The programs that the documents show, in other languages.
suite_clients() {
    server_anew "$state/clients-server"
    server_listen
    PATH=$private$bindir:$PATH "$tools/check-clients.sh"
}

# Real servers: many sessions, clocks, crashes.
suite_servers() {
    SNOWFLAKE_TEST_BINDIR=$private$bindir SNOWFLAKE_TEST_DIR=$state/servers \
        cargo test --no-fail-fast --package snowflake-servers
}

# Rust tests inside a backend. The framework reads the user's name from USER; as root it changes to the
# server's user with sudo.
suite_pgrx() {
    local runas=() scratch=$state/pgrx-data
    # Its socket lies here, and a socket's path may have 107 bytes.
    ((${#scratch} < 90)) || scratch=/tmp/snowflake-pgrx-$(id -u)
    if [[ $EUID == 0 ]]; then
        runas=(--runas "$server_user")
    fi
    mkdir -p "$scratch"
    [[ $EUID != 0 ]] || chown "$server_user" "$scratch"
    USER=$(id -un) CARGO_PGRX=$cargo_pgrx "$cargo_pgrx" pgrx test "${runas[@]}" --pgdata "$scratch" "pg$major"
}

cd "$project"
step "Looking for what is needed: PostgreSQL with its headers, libclang, libfaketime, cargo-pgrx $pgrx_version"
install_missing for-tests
[[ " ${suites[*]} " != *" clients "* ]] || install_client_packages
use_state_dir
exec 8>"$target/.test.lock"
flock --nonblock 8 || die "another make test is running"
# Clusters that earlier failures left to be looked at.
rm -rf "$state"/servers/{[0-9]*,clock-*,closed-*}
say "PostgreSQL $major of $pg_config, $("$cargo_pgrx" pgrx --version), $(cargo --version)"

step "Building the release that the servers run"
build_private_server

summary=()
failed=0
for suite in "${suites[@]}"; do
    declare -F "suite_$suite" >/dev/null || die "there is no suite $suite"
    step "Suite $suite"
    started=$SECONDS
    # In a shell of its own, where set -e holds: it does not in the condition of an if.
    set +e
    (
        set -e
        "suite_$suite"
    ) </dev/null 8>&-
    status=$?
    set -e
    if ((status == 0)); then verdict=passed; else verdict=FAILED failed=1; fi
    summary+=("$(printf '%-8s %s in %d s' "$suite" "$verdict" $((SECONDS - started)))")
done

step "Summary (PostgreSQL $major, $SECONDS s in all)"
printf '    %s\n' "${summary[@]}"
exit $failed
