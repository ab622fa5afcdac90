#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/run_tests.sh with made-up programs: what may run beside what, rows in the order of the arguments, no failure lost,
# nothing left behind; and tests/lanes.txt against the tests that there are. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
export TEST_LANES_FILE=$dir/lanes.txt
unset TEST_LIMIT_S TEST_CPU_LIMIT_S

# program FOLDER/NAME BODY: tells when it begins and ends, and runs BODY in between.
program() {
    mkdir -p "$dir/${1%/*}"
    printf '#!/usr/bin/env bash\necho "%s begins" >>"%s/events"\n%s\necho "%s ends" >>"%s/events"\necho "[  PASSED  ] 1 test(s)."\n' \
        "$1" "$dir" "$2" "$1" "$dir" >"$dir/$1"
    chmod +x "$dir/$1"
}

run() { # lanes, program...
    local lanes=$1 programs=() name
    shift
    for name in "$@"; do programs+=("$dir/$name"); done
    : >"$dir/events"
    TEST_LANES=$lanes scripts/run_tests.sh "$dir/logs" "${programs[@]}" >"$dir/out" 2>&1
}

# Rows without their seconds.
rows() { sed -E 's/ +[0-9]+ s$//' "$dir/out"; }

# Whether two programs that may not were running at a time.
overlap() {
    awk '$2 == "begins" { running[$1] = 1; for (p in running) if (p != $1 && (kind($1) == "alone" && kind(p) != "computes" ||
                          kind(p) == "alone" && kind($1) != "computes")) bad = 1 }
         $2 == "ends" { delete running[$1] }
         function kind(name) { return substr(name, 1, index(name, "/") - 1) }
         END { exit !bad }' "$dir/events"
}

# The words with which a program waits for a command, and for another program to begin.
until_it() { declare -f until_true && echo "until_true $* || exit 1"; }
until_begun() { until_it grep -q "'^$1 begins'" "'$dir/events'"; }

printf '# words\nshares shares/*\ncomputes computes/*\n' >"$TEST_LANES_FILE"
program alone/a "$(until_begun computes/a)"
program alone/b 'sleep 0.2'
program computes/a 'sleep 0.3'
program computes/b 'sleep 0.1'
program shares/a "$(until_begun shares/b)"
program shares/b "$(until_begun shares/a)"
all=(computes/a alone/a shares/a computes/b shares/b alone/b)
run 2 "${all[@]}" && [ "$(tail -1 "$dir/out")" = "6 passed, 0 failed, 0 skipped" ] && ! overlap
verdict "two lanes: what shares or computes runs beside, what stands alone does not" $?
cp "$dir/out" "$dir/two"
run 1 alone/b computes/b && [ "$(wc -l <"$dir/events")" -eq 4 ] && [ "$(sed -n 2p "$dir/events")" = "alone/b ends" ]
verdict "one lane: one after another" $?
cp "$dir/two" "$dir/out"
[ "$(rows | sed '$d' | awk '{ print $1 }' | xargs)" = "a a a b b b" ] && [ "$(find "$dir/logs" -name '*.log' | wc -l)" -eq 6 ]
verdict "rows in the order of the arguments, a log for each of two programs with one name" $?

program shares/crash 'kill -SEGV $$'
program computes/fails 'echo "what went wrong"; echo "[  FAILED  ] 2 test(s), listed below:"; exit 2'
run 2 shares/b shares/a shares/crash computes/fails alone/b
[ $? -eq 1 ] && [ "$(tail -1 "$dir/out")" = "3 passed, 3 failed, 0 skipped" ] && grep -q 'what went wrong' "$dir/out" &&
    [ "$(grep -c '^---- .* ended with status' "$dir/out")" -eq 2 ]
verdict "a failure in any lane is shown with its output, a crash too" $?

