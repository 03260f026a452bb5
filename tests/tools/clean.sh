#!/usr/bin/env bash
# Stops the demo server and removes everything that building, demo and tests have made: `make clean`.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

"$tools/demo-stop.sh"
if [[ -d $target/matrix ]]; then
    "$tools/matrix.sh" clean
fi
rm -rf "$target" "$(stand_in_dir)"
