#!/usr/bin/env bash
# Builds the extension in release mode and installs it into the PostgreSQL that PG_CONFIG names, or below DESTDIR:
# `make install`. Builds as the caller; asks sudo only to copy into directories that the caller cannot write.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

install_missing for-a-build
mkdir -p "$target"
use_pgrx_home "$pg_config"
step "Building for PostgreSQL $major of $pg_config"
build_package

step "Installing into ${DESTDIR:-}$("$pg_config" --pkglibdir) and ${DESTDIR:-}$("$pg_config" --sharedir)/extension"
as_root=()
if [[ -z ${DESTDIR:-} && ! -w $("$pg_config" --pkglibdir) ]]; then
    has sudo || die "no permission to write there: run make install as root"
    say "(with sudo)"
    as_root=(sudo)
fi
copy_package "${DESTDIR:-}" "${as_root[@]}"
if [[ $installed == no ]]; then
    say "Nothing changed."
fi
say "Next: shared_preload_libraries = 'snowflake' in postgresql.conf, restart the server, then CREATE EXTENSION snowflake;"
