# shellcheck shell=bash disable=SC2034,SC2154 # variables pass between the sourced files
# Builds the extension, and private copies of the PostgreSQL server to run it in. Sourced after setup.sh and
# install_missing.
#
# PostgreSQL finds its libraries and its share directory relative to its programs, so a copy of the installed
# tree works in any place. The extension goes into such a copy: nothing is ever written to a system directory
# except by `make install`, and neither building nor testing needs root.

# The cargo options that select the PostgreSQL major.
cargo_features() {
    features=()
    [[ $major == "${majors[0]}" ]] || features=(--no-default-features --features "pg$major")
}

# Sets private to the root of a private copy of the server, $state/pg/NAME, made anew when the installed one has
# changed, or the extensions installed for it. Its programs are in $private$bindir.
private_copy() {
    bindir=$("$pg_config" --bindir)
    pkglibdir=$("$pg_config" --pkglibdir)
    sharedir=$("$pg_config" --sharedir)
    private=$state/pg/$1
    local stamp
    stamp=$("$pg_config" --version
        stat -L -c '%n %i %s %Y' "$bindir/postgres" "${BASH_SOURCE[0]}"
        # Not ours: an installed snowflake is left out.
        find "$sharedir/extension" -name '*.control' ! -name snowflake.control -printf '%f %i %s %T@\n' | sort)
    [[ $(cat "$private/.copied-from" 2>/dev/null) != "$stamp" ]] || return 0

    local new=$private.new
    rm -rf "$new"
    mkdir -p "$new$bindir" "$new$pkglibdir" "$new$sharedir"
    # Programs have to be files of their own: PostgreSQL follows a symbolic link to find where it stands.
    cp -L "$bindir"/* "$new$bindir/"
    # The bitcode is for inlining in JIT-compiled queries, and most of the size.
    tar -C "$pkglibdir" --exclude=./bitcode -cf - . | tar -C "$new$pkglibdir" -xf -
    cp -a "$sharedir/." "$new$sharedir/"
    # An installed snowflake does not belong in a fresh copy.
    rm -f "$new$pkglibdir"/snowflake.so "$new$sharedir"/extension/{snowflake,sequencer}{.control,--*.sql}
    # Headers and client libraries are only read.
    local option directory
    for option in --includedir --pkgincludedir --includedir-server --libdir; do
        directory=$("$pg_config" "$option")
        if [[ -e $directory && ! -e $new$directory ]]; then
            mkdir -p "$(dirname "$new$directory")"
            ln -s "$directory" "$new$directory"
        fi
    done
    [[ $("$new$bindir/pg_config" --pkglibdir) == "$new$pkglibdir" ]] ||
        die "the PostgreSQL of $pg_config does not work from another directory"
    printf '%s' "$stamp" >"$new/.copied-from"
    rm -rf "$private"
    mv "$new" "$private"
}

# Points pgrx at a pg_config, with a directory of ours in place of ~/.pgrx. Unchanged, the file keeps its time,
# since a newer one makes pgrx read PostgreSQL's headers again.
use_pgrx_home() {
    export PGRX_HOME=$target/pgrx
    mkdir -p "$PGRX_HOME"
    local config
    config=$(printf '[configs]\npg%s = "%s"\n' "$major" "$1")
    [[ $(cat "$PGRX_HOME/config.toml" 2>/dev/null) == "$config" ]] || printf '%s\n' "$config" >"$PGRX_HOME/config.toml"
}

# Sets package to a directory with the release build, laid out from the root of the file system on as PostgreSQL
# wants it installed.
build_package() {
    package=$target/package/pg$major
    rm -rf "$package"
    # cargo's progress and the compiler's messages go to standard error; what pgrx says, to a file.
    mkdir -p "$target/package"
    (cd "$project" && "$cargo_pgrx" pgrx package --pg-config "$pg_config" --out-dir "$package" </dev/null >"$package.log") ||
        die "the build failed (see also $package.log)"
    add_sequencer "$package$("$pg_config" --sharedir)/extension"
}

# Adds the second extension of the library, which pgrx knows nothing of: its control file and, in one, its scripts.
add_sequencer() {
    local version
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$project/Cargo.toml" | head -n 1)
    sed "s/@CARGO_VERSION@/$version/" "$project/sql/sequencer/sequencer.control" >"$1/sequencer.control"
    cat "$project"/sql/sequencer/*.sql >"$1/sequencer--$version.sql"
}

# Copies the package to below a root directory (the private copy, DESTDIR or "" for the system), unless the same
# files are there. Each file is replaced, not overwritten: a running server has the old library mapped.
# Sets installed to yes or no.
copy_package() {
    local root=$1 file old
    installed=no
    while read -r file; do
        if ! cmp -s "$package$file" "$root$file"; then
            installed=yes
        fi
    done < <(cd "$package" && find . -type f | sed 's/^\.//')
    [[ $installed == yes ]] || return 0
    shift
    # What another version left behind.
    for old in "$root$("$pg_config" --sharedir)"/extension/{snowflake,sequencer}--*.sql; do
        [[ ! -e $old || -e $package${old#"$root"} ]] || "$@" rm -f "$old"
    done
    while read -r file; do
        "$@" install -D -m "$([[ $file == *.so ]] && echo 755 || echo 644)" "$package$file" "$root$file"
    done < <(cd "$package" && find . -type f | sed 's/^\.//')
}

# Everything above for a server with the release build in it: sets private, bindir, package, installed.
build_private_server() {
    # One at a time: demo and test share the copies.
    exec 9>"$target/.private-server.lock"
    flock 9
    private_copy "$major-test"
    use_pgrx_home "$private$bindir/pg_config"
    private_copy "$major"
    build_package
    copy_package "$private"
    exec 9>&-
}
