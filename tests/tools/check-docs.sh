#!/usr/bin/env bash
# Runs the SQL of README.md and docs/*.md: each file top to bottom in one psql session, in a database of its own that
# is dropped afterwards. Needs a running server that has the extension installed, named by the usual PG* variables,
# and psql in the PATH. The role must be a superuser.
#
# Only what stands between a line "```sql" and a line "```" is run (both may be indented): "```sql no-run" is for
# what changes the server. A file that does not create the extension itself finds it created.
#
# Also checks that every link to a file of the repository leads to one, and that README.md has a row for every
# function of snowflake, and docs/sequencer.md for every function of sequencer.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."

sql=$(mktemp -d)
database=snowflake_docs_$$
query() { psql -X -q -v ON_ERROR_STOP=1 -d "${MAINTENANCE_DB:-postgres}" -c "$1"; }
drop_database() { PGOPTIONS='-c client_min_messages=warning' query "DROP DATABASE IF EXISTS $database"; }
trap 'drop_database; rm -rf "$sql"' EXIT

# Each line that is not SQL becomes an empty one, so psql's line numbers are those of the document.
extract() {
    awk '
        /^ *```/ && !fence { fence = 1; run = ($0 ~ /^ *```sql$/); print ""; next }
        /^ *```$/          { fence = 0; run = 0; print ""; next }
                           { print run ? $0 : "" }
        END                { if (fence) { print FILENAME ": a code block is not closed" > "/dev/stderr"; exit 1 } }
    ' "$1"
}

# Links as they are written in the document, without those to other sites and within the page.
links() {
    grep -o '](\([^)]*\))' "$1" | sed 's/^](//; s/)$//; s/#.*//' | grep -v -e '^$' -e '^[a-z]*:' || true
}

failed=0
run=0
for file in README.md docs/*.md; do
    while read -r link; do
        if [[ ! -e $(dirname "$file")/$link ]]; then
            echo "$file: the link to $link leads nowhere" >&2
            failed=1
        fi
    done < <(links "$file")

    mkdir -p "$sql/$(dirname "$file")"
    extract "$file" >"$sql/$file" || { failed=1; continue; }
    grep -q '[^ ]' "$sql/$file" || continue
    run=$((run + 1))
    query "CREATE DATABASE $database"
    if ! grep -q '^CREATE EXTENSION' "$sql/$file"; then
        psql -X -q -v ON_ERROR_STOP=1 -d "$database" -c 'CREATE EXTENSION snowflake'
    fi
    if (cd "$sql" && psql -X -q -v ON_ERROR_STOP=1 -P pager=off -d "$database" -o /dev/null \
        -c 'SET client_min_messages = warning' -f "$file"); then
        echo "$file: its SQL runs"
    else
        echo "$file: its SQL fails" >&2
        failed=1
    fi
    drop_database
done

query "CREATE DATABASE $database"
psql -X -q -v ON_ERROR_STOP=1 -d "$database" -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION sequencer CASCADE'
while IFS='|' read -r page function; do
    if ! grep -q "^|.*\`$function(" "$page"; then
        echo "$page has no row for the function $function" >&2
        failed=1
    fi
done < <(psql -X -At -v ON_ERROR_STOP=1 -d "$database" -c "
    SELECT DISTINCT CASE e.extname WHEN 'snowflake' THEN 'README.md' ELSE 'docs/sequencer.md' END, p.proname
    FROM pg_depend d
    JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE d.deptype = 'e' AND e.extname IN ('snowflake', 'sequencer')")
drop_database

((run)) || { echo "no SQL was found in the documents" >&2; exit 1; }
exit $failed
