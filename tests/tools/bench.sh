#!/usr/bin/env bash
# Measures what an id costs beside the other ways to make a key, on private servers: `make bench`. What is measured
# is bench/src/experiments; arguments go to the program (its --help tells). PUBLISH=1 writes the figures and charts to
# docs/bench and the tables into the README.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

install_missing for-a-server
use_state_dir
step "Building the release that the servers run"
build_private_server
has valgrind || say "(valgrind is not installed: instructions are not counted)"

step "Measuring, for some minutes: leave the machine alone"
cd "$project"
out=$target/bench
publish=()
if [[ -n ${PUBLISH:-} ]]; then
    out=$project/docs/bench
    publish=(--publish-in "$project/README.md")
fi
mkdir -p "$state/bench-servers"
SNOWFLAKE_BENCH_SERVER=$("$pg_config" --version) \
    SNOWFLAKE_TEST_BINDIR=$private$bindir SNOWFLAKE_TEST_DIR=$state/bench-servers \
    cargo run --release --package snowflake-bench -- --out "$out" "${publish[@]}" "$@"
