#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A job file as a Slurm array: one cell a task, one database a task, joined when all tasks have ended.
#   scripts/slurm/submit.sh JOBFILE DIR [sbatch option...]
# DIR is on a file system that all nodes see; it gets cell-N.db and cell-N.log of each cell, and all.db. Submitting again
# runs what is missing. Options go to the array: --array is written here, %N limits it with OOCGNN_AT_ONCE=N.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '/SPDX/d; s/^# //p; /^set /q' "$0" >&2; exit 2; }
job=$(realpath "$1")
mkdir -p "$2"
dir=$(realpath "$2")
shift 2
export OOCGNN=${OOCGNN:-$(realpath "$here/../../build/gcc/oocgnn")}
[ -x "$OOCGNN" ] || { echo "$OOCGNN: no program there; build it, or set OOCGNN" >&2; exit 2; }
command -v sbatch >/dev/null || { echo "no sbatch here: is this a Slurm cluster?" >&2; exit 4; }

cells=$("$OOCGNN" sweep "$job" --dry-run | sed -n 's/^\([0-9]*\) configurations*, .*/\1/p')
[ -n "$cells" ] || exit 2 # the program has printed what is wrong
name=oocgnn-$(basename "$job" .ini)
array=$(sbatch --parsable --job-name="$name" --array="1-$cells${OOCGNN_AT_ONCE:+%$OOCGNN_AT_ONCE}" \
    --output="$dir/cell-%a.log" "$@" "$here/cell.sh" "$job" "$dir")
echo "$cells configurations: array ${array%%;*}"
merge=$(sbatch --parsable --job-name="$name-merge" --dependency="afterany:${array%%;*}" --output="$dir/merge.log" \
    "$here/merge.sh" "$dir")
echo "then $dir/all.db: job ${merge%%;*}"
