#!/usr/bin/env bash
# shellcheck disable=SC2016  # dollars for perl and for the script that is written
# Whether the gate can be trusted on this machine: a build against itself so many times, which has to stay green, and against
# itself with a planted change, which has to be red. The planted slowdown is added to times that were really measured.
#   scripts/gate_check.sh [--runs 20] [--time] [--data DIR] [--jobs DIR]
# --time measures too, which takes a machine that does nothing else, and hours: a round is ten pairs of every cell of
# time.ini at least. Wants OOCGNN, else build/gcc/oocgnn. Ends with status 1 if any verdict is wrong.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

program=$(realpath "${OOCGNN:-build/gcc/oocgnn}")
runs=20 time='' wrong=0
common=(--no-instructions)
while [ $# -gt 0 ]; do
    case $1 in
    --runs) runs=$2; shift ;;
    --time) time=--time ;;
    --data | --jobs) common+=("$1" "$2"); shift ;;
    *)
        echo "gate_check: unexpected argument $1" >&2
        exit 2
        ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs compare and looks at its status: what, expected status, HEAD, options.
expect() {
    local what=$1 wanted=$2 head=$3
    shift 3
    "$program" compare "$program" "$head" "${common[@]}" "$@" >"$work/out" 2>"$work/err"
    local got=$?
    printf '%-52s status %d, expected %d\n' "$what" "$got" "$wanted"
    if [ "$got" -ne "$wanted" ]; then
        wrong=$((wrong + 1))
        cat "$work/out" "$work/err"
    elif [ -n "$time" ]; then
        grep -E '%, 95 %' "$work/out"
    fi
}

# A build before the real one: options that are added to its runs, what is taken out of the record, what is done to it.
planted() {
    local hidden=$1 change=$2
    shift 2
    printf '#!/bin/bash\nset -o pipefail\n[ "$1" = run ] || exec %q "$@"\n%q "$@" %s | perl -pe %q | perl -pe %q\n' \
        "$program" "$program" "$*" "s/\"$hidden\":\"[^\"]*\",//" "$change" >"$work/planted"
    chmod +x "$work/planted"
}

for ((i = 1; i <= runs; i++)); do
    expect "unchanged, exact, round $i" 0 "$program"
    if [ -n "$time" ]; then
        expect "unchanged, time, round $i" 0 "$program" --no-exact --time --seed "$i"
    fi
done
planted fault '' --fault device-slowdown=1.03
expect "3 % slower device, virtual time" 3 "$work/planted"
planted none 's/("requested_ios":)(\d+)(.*?"batches":)(\d+)/$1.($2+$4).$3.$4/ge'
expect "one read a mini-batch more" 3 "$work/planted"
planted none 's/("cache_hits":)([1-9]\d*)/$1.($2-1)/ge'
expect "one cache hit an epoch less" 3 "$work/planted"
planted seed '' --seed 2
expect "other blocks" 3 "$work/planted"
if [ -n "$time" ]; then
    planted none 's/("wall_ns":)(\d+)/$1.int($2*1.03)/ge'
    expect "3 % slower, measured" 3 "$work/planted" --no-exact --time
fi
echo "$wrong wrong verdicts"
[ "$wrong" -eq 0 ]
