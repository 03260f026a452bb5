# shellcheck shell=bash disable=SC2034,SC2154 # variables pass between the sourced files
# Installs what is missing: system packages with apt, and cargo-pgrx at the pinned version. Sourced after lib.sh.
# Looks for the files that are needed, not for package names, so that it asks for nothing on other systems
# that have them. Replaces nothing that is there.

# install_missing for-a-build|for-a-server|for-tests: each what the one before needs, and more.
install_missing() {
    choose_postgres
    has cargo || die "Rust is needed (1.88 or newer, with cargo, rustfmt and clippy): https://rust-lang.org/tools/install"
    install_packages "$1"
    [[ -x $pg_config ]] || die "$pg_config is missing: PG_CONFIG=... names another"
    if [[ $1 != for-a-build && $EUID == 0 ]] && ! id "$server_user" >/dev/null 2>&1; then
        die "PostgreSQL does not run as root and there is no user $server_user: create one, or call this as another user"
    fi
    install_cargo_pgrx
}

install_packages() {
    local packages=()
    has cc || packages+=(gcc libc6-dev)
    has pkg-config || packages+=(pkg-config)
    [[ -e /usr/include/openssl/ssl.h ]] || packages+=(libssl-dev)
    has_libclang || packages+=(libclang-dev)
    [[ $1 == for-a-build || -x ${pg_config%/*}/postgres ]] || packages+=("postgresql-$major")
    has_server_headers || packages+=("postgresql-server-dev-$major")
    if [[ $1 == for-tests ]]; then
        compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || packages+=(libfaketime)
        # Debian has it for some majors. Where it is missing, its tests say that they are skipped; on 15 they fail.
        has_partman || { [[ $major != 15 ]] && ! apt-cache show "postgresql-$major-partman" >/dev/null 2>&1; } ||
            packages+=("postgresql-$major-partman")
        # pgrx's own tests change the user with sudo.
        [[ $EUID != 0 ]] || has sudo || packages+=(sudo)
        # Where it is missing on another major, its test says that it is skipped.
        [[ $major != 15 ]] || has_pglogical || packages+=(postgresql-15-pglogical)
    fi
    ((!${#packages[@]})) || apt_install "${packages[@]}"
}

# apt_install PACKAGE...
apt_install() {
    step "Installing $*"
    local apt=(apt-get) command="apt-get install $*"
    has apt-get || die "these Debian packages, or what they stand for here, are missing: $*"
    if [[ $EUID != 0 ]]; then
        has sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; } || die "please run as root: $command"
        apt=(sudo apt-get)
    fi
    "${apt[@]}" update --quiet=2 </dev/null || say "(apt-get update failed: trying with the package lists there are)"
    "${apt[@]}" --option=Dpkg::Use-Pty=0 install --yes --quiet=2 --no-install-recommends "$@" </dev/null ||
        die "this failed: $command"
}

has_libclang() {
    [[ -n ${LIBCLANG_PATH:-} ]] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        compgen -G '/usr/lib/*/libclang*.so*' >/dev/null
}

has_server_headers() {
    [[ -x $pg_config && -e $("$pg_config" --includedir-server)/postgres.h && -x $(pg_regress_program) ]]
}

has_partman() { [[ -x $pg_config && -e $("$pg_config" --sharedir)/extension/pg_partman.control ]]; }

# Beside the makefiles for extensions, .../pgxs/src/makefiles/pgxs.mk.
pg_regress_program() { printf '%s/test/regress/pg_regress' "$(dirname "$(dirname "$("$pg_config" --pgxs)")")"; }

has_pglogical() { [[ -x $pg_config && -e $("$pg_config" --sharedir)/extension/pglogical.control ]]; }

# Sets cargo_pgrx, the program. cargo-pgrx and the pgrx library have to be of one version, so a version of the
# user's that differs is left alone and ours goes below target/.
install_cargo_pgrx() {
    local own=$target/cargo-pgrx cargo_home=${CARGO_HOME:-$HOME/.cargo}
    for cargo_pgrx in "$own/bin/cargo-pgrx" "$(command -v cargo-pgrx || true)" "$cargo_home/bin/cargo-pgrx"; do
        if [[ -x $cargo_pgrx && $("$cargo_pgrx" pgrx --version 2>/dev/null) == "cargo-pgrx $pgrx_version" ]]; then
            return
        fi
    done
    local where=$cargo_home
    if has cargo-pgrx || [[ -e $where/bin/cargo-pgrx ]]; then
        where=$own
    fi
    step "Installing cargo-pgrx $pgrx_version into $where/bin (about four minutes, once)"
    # Without CARGO_TARGET_DIR cargo builds it in a temporary directory, apart from the workspace.
    env -u CARGO_TARGET_DIR cargo install --locked cargo-pgrx --version "$pgrx_version" --root "$where" </dev/null
    cargo_pgrx=$where/bin/cargo-pgrx
}
