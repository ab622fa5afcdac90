#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs libFuzzer over every target of tests/fuzz/corpus and closes with a table.
#   JOBS=2 scripts/fuzz.sh PROGRAM WORKDIR SECONDS [TARGET...]
# PROGRAM is tests/fuzz/fuzz_formats built by `make fuzz`. JOBS targets run at a time (1), each SECONDS in all, a minute at a
# time: what was spent stands in WORKDIR/TARGET.spent, so the same command goes on after it was stopped. A program that was
# built anew begins at 0 again. What is found goes to WORKDIR/found-TARGET-*, with the command that shows it again, and ends
# its target until then; inputs that reach new code are kept in WORKDIR/TARGET and are where every later run begins.
set -uo pipefail

program=$1 work=$2 seconds=$3
shift 3
if [ $# -eq 0 ]; then
    for dir in tests/fuzz/corpus/*; do
        set -- "$@" "${dir##*/}"
    done
fi
jobs=${JOBS:-1}
slice_s=${FUZZ_SLICE_S:-60}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
export TMPDIR=${TMPDIR:-/dev/shm}
mkdir -p "$work"
build=$(sha256sum "$program" | cut -c1-16) || exit 2
trap 'kill $(jobs -p) 2>/dev/null' EXIT
trap 'exit 130' INT TERM

# Seconds, inputs, branches and what was found of a target, by this program: a line of TARGET.spent is a slice of them.
sum_of() {
    awk -v build="$build" '$1 == build { s += $2; n += $3; if ($4 > b) b = $4; if ($5 != "none") f = $5 }
        END { print s + 0, n + 0, b + 0, f == "" ? "none" : f }' "$work/$1.spent" 2>/dev/null || echo 0 0 0 none
}

# Runs a target for a slice, and writes down what came of it.
run_slice() { # TARGET SECONDS
    local target=$1 log=$work/$1.log status runs edges found=none
    touch "$work/$target.begun"
    OOCGNN_FUZZ_TARGET=$target "$program" -max_total_time="$2" -timeout=20 -rss_limit_mb=3000 -max_len=8192 \
        -print_final_stats=1 -artifact_prefix="$work/found-$target-" "$work/$target" "tests/fuzz/corpus/$target" \
        >"$log" 2>&1 &
    wait $!
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(grep -oE ' cov: [0-9]+' "$log" | tail -1 | tr -dc 0-9)
    if [ $status -ne 0 ]; then
        found=$(find "$work" -name "found-$target-*" -newer "$work/$target.begun" -print -quit)
        found=${found:-nothing-was-kept}
        tail -40 "$log"
        echo "fuzz: $target: OOCGNN_FUZZ_TARGET=$target $program $found"
    fi
    echo "$build $2 ${runs:-0} ${edges:-0} $found" >>"$work/$target.spent"
}

run_target() {
    local spent_s found
    trap 'kill $(jobs -p) 2>/dev/null; exit 130' TERM
    mkdir -p "$work/$1"
    read -r spent_s _ _ found < <(sum_of "$1")
    while [ "$spent_s" -lt "$seconds" ] && [ "$found" = none ]; do
        run_slice "$1" $((seconds - spent_s < slice_s ? seconds - spent_s : slice_s))
        read -r spent_s _ _ found < <(sum_of "$1")
    done
}

for target; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run_target "$target" &
done
wait

failed=0
echo "| target | seconds | inputs | branches reached | found |"
echo "|---|---|---|---|---|"
for target; do
    read -r spent_s runs edges found < <(sum_of "$target")
    echo "| $target | $spent_s | $runs | $edges | $found |"
    [ "$found" = none ] || failed=1
done
exit $failed
