#!/usr/bin/env bash
# Stops the servers that demo.sh started: `make demo-stop`. Their data stays for the next `make demo`.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/server.sh"

stopped=0
for directory in "$target"/demo/* "$(stand_in_dir)"/demo/*; do
    [[ -d $directory ]] || continue
    server_in "$directory"
    if server_pid >/dev/null; then
        server_stop
        stopped=1
        say "Stopped the demo server in $directory."
    fi
done
((stopped)) || say "No demo server is running."
