# shellcheck shell=bash disable=SC2034 # not every script uses every variable
# What every script here shares: where things are, which PostgreSQL is meant, who runs a server, how to speak.
# Sourced, never run. Owns no state outside target/ (and its stand-in below /var/tmp, see use_state_dir).
set -euo pipefail
# A server that runs as another user has to read what is built here.
umask 022

project=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
tools=$project/tests/tools
target=${CARGO_TARGET_DIR:-$project/target}
[[ $target == /* ]] || target=$project/$target

# The majors the extension is built for; the first is Debian 12's and the one the features default to.
majors=(15 16 17 18)
# The one place that has the version of the extension, and the one that pins pgrx, is Cargo.toml.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$project/Cargo.toml" | head -n 1)
pgrx_version=$(sed -n 's/^pgrx = "=\(.*\)"$/\1/p' "$project/Cargo.toml")

say() { printf '%s\n' "$*"; }
step() { printf '\n==> %s\n' "$*"; }
die() {
    printf '\nerror: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Sets pg_config and major: PG_CONFIG where it is given, else an installed PostgreSQL, else the one that apt
# would install.
choose_postgres() {
    local candidate
    pg_config=${PG_CONFIG:-}
    if [[ -z $pg_config ]]; then
        for candidate in "${majors[@]}"; do
            if [[ -x /usr/lib/postgresql/$candidate/bin/postgres ]]; then
                pg_config=/usr/lib/postgresql/$candidate/bin/pg_config
                break
            fi
        done
    fi
    if [[ -z $pg_config ]] && has apt-cache; then
        for candidate in "${majors[@]}"; do
            if apt-cache show "postgresql-$candidate" >/dev/null 2>&1; then
                pg_config=/usr/lib/postgresql/$candidate/bin/pg_config
                break
            fi
        done
    fi
    [[ -n $pg_config ]] || pg_config=$(command -v pg_config) ||
        die "no PostgreSQL found: install one of the majors ${majors[*]}, or name its pg_config with PG_CONFIG=..."
    [[ $pg_config == */* ]] || pg_config=$(command -v "$pg_config") || die "PG_CONFIG=$PG_CONFIG is not a program"

    if [[ -x $pg_config ]]; then
        major=$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
    elif [[ $pg_config =~ ^/usr/lib/postgresql/([0-9]+)/bin/pg_config$ ]]; then
        major=${BASH_REMATCH[1]}
    else
        die "PG_CONFIG=$pg_config is not a program"
    fi
    [[ " ${majors[*]} " == *" $major "* ]] || die "PostgreSQL $major ($pg_config): the extension needs one of ${majors[*]}"
}

# PostgreSQL refuses to run as root. Called by root, servers run as the user that PostgreSQL's package made.
server_user=$(id -un)
[[ $EUID != 0 ]] || server_user=postgres

# Runs a command as that user, from a directory that anybody can enter.
as_server_user() {
    if [[ $EUID == 0 ]]; then
        (cd / && setpriv --reuid="$server_user" --regid="$server_user" --init-groups -- "$@")
    else
        (cd / && "$@")
    fi
}

# Sets state, the directory for private servers: target/, unless the server's user cannot get there (a clone in
# root's home), then a directory below /var/tmp that belongs to the caller.
use_state_dir() {
    if ! mkdir -p "$target" 2>/dev/null || [[ ! -w $target ]]; then
        die "$target is not writable by $(id -un): it belongs to $(stat -c %U "$target"). Run as that user, or remove it"
    fi
    state=$target
    if as_server_user test -x "$target"; then
        return
    fi
    state=$(stand_in_dir)
    mkdir -m 755 "$state" 2>/dev/null || true
    [[ -d $state && ! -L $state && -O $state ]] || die "$state belongs to somebody else: remove it"
    say "The user $server_user cannot enter $target: servers live in $state."
}

stand_in_dir() { printf '/var/tmp/snowflake-%s' "$(printf '%s' "$target" | cksum | cut -d' ' -f1)"; }
