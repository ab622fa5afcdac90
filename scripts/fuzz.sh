#!/usr/bin/env bash
# Runs libFuzzer over every target of tests/fuzz/corpus, one after another, and closes with a table.
#   scripts/fuzz.sh PROGRAM WORKDIR SECONDS [TARGET...]
# PROGRAM is tests/fuzz/fuzz_formats built by `make fuzz`. What is found goes to WORKDIR/found-TARGET-*, with the command
# that shows it again; new inputs that reach new code are kept in WORKDIR/TARGET and are where the next run begins.
set -uo pipefail

program=$1 work=$2 seconds=$3
shift 3
if [ $# -eq 0 ]; then
    for dir in tests/fuzz/corpus/*; do
        set -- "$@" "${dir##*/}"
    done
fi
failed=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
export TMPDIR=${TMPDIR:-/dev/shm}
mkdir -p "$work"
rows=()
for target; do
    mkdir -p "$work/$target"
    log=$work/$target.log
    touch "$work/$target.begun"
    OOCGNN_FUZZ_TARGET=$target "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=8192 \
        -print_final_stats=1 -artifact_prefix="$work/found-$target-" "$work/$target" "tests/fuzz/corpus/$target" \
        >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(grep -oE ' cov: [0-9]+' "$log" | tail -1 | tr -dc 0-9)
    found=none
    if [ $status -ne 0 ]; then
        failed=1
        found=$(find "$work" -name "found-$target-*" -newer "$work/$target.begun" | head -1)
        tail -40 "$log"
        echo "fuzz: $target: OOCGNN_FUZZ_TARGET=$target $program ${found:-(nothing was kept)}"
    fi
    rows+=("| $target | ${runs:-?} | ${edges:-?} | ${found:-stopped} |")
done
echo "| target | inputs | branches reached | found |"
echo "|---|---|---|---|"
printf '%s\n' "${rows[@]}"
exit $failed
