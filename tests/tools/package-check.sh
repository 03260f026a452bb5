#!/usr/bin/env bash
# Makes the Debian package, installs it with apt and runs the SQL cases on a server of the system's own PostgreSQL, with
# nothing built beside it. Changes the system, so it is for a Debian root: `make package-check` makes one and runs this
# in it, and so does `tests/tools/matrix.sh 17 -- tests/tools/package-check.sh`.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"
. "$tools/server.sh"

[[ $EUID == 0 ]] || die "this installs a package: run it as root, in a Debian root"
"$tools/package.sh"
choose_postgres
use_state_dir
package=postgresql-$major-snowflake

step "Installing $package with apt"
# As apt's own user can read it.
deb=$(mktemp --directory)
chmod 755 "$deb"
cp "$target/package/$package"_*.deb "$deb"
apt-get install --yes "$deb/$package"_*.deb

step "Running the SQL cases on the system's PostgreSQL $major"
private=''
bindir=$("$pg_config" --bindir)
server_anew "$state/package-server"
PG_CONFIG=$pg_config "$tools/installcheck.sh"
server_stop

step "Removing $package"
apt-get purge --yes "$package"
[[ ! -e $("$pg_config" --pkglibdir)/snowflake.so ]] || die "$package left its library behind"
say "The package works."
