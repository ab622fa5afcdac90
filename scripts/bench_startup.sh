#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What starting costs: `oocgnn --version`, and a whole recorded run of the null system, which moves nothing, on a small
# dataset. Prints medians, lowest and highest of N starts: by the clock, and on the cores (user and kernel).
#   scripts/bench_startup.sh [N]        default 21
# Wants OOCGNN (the program) and DATA (where datasets go).
set -euo pipefail
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
starts=${1:-21}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$data/papers100m-1_1000/meta" ] || "$oocgnn" prepare papers100m --scale 1/1000 --dim 32 --data "$data" --quiet

# Reads "wall user kernel" in seconds, a start a line.
summary() {
    awk -v what="$1" -v target="$2" '
        function sorted_print(a, n, name,    i, j, x) {
            for (i = 2; i <= n; i++) {
                x = a[i]
                for (j = i - 1; j > 0 && a[j] > x; j--) a[j + 1] = a[j]
                a[j + 1] = x
            }
            return sprintf("%s %.0f ms (%.0f to %.0f)", name, a[int((n + 1) / 2)], a[1], a[n])
        }
        { wall[NR] = 1e3 * $1; core[NR] = 1e3 * ($2 + $3) }
        END {
            printf "%-28s %s", what, sorted_print(wall, NR, "wall")
            printf ", %s   target %s ms: ", sorted_print(core, NR, "cores"), target
            print (wall[int((NR + 1) / 2)] < target ? "met" : "MISSED")
        }'
}

measure() { # what, target in ms, command...
    local what=$1 target=$2 start TIMEFORMAT='%3R %3U %3S'
    shift 2
    "$@" >/dev/null 2>"$work/said" || { cat "$work/said" >&2; exit 1; } # pages of the program come into memory
    for ((start = 0; start < starts; start++)); do
        { time "$@" >/dev/null 2>&1; } 2>>"$work/times"
    done
    summary "$what" "$target" <"$work/times"
    rm "$work/times"
}

measure "oocgnn --version" 10 "$oocgnn" --version
measure "oocgnn run --system null" 100 "$oocgnn" run --system null --dataset papers100m --scale 1/1000 --dim 32 \
    --data "$data" --evaluate never --quiet --db "$work/runs.db"
