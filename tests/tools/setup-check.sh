#!/usr/bin/env bash
# Sees that setting up changes nothing that was not asked for: `make setup-check`, which runs this in a new Debian root
# with git, make and Rust alone. In other places it would do damage.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[[ -e /.matrix-base && ! -e /usr/lib/postgresql ]] || die "this is for a new Debian root: make setup-check"
major=15
server=/usr/lib/postgresql/$major/bin/postgres
conf=/etc/postgresql-common/createcluster.conf
list=/etc/apt/sources.list

installed_version() { dpkg-query --show --showformat '${Version}' "postgresql-$major"; }
without_headers() { apt-get remove --yes --quiet=2 "postgresql-server-dev-$major" libpq-dev; }

step "On a bare system: make demo"
make -C "$project" demo demo-stop
say "(that took $SECONDS s)"
[[ -x $server ]] || die "there is no $server"
[[ ! $(pg_lsclusters --no-header) ]] || die "a cluster was made: $(pg_lsclusters)"
[[ ! -e /usr/sbin/policy-rc.d && ! -e $conf.saved ]] || die "a file of the setup was left behind"
! grep '^create_main_cluster' "$conf" || die "$conf has changed"

step "Beside a running server of which a newer minor version is to be had: make demo"
version=$(installed_version)
pg_createcluster "$major" main --start
pid=$(head -n 1 "/var/lib/postgresql/$major/main/postmaster.pid")
without_headers
sed 's|/debian \([a-z]*\) |/debian-security \1-security |' "$list" >"$list.d/security.list"
apt-get update --quiet=2
apt-cache policy "postgresql-$major"
[[ $(apt-get --simulate upgrade) == *"Inst postgresql-$major "* ]] || die "no newer postgresql-$major is to be had"
make -C "$project" demo demo-stop
[[ $(installed_version) == "$version" ]] || die "postgresql-$major $version was upgraded to $(installed_version)"
[[ $(head -n 1 "/var/lib/postgresql/$major/main/postmaster.pid") == "$pid" ]] || die "the server was restarted"

step "The same where only the newer one is to be had: it stops"
without_headers
mv "$list" "$list.off"
if output=$(make -C "$project" demo 2>&1); then
    die "make demo passed"
fi
say "$output"
[[ $output == *"would change what is installed"*"libpq5: $version would become"* ]] || die "it does not say what would change"
[[ $(installed_version) == "$version" ]] || die "postgresql-$major was upgraded"
[[ $(head -n 1 "/var/lib/postgresql/$major/main/postmaster.pid") == "$pid" ]] || die "the server was restarted"
pg_dropcluster --stop "$major" main
step "Setting up changes nothing that was not asked for."
