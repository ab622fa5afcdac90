#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs test programs under limits. Prints a row for each program and a line of totals.
#   scripts/run_tests.sh LOGDIR PROGRAM...
# A program is a cmocka binary, or a script that ends with cmocka's summary lines. The output of a failed program is
# printed completely.
#
# TEST_CPU_LIMIT_S limits the processor time of a program and its children. Waiting for a processor does not count.
# TEST_LIMIT_S limits the time by the wall clock, so that a program that hangs is stopped.
#
# On two processors, two lanes run programs as tests/lanes.txt allows. First both lanes run programs of the kind
# "shares". Then the first lane runs programs of the kind "alone", while the second runs those of the kind "computes" at
# a lower priority. Programs of one kind run in the order of the file's lines. Rows are printed in the order of the
# arguments. TEST_LANES=1 runs all programs one by one in that order.
set -uo pipefail

log_dir=$1
shift
programs=("$@")
limit_s=${TEST_LIMIT_S:-1800}
cpu_limit_s=${TEST_CPU_LIMIT_S:-300}
ticks_per_s=$(getconf CLK_TCK)
lanes=${TEST_LANES:-$(nproc 2>/dev/null || echo 1)}
lanes_file=${TEST_LANES_FILE:-tests/lanes.txt}
mkdir -p "$log_dir"
# Files: N (a lane has taken program N), N.pid (its process), N.cpu (its processor time in seconds), N.end (its exit
# status and its time by the clock).
state=$(mktemp -d)
mkfifo "$state/never" # never written to: reading it with a timeout is a sleep without a process
lane=
printed=0 passed=0 failed=0 skipped=0

# Stops the second lane and its program. (timeout stops its program when it is stopped itself.)
clean_up() {
    [ -z "$lane" ] || kill "$lane" 2>/dev/null
    [ ! -s "$state/beside" ] || kill "$(cat "$state/beside")" 2>/dev/null
    rm -rf "$state"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# Prints "folder/name" of a program, because programs of two folders may have the same name.
key_of() {
    local folder=${1%/*}
    echo "${folder##*/}/${1##*/}"
}

# Prints the number of the line of tests/lanes.txt that matches a program, and its kind: computes, shares or alone.
# Without a matching line, prints 0 and alone.
lane_of() {
    local kind pattern key line=0
    key=$(key_of "$1")
    while read -r kind pattern; do
        line=$((line + 1))
        # shellcheck disable=SC2053  # a pattern
        [[ $kind != "#"* && $key == $pattern ]] && echo "$line $kind" && return
    done <"$lanes_file"
    echo "0 alone"
}

kinds=()
order=() # of the lines in tests/lanes.txt
for n in "${!programs[@]}"; do
    read -r line kind <<<"$(lane_of "${programs[$n]}")"
    kinds+=("$kind")
    order+=("$line $n")
done
mapfile -t order < <(printf '%s\n' "${order[@]}" | sort -n -k1,1 -k2,2 | cut -d ' ' -f 2)

# Programs that only compute keep their temporary files in memory if there is room, so that no device is used.
memory_dir=${TMPDIR:-/tmp}
room_kib=$(df --output=avail,fstype -k /dev/shm 2>/dev/null | awk '$2 == "tmpfs" { print $1 }')
[ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "${room_kib:-0}" -gt $((1 << 20)) ] && memory_dir=/dev/shm

log_of() {
    local key
    key=$(key_of "${programs[$1]}")
    echo "$log_dir/${key/\//.}.log"
}

# Prints the clock ticks of processor time of a process, its descendants and its process group. Children that have ended
# are included if they were waited for.
ticks_of() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v top="$1" '
        { pid = $1; sub(/^.*\) /, ""); parent[pid] = $2; group[pid] = $3; took[pid] = $12 + $13 + $14 + $15 }
        END { for (pid in took) {
                  for (p = pid; p != top && p in parent; p = parent[p]) continue
                  if (p == top || group[pid] == top) ticks += took[pid]
              }
              print ticks + 0 }'
}

