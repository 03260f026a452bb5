#!/usr/bin/env bash
# Checks ids for so many minutes on a private server that is given every kind of trouble: `make soak MINUTES=60`. What
# happens, and what is checked, is tests/servers/examples/soak. The second argument is the seed that a former run
# printed.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

install_missing for-tests
use_state_dir
step "Building the release that the server runs"
build_private_server
step "Soaking (it ends by itself)"
cd "$project"
SNOWFLAKE_TEST_BINDIR=$private$bindir SNOWFLAKE_TEST_DIR=$state/soak \
    cargo run --release --package snowflake-servers --example soak -- "${@:-60}"
