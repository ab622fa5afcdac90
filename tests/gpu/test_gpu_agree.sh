#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Cells that a GPU trains in `make agree`: left out with the reason where there is none, and beside the CPU's where there
# is one (the stand-in, whose times mean nothing). Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
export OOCGNN=${OOCGNN:-build/gcc/oocgnn}
export DATA=$dir/data DB=$dir/agree.db

stand_in=$(dirname "$OOCGNN")/tests/support/stand_in_cuda.so
why=""
[ -f "$stand_in" ] || why="the stand-in is not built: make tests"
command -v sqlite3 >/dev/null || why="no sqlite3 program"
"$OOCGNN" doctor --data "$dir" >"$dir/doctor" # not a pipe: grep -q leaves it, and the writer dies of that
grep -q '^ok *memory cgroup' "$dir/doctor" || why="no writable memory control group"
if [ -n "$why" ]; then
    skip_all "$why" 3
fi

# Under a cap with room for the thread sanitizer's shadow, which is four times the stand-in's memory.
agree() { # plugin, profile
    OOCGNN_CUDA_PLUGIN=$1 scripts/agree.sh --systems pygplus --scale 1/4000 --dims 16 --caps 384M --batches 2 --readaheads "" --profile "$2" \
        >"$dir/out" 2>&1
    [ $? -ne 2 ] # out of band is what made-up times are
}

cells() { # trainer
    grep -cE "^\| pygplus +\| $1 +\|" "$dir/out"
}

agree /nonexistent gnndrive-paper && grep -q 'left out: cells trained on a GPU: CUDA plugin.*nvcc' "$dir/out" &&
    [ "$(cells cpu)" -eq 2 ] && [ "$(cells gpu)" -eq 0 ]
verdict "without a GPU its cells are left out, and why is said" $?

agree "$stand_in" gnndrive-paper && ! grep -q 'left out' "$dir/out" && [ "$(cells cpu)" -eq 2 ] && [ "$(cells gpu)" -eq 2 ] &&
    ! grep -q DIFFER "$dir/out"
verdict "with one, every cell has a row for the CPU and one for the GPU, of the same mini-batches" $?

profile=$(for file in workloads/hardware/*.ini; do grep -q '^\[gpu\]' "$file" || basename "$file" .ini; done | sed -n 1p)
if [ -n "$profile" ]; then
    agree "$stand_in" "$profile" && grep -q 'left out: cells trained on a GPU: .*has no GPU' "$dir/out" && [ "$(cells gpu)" -eq 0 ]
    verdict "a profile without a GPU leaves them out too" $?
fi

finish
