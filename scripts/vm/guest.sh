#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the emulated machine does (scripts/vm/run.sh): one part a boot. A verdict is a line on the second serial line: "ok",
# "FAILED" or "skip", then a sentence that is true, or should be; after the last one stands "the end".
part=$(sed -n 's/.*vm_part=\([^ ]*\).*/\1/p' /proc/cmdline)
accelerator=$(sed -n 's/.*vm_accelerator=\([^ ]*\).*/\1/p' /proc/cmdline)
cd /oocgnn || exit 1
program=/oocgnn/build/oocgnn
export OOCGNN=$program TMPDIR=/tmp
user=1234
log=/tmp/log
unset CDPATH

tell() { echo "$*" >/dev/ttyS1; }
verdict() { # status, sentence, log
    if [ "$1" -eq 0 ]; then
        tell "ok $2"
    else
        tell "FAILED $2: $(tail -n 4 "${3:-$log}" | tr -s ' \n' ' ' | tr -cd '[:print:]' | cut -c1-500)"
    fi
    return 0
}

# The device of the drive with a serial number.
device_of() {
    local dir
    for dir in /sys/class/nvme/nvme*; do
        [ "$(tr -d ' ' <"$dir/serial")" = "$1" ] && echo "/dev/${dir##*/}n1"
    done
}

format() { # SERIAL
    mke2fs -q -t ext4 -b 4096 -F -E lazy_itable_init=0,lazy_journal_init=0 "$(device_of "$1")"
}
mounted() { # SERIAL: at /mnt/SERIAL
    mkdir -p "/mnt/$1"
    mount -t ext4 "$(device_of "$1")" "/mnt/$1" && chmod 1777 "/mnt/$1"
}

prepare() { # DIR WORDS...
    local dir=$1
    shift
    "$program" prepare papers100m --scale 1/4000 --dim 32 --data "$dir" --quiet "$@"
}
# A run whose only fault is time that nobody counted is made again: the emulated processor is taken away unseen.
steady() { # WORDS...
    local kept status
    kept=$(mktemp)
    for _ in 1 2 3 4 5; do
        "$@" >"$kept" 2>&1
        status=$?
        grep -q 'a wait was not counted' "$kept" || break
    done
    cat "$kept"
    rm -f "$kept"
    return $status
}
run() { steady run_once "$@"; }
run_once() { # DIR SYSTEM WORDS...
    local dir=$1 system=$2
    shift 2
    "$program" run --system "$system" --dataset papers100m --scale 1/4000 --data "$dir" --db "$dir/runs.db" --batch 64 --hidden 16 \
        --fanout 5,5 --evaluate never --json --quiet "$@"
}
dataset=papers100m-1_4000
systems=$("$program" list systems 2>/dev/null | awk '/^[a-z]+ / && $1 != "null" { print $1 }' | sort -u)
writers="ginex agnes diskgnn mariusgnn" # make files of their own
digest_of() { grep -oE '"batch_digest": ?"[0-9a-f]+"' "$1" | tail -1 | tr -d ' '; }
now_ms() { date +%s%3N; }
readable() { # DATABASE: where no run ended well it says so
    "$program" report --db "$1" >$log 2>&1 || grep 'holds no finished run' $log >/dev/null
    verdict $? "the database is readable"
}

# ---- 512 and 4096 bytes a block, polled queues, a full drive ----

