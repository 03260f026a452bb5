# shellcheck shell=bash
# Deleting a root, sourced by the matrix scripts.

# Deletes the directory $1, unless something is mounted at it or below it: rm goes through mounts, and
# would delete what is mounted. --one-file-system alone does not stop it at a bind mount of the same
# file system.
remove_tree() {
    local path point
    [[ -d $1 ]] || return 0
    path=$(realpath -- "$1")
    while read -r _ _ _ _ point _; do
        # The kernel writes a space, tab, newline or backslash as \ooo; printf wants \0ooo.
        printf -v point '%b' "${point//\\/\\0}"
        if [[ $point == "$path" || $point == "$path"/* ]]; then
            echo "matrix: not deleting $path: $point is a mount; unmount it first" >&2
            return 1
        fi
    done </proc/self/mountinfo
    rm -rf --one-file-system -- "$path"
}
