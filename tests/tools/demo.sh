#!/usr/bin/env bash
# Shows the extension at work on a private server: `make demo`. `make demo-stop` stops the server.
# What is shown is docs/demo.sql. The second run reuses the build and the cluster and takes seconds.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"
. "$tools/server.sh"

node=7

step "Looking for what is needed: PostgreSQL with its headers, libclang, cargo-pgrx $pgrx_version"
install_missing for-a-server
use_state_dir
say "PostgreSQL $major of $pg_config, $("$cargo_pgrx" pgrx --version), $(cargo --version)"
exec 8>"$target/.demo.lock"
flock --nonblock 8 || die "another make demo is running"

step "Building the extension in release mode (a few minutes the first time, seconds when nothing changed)"
build_private_server

server_in "$state/demo/$major"
step "Starting a private PostgreSQL in $server_dir, as $server_user, with snowflake.node = $node"
server_init
# A running server has the library that was there when it started.
[[ $installed == no ]] || server_stop
server_configure <<CONF
shared_preload_libraries = 'snowflake'
snowflake.node = $node
CONF
server_start
say "$(run_psql -d postgres -Atc 'SELECT version()')"

step "Running docs/demo.sql"
export PGDATABASE=demo PATH=$private$bindir:$PATH
PGOPTIONS='-c client_min_messages=warning' run_psql -q -d postgres \
    -c 'DROP DATABASE IF EXISTS demo WITH (FORCE)' -c 'CREATE DATABASE demo'
(cd "$project" && run_psql -v ON_ERROR_STOP=1 -P pager=off -f docs/demo.sql) || die "docs/demo.sql failed"

step "The server goes on running. It listens on no port, only on a Unix socket."
say "Connect:  psql 'host=$PGHOST user=postgres dbname=demo'"
say "Stop:     make demo-stop"
