#!/usr/bin/env bash
# Makes or refreshes one Debian root and runs a command in it, on the committed tree of the project.
# Called by matrix.sh in mount, process and IPC namespaces of its own, as their first process.
#
#   matrix-root.sh PROJECT ROOT RELEASE MAJOR COMMAND [ARG]...
#
# MAJOR bare makes the root anew, with no PostgreSQL, no compiler of C, no crates, and no settings for packages.
#
# In the root: the compiler in /opt/rust, CARGO_HOME in /opt/cargo, the project in /srv/snowflake.
# All are copies, and the build's own target directory stays there for the next run.
set -euo pipefail

project=$1 root=$2 release=$3 major=$4
shift 4
source "$(dirname -- "${BASH_SOURCE[0]}")/matrix-remove.sh"
trap 'exit 130' INT TERM HUP

packages=(
    "postgresql-$major" "postgresql-server-dev-$major" postgresql-common libpq-dev
    build-essential pkg-config libclang-dev libssl-dev
    ca-certificates curl faketime libfaketime git make perl procps sudo
)
[[ $major != bare ]] || packages=(git make)

step() {
    echo "==> PostgreSQL $major: $*"
}

die() {
    echo "matrix: $*" >&2
    exit 1
}

# The mirror that the machine's own apt uses for its Debian release.
mirror() {
    local codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get --print-uris update | sed -n "s|^'\(.*\)/dists/$codename/InRelease'.*|\1|p" | sed -n 1p
}

# The proxy that the machine's own apt uses, for debootstrap, which does not read apt's settings.
use_apt_proxy() {
    local http='' https=''
    eval "$(apt-config shell http Acquire::http::Proxy https Acquire::https::Proxy)"
    [[ ! $http || $http == DIRECT ]] || export http_proxy=${http_proxy:-$http}
    [[ ! $https || $https == DIRECT ]] || export https_proxy=${https_proxy:-$https}
}

make_root() {
    local from plain script=()
    [[ $major == bare || ! -e $root/.matrix-base ]] || return 0
    step "making the root ($release)"
    from=${MATRIX_MIRROR:-$(mirror)}
    [[ $from ]] || die "no Debian mirror in this machine's apt sources: set MATRIX_MIRROR"
    remove_tree "$root"
    use_apt_proxy
    # An older debootstrap knows no release newer than itself; sid's script makes them all.
    [[ -e /usr/share/debootstrap/scripts/$release ]] || script=(/usr/share/debootstrap/scripts/sid)
    # debootstrap cannot work below a path with a space in it, so it sees the root at one without.
    plain=$(mktemp --directory)
    mkdir -p "$root"
    mount --bind "$root" "$plain"
    debootstrap --variant=minbase --include=ca-certificates "$release" "$plain" "$from" "${script[@]}"
    umount --recursive "$plain"
    rmdir "$plain"
    echo "deb $from $release main" >"$root/etc/apt/sources.list"
    touch "$root/.matrix-base"
}

# What the machine needs to reach its network, as it stands today.
copy_network_settings() {
    local bundle
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    bundle=${CARGO_HTTP_CAINFO:-${SSL_CERT_FILE:-${CURL_CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}}}
    [[ ! -e $bundle ]] || cp -L "$bundle" "$root/etc/ssl/matrix-ca.crt"
    {
        apt-config dump | grep -E '^Acquire::(https?::Proxy|Retries|Check-Date)[: ]' || true
        echo 'Acquire::Check-Valid-Until "false";'
        [[ ! -e $root/etc/ssl/matrix-ca.crt ]] || echo 'Acquire::https::CaInfo "/etc/ssl/matrix-ca.crt";'
        [[ $major == bare ]] || echo 'APT::Install-Recommends "false"; Dpkg::Use-Pty "false";'
    } >"$root/etc/apt/apt.conf.d/99matrix"
}

mount_kernel_file_systems() {
    mount -t proc proc "$root/proc"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
}

environment=(
    PATH=/opt/cargo/bin:/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    HOME=/root USER=root SHELL=/bin/bash LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive
    CARGO_HOME=/opt/cargo CARGO_TERM_COLOR=never
)
[[ $major == bare ]] || environment+=("PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config")