# Reads the processor time of program N every second, and stops the program at the limit. (ulimit -t would count each
# process separately.)
watch() {
    local pid ticks never start_s=$SECONDS
    exec {never}<>"$state/never"
    until read -r -t 1 -u "$never" || [ ! -d "$state" ]; do
        read -r pid 2>/dev/null <"$state/$1.pid" || continue
        kill -0 "$pid" 2>/dev/null || return 0
        ticks=$(ticks_of "$pid")
        echo $((ticks / ticks_per_s)) >"$state/$1.cpu"
        [ "$ticks" -ge $((cpu_limit_s * ticks_per_s)) ] || continue
        echo "stopped: $((ticks / ticks_per_s)) s of processor time, TEST_CPU_LIMIT_S is $cpu_limit_s;" \
            "$((SECONDS - start_s)) s by the clock, TEST_LIMIT_S is $limit_s" >>"$(log_of "$1")"
        kill "$pid" 2>/dev/null
        return 0
    done
}

# Runs program N unless the other lane has taken it.
run() {
    local start_s=$SECONDS status watcher cpu_s=0
    mkdir "$state/$1" 2>/dev/null || return 0
    : >"$(log_of "$1")"
    watch "$1" </dev/null >/dev/null 2>&1 &
    watcher=$!
    (
        echo $BASHPID >"$state/$1.pid"
        [ -z "${beside:-}" ] || echo $BASHPID >"$state/beside"
        [ "${kinds[$1]}" != computes ] || export TMPDIR=$memory_dir
        exec timeout --kill-after=10 "$limit_s" "${programs[$1]}"
    ) >>"$(log_of "$1")" 2>&1 </dev/null
    status=$?
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    if [ "$status" -eq 124 ] || { [ "$status" -eq 137 ] && [ $((SECONDS - start_s)) -ge "$limit_s" ]; }; then
        [ ! -s "$state/$1.cpu" ] || cpu_s=$(cat "$state/$1.cpu")
        echo "stopped: $((SECONDS - start_s)) s by the clock, TEST_LIMIT_S is $limit_s;" \
            "$cpu_s s of processor time, TEST_CPU_LIMIT_S is $cpu_limit_s" >>"$(log_of "$1")"
    fi
    [ -z "${beside:-}" ] || rm -f "$state/beside"
    echo "$status $((SECONDS - start_s))" >"$state/$1.part"
    mv "$state/$1.part" "$state/$1.end"
    [ -n "${beside:-}" ] || print_rows
}

# Runs all programs of a kind, in the order of the lines in tests/lanes.txt.
run_all() {
    local n
    for n in "${order[@]}"; do
        [ "${kinds[$n]}" != "$1" ] || run "$n"
    done
}

# Prints the number in a summary line such as "[  PASSED  ] 12 test(s).", or 0 without such a line.
summary() {
    sed -n "s/^\[  $1 *\] \([0-9][0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

print_row() {
    local program=${programs[$1]} log status took_s ok bad skip
    log=$(log_of "$1")
    read -r status took_s <"$state/$1.end"
    ok=$(summary PASSED "$log") bad=$(summary FAILED "$log") skip=$(summary SKIPPED "$log")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1 # crashed, timed out, or stopped by a sanitizer
    fi
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    printf '%-32s %4d passed %3d failed %3d skipped %5d s\n' "${program##*/}" "$ok" "$bad" "$skip" "$took_s"
    if [ "$bad" -ne 0 ]; then
        echo "---- $program ended with status $status; its output:"
        cat "$log"
        echo "----"
    fi
    grep -hE '^(skip|left out): ' "$log" | sort -u | sed 's/^/    /' # with the reason
}

# Prints the rows of programs that have ended, up to the first that has not.
print_rows() {
    while [ "$printed" -lt ${#programs[@]} ] && [ -e "$state/$printed.end" ]; do
        print_row "$printed"
        printed=$((printed + 1))
    done
}

if [ "$lanes" -lt 2 ] || [ ! -r "$lanes_file" ]; then
    for n in "${!programs[@]}"; do run "$n"; done
else
    (
        beside=yes
        run_all shares
        : >"$state/shared"
        renice -n 5 -p "$BASHPID" >/dev/null 2>&1
        run_all computes
    ) &
    lane=$!
    run_all shares
    until [ -e "$state/shared" ] || ! kill -0 "$lane" 2>/dev/null; do sleep 0.1; done
    run_all alone
    run_all computes
    wait "$lane" 2>/dev/null || true # the shell may already have forgotten a lane that ended long ago
    lane=
    for n in "${!programs[@]}"; do # a program of a lane that was killed has no result
        [ ! -e "$state/$n.end" ] || continue
        echo "did not run to its end: its lane was stopped" >>"$(log_of "$n")"
        echo "125 0" >"$state/$n.end"
    done
    print_rows
fi

if [ $((passed + failed)) -eq 0 ]; then
    echo "no test was run" >&2
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