part_drives() {
    local system
    { format USUAL && format WIDE && format SMALL && mounted USUAL && mounted WIDE && mounted SMALL; } >$log 2>&1
    verdict $? "three NVMe drives hold ext4"
    [ "$(cat "/sys/block/$(basename "$(device_of WIDE)")/queue/logical_block_size")" = 4096 ]
    verdict $? "a drive has 4096 bytes a block" /dev/null
    prepare /mnt/USUAL >$log 2>&1
    verdict $? "prepare on 512 bytes a block"
    prepare /mnt/WIDE >$log 2>&1
    verdict $? "prepare on 4096 bytes a block"
    prepare /mnt/WIDE --check >$log 2>&1
    verdict $? "what was prepared on 4096 bytes a block is whole"
    "$program" doctor --data /mnt/WIDE >$log 2>&1
    grep -q 'ok *direct I/O .*aligned to 4096 B' $log
    verdict $? "doctor tells the alignment of 4096 bytes"
    for system in $systems; do
        run /mnt/USUAL "$system" >/tmp/usual 2>&1
        verdict $? "$system runs on 512 bytes a block" /tmp/usual
        run /mnt/WIDE "$system" >/tmp/wide 2>&1
        verdict $? "$system runs on 4096 bytes a block" /tmp/wide
        [ -n "$(digest_of /tmp/usual)" ] && [ "$(digest_of /tmp/usual)" = "$(digest_of /tmp/wide)" ]
        verdict $? "$system draws the same mini-batches on both" /dev/null
    done
    run /mnt/USUAL ringsampler --sample-only --set ringsampler.io=direct >/tmp/usual 2>&1
    timeout 120 bash -c "$(declare -f steady run run_once); program=$program
        run /mnt/USUAL ringsampler --sample-only --set ringsampler.io=direct --set ringsampler.iopoll=true" >$log 2>&1
    verdict $? "completions are polled where the drive has polled queues"
    [ -n "$(digest_of $log)" ] && [ "$(digest_of /tmp/usual)" = "$(digest_of $log)" ]
    verdict $? "polled completions bring the same mini-batches" /dev/null
    run /mnt/USUAL ringsampler --sample-only --set ringsampler.io=direct --set ringsampler.sqpoll=true >$log 2>&1
    verdict $? "the kernel polls the submission queue"
    full_drive
}

