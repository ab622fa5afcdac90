#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the README's two commands, `make demo` and `make test`, on a system that has nothing but git and make: a minimal Debian
# root made by debootstrap, into which the last commit is cloned. Each command runs once without control groups, as in most
# containers, and once with the control groups of this machine.
#   scripts/bare.sh [--only demo|test] [--groups without|with|both] [--release NAME] [--fresh]
#   --only      run one of the two commands
#   --groups    without or with control groups; both is the default
#   --release   release to install; the release of this machine is the default
#   --fresh     make the base system again, and download every package again
# Requires root and debootstrap (scripts/setup.sh bare). Packages come from the mirror and with the proxy that apt uses here.
# Files are in build/bare: the base system and packages are kept, and a log for each command. Mounts and processes live in
# namespaces of their own, so none is left behind, even if the script is killed. Ends with one line for each command.
# BARE_LIMIT_S: seconds that a command may take; 5400. Exit status: 0, 1 if a command failed, 2 wrong option, 4 cannot run here.
set -euo pipefail
cd -P "$(dirname "$0")/.."
export PATH=$PATH:/usr/sbin:/sbin

commands=(demo test)
groups=(without with)
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
fresh=
inside=
work=$PWD/build/bare
root=$work/root
limit_s=${BARE_LIMIT_S:-5400}

usage() {
    echo "bare: $1" >&2
    echo "usage: scripts/bare.sh [--only demo|test] [--groups without|with|both] [--release NAME] [--fresh]" >&2
    exit 2
}
cannot() {
    printf 'bare: %s\n' "$@" >&2
    exit 4
}

given=("$@")
while [ $# -gt 0 ]; do
    case $1 in
    --inside | --fresh) ;;
    *) [ $# -ge 2 ] || usage "unknown option or missing value: '$1'" ;;
    esac
    case $1 in
    --inside) inside=1 ;;
    --fresh) fresh=1 ;;
    --only) case $2 in demo | test) commands=("$2") ;; *) usage "--only is demo or test, not '$2'" ;; esac ;;
    --groups)
        case $2 in
        without | with) groups=("$2") ;;
        both) ;;
        *) usage "--groups is without, with or both, not '$2'" ;;
        esac
        ;;
    --release) release=$2 ;;
    *) usage "unknown option '$1'" ;;
    esac
    case $1 in --inside | --fresh) shift ;; *) shift 2 ;; esac
done

# ---- outside: everything below runs in namespaces, which end with their first process ----

if [ -z "$inside" ]; then
    [ "$(id -u)" -eq 0 ] || cannot "a root directory can be made by root only." "Run: sudo make test-bare"
    command -v debootstrap >/dev/null || cannot "debootstrap is not installed." "Run: scripts/setup.sh bare"
    [ -n "$release" ] || cannot "/etc/os-release names no release." "Name one: --release bookworm"
    [ -z "$(git status --porcelain)" ] || echo "bare: uncommitted changes are not part of the clone that is tried" >&2
    mkdir -p "$work"
    exec 9>"$work/lock"
    flock --nonblock 9 || cannot "another run of this script uses build/bare." "Wait until it has ended."
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash scripts/bare.sh --inside "${given[@]}" </dev/null &
    child=$!
    trap 'kill -KILL $child 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM HUP
    status=0
    wait "$child" || status=$?
    exit "$status"
fi

# ---- the base system ----

# Removes the root of an earlier run, unless something is mounted in it, which would be removed too.
remove_root() {
    if grep -qF " $root/" /proc/self/mountinfo; then
        cannot "something is mounted below $root, so it is not removed." "Unmount it, then run the command again."
    fi
    rm -rf --one-file-system "$root"
}

# "URL" of the mirror that apt here takes the release from.
mirror() {
    local line
    # shellcheck disable=SC2016  # fields of apt
    line=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk -v release="$release" '$1 == release && !seen { print $2; seen = 1 }')
    echo "${line:-http://deb.debian.org/debian}"
}

# Whatever the sources and the proxy of apt here are, apt in the new root uses them too.
configure_apt() { # url
    local file
    rm -f "$root/etc/apt/sources.list" "$root"/etc/apt/sources.list.d/*
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ -f "$file" ] && grep -q "${1%/}" "$file" && cp "$file" "$root${file%/*}/"
    done
    [ -n "$(find "$root/etc/apt" -maxdepth 2 \( -name '*.sources' -o -name '*.list' \))" ] ||
        echo "deb $1 $release main" >"$root/etc/apt/sources.list"
    for file in /usr/share/keyrings /etc/apt/keyrings /etc/apt/trusted.gpg.d; do
        [ -d "$file" ] && mkdir -p "$root$file" && cp -r "$file/." "$root$file/"
    done
    apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' >"$root/etc/apt/apt.conf.d/90host" || true
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

base=$work/base-$release.tar
[ -z "$fresh" ] || rm -rf "$base" "$work/archives"
mkdir -p "$work/archives/partial"
if [ ! -f "$base" ]; then
    url=$(mirror)
    echo "bare: making a base system of $release from $url" >&2
    remove_root
    if ! debootstrap --variant=minbase --include=git,make --cache-dir="$work/archives" "$release" "$root" "$url" \
        >"$work/debootstrap.log" 2>&1; then
        tail -5 "$work/debootstrap.log" >&2
        cannot "debootstrap failed with the message above; its log is build/bare/debootstrap.log." \
            "Check that the mirror $url can be reached, then run the command again."
    fi
    configure_apt "$url"
    tar -C "$root" -cf "$base.new" . && mv "$base.new" "$base"
fi

# ---- a command in it ----

# Unpacks the base, clones the tree and mounts what every system has.
open_root() { # without or with
    local mounted
    for mounted in var/cache/apt/archives sys dev proc; do
        umount --recursive --lazy "$root/$mounted" 2>/dev/null || true
    done
    remove_root
    mkdir -p "$root"
    tar -C "$root" -xf "$base"
    git clone --quiet --no-hardlinks . "$root/root/oocgnn"
    git -C "$root/root/oocgnn" remote remove origin
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --bind /sys "$root/sys" # without the control groups, which are mounts of their own
    mount -o remount,bind,ro "$root/sys"
    [ "$1" = without ] || mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
    mount --bind "$work/archives" "$root/var/cache/apt/archives"
}

proxies=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || proxies+=("$name=${!name}")
done

lines=()
failed=0
for group in "${groups[@]}"; do
    open_root "$group"
    for command in "${commands[@]}"; do
        what="$command $group control groups"
        log=$work/$group-$command.log
        echo "bare: $what; log: build/bare/$group-$command.log" >&2
        begin=$SECONDS
        status=0
        timeout "$limit_s" chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LANG=C.UTF-8 "${proxies[@]}" make -C /root/oocgnn --no-print-directory "$command" >"$log" 2>&1 || status=$?
        tail -12 "$log"
        took=$((SECONDS - begin))
        if [ $status -eq 0 ]; then
            lines+=("bare: $what: passed in $took s")
        else
            lines+=("bare: $what: failed with status $status after $took s; see build/bare/$group-$command.log")
            failed=1
        fi
    done
done
printf '%s\n' "${lines[@]}"
exit $failed
