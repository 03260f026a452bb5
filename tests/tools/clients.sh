# shellcheck shell=bash disable=SC2034,SC2154 # variables pass between the sourced files
# Installs what the programs of docs/clients.md are written with: interpreters and libraries from the distribution,
# and where those are too old or are not there, pinned ones below target/clients, from tests/clients. Sourced after
# setup.sh.

clients=$target/clients
pinned=$project/tests/clients

# What apt has. Node from elsewhere cannot have Debian's node-pg beside it; it brings npm.
install_client_packages() {
    local packages=()
    has python3 && python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
    has_node_postgres || has npm || packages+=(nodejs node-pg)
    has ruby && ruby -e 'require "active_record"; require "pg"' 2>/dev/null || packages+=(ruby-activerecord ruby-pg)
    has java && java --list-modules 2>/dev/null | grep -q '^jdk\.compiler@' || packages+=(default-jdk-headless)
    [[ -e $jdbc_jar ]] || packages+=(libpostgresql-jdbc-java)
    ((!${#packages[@]})) || apt_install "${packages[@]}"
}

jdbc_jar=/usr/share/java/postgresql.jar

# Debian's Node looks for libraries there by itself.
has_node_postgres() { has node && NODE_PATH=/usr/share/nodejs node -e 'require("pg")' 2>/dev/null; }

# What pip and npm have. Sets python, and NODE_PATH for node.
install_client_libraries() {
    python=$clients/python/bin/python
    export NODE_PATH=/usr/share/nodejs
    unless_installed "$clients/python" "$pinned/requirements.txt" install_python_libraries
    has_node_postgres && return
    unless_installed "$clients/node" "$pinned/node/package-lock.json" install_node_libraries
    NODE_PATH=$clients/node/node_modules
}

install_python_libraries() {
    python3 -m venv "$clients/python"
    "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement "$pinned/requirements.txt"
}

install_node_libraries() {
    mkdir -p "$clients/node"
    cp "$pinned/node"/package*.json "$clients/node/"
    npm ci --prefix "$clients/node" --silent --no-audit --no-fund
}

# unless_installed DIRECTORY LIST COMMAND: the command makes the directory, which is made anew when the list of what
# belongs there has changed.
unless_installed() {
    cmp -s "$2" "$1/.installed" && return
    rm -rf "$1"
    "$3"
    cp "$2" "$1/.installed"
}
