#!/usr/bin/env bash
# Measures the designs of the extension sequencer side by side, checks each against what is expected of it, and writes
# the tables of docs/designs.md: `make designs`.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

install_missing for-tests
use_state_dir
step "Building the release that the servers run"
build_private_server
step "Measuring, for a minute: leave the machine alone"
cd "$project"
SNOWFLAKE_TEST_BINDIR=$private$bindir SNOWFLAKE_TEST_DIR=$state/servers SNOWFLAKE_DESIGNS_IN=$project/docs/designs.md \
    cargo test --quiet --package snowflake-servers --test designs
