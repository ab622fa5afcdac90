# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What a test that is a shell script begins and ends with; sourced first.
#   dir                 a folder of the test's own, removed at its end
#   verdict NAME N      books a verdict: 0 holds; of any other the name is printed, with the last lines of the files of `evidence`
#   skip_all REASON N   ends the script where none of its N verdicts can be had
#   until_true COMMAND  waits until a command succeeds; 1 where that has to be taken for a hang, after ten minutes
#   finish              prints cmocka's summary lines, which scripts/run_tests.sh reads; its status is the script's
set -uo pipefail
passed=0
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
evidence=()

verdict() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        [ ${#evidence[@]} -eq 0 ] || tail -qn 100 "${evidence[@]}" 2>/dev/null
    fi
}

skip_all() {
    echo "skip: $1"
    echo "[  SKIPPED ] $2 test(s)"
    exit 0
}

until_true() {
    local naps=0
    until "$@"; do
        [ $((++naps)) -lt 6000 ] || return 1
        sleep 0.1
    done
}

finish() {
    echo "[  PASSED  ] $passed test(s)."
    [ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s), listed below:"
    [ "$failed" -eq 0 ]
}
