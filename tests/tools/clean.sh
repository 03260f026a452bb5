#!/usr/bin/env bash
# Stops the demo server and removes everything that building, demo and tests have made: `make clean`.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

"$tools/demo-stop.sh"
if [[ -d $target/matrix ]]; then
    "$tools/matrix.sh" clean
fi
rm -rf "$(stand_in_dir)"
if [[ $target == "$project/target" ]]; then
    rm -rf "$target"
else
    # CARGO_TARGET_DIR may be shared with other projects.
    say "Only what is this project's is removed from $target."
    rm -rf "$target"/{pg,pgrx,pgrx-data,package,demo,servers,regress,regress-server,docs-server,loom,cargo-pgrx} \
        "$target"/{mutants,mutants-core,mutants-servers,cargo-mutants,bench,bench-servers,soak,fuzz}
    (cd "$project" && cargo clean --package snowflake --package snowflake-core --package snowflake-servers)
fi