# What counts is processor time, of children that ended too; the clock is for what takes none.
program computes/busy 'while :; do :; done'
program computes/forks 'while :; do (for ((i = 0; i < 20000; i++)); do :; done); done'
program alone/slow 'sleep 3'
TEST_CPU_LIMIT_S=1 TEST_LIMIT_S=600 run 1 alone/slow computes/busy computes/forks
[ $? -eq 1 ] && [ "$(tail -1 "$dir/out")" = "1 passed, 2 failed, 0 skipped" ] &&
    [ "$(grep -cE '^stopped: [1-9][0-9]* s of processor time, TEST_CPU_LIMIT_S is 1; [0-9]+ s by the clock, TEST_LIMIT_S is 600$' "$dir/out")" -eq 2 ]
verdict "what takes too much processor time is stopped, what is slow is not" $?
program alone/hangs 'sleep 600'
TEST_CPU_LIMIT_S=60 TEST_LIMIT_S=2 run 2 alone/hangs
[ $? -eq 1 ] && grep -q '^---- .* ended with status 124' "$dir/out" &&
    grep -qE '^stopped: [0-9]+ s by the clock, TEST_LIMIT_S is 2; 0 s of processor time, TEST_CPU_LIMIT_S is 60$' "$dir/out"
verdict "what hangs is stopped by the clock" $?

program computes/writes "echo \"\$TMPDIR\" >'$dir/tmpdir'"
(unset TMPDIR && run 2 computes/writes alone/b) && grep -q '^/' "$dir/tmpdir" && (TMPDIR=$dir run 2 computes/writes alone/b) &&
    [ "$(cat "$dir/tmpdir")" = "$dir" ]
verdict "a temporary directory that was given is kept" $?

# Of one word, the first line begins first; and whichever lane has it, nothing that stands alone begins beside it.
printf 'shares shares/last\nshares shares/*\ncomputes computes/*\n' >"$TEST_LANES_FILE"
program shares/last 'sleep 0.5'
program shares/c "$(until_begun shares/last)"
program shares/d ''
run 2 alone/b shares/c shares/d shares/last && ! overlap && [ "$(grep -cE '(last|d) begins' "$dir/events")" -eq 2 ] &&
    [ "$(grep -m 1 -E '(last|d) begins' "$dir/events")" = "shares/last begins" ]
verdict "programs of one word in the order of its lines" $?

# Told to end while both lanes work: the second lane's program goes too.
program computes/long "echo \$\$ >'$dir/long.pid'; exec sleep 600"
program alone/waits "$(until_begun computes/long); $(until_it test -e "'$dir/told'")"
rm -f "$dir/long.pid"
: >"$dir/events"
TEST_LANES=2 scripts/run_tests.sh "$dir/logs" "$dir/alone/waits" "$dir/alone/b" "$dir/computes/long" >"$dir/out" 2>&1 &
script=$!
until_true test -s "$dir/long.pid"
kill -TERM "$script"
touch "$dir/told"
wait "$script"
status=$?
gone() { ! kill -0 "$(cat "$dir/long.pid")" 2>/dev/null; }
until_true gone
[ "$status" -eq 130 ] && gone && ! grep -q 'alone/b begins' "$dir/events"
verdict "a signal ends both lanes" $?

# The list itself: known words, programs that exist, and none that looks at what it says it does not.
while read -r kind pattern; do
    case $kind in
    "" | "#"*) continue ;;
    computes | shares) ;;
    *) echo "no such word: $kind" ;;
    esac
    files=()
    for file in tests/${pattern%.sh}.c tests/${pattern%.sh}.sh; do [ -e "$file" ] && files+=("$file"); done
    [ ${#files[@]} -gt 0 ] || echo "no such test: $pattern"
    [ "$kind" != computes ] ||
        grep -lE '#include "harness/(confine|measure)/|"docto[r]"|tiny_runs_set_u[p]' "${files[@]}" /dev/null |
        sed 's/$/: looks at the machine, so it does not only compute/'
done <tests/lanes.txt >"$dir/out"
[ ! -s "$dir/out" ]
verdict "tests/lanes.txt" $?

finish