# Proxies and cargo's network settings come along; where the machine has its own CA bundle, that too.
complete_environment() {
    local name
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
        "${!CARGO_HTTP_@}" "${!CARGO_NET_@}" RUST_BACKTRACE; do
        [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
    done
    if [[ -e $root/etc/ssl/matrix-ca.crt ]]; then
        for name in SSL_CERT_FILE CURL_CA_BUNDLE GIT_SSL_CAINFO CARGO_HTTP_CAINFO PIP_CERT; do
            environment+=("$name=/etc/ssl/matrix-ca.crt")
        done
    fi
}

in_root() {
    chroot "$root" /usr/bin/env -i "${environment[@]}" "$@"
}

install_packages() {
    [[ $(cat "$root/.matrix-packages" 2>/dev/null) != "${packages[*]}" ]] || return 0
    step "installing packages"
    if [[ $major != bare ]]; then
        # No package starts a service here, and PostgreSQL's makes no cluster.
        printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
        chmod 755 "$root/usr/sbin/policy-rc.d"
        mkdir -p "$root/etc/postgresql-common"
        echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"
    fi
    in_root apt-get update --quiet=2
    in_root apt-get install --yes --quiet=2 --no-install-recommends "${packages[@]}"
    in_root apt-get clean
    echo "${packages[*]}" >"$root/.matrix-packages"
}

# Runs a command line as the person who called sudo, so that their rustup answers; else as we are.
as_caller() {
    if [[ ${SUDO_USER:-root} != root ]] && ! command -v rustc >/dev/null; then
        runuser --login "$SUDO_USER" --command "cd -- $(printf %q "$project") && $1"
    else
        (cd -- "$project" && bash -c "$1")
    fi
}

# Copies the compiler, the downloaded crates and cargo-pgrx: no settings, no credentials.
# $HOME and $CARGO_HOME are for the caller's shell to expand.
# shellcheck disable=SC2016
copy_toolchain() {
    local sysroot cargo_home pgrx stamp
    sysroot=$(as_caller 'rustc --print sysroot') || die "no Rust compiler: install one with rustup"
    [[ $sysroot != /usr ]] || die "the compiler in /usr cannot be copied: install one with rustup"
    cargo_home=$(as_caller 'echo "${CARGO_HOME:-$HOME/.cargo}"')
    pgrx=$(as_caller 'command -v cargo-pgrx') || pgrx=$cargo_home/bin/cargo-pgrx
    [[ -x $pgrx ]] || pgrx=$project/target/cargo-pgrx/bin/cargo-pgrx

    stamp=$("$sysroot/bin/rustc" --version --verbose)
    if [[ $(cat "$root/opt/rust/.matrix-version" 2>/dev/null) != "$stamp" ]]; then
        step "copying the compiler ($(head -n 1 <<<"$stamp"))"
        remove_tree "$root/opt/rust"
        mkdir -p "$root/opt/rust"
        # share/ is mostly the offline documentation.
        cp -a "$sysroot/bin" "$sysroot/lib" "$root/opt/rust/"
        [[ ! -d $sysroot/libexec ]] || cp -a "$sysroot/libexec" "$root/opt/rust/"
        chown -R root:root "$root/opt/rust"
        echo "$stamp" >"$root/opt/rust/.matrix-version"
    fi

    [[ $major != bare ]] || return 0
    mkdir -p "$root/opt/cargo/bin" "$root/opt/cargo/registry"
    local part
    for part in cache index; do
        [[ ! -d $cargo_home/registry/$part ]] || cp -au "$cargo_home/registry/$part" "$root/opt/cargo/registry/"
    done
    if [[ -x $pgrx ]]; then
        cp -au "$pgrx" "$root/opt/cargo/bin/"
        # One that was built for a newer C library than the root's: the root builds its own.
        in_root cargo-pgrx pgrx --version >/dev/null 2>&1 || rm "$root/opt/cargo/bin/cargo-pgrx"
    fi
    chown -R root:root "$root/opt/cargo"
}

# Checks the project's HEAD out at /srv/snowflake. Only changed files are written, so what was built from the
# others stays valid.
copy_project() {
    local tree=$root/srv/snowflake source=(git -c safe.directory='*' -C "$project")
    step "copying the project ($("${source[@]}" rev-parse --short HEAD))"
    if [[ ! -d $tree/.git ]]; then
        git init --quiet "$tree"
        # The project may be a shallow clone.
        git -C "$tree" config receive.shallowUpdate true
    fi
    "${source[@]}" push --quiet --force --no-verify "$tree" HEAD:refs/matrix/head
    git -C "$tree" checkout --quiet --force --detach refs/matrix/head
    git -C "$tree" clean --quiet -ffd
    [[ ${MATRIX_WORKTREE:-0} == 1 ]] || return 0

    export GIT_OPTIONAL_LOCKS=0
    step "copying the uncommitted changes"
    "${source[@]}" diff --binary HEAD | git -C "$tree" apply --allow-empty
    "${source[@]}" ls-files -z --others --exclude-standard |
        tar --directory "$project" --null --files-from - --create |
        tar --directory "$tree" --no-same-owner --extract
}

make_root
copy_network_settings
mount_kernel_file_systems
complete_environment
install_packages
copy_toolchain
copy_project
step "$*"
in_root sh -c 'cd /srv/snowflake && exec "$@"' sh "$@"
