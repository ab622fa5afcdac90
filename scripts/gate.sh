#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The regression gate between a revision and the working tree, as CI runs it: builds both alike, compares them, ends with the
# status of `oocgnn compare` (3: something got worse).
#   scripts/gate.sh REVISION [OPTION of oocgnn compare...]
# Both are built for one processor that valgrind knows (ARCH), so that instruction counts are of the same code everywhere.
# What was accepted is in results/accepted.json; to accept: scripts/gate.sh REVISION --accept "why".
set -euo pipefail
cd -P "$(dirname "$0")/.."

[ $# -ge 1 ] || { echo "usage: scripts/gate.sh REVISION [OPTION of oocgnn compare...]" >&2; exit 2; }
revision=$1
shift
case $revision in
*[!0]*) ;;
*) revision=HEAD~1 ;; # what GitHub calls the revision before the first push
esac
arch=${ARCH:-x86-64-v3}
jobs=${JOBS:-2}
work=build/gate
tree=$work/base

# A checkout of another user, such as a container's: git works in it only if it is named. It is, for these calls alone.
trust() {
    local count=${GIT_CONFIG_COUNT:-0} folder
    for folder in "$PWD" "$PWD/$tree"; do
        export "GIT_CONFIG_KEY_$count=safe.directory" "GIT_CONFIG_VALUE_$count=$folder"
        count=$((count + 1))
    done
    export GIT_CONFIG_COUNT=$count
}
refused() { [[ "$(LC_ALL=C git rev-parse --git-dir 2>&1)" == *'dubious ownership'* ]]; }
if refused; then
    trust
    if refused; then
        echo "gate: git refuses $PWD, because it belongs to another user; git config --global --add safe.directory '$PWD'" >&2
        exit 2
    fi
fi

commit=$(git rev-parse --verify --quiet "$revision^{commit}") || {
    echo "gate: $revision is no commit of this clone; fetch it (a shallow clone: git fetch --unshallow)" >&2
    exit 2
}
mkdir -p "$work"
# In a folder that is no working tree of its own (cut off while it was made, or copied with the clone) git would take the
# clone around it for the one that is meant, and check the revision out there.
if [ "$(git -C "$tree" rev-parse --show-toplevel 2>/dev/null)" = "$PWD/$tree" ]; then
    git -C "$tree" checkout --quiet --force --detach "$commit"
else
    rm -rf "$tree"
    git worktree prune
    git worktree add --quiet --detach "$tree" "$commit"
fi
# Where ccache is installed, BASE and HEAD share the objects of equal files, and later calls find them again.
if [ -d /usr/lib/ccache ]; then
    export PATH=/usr/lib/ccache:$PATH CCACHE_NOHASHDIR=1
fi
# PLUGIN=1 builds the CUDA plugins too: `all` is the program and, where nvcc is found, its plugin.
base=build/gate/oocgnn head=$work/head/oocgnn
if [ -n "${PLUGIN:-}" ]; then
    make -s -j"$jobs" -C "$tree" BUILD=build/gate ARCH="$arch" all
    make -s -j"$jobs" BUILD="$work/head" ARCH="$arch" all
else
    make -s -j"$jobs" -C "$tree" BUILD=build/gate ARCH="$arch" "$base"
    make -s -j"$jobs" BUILD="$work/head" ARCH="$arch" "$head"
fi
# Called directly: make would turn every status into 2.
exec "$head" compare "$tree/$base" "$head" --accepted results/accepted.json "$@"
