#!/usr/bin/env bash
# Runs the SQL cases of tests/pg_regress with PostgreSQL's own pg_regress, on the running server that PGHOST, PGPORT
# and PGUSER name, with what is installed there: `make installcheck`. PG_CONFIG names the server's installation.
#
# setup.sql runs first; the others in the order of their names, all in one database, contrib_regression, which is
# dropped and created anew.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"

directory=$project/tests/pg_regress
output=$target/regress

cases=(setup)
for file in "$directory"/sql/*.sql; do
    name=$(basename "$file" .sql)
    # pg_regress would skip it without a word.
    [[ -e $directory/expected/$name.out ]] || die "tests/pg_regress/expected/$name.out is missing"
    [[ $name == setup ]] || cases+=("$name")
done

choose_postgres
has_server_headers || die "pg_regress is missing: install the development files of PostgreSQL $major"
program=$(pg_regress_program)
rm -rf "$output"
mkdir -p "$output"
options=(--inputdir="$directory" --outputdir="$output" --bindir="$("$pg_config" --bindir)"
    --dbname=contrib_regression --encoding=UTF8 --no-locale)
# From 16 on the directory of the expected output is an option of its own.
if "$program" --help | grep -q -e --expecteddir; then
    options+=(--expecteddir="$directory")
fi
if ! "$program" "${options[@]}" "${cases[@]}"; then
    if [[ -e $output/regression.diffs ]]; then
        head -n 200 "$output/regression.diffs"
        say "(all of it: $output/regression.diffs)"
    fi
    exit 1
fi
