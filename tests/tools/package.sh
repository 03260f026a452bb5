#!/usr/bin/env bash
# Makes a Debian package of the extension for the PostgreSQL at hand: `make package`. It is named as those of the
# PostgreSQL packagers are (postgresql-15-snowflake), and lies in target/package afterwards. Building needs no root.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

install_missing for-a-build
has dpkg-deb || die "dpkg-deb is missing: a Debian package can be made on Debian and its kin only"
mkdir -p "$target"
use_pgrx_home "$pg_config"
step "Building for PostgreSQL $major of $pg_config"
build_package

name=postgresql-$major-snowflake
architecture=$(dpkg --print-architecture)
deb=$target/package/${name}_$version-1_$architecture.deb
tree=$target/package/$name

step "Packing $deb"
rm -rf "$tree"
mkdir -p "$tree/DEBIAN" "$tree/usr/share/doc/$name/docs"
while read -r file; do
    install -D -m 644 "$package$file" "$tree$file"
done < <(cd "$package" && find . -type f | sed 's/^\.//')
install -m 644 "$project/README.md" "$tree/usr/share/doc/$name"
install -m 644 "$project/docs"/*.md "$tree/usr/share/doc/$name/docs"
install -m 644 "$project/LICENSE" "$tree/usr/share/doc/$name/copyright"
gzip -9n <"$project/CHANGELOG.md" >"$tree/usr/share/doc/$name/changelog.gz"
strip --strip-unneeded "$tree$("$pg_config" --pkglibdir)/snowflake.so"

# The newest symbol of the C library that the extension uses tells which version it needs.
glibc=$(objdump -T "$tree$("$pg_config" --pkglibdir)/snowflake.so" |
    sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
# Any minor version of the major will do.
cat >"$tree/DEBIAN/control" <<CONTROL
Package: $name
Version: $version-1
Architecture: $architecture
Section: database
Priority: optional
Depends: postgresql-$major, libc6 (>= $glibc), libgcc-s1
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f 1)
Maintainer: the Snowflake for PostgreSQL developers <snowflake@localhost>
Description: time-ordered 64-bit ids as a column default
 Snowflake ids for PostgreSQL $major: 41 bits of milliseconds, 10 bits of node number
 and 12 bits of sequence, never issued twice by a server and always rising,
 through clock steps, crashes, restarts and failover.
CONTROL
dpkg-deb --root-owner-group --build "$tree" "$deb" >/dev/null
say "$deb"
say "Install it with: apt-get install $deb"
