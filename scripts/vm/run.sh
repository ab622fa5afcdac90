#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Boots the distribution's stock kernel in an emulated machine with NVMe drives and runs scripts/vm/guest.sh in it.
#   scripts/vm/run.sh [--out FILE] [PART...]
# Parts, all when none is named; each is one boot or several:
#   drives    512 and 4096 bytes a block, polled queues, a full drive
#   groups    the unified control group hierarchy: as root, delegated to a plain user, and not delegated
#   tests     test programs on either drive; with KVM more of them
#   errors    a drive that cannot read some of its sectors (blkdebug)
#   powercut  the machine is killed in the middle of preparations and of runs, then the drive is looked at by another boot
# --out writes the report, Markdown, to a file too. Everything lies below build/vm: the program and the tests, compiled for any
# x86-64, and the kernel, whose package is unpacked there, not installed. Ends with 0 after a message where qemu, the kernel or a
# tool cannot be had, with 1 after a failure. KVM is used when the kernel boots under it within 20 seconds, else qemu's own
# emulation, which is some thirty times slower. VM_LIMIT_S: seconds that a boot may take. VM_CUTS: when power is cut, in parts of
# the time that what is cut takes.
set -uo pipefail
export PATH=$PATH:/usr/sbin:/sbin

out=
[ "${1:-}" = --out ] && { out=$2 && shift 2; }
[ $# -gt 0 ] || set -- drives groups tests errors powercut
work=build/vm
memory_mib=2048
verdicts=$work/verdicts # PART|ok, FAILED or skip|what
failed=0
accelerator=

skip() {
    echo "test-vm: skipped: $1"
    exit 0
}

for tool in qemu-system-x86_64:qemu-system-x86 mkfs.ext4:e2fsprogs cpio:cpio busybox:busybox-static; do
    command -v "${tool%:*}" >/dev/null || skip "no ${tool%:*} (package ${tool#*:}; scripts/setup.sh vm)"
done
mkdir -p "$work"
: >"$verdicts"

# ---- the kernel: what linux-image-amd64 stands for ----

if [ -z "$(find "$work/kernel" -name 'vmlinuz-*' 2>/dev/null)" ]; then
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: *//p' | sed -n 1p)
    [ -n "$package" ] || skip "apt knows no package linux-image-amd64"
    (cd "$work" && apt-get download -qq "$package" >/dev/null 2>&1) || skip "$package cannot be downloaded"
    dpkg-deb -x "$work/$package"_*.deb "$work/kernel" || skip "$package cannot be unpacked"
    rm -f "$work/$package"_*.deb
fi
kernel=$(find "$work/kernel" -name 'vmlinuz-*' | sed -n 1p)
release=${kernel##*/vmlinuz-}
# shellcheck source=scripts/vm/files.sh
. scripts/vm/files.sh
make_programs "$work/programs" || exit 1
make_files "$work/programs" "$release" "$work" || exit 1

# ---- one boot ----

# The drives of the next boot: attach SERIAL FILE [BYTES A BLOCK [NODE]]; NODE: a block node that was declared already.
machine=()
attach() {
    local id=d${#machine[@]}
    local node=${4:-$id}
    [ -n "${4:-}" ] || machine+=(-drive "file=$2,if=none,format=raw,id=$id,cache=writeback")
    machine+=(-device "nvme,serial=$1,id=c$id"
        -device "nvme-ns,drive=$node,bus=c$id,logical_block_size=${3:-512},physical_block_size=${3:-512}")
}

blank() { # NAME SIZE: an empty drive; prints its file
    rm -f "$work/$1.img"
    truncate -s "$2" "$work/$1.img"
    echo "$work/$1.img"
}

# Starts the machine for a part with the drives that were attached, and forgets these.
start() { # PART ACCELERATOR
    local words
    : >"$work/$1.console"
    : >"$work/$1.told"
    words="console=ttyS0 earlyprintk=serial,ttyS0 panic=-1 no_timer_check random.trust_cpu=on vm_part=$1 vm_accelerator=$2"
    words+=" vm_drives=$(printf '%s\n' "${machine[@]}" | grep -c '^nvme-ns')"
    qemu-system-x86_64 -accel "$2$([ "$2" = tcg ] && echo ,thread=multi)" -cpu max -machine pc -smp 2 -m "$memory_mib" \
        -nographic -nodefaults -no-reboot -serial "file:$work/$1.console" -serial "file:$work/$1.told" \
        -kernel "$kernel" -initrd "$work/initrd" -append "$words" "${machine[@]}" >"$work/$1.qemu" 2>&1 </dev/null &
    qemu=$!
    disown "$qemu" # nothing is said when it is killed
    machine=()
}

told() { grep -aqF "$2" "$work/$1.told"; } # PART TEXT

# Waits until the part says a word, or the machine is off; 1 after so many seconds.
wait_for() { # PART TEXT SECONDS
    local end=$((SECONDS + $3))
    while ! told "$1" "$2" && kill -0 "$qemu" 2>/dev/null; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

switch_off() {
    while kill -9 "$qemu" 2>/dev/null; do sleep 0.1; done
    qemu=
}
qemu=
trap '[ -z "$qemu" ] || kill -9 "$qemu"' EXIT
trap 'exit 130' INT TERM

# Takes the part's verdicts in; one that did not reach its end has failed.
take_verdicts() { # PART
    sed -n "s/\r$//; s/^\(ok\|FAILED\|skip\) \(.*\)/$1|\1|\2/p" "$work/$1.told" >"$work/new"
    if ! told "$1" "the end"; then
        echo "$1|FAILED|reaches its end: $(tail -n 3 "$work/$1.console" "$work/$1.qemu" | tr -cd '[:print:]' | cut -c1-300)" >>"$work/new"
    fi
    sed 's/^\([^|]*\)|\([^|]*\)|/\2 \1: /' "$work/new"
    cat "$work/new" >>"$verdicts"
    ! grep -q '|FAILED|' "$work/new" || failed=1
}

boot() { # PART: to its end
    start "$1" "$accelerator"
    wait_for "$1" "the end" "$limit_s" || echo "FAILED $1 does not end within $limit_s s" >>"$work/$1.told"
    wait_for "$1" "the machine is off" 20 # it unmounts its drives
    switch_off
    take_verdicts "$1"
}

# Boots, and pulls the plug so many milliseconds after the part began its work.
cut_power() { # PART MILLISECONDS
    start "$1" "$accelerator"
    if wait_for "$1" "working" "$limit_s" && told "$1" "working"; then
        sleep "$(awk "BEGIN { print $2 / 1000 }")"
        switch_off
    else
        switch_off
        echo "$1|FAILED|begins its work: $(tail -n 3 "$work/$1.console" | tr -cd '[:print:]')" | tee -a "$verdicts"
        failed=1
    fi
}

# ---- which accelerator ----

if [ -w /dev/kvm ]; then
    start probe kvm
    wait_for probe "the end" 20 && told probe "the end" && accelerator=kvm
    switch_off
fi
if [ -z "$accelerator" ]; then
    start probe tcg
    wait_for probe "the end" 240 && told probe "the end" && accelerator=tcg
    switch_off
fi
[ -n "$accelerator" ] || skip "the kernel $release boots neither under KVM nor emulated: $work/probe.console, $work/probe.qemu"
limit_s=${VM_LIMIT_S:-$([ "$accelerator" = kvm ] && echo 900 || echo 1800)}
echo "test-vm: kernel $release, $(qemu-system-x86_64 --version | sed -n 1p), $accelerator"

# ---- the parts ----

drives() {
    attach USUAL "$(blank usual 512M)"
    attach WIDE "$(blank wide 512M)" 4096
    attach SMALL "$(blank small 24M)"
    boot drives
}

groups() {
    attach USUAL "$(blank usual 512M)"
    boot groups
}

tests() {
    attach USUAL "$(blank usual 2G)"
    attach WIDE "$(blank wide 2G)" 4096
    boot tests
}

# The first boot puts a dataset on the drive and says which sectors hold its features; in the second one of them in 128
# cannot be read.
errors() {
    local file rules="" sector sectors
    file=$(blank errors 512M)
    attach ERRORS "$file"
    boot errors-prepare
    read -ra sectors < <(sed -n 's/\r$//; s/^sectors //p' "$work/errors-prepare.told")
    for sector in "${sectors[@]}"; do
        rules+="${rules:+,}{\"event\":\"none\",\"iotype\":\"read\",\"errno\":5,\"sector\":$sector}"
    done
    [ -n "$rules" ] || { failed=1 && return; }
    machine=(-blockdev "{\"driver\":\"blkdebug\",\"node-name\":\"broken\",\"image\":{\"driver\":\"file\",\"filename\":\"$file\"},\"inject-error\":[$rules]}"
        -blockdev '{"driver":"raw","node-name":"errors","file":"broken"}')
    attach ERRORS "" 512 errors
    boot errors-run
}

# The plug is pulled at shares of what a preparation, and a round of runs, takes on this machine: past 1 the next is going on.
powercut() {
    local file took_ms share what
    file=$(blank power 1G)
    attach POWER "$file"
    boot power-time
    for what in prepare run; do
        took_ms=$(sed -n "s/\r$//; s/^$what took //p" "$work/power-time.told")
        [ -n "$took_ms" ] || { failed=1 && return; }
        for share in ${VM_CUTS:-0.3 0.8 0.97 1.3 2.6}; do
            echo "powercut: $what, after $share of $took_ms ms"
            file=$(blank power 1G)
            attach POWER "$file"
            cut_power "power-$what" "$(awk "BEGIN { print int($share * $took_ms) }")"
            attach POWER "$file"
            boot power-look
        done
    done
}

begun_s=$SECONDS
for part; do
    case $part in
    drives) drives ;;
    groups) groups ;;
    tests) tests ;;
    errors) errors ;;
    powercut) powercut ;;
    *) echo "test-vm: no part '$part'; there are: drives groups tests errors powercut" >&2 && exit 2 ;;
    esac
done

# ---- the report ----

report() {
    echo "| part | ok | failed | skipped |"
    echo "|---|---|---|---|"
    awk -F'|' '!($1 in n) { order[++parts] = $1 } { n[$1]++; c[$1, $2]++ }
        END { for (i = 1; i <= parts; i++) printf "| %s | %d | %d | %d |\n", order[i], c[order[i], "ok"], c[order[i], "FAILED"], c[order[i], "skip"] }' "$verdicts"
    echo
    echo "Kernel $release, $(qemu-system-x86_64 --version | sed -n 1p), $accelerator, $(((SECONDS - begun_s) / 60)) minutes."
    if grep -q '|FAILED|' "$verdicts"; then
        echo
        echo "Failed:"
        echo
        sed -n 's/^\([^|]*\)|FAILED|/* \1: /p' "$verdicts"
    fi
    echo
    echo "What held:"
    echo
    sed -n 's/^\([^|]*\)|ok|/* \1: /p' "$verdicts" | awk '!seen[$0]++'
}
report >"$work/report.md"
echo
sed '/^What held:/,$d' "$work/report.md"
[ -z "$out" ] || cp "$work/report.md" "$out"
exit $failed
