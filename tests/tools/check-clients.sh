#!/usr/bin/env bash
# Runs the programs of docs/clients.md, each in a database of its own that is dropped afterwards. Needs a running server
# that has the extension installed, named by the usual PG* variables, with a password, and listening at 127.0.0.1 too,
# for JDBC; and psql in the PATH. The role must be a superuser.
#
# A program is what stands in code blocks of one language between two headings "## ...", from top to bottom. (The SQL is
# run by check-docs.sh.) Each makes a table book (id, title) and prints all rows of it, in their order: what the client
# got is compared with what the table has.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/clients.sh"

page=$project/docs/clients.md
programs=$clients/programs
database=snowflake_clients_$$

run_python() { "$python" "$1"; }
run_ruby() { ruby "$1"; }
run_js() { node "$1"; }
run_java() { java -cp "$jdbc_jar" "$1"; }

# Built in a directory of its own, so that the libraries are built once.
run_rust() {
    local crate=$clients/rust
    mkdir -p "$crate/src"
    cp "$pinned/rust/"Cargo.{toml,lock} "$crate/"
    cmp -s "$1" "$crate/src/main.rs" || cp "$1" "$crate/src/main.rs"
    (cd "$crate" && CARGO_TARGET_DIR=$crate/target cargo run --quiet --locked)
}

query() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 -d "$1" -c "$2"; }
drop_database() { PGOPTIONS='-c client_min_messages=warning' query postgres "DROP DATABASE IF EXISTS $database"; }
trap drop_database EXIT

# Writes each program to $programs/SECTION.LANGUAGE.
extract() {
    rm -rf "$programs"
    mkdir -p "$programs"
    awk -v programs="$programs" '
        /^## /             { section = substr($0, 4); gsub(/[^A-Za-z0-9]+/, "-", section) }
        /^```./ && !fence  { fence = 1; file = programs "/" section "." substr($0, 4); next }
        /^```$/            { fence = 0; next }
        fence              { print >file }
        END                { if (fence) { print "a code block is not closed" > "/dev/stderr"; exit 1 } }
    ' "$page"
    rm -f "$programs"/*.sql
}

# The default has to be in the table, and the rows those that were printed.
check_table() {
    local default
    default=$(query "$database" "
        SELECT format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid)
          FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
         WHERE attrelid = 'book'::regclass AND attname = 'id'")
    [[ $default == 'bigint snowflake_next()' ]] || { say "the column id is $default" >&2; return 1; }
    query "$database" "SELECT id, title FROM book ORDER BY id" >"$1.rows"
    [[ -s $1.rows ]] || { say "no rows" >&2; return 1; }
    diff -u --label 'what the table has' --label 'what was printed' "$1.rows" "$1.printed" >&2
}

check_program() {
    local program=$1
    query postgres "CREATE DATABASE $database"
    PGOPTIONS='-c client_min_messages=error' query "$database" 'CREATE EXTENSION snowflake'
    export PGDATABASE=$database
    export JDBC_URL="jdbc:postgresql://127.0.0.1:$PGPORT/$database?user=$PGUSER&password=$PGPASSWORD"
    "run_${program##*.}" "$program" >"$program.printed" && check_table "$program"
}

# The page tells what it was tried with.
check_versions() {
    local version
    while read -r version; do
        grep -qF "$version" "$page" || { say "docs/clients.md does not name the version $version" >&2; failed=1; }
    done < <(
        sed -n 's/^\(psycopg\|SQLAlchemy\|Django\)==//p' "$pinned/requirements.txt"
        sed -n 's/^ *"pg": "\(.*\)"$/\1/p' "$pinned/node/package.json"
        sed -n '/^name = "sqlx"$/ { n; s/^version = "\(.*\)"$/\1/p }' "$pinned/rust/Cargo.lock"
    )
}

install_client_libraries
extract
failed=0
check_versions
for program in "$programs"/*; do
    name=${program##*/}
    declare -F "run_${program##*.}" >/dev/null || die "$name: nothing here runs this language"
    started=$SECONDS
    if check_program "$program"; then
        say "docs/clients.md: $name runs ($((SECONDS - started)) s)"
    else
        say "docs/clients.md: $name fails: see $program" >&2
        failed=1
    fi
    drop_database
done
exit $failed
