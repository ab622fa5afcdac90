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
