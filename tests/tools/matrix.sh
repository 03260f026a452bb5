#!/usr/bin/env bash
# Builds and tests the extension on the PostgreSQL majors that Debian 12 does not carry, each in a Debian
# root of its own under target/matrix: 17 in trixie, 18 in forky.
#
#   tests/tools/matrix.sh [17] [18]               make test in the committed tree; both majors by default
#   tests/tools/matrix.sh 17 -- COMMAND [ARG]...  that command in place of make test
#   tests/tools/matrix.sh 15 -- COMMAND [ARG]...  the same in a root of Debian 12
#   tests/tools/matrix.sh bare -- COMMAND [ARG].. the same in a new root of Debian 12 with git, make and Rust alone
#   tests/tools/matrix.sh clean                   delete the roots and the logs
#
# MATRIX_WORKTREE=1 tests the uncommitted changes too. MATRIX_MIRROR is the URL of a Debian mirror, needed
# only where the machine's own apt sources name none.
#
# What must stay true: everything is mounted in a mount namespace that ends with the run, so that
# nothing is ever mounted below target/ as the machine sees it, and a root holds copies, never a mount,
# of what belongs to the caller. matrix-root.sh is what runs in that namespace.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"

matrix=$project/target/matrix
declare -A release=([15]=bookworm [17]=trixie [18]=forky [bare]=bookworm)

usage() {
    sed -n '2,/^$/ s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed -n '/matrix.sh/p' >&2
    exit 2
}

majors=()
command=(make test)
clean=
while (($#)); do
    case $1 in
    15 | 17 | 18 | bare) majors+=("$1") ;;
    clean) clean=yes ;;
    --)
        shift
        command=("$@")
        break
        ;;
    *) usage ;;
    esac
    shift
done
((${#command[@]})) || usage
((${#majors[@]})) || majors=(17 18)
((EUID == 0)) || die "this needs root (debootstrap, chroot and mount): sudo $0"

# target/ stays its owner's: a root-owned one would break the caller's next build.
if [[ ! -d $project/target ]]; then
    mkdir "$project/target"
    chown --reference="$project" "$project/target"
fi
mkdir -p "$matrix"
exec {lock}<"$matrix"
flock --nonblock "$lock" || die "another run is using $matrix"

if [[ $clean ]]; then
    # shellcheck source=tests/tools/matrix-remove.sh
    source "$tools/matrix-remove.sh"
    remove_tree "$matrix"
    exit
fi

has debootstrap || apt_install debootstrap

worker=
stop() {
    # The worker's first process dies with it, and takes its namespaces along: every process and every mount.
    [[ ! $worker ]] || kill -KILL "$worker" 2>/dev/null || true
    exit 130
}
trap stop INT TERM HUP

failed=0
results=()
for major in "${majors[@]}"; do
    root=$matrix/${release[$major]}
    [[ $major != bare ]] || root=$matrix/bare
    log=$matrix/postgresql-$major.log
    started=$SECONDS
    status=0

    exec {output}> >(exec tee -i "$log")
    tee=$!
    unshare --mount --propagation private --pid --ipc --fork --kill-child \
        bash "$tools/matrix-root.sh" "$project" "$root" "${release[$major]}" "$major" "${command[@]}" \
        >&"$output" 2>&1 </dev/null {output}>&- &
    worker=$!
    exec {output}>&-
    wait "$worker" || status=$?
    worker=
    wait "$tee"

    outcome=passed
    if ((status)); then
        outcome="FAILED (exit code $status)"
        failed=1
    fi
    version=$(chroot "$root" "/usr/lib/postgresql/$major/bin/postgres" --version 2>/dev/null | cut -d ' ' -f 3) || true
    results+=("PostgreSQL $major (Debian ${release[$major]}, server_version ${version:-unknown}): $outcome, $((SECONDS - started)) s, log ${log#"$project"/}")
done

echo
printf '%s\n' "${results[@]}"
exit "$failed"
