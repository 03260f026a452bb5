#!/usr/bin/env bash
# What has to hold before a change is looked at: formatting, clippy without warnings, mutants
# that apply, one version, shellcheck where it is installed. `make check`.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$tools/setup.sh"
. "$tools/build.sh"

step "cargo fmt --check"
(cd "$project" && cargo fmt --all --check)

step "cargo clippy"
install_missing for-a-server
use_state_dir
# The same pg_config as in the tests, so that both share one build of pgrx.
private_copy "$major-test"
use_pgrx_home "$private$bindir/pg_config"
cargo_features
(cd "$project" && cargo clippy --workspace --all-targets "${features[@]}" -- -D warnings)

step "The mutants apply"
for patch in "$project"/tests/mutants/*.patch; do
    git -C "$project" apply --check "$patch" || die "$patch has to follow the code it changes"
done

step "META.json has the version of Cargo.toml"
# The one other version is that of META.json's own format, 1.0.0.
[[ $(grep '"version":' "$project/META.json" | grep -cv -e "\"$version\"" -e '"1.0.0"') == 0 ]] ||
    die "META.json has to say $version wherever it says a version of ours"

if has shellcheck; then
    step "shellcheck"
    shellcheck --external-sources --source-path=SCRIPTDIR --severity=warning "$project/.ci/run" "$tools"/*.sh
else
    say "(shellcheck is not installed: scripts not checked)"
fi
