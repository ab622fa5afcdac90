#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs test programs, each under limits, and closes with one line of totals.
#   scripts/run_tests.sh LOGDIR PROGRAM...
# A program is a cmocka binary, or a script that closes with cmocka's summary lines. What failed is shown whole.
#
# A program with its children may take TEST_CPU_LIMIT_S seconds of processor time, however long it stands in line for a
# processor. TEST_LIMIT_S, of the wall clock, is for what hangs.
#
# Where there are two processors, two programs run at a time as far as tests/lanes.txt allows, those of one word in the order
# of its lines: what shares, two by two; then what stands alone, with nothing beside it but what computes, at a lower
# priority. Rows come in the order of the arguments, each when all before it have come. TEST_LANES=1: one program after
# another, in that order.
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
state=$(mktemp -d) # N: program N was taken; N.pid: its process; N.cpu: its seconds of processor time; N.end: how it ended
mkfifo "$state/never" # nobody writes to it: to read it is to wait
lane=
printed=0 passed=0 failed=0 skipped=0

# Also what the second lane runs ends with this script. (A limit that is ended ends its program.)
clean_up() {
    [ -z "$lane" ] || kill "$lane" 2>/dev/null
    [ ! -s "$state/beside" ] || kill "$(cat "$state/beside")" 2>/dev/null
    rm -rf "$state"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# "folder/name" of a program: programs of two folders may have one name.
key_of() {
    local folder=${1%/*}
    echo "${folder##*/}/${1##*/}"
}

# The line of tests/lanes.txt that a program has, and what it says: computes, shares, or alone where there is none.
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
order=() # of the lines
for n in "${!programs[@]}"; do
    read -r line kind <<<"$(lane_of "${programs[$n]}")"
    kinds+=("$kind")
    order+=("$line $n")
done
mapfile -t order < <(printf '%s\n' "${order[@]}" | sort -n -k1,1 -k2,2 | cut -d ' ' -f 2)

# What only computes has its files in memory where there is room, so that no device hears of them.
memory_dir=${TMPDIR:-/tmp}
room_kib=$(df --output=avail,fstype -k /dev/shm 2>/dev/null | awk '$2 == "tmpfs" { print $1 }')
[ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "${room_kib:-0}" -gt $((1 << 20)) ] && memory_dir=/dev/shm

log_of() {
    local key
    key=$(key_of "${programs[$1]}")
    echo "$log_dir/${key/\//.}.log"
}

# Clock ticks of processor time that a process has taken with what descends from it or is in its group, the children that
# ended and were waited for included.
ticks_of() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v top="$1" '
        { pid = $1; sub(/^.*\) /, ""); parent[pid] = $2; group[pid] = $3; took[pid] = $12 + $13 + $14 + $15 }
        END { for (pid in took) {
                  for (p = pid; p != top && p in parent; p = parent[p]) continue
                  if (p == top || group[pid] == top) ticks += took[pid]
              }
              print ticks + 0 }'
}

# Looks once a second at what program N takes, and stops it at the limit. (ulimit -t counts every process by itself.)
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

# Runs program N unless another lane has taken it.
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

# Runs every program of a kind, in the order of the lines.
run_all() {
    local n
    for n in "${order[@]}"; do
        [ "${kinds[$n]}" != "$1" ] || run "$n"
    done
}

# The number in a summary line such as "[  PASSED  ] 12 test(s)."; 0 where the line is absent.
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

# The rows that are due.
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
    wait "$lane" 2>/dev/null || true # it may have ended, and been forgotten, long ago
    lane=
    for n in "${!programs[@]}"; do # a lane that was killed has no row of its own
        [ -e "$state/$n.end" ] || { echo "not run to its end" >>"$(log_of "$n")" && echo "125 0" >"$state/$n.end"; }
    done
    print_rows
fi

if [ $((passed + failed)) -eq 0 ]; then
    echo "no test was run" >&2
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
