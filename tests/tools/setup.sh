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
    local packages=() debian=''
    [[ $pg_config != "/usr/lib/postgresql/$major/bin/pg_config" ]] || debian=yes
    has cc || packages+=(gcc libc6-dev)
    has pkg-config || packages+=(pkg-config)
    [[ -e /usr/include/openssl/ssl.h ]] || packages+=(libssl-dev)
    has_libclang || packages+=(libclang-dev)
    [[ $1 == for-a-build || -x ${pg_config%/*}/postgres ]] || packages+=("postgresql-$major")
    has_server_headers || packages+=("postgresql-server-dev-$major")
    # A PostgreSQL from elsewhere would still lack it, and Debian's would be there too.
    [[ $debian || ${packages[*]} != *postgresql-* ]] ||
        die "the PostgreSQL of $pg_config is not complete: it lacks what Debian has in ${packages[*]}"
    if [[ $1 == for-tests ]]; then
        compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || packages+=(libfaketime)
        # Debian has it for some majors. Where it is missing, its tests say that they are skipped; on 15 they fail.
        has_extension pg_partman || [[ ! $debian ]] || ! in_archive "postgresql-$major-partman" ||
            packages+=("postgresql-$major-partman")
        # Where it is missing, its test says that it is skipped.
        has_extension pglogical || [[ ! $debian || $major != 15 ]] || packages+=(postgresql-15-pglogical)
        # pgrx's own tests change the user with sudo.
        [[ $EUID != 0 ]] || has sudo || packages+=(sudo)
    fi
    ((!${#packages[@]})) || apt_install "${packages[@]}"
}

# apt_install PACKAGE...: installs packages that are missing, and what they need. What is installed stays as it is:
# nothing is upgraded, removed or restarted, and PostgreSQL's package makes no cluster. Where that cannot be, it says
# what would change, and stops.
apt_install() {
    step "Installing $*"
    local command="apt-get install $*" as_root=(env) pins plan changes
    has apt-get || die "these Debian packages, or what they stand for here, are missing: $*"
    if [[ $EUID != 0 ]]; then
        has sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; } || die "please run as root: $command"
        as_root=(sudo env)
    fi
    "${as_root[@]}" apt-get update --quiet=2 </dev/null || say "(apt-get update failed: trying with the package lists there are)"
    mkdir -p "$target"
    pins=$target/apt-preferences
    rm -f "$pins"
    pin_installed_versions >"$pins"
    if ! plan=$(apt_plan "$@" --option=Dir::Etc::Preferences="$pins") || [[ $(changes_of "$plan") ]]; then
        plan=$(apt_plan "$@") && changes=$(changes_of "$plan") && [[ $changes ]] || die "apt cannot do this: $command"
        die "$command
would change what is installed:
$changes
Nothing was installed. Make that change yourself when it suits you (a server of a package that is upgraded is restarted), and
run this again."
    fi
    if [[ $plan =~ Inst\ postgresql-[0-9]+\ \( ]]; then
        if [[ ! -e $createcluster_conf ]]; then
            apt_get_install postgresql-common
        fi
        without_services apt_get_install "$@"
    else
        apt_get_install "$@"
    fi
}

# The preferences with which apt takes, of each source package of which something is installed, the version that is
# installed. A priority above 1000 holds also against a newer version and another release.
pin_installed_versions() {
    dpkg-query --show --showformat '${db:Status-Status} ${source:Package} ${Version}\n' |
        awk '$1 == "installed" && !seen[$2, $3]++ { printf "Package: src:%s\nPin: version %s\nPin-Priority: 1001\n\n", $2, $3 }'
    # Ours take the place of the machine's, and override them.
    cat /etc/apt/preferences 2>/dev/null || true
}

apt_plan() { LC_ALL=C apt-get --simulate --no-install-recommends install "$@" 2>&1; }

# What a plan does to packages that are installed, a line each.
changes_of() {
    sed -n -e 's/^Inst \([^ ]*\) \[\([^]]*\)\] (\([^ ]*\).*/    \1: \2 would become \3/p' \
        -e 's/^Remv \([^ ]*\).*/    \1: would be removed/p' <<<"$1"
}

apt_get_install() {
    "${as_root[@]}" DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get --option=Dir::Etc::Preferences="$pins" \
        --option=Dpkg::Use-Pty=0 install --yes --quiet=2 --no-install-recommends --no-remove "$@" </dev/null ||
        die "this failed: apt-get install $*"
}

createcluster_conf=/etc/postgresql-common/createcluster.conf

# Runs a command during which no package starts a service, and PostgreSQL's makes no cluster. Both files are afterwards
# what they were before.
without_services() (
    policy=/usr/sbin/policy-rc.d saved=$createcluster_conf.saved
    # It is there after a run that was killed.
    [[ -e $saved ]] || "${as_root[@]}" cp --preserve=all "$createcluster_conf" "$saved"
    if [[ -e $policy ]]; then
        trap '"${as_root[@]}" mv "$saved" "$createcluster_conf"' EXIT
    else
        trap '"${as_root[@]}" mv "$saved" "$createcluster_conf"; "${as_root[@]}" rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
        "${as_root[@]}" chmod 755 "$policy"
    fi
    echo 'create_main_cluster = false' | "${as_root[@]}" tee -a "$createcluster_conf" >/dev/null
    "$@"
)

has_libclang() {
    [[ -n ${LIBCLANG_PATH:-} ]] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        compgen -G '/usr/lib/*/libclang*.so*' >/dev/null
}

has_server_headers() {
    [[ -x $pg_config && -e $("$pg_config" --includedir-server)/postgres.h && -x $(pg_regress_program) ]]
}

has_extension() { [[ -x $pg_config && -e $("$pg_config" --sharedir)/extension/$1.control ]]; }

in_archive() { apt-cache show "$1" >/dev/null 2>&1; }

# Beside the makefiles for extensions, .../pgxs/src/makefiles/pgxs.mk.
pg_regress_program() { printf '%s/test/regress/pg_regress' "$(dirname "$(dirname "$("$pg_config" --pgxs)")")"; }

# Sets cargo_pgrx, the program. cargo-pgrx and the pgrx library have to be of one version, so one of the caller's that
# differs is left alone. Ours goes below target/.
install_cargo_pgrx() {
    local own=$target/cargo-pgrx
    for cargo_pgrx in "$(command -v cargo-pgrx || true)" "${CARGO_HOME:-$HOME/.cargo}/bin/cargo-pgrx" "$own/bin/cargo-pgrx"; do
        if [[ -x $cargo_pgrx && $("$cargo_pgrx" pgrx --version 2>/dev/null) == "cargo-pgrx $pgrx_version" ]]; then
            return
        fi
    done
    step "Installing cargo-pgrx $pgrx_version into $own (about four minutes, once)"
    # Without CARGO_TARGET_DIR cargo builds it in a temporary directory, apart from the workspace.
    env -u CARGO_TARGET_DIR cargo install --locked cargo-pgrx --version "$pgrx_version" --root "$own" </dev/null
}