full_drive() {
    local system
    "$program" prepare papers100m --scale 1/4000 --dim 512 --data /mnt/SMALL --quiet >$log 2>&1
    [ $? -eq 1 ] && grep -qi 'space' $log
    verdict $? "a dataset that does not fit is told with the space it needs"
    [ -z "$(find /mnt/SMALL -name '*papers*')" ]
    verdict $? "nothing of it is left" /dev/null
    prepare /mnt/SMALL >$log 2>&1
    verdict $? "a smaller one fits"
    run /mnt/SMALL null --db /tmp/runs.db >$log 2>&1
    dd if=/dev/zero of=/mnt/SMALL/fill bs=64k >/dev/null 2>&1
    for system in $writers; do
        run /mnt/SMALL "$system" --db /tmp/runs.db >$log 2>&1
        [ $? -eq 1 ] && grep -qiE 'space' $log
        verdict $? "$system says that its own files do not fit"
        [ -z "$(find /mnt/SMALL -name '*.part*' -o -name '*spill*')" ]
        verdict $? "$system leaves no half file on a full drive" /dev/null
    done
    ! run /mnt/SMALL pygplus >$log 2>&1 && grep -qiE 'full|space' $log
    verdict $? "a database on a full drive is told"
    rm -f /mnt/SMALL/fill
    for system in $writers; do
        run /mnt/SMALL "$system" --db /tmp/runs.db >$log 2>&1
        verdict $? "$system runs when there is room again"
        rm -rf /mnt/SMALL/$dataset/*/ # room for the next one's files
    done
}

# ---- control groups ----

# Runs words as a plain user in a control group; the group holds nothing but this one process.
as_user_in() { # GROUP WORDS...
    local group=$1
    shift
    bash -c 'echo $$ >"$0/cgroup.procs" && exec setpriv --reuid '$user' --regid '$user' --clear-groups "$@"' "$group" "$@"
}

users_run() { # GROUP SYSTEM WORDS...
    local group=$1
    shift
    steady as_user_in "$group" "$program" run --dataset papers100m --scale 1/4000 --data /mnt/USUAL --db /mnt/USUAL/user.db --batch 64 \
        --hidden 16 --fanout 5,5 --evaluate never --json --quiet --system "$@"
}

part_groups() {
    local session=/sys/fs/cgroup/session
    format USUAL >$log 2>&1 && mounted USUAL >>$log 2>&1 && prepare /mnt/USUAL >>$log 2>&1
    verdict $? "a dataset is there"
    grep -q memory /sys/fs/cgroup/cgroup.controllers
    verdict $? "the unified hierarchy has the memory controller" /dev/null
    run /mnt/USUAL gnndrive --memory 200M >$log 2>&1
    verdict $? "root, in the root group: a run under a cap"
    grep -q '"cap_enforcement": *"cgroup-v2"' $log
    verdict $? "root: the cap is the unified hierarchy's"
    (cd /mnt/USUAL && /oocgnn/build/tests/unit/test_cgroup) >$log 2>&1 # it counts what is read from where it stands
    verdict $? "root: unit/test_cgroup"

    chown -R $user /mnt/USUAL
    as_user_in /sys/fs/cgroup "$program" doctor --data /mnt/USUAL >$log 2>&1
    grep -qE 'missing +memory cgroup' $log && grep -q 'Delegate=yes' $log
    verdict $? "a plain user without delegation is told what to type"
    users_run /sys/fs/cgroup gnndrive --memory 200M >$log 2>&1
    [ $? -eq 4 ] && grep -q 'Delegate=yes' $log
    verdict $? "without delegation a cap is refused, not forgotten"

    # As systemd-run --scope -p Delegate=yes has it: a group of the user's own that holds the run alone.
    echo '+memory +io +cpu' >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p $session/scope $session/login
    echo '+memory +io' >$session/cgroup.subtree_control
    chown -R $user $session
    as_user_in $session/scope "$program" doctor --data /mnt/USUAL >$log 2>&1
    grep -E 'memory cgroup' $log >/tmp/cap
    grep -qE 'ok +memory cgroup' /tmp/cap
    verdict $? "delegated: doctor makes a group and its charge counts" /tmp/cap
    users_run $session/scope gnndrive --memory 200M >$log 2>&1
    verdict $? "delegated: a run under a cap"
    grep -q '"cap_enforcement": *"cgroup-v2"' $log
    verdict $? "delegated: the cap is the unified hierarchy's"
    grep -qE '"device_read_bytes": *[1-9]' $log
    verdict $? "delegated: the device's bytes are counted"
    users_run $session/scope pygplus --memory 2M >$log 2>&1
    grep -q '"status": *"oom"' $log
    verdict $? "delegated: a cap that is too small ends as oom"
    as_user_in $session/scope bash -c 'cd /mnt/USUAL && exec /oocgnn/build/tests/unit/test_cgroup' >$log 2>&1
    verdict $? "delegated, alone in the group: unit/test_cgroup"
    as_user_in $session/login bash -c 'cd /mnt/USUAL && exec /oocgnn/build/tests/unit/test_cgroup' >$log 2>&1
    verdict $? "delegated, controllers handed down: unit/test_cgroup"

    # A login session: shell and run share a group, whose parent hands the controllers down.
    bash -c 'echo $$ >"$0/cgroup.procs"; setpriv --reuid '$user' --regid '$user' --clear-groups "$@"; exit $?' $session/login \
        bash -c "$(declare -f steady run run_once); program=$program; run /mnt/USUAL pygplus --memory 200M" >$log 2>&1
    verdict $? "a shell shares the group: the run's stands beside it"
    [ -z "$(find /sys/fs/cgroup -type d -name 'oocgnn-*')" ]
    verdict $? "no control group is left" /dev/null
}

# ---- test programs ----

one_test() { # TEST DIRECTORY WHERE
    [ -x "build/tests/$1" ] || return 0
    TMPDIR=$2 timeout 1500 "build/tests/$1" >$log 2>&1
    verdict $? "$1 $3"
    grep -hE '^(skip|left out): ' $log | sort -u | while read -r line; do tell "skip $1 $3: ${line#*: }"; done
}

part_tests() {
    local name
    { format USUAL && format WIDE && mounted USUAL && mounted WIDE; } >$log 2>&1
    verdict $? "two drives"
    for name in unit/test_world_rings unit/test_world_measured unit/test_reader unit/test_stream differential/test_rows; do
        one_test $name /mnt/USUAL "on 512 bytes a block"
        one_test $name /mnt/WIDE "on 4096 bytes a block"
    done
    if [ "$accelerator" != kvm ]; then
        tell "skip the tests from outside: emulated without KVM they would take hours"
        return
    fi
    for name in fault/test_systems_faults differential/test_anonymous_memory cli/test_run cli/test_faults cli/test_hostile \
        cli/test_invariants cli/test_kills cli/test_workers_cli sim/test_page_cache_kernel; do
        one_test $name /mnt/USUAL "on the unified hierarchy"
    done
    one_test cli/test_run /mnt/WIDE "on 4096 bytes a block"
    one_test fault/test_systems_faults /mnt/WIDE "on 4096 bytes a block"
}

# ---- sectors that cannot be read ----

part_errors-prepare() {
    { format ERRORS && mounted ERRORS && prepare /mnt/ERRORS; } >$log 2>&1
    verdict $? "a dataset is there"
    sync
    # One sector in 128 of what filefrag says the features lie on: blocks of 4096 bytes, no partition.
    tell "sectors $(filefrag -b4096 -v /mnt/ERRORS/$dataset/features-d32 | awk '$1 ~ /^[0-9]+:$/ {
        gsub(/[.:]/, " "); for (b = $4; b <= $5; b += 16) printf "%d ", 8 * b + 3 }')"
}

part_errors-run() {
    local system status
    mounted ERRORS >$log 2>&1
    verdict $? "the drive is there again"
    for system in $systems; do
        timeout 300 bash -c "$(declare -f steady run run_once); program=$program; run /mnt/ERRORS $system" >$log 2>&1
        status=$?
        [ $status -eq 1 ] && grep -q 'features' $log && ! grep -qE '"status": *"ok"|No data available' $log
        verdict $? "$system ends at a sector that cannot be read, with the file's name (status $status)"
        [ -z "$(find /mnt/ERRORS -name '*.part*')" ]
        verdict $? "$system leaves no half file" /dev/null
    done
    prepare /mnt/ERRORS --check >$log 2>&1
    [ $? -eq 1 ] && grep -q 'features' $log
    verdict $? "prepare --check names the file that cannot be read"
    readable /mnt/ERRORS/runs.db
}

# ---- power cuts ----

round_of_runs() {
    local system
    for system in $systems; do
        run /mnt/POWER "$system" --epochs 2 >$log 2>&1 || return 1
    done
}

remove_prepared() { find /mnt/POWER/$dataset -mindepth 1 -maxdepth 1 -type d -exec rm -r {} +; }

part_power-time() {
    local begun_ms
    { format POWER && mounted POWER; } >$log 2>&1
    begun_ms=$(now_ms)
    prepare /mnt/POWER >$log 2>&1
    verdict $? "prepare"
    tell "prepare took $(($(now_ms) - begun_ms))"
    begun_ms=$(now_ms)
    round_of_runs
    verdict $? "a run of every system"
    tell "run took $(($(now_ms) - begun_ms))"
}

part_power-prepare() {
    local i
    { format POWER && mounted POWER; } >$log 2>&1
    sync
    tell working
    for i in 1 2 3 4 5 6 7 8 9; do prepare /mnt/POWER/again$i >$log 2>&1; done
}

part_power-run() {
    { format POWER && mounted POWER && prepare /mnt/POWER; } >$log 2>&1
    sync
    tell working
    while round_of_runs; do remove_prepared; done
}

part_power-look() {
    local dir system
    mounted POWER >$log 2>&1
    verdict $? "the drive is there again"
    grep -q ' /mnt/POWER ' /proc/mounts || return
    for dir in /mnt/POWER /mnt/POWER/again*; do
        [ -d "$dir" ] || continue
        if [ -e "$dir/$dataset" ]; then
            prepare "$dir" --check >$log 2>&1
            verdict $? "a dataset that has its name is whole"
        else
            prepare "$dir" >$log 2>&1
            verdict $? "a preparation that was cut off can be made again"
        fi
        [ "$(find "$dir" -maxdepth 1 -name "*$dataset*" | wc -l)" = 1 ]
        verdict $? "nothing else of it is left" /dev/null
    done
    if [ -e /mnt/POWER/runs.db ]; then
        readable /mnt/POWER/runs.db
    fi
    for system in $systems; do
        run /mnt/POWER "$system" >/tmp/after 2>&1
        verdict $? "$system runs on what the cut left" /tmp/after
        [ -n "$(digest_of /tmp/after)" ]
        verdict $? "$system has a digest" /tmp/after
        digest_of /tmp/after >"/tmp/$system.left"
    done
    "$program" report --db /mnt/POWER/runs.db --last 50 --json >$log 2>&1
    verdict $? "the database takes more runs"
    ! grep -qE '"status": *"running"' $log
    verdict $? "no run of before the cut is called running" /dev/null
    remove_prepared
    for system in $systems; do
        run /mnt/POWER "$system" >/tmp/after 2>&1
        [ "$(digest_of /tmp/after)" = "$(cat "/tmp/$system.left")" ]
        verdict $? "$system draws from what was left what it draws from what is made anew" /tmp/after
    done
    [ -z "$(find /mnt/POWER -name '*.part*')" ]
    verdict $? "no half file is left" /dev/null
}

case $part in
probe) ;;
*) "part_$part" ;;
esac
tell "the end"
