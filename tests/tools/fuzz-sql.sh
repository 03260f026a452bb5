#!/usr/bin/env bash
# Lets sqlsmith call the functions of both extensions in queries of its own making, as a plain role, for so many
# minutes: `make fuzz-sql MINUTES=5`. Installs sqlsmith where it is missing.
#
# Fails where a process of the server ends by a signal, or an error is internal (SQLSTATE class XX). Then the server's log
# stays, with each such query; the seed, which is printed, makes the same ones again: SEED=... make fuzz-sql.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"
. "$tools/server.sh"

minutes=${1:-5}
[[ $minutes =~ ^[0-9]+$ ]] || die "MINUTES is a number, not $minutes"
seed=${SEED:-$RANDOM}
install_missing for-a-server
has sqlsmith || apt_install sqlsmith
use_state_dir
step "Building the release that the server runs"
build_private_server
server_anew "$state/fuzz-sql"

# sqlsmith looks for functions in pg_proc, which here is a view: ours, and some of PostgreSQL's that make values of the
# types that ours take.
run_psql -qAt -v ON_ERROR_STOP=1 <<'SQL'
CREATE EXTENSION sequencer CASCADE;
CREATE ROLE smith LOGIN;
CREATE SCHEMA smith AUTHORIZATION smith;
CREATE TABLE smith.t (id bigint PRIMARY KEY DEFAULT snowflake_next(), name text, key bytea, made timestamptz, at uuid,
    counters bigint[], source regclass, flag boolean, n integer);
CREATE SEQUENCE smith.s;
CREATE SEQUENCE smith.steps INCREMENT 1000;
INSERT INTO smith.t SELECT snowflake_next(), 'name' || n, decode(repeat('ab', 32), 'hex'), now() - n * interval '1 day',
    snowflake_to_uuid(snowflake_next()), ARRAY[n, 1], CASE n % 3 WHEN 0 THEN 'smith.s' WHEN 1 THEN 'smith.steps' ELSE 'smith.t' END::regclass,
    n % 2 = 0, n FROM generate_series(1, 100) n;
GRANT ALL ON ALL TABLES IN SCHEMA smith TO smith;
GRANT ALL ON ALL SEQUENCES IN SCHEMA smith TO smith;
CREATE VIEW smith.pg_proc AS
    SELECT * FROM pg_catalog.pg_proc
    WHERE pronamespace = 'public'::regnamespace OR prosrc IN ('repeat', 'int8pl', 'int8mul', 'int8um', 'array_append',
        'array_cat', 'timestamptz_pl_interval', 'text_left', 'byteacat', 'nextval_oid', 'booland_statefunc');
GRANT SELECT ON smith.pg_proc TO smith;
-- It makes no values of polymorphic types; the operators that take them would spoil nine queries of ten.
SET allow_system_table_mods = on;
DELETE FROM pg_catalog.pg_operator
    WHERE EXISTS (SELECT FROM pg_catalog.pg_type t WHERE t.oid IN (oprleft, oprright) AND typtype = 'p');
ALTER SYSTEM SET log_line_prefix = '%e ';
ALTER SYSTEM SET track_functions = 'all';
SELECT pg_reload_conf();
SQL

step "Fuzzing for $minutes min, seed $seed"
PGOPTIONS='-c search_path=smith,pg_catalog,public' timeout --signal=INT "$((minutes * 60))" \
    sqlsmith --target="host=$PGHOST port=$PGPORT user=smith dbname=postgres" --seed="$seed" --exclude-catalog \
    >"$server_dir/sqlsmith.log" 2>&1 </dev/null || true
log=$server_dir/log
run_psql -qtc 'SELECT funcname, sum(calls) FROM pg_stat_user_functions GROUP BY 1 ORDER BY 1'
say "Errors by SQLSTATE:"
grep -o '^[0-9A-Z]\{5\} ERROR' "$log" | sort | uniq -c | sort -rn || true
if grep -E 'terminated by signal|^XX[0-9A-Z]{3} ' "$log"; then
    die "a function of ours may have failed inside; see $log"
fi
run_psql -qAtc 'SELECT snowflake_next() > 0' >/dev/null
