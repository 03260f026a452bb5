# shellcheck shell=bash disable=SC2034,SC2154 # variables pass between the sourced files
# A private PostgreSQL server: one directory with data/, log and the socket, no TCP unless asked for. Sourced
# after build.sh. Trusts every connection to the socket, which its directory lets only its own user (and root) make.

# server_in DIRECTORY: the server that the functions below speak of. Sets data, socket_dir and PGHOST.
server_in() {
    server_dir=$1
    data=$server_dir/data
    socket_dir=$server_dir
    # A socket's path may have 107 bytes, of which "/.s.PGSQL.5432" takes 14.
    if ((${#socket_dir} > 93)); then
        socket_dir=/tmp/snowflake-$(printf '%s' "$server_dir" | cksum | cut -d' ' -f1)
    fi
    export PGHOST=$socket_dir PGPORT=5432 PGUSER=postgres
}

# Makes the cluster, once. It becomes visible when complete, so an interrupted run leaves nothing half made.
server_init() {
    local dir
    for dir in "$server_dir" "$socket_dir"; do
        mkdir -p "$(dirname "$dir")"
        if mkdir -m 700 "$dir" 2>/dev/null && [[ $EUID == 0 ]]; then
            chown "$server_user" "$dir"
        fi
        [[ -d $dir && ! -L $dir && $(stat -c %U "$dir") == "$server_user" ]] ||
            die "$dir belongs to $(stat -c %U "$dir"), not to $server_user: remove it, or run as that user"
    done
    [[ ! -e $data ]] || return 0
    as_server_user rm -rf "$data.new"
    as_server_user "$private$bindir/initdb" --pgdata="$data.new" --username=postgres --auth=trust --encoding=UTF8 \
        --locale=C --no-sync >/dev/null
    printf "include 'private.conf'\n" | as_server_user tee -a "$data.new/postgresql.conf" >/dev/null
    as_server_user mv "$data.new" "$data"
}

# The settings come on standard input, so that each start has the current ones.
server_configure() {
    {
        printf "listen_addresses = ''\nunix_socket_directories = '%s'\n" "${socket_dir//\'/\'\'}"
        cat
    } | as_server_user tee "$data/private.conf" >/dev/null
}

# The postmaster's pid, if it runs. A pid file alone proves nothing: after a crash its number may belong to
# any other process, but only our postmaster works in our data directory.
server_pid() {
    local pid
    pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) || return 1
    [[ $pid =~ ^[0-9]+$ && $(readlink "/proc/$pid/cwd") == "$(readlink -f "$data")" ]] || return 1
    printf '%s' "$pid"
}

# Runs a command that has no file open but the first three.
close_inherited() (
    for fd in /proc/self/fd/*; do
        fd=${fd##*/}
        ((fd < 3)) || eval "exec $fd>&-"
    done
    "$@"
)

server_start() {
    ! server_pid >/dev/null || return 0
    as_server_user rm -f "$data/postmaster.pid"
    # After a kill -9 of the postmaster its sessions may need a moment to notice; until then a start fails.
    for _ in 1 2 3 4 5 6; do
        # pgrx adds a backtrace to each error's DETAIL where the server has this variable. What files the caller has open,
        # a lock of its own say, the server is not to keep open.
        if close_inherited as_server_user env -u RUST_BACKTRACE "$private$bindir/pg_ctl" --pgdata="$data" --log="$server_dir/log" \
            --timeout=60 --wait start </dev/null >/dev/null 2>&1; then
            return
        fi
        sleep 1
    done
    tail -n 20 "$server_dir/log" >&2
    die "the server did not start; its log is $server_dir/log"
}

# A new server in a directory, with the extension preloaded, until the shell that calls this ends.
server_anew() {
    server_in "$1"
    server_stop
    rm -rf "$server_dir"
    trap server_stop EXIT
    server_init
    server_configure <<CONF
shared_preload_libraries = 'snowflake'
fsync = off
CONF
    server_start
}

# Lets the server, which runs, listen at 127.0.0.1 too, for clients that know no sockets of files. Who connects there
# needs a password. Sets PGPORT and PGPASSWORD.
server_listen() {
    PGPASSWORD=$(od --address-radix=n --format=x8 --read-bytes=16 /dev/urandom | tr -d ' ')
    run_psql -q -c "ALTER ROLE postgres PASSWORD '$PGPASSWORD'"
    server_stop
    printf 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n' |
        as_server_user tee "$data/pg_hba.conf" >/dev/null
    PGPORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export PGPORT PGPASSWORD
    printf "listen_addresses = '127.0.0.1'\nport = %s\n" "$PGPORT" |
        as_server_user tee -a "$data/private.conf" >/dev/null
    server_start
}

# A fast shutdown: sessions are ended, nothing is lost.
server_stop() {
    local pid
    pid=$(server_pid) || return 0
    kill -INT "$pid"
    while server_pid >/dev/null; do
        sleep 0.1
    done
}

run_psql() { "$private$bindir/psql" -X "$@"; }
