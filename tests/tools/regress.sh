#!/usr/bin/env bash
# Runs the SQL cases of tests/pg_regress with PostgreSQL's own pg_regress.
#
#   regress.sh private   against a private server with the release build, made for this run: part of `make test`
#   regress.sh running   against the server that PGHOST, PGPORT and PGUSER name, of the installation that PG_CONFIG
#                        names, with what is installed there: `make installcheck`
#
# setup.sql, if there is one, runs first; the others in the order of their names, all in one database, which is
# dropped and created anew.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"
. "$tools/server.sh"

cases=()
collect_cases() {
    local directory=$project/tests/pg_regress file name
    for file in "$directory"/sql/*.sql; do
        name=$(basename "$file" .sql)
        # pg_regress would skip it without a word.
        [[ -e $directory/expected/$name.out ]] || die "tests/pg_regress/expected/$name.out is missing"
        [[ $name == setup ]] || cases+=("$name")
    done
    [[ ! -e $directory/sql/setup.sql ]] || cases=(setup "${cases[@]}")
    ((${#cases[@]})) || die "there are no cases in tests/pg_regress/sql"
}

# run_cases BINDIR
run_cases() {
    local program output=$target/regress options
    program=$(pg_regress_program)
    rm -rf "$output"
    mkdir -p "$output"
    options=(--inputdir="$project/tests/pg_regress" --outputdir="$output" --bindir="$1"
        --dbname=contrib_regression --encoding=UTF8 --no-locale)
    # From 16 on the directory of the expected output is an option of its own.
    if "$program" --help | grep -q -e --expecteddir; then
        options+=(--expecteddir="$project/tests/pg_regress")
    fi
    if ! "$program" "${options[@]}" "${cases[@]}"; then
        if [[ -e $output/regression.diffs ]]; then
            head -n 200 "$output/regression.diffs"
            say "(all of it: $output/regression.diffs)"
        fi
        return 1
    fi
}

collect_cases
case ${1:-} in
running)
    choose_postgres
    has_server_headers || die "pg_regress is missing: install the development files of PostgreSQL $major"
    run_cases "$("$pg_config" --bindir)"
    ;;
private)
    install_missing for-a-server
    use_state_dir
    if [[ ${SNOWFLAKE_BUILT:-} == yes ]]; then
        private_copy "$major"
    else
        build_private_server
    fi
    server_in "$state/regress-server"
    server_stop
    rm -rf "$server_dir"
    trap server_stop EXIT
    server_init
    server_configure <<CONF
shared_preload_libraries = 'snowflake'
fsync = off
CONF
    server_start
    run_cases "$private$bindir"
    ;;
*) die "usage: regress.sh private|running" ;;
esac
