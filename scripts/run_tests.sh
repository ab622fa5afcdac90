#!/usr/bin/env bash
# Runs test programs one after another, each under a time limit, and closes with one line of totals.
#   scripts/run_tests.sh LOGDIR PROGRAM...
# A program is a cmocka binary, or a script that closes with cmocka's summary lines. What failed is shown whole.
set -uo pipefail

log_dir=$1
shift
limit_s=${TEST_LIMIT_S:-300}
mkdir -p "$log_dir"
passed=0 failed=0 skipped=0

# The number in a summary line such as "[  PASSED  ] 12 test(s)."; 0 where the line is absent.
summary() {
    sed -n "s/^\[  $1 *\] \([0-9][0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

for program in "$@"; do
    name=$(basename "$program")
    log="$log_dir/$name.log"
    start_s=$SECONDS
    timeout --kill-after=10 "$limit_s" "$program" >"$log" 2>&1 </dev/null
    status=$?
    ok=$(summary PASSED "$log") bad=$(summary FAILED "$log") skip=$(summary SKIPPED "$log")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1 # crashed, timed out, or stopped by a sanitizer
    fi
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    printf '%-32s %4d passed %3d failed %3d skipped %5d s\n' "$name" "$ok" "$bad" "$skip" $((SECONDS - start_s))
    if [ "$bad" -ne 0 ]; then
        echo "---- $program ended with status $status; its output:"
        cat "$log"
        echo "----"
    fi
    grep -hE '^(skip|left out): ' "$log" | sort -u | sed 's/^/    /' # with the reason
done

if [ $((passed + failed)) -eq 0 ]; then
    echo "no test was run" >&2
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
