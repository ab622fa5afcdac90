#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016  # dollars for perl and for the script that is written
# Whether the gate can be trusted on this machine: a build against itself so many times, which has to stay green, and against
# itself with a planted change, which has to be red. The planted slowdown is added to times that were really measured.
#   scripts/gate_check.sh [--runs 20] [--exact | --time | --exact --time] [--data DIR] [--jobs DIR]
# --exact (the default) compares exact values, on any machine. --time measures, which takes a machine that does nothing else
# and, with the short cells of workloads/gate/check and of workloads/gate/planted, a quarter of an hour: a round is ten pairs of
# runs, or twenty where ten do not tell; the planted 3 % get longer epochs and more pairs, as a drive's times spread by more.
# --jobs names other cells; --data says where their dataset is, which is prepared first if it is not there.
# Wants OOCGNN, else build/gcc/oocgnn. Ends with status 1 if any verdict is wrong.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

program=$(realpath "${OOCGNN:-build/gcc/oocgnn}")
runs=20 exact='' time='' wrong=0 data='' jobs=''
while [ $# -gt 0 ]; do
    case $1 in
    --runs) runs=$2; shift ;;
    --exact) exact=yes ;;
    --time) time=yes ;;
    --data) data=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    *)
        echo "gate_check: unexpected argument $1" >&2
        exit 2
        ;;
    esac
    shift
done
[ -n "$exact$time" ] || exact=yes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exact_options=(--no-instructions ${jobs:+--jobs "$jobs"} ${data:+--data "$data"})
time_options=(--no-exact --no-instructions --time --data "${data:-data}")

# Runs compare and looks at its status: what, expected status, HEAD, options.
expect() {
    local what=$1 wanted=$2 head=$3 began=$SECONDS
    shift 3
    "$program" compare "$program" "$head" "$@" >"$work/out" 2>"$work/err"
    local got=$?
    printf '%-40s status %d, expected %d, %3d s\n' "$what" "$got" "$wanted" $((SECONDS - began))
    grep -E '%, 95 %' "$work/out"
    if [ "$got" -ne "$wanted" ]; then
        wrong=$((wrong + 1))
        cat "$work/out" "$work/err"
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

check_exact() {
    for ((i = 1; i <= runs; i++)); do
        expect "unchanged, exact, round $i" 0 "$program" "${exact_options[@]}"
    done
    planted fault '' --fault device-slowdown=1.03
    expect "3 % slower device, virtual time" 3 "$work/planted" "${exact_options[@]}"
    planted none 's/("requested_ios":)(\d+)(.*?"batches":)(\d+)/$1.($2+$4).$3.$4/ge'
    expect "one read a mini-batch more" 3 "$work/planted" "${exact_options[@]}"
    planted none 's/("cache_hits":)([1-9]\d*)/$1.($2-1)/ge'
    expect "one cache hit an epoch less" 3 "$work/planted" "${exact_options[@]}"
    planted seed '' --seed 2
    expect "other blocks" 3 "$work/planted" "${exact_options[@]}"
}

check_time() {
    if [ -z "$jobs" ] && [ ! -f "${data:-data}/papers100m-1_1000/meta" ]; then
        "$program" prepare papers100m --scale 1/1000 --dim 128 --data "${data:-data}" >"$work/out" 2>&1 || {
            cat "$work/out"
            exit 1
        }
    fi
    for ((i = 1; i <= runs; i++)); do
        expect "unchanged, time, round $i" 0 "$program" "${time_options[@]}" --jobs "${jobs:-workloads/gate/check}" --pairs-max 20 --seed "$i"
    done
    planted none 's/("wall_ns":)(\d+)/$1.int($2*1.03)/ge'
    expect "3 % slower, measured" 3 "$work/planted" "${time_options[@]}" --jobs "${jobs:-workloads/gate/planted}" --pairs-max 160
}

[ -z "$exact" ] || check_exact
[ -z "$time" ] || check_time
echo "$wrong wrong verdicts in $SECONDS s"
[ "$wrong" -eq 0 ]
