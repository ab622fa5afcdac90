#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what the build, the tests and the demo need, by name, through apt, when it is missing and this may be done;
# otherwise prints the command to type and ends with status 4. Installs nothing when nothing is missing; with what is
# missing also what there is more of something with, if it can be had.
#   scripts/setup.sh GROUP...        groups: build demo test bench lint fuzz mutate peers gate browser vm bare
#   scripts/setup.sh check GROUP...  installs nothing and does not ask apt: looks for the compiler and, through pkg-config,
#                                    for the libraries; prints in one line what it found, or what is missing
#   scripts/setup.sh libxsmm         prints the version of the libxsmm that can be linked, or nothing
# Reads CC (else gcc), CPPFLAGS, LDFLAGS and PKG_CONFIG (else pkg-config), as make does.
set -euo pipefail

declare -A packages=(
    [build]="gcc make pkg-config git liburing-dev libsqlite3-dev libopenblas-dev libinih-dev libjansson-dev libxxhash-dev zlib1g-dev libcgroup-dev"
    [demo]="gnuplot-nox fonts-dejavu-core"
    [test]="g++ libcmocka-dev procps python3 sqlite3 gnuplot-nox fonts-dejavu-core xz-utils"
    [bench]="fio"
    [lint]="clang clang-tidy clang-format cppcheck shellcheck"
    [fuzz]="clang"
    [mutate]="python3-venv"
    [peers]="python3-venv gcc binutils"
    [vm]="qemu-system-x86 e2fsprogs cpio busybox-static"
    [bare]="debootstrap mount"
    [gate]="valgrind"
    [browser]="chromium"
)
# What pkg-config calls the library of a package.
declare -A libraries=(
    [liburing-dev]=liburing [libsqlite3-dev]=sqlite3 [libopenblas-dev]=openblas [libinih-dev]=inih [libjansson-dev]=jansson
    [libxxhash-dev]=libxxhash [zlib1g-dev]=zlib [libcgroup-dev]=libcgroup [libcmocka-dev]=cmocka
)

# Without these there is less of something, and all of it works.
declare -A optional=([gate]="ccache") # builds a revision again in seconds
[ "$(uname -m)" = x86_64 ] && optional[build]="libxsmm-dev" # kernels for narrow products, else BLAS

read -r -a compiler <<<"${CC:-gcc}" # may be two words: ccache gcc
pkg_config=${PKG_CONFIG:-pkg-config}

# The generator's version, where a program that calls it can be built and run.
libxsmm() {
    local probe
    probe=$(mktemp -d)
    # shellcheck disable=SC2086  # words of flags
    if "${compiler[@]}" ${CPPFLAGS:-} "$(dirname "$0")/probe_libxsmm.c" -o "$probe/probe" ${LDFLAGS:-} -lxsmmgen 2>/dev/null; then
        "$probe/probe" 2>/dev/null || true
    fi
    rm -r "$probe"
}
[ "${1:-}" = libxsmm ] && { libxsmm; exit 0; }

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Whether the build finds what the package brings, wherever it comes from.
found() {
    case $1 in
    gcc) echo 'int main(void) { return 0; }' | "${compiler[@]}" -std=c17 -fsyntax-only -x c - 2>/dev/null ;;
    g++) command -v "${CXX:-g++}" >/dev/null ;;
    pkg-config) command -v "$pkg_config" >/dev/null ;;
    *) [ -z "${libraries[$1]:-}" ] || "$pkg_config" --exists "${libraries[$1]}" 2>/dev/null ;;
    esac
}

test_package=installed
[ "${1:-}" = check ] && { shift && test_package=found; }
missing=()
wanted=()
for group in "$@"; do
    if [ -z "${packages[$group]:-}" ]; then
        echo "setup: unknown package group '$group'. The groups are: $(printf '%s\n' "${!packages[@]}" | sort | paste -sd " ")" >&2
        exit 2
    fi
    for package in ${packages[$group]}; do
        "$test_package" "$package" || missing+=("$package")
    done
    for package in ${optional[$group]:-}; do
        installed "$package" || wanted+=("$package")
    done
done

if [ $test_package = found ]; then
    if [ ${#missing[@]} -eq 0 ]; then
        nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
        cuda=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/CUDA compiler \1/p' || true)
        narrow=$(libxsmm)
        [ -n "$narrow" ] && narrow="libxsmm $narrow" || narrow="OpenBLAS for narrow products, too${optional[build]:+ (${optional[build]} is faster)}"
        echo "found: ${compiler[*]} $("${compiler[@]}" -dumpfullversion -dumpversion), OpenBLAS $("$pkg_config" --modversion openblas)," \
            "$narrow, ${cuda:-no CUDA compiler: the GPU plugin is left out}"
        exit 0
    fi
    {
        echo "This cannot be built yet. Missing:"
        for package in "${missing[@]}"; do
            case $package in
            gcc) what="a C17 compiler, called '${compiler[*]}' here (CC=... names another)" ;;
            g++) what="a C++20 compiler, called '${CXX:-g++}' here: tests run the CUDA kernels on the host" ;;
            pkg-config) what="the program '$pkg_config', without which no library is found" ;;
            *) what="the library ${libraries[$package]}" ;;
            esac
            printf '    %-18s %s\n' "$package" "$what"
        done
        echo "These are Debian's and Ubuntu's package names. To install them: scripts/setup.sh $*"
        echo "or: sudo apt-get install -y ${missing[*]}"
    } >&2
    exit 4
fi

may_install() {
    [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

apt() {
    local root=()
    [ "$(id -u)" -eq 0 ] || root=(sudo -n)
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >/dev/null
}

apt_install() {
    echo "setup: installing $*" >&2
    apt install -y --no-install-recommends "$@"
}

# Says why the packages are still missing and what to type, and ends with status 4.
missing_because() {
    {
        echo "setup: cannot install the missing packages: ${missing[*]}"
        echo "$1"
        echo "$2"
        echo "    sudo apt-get update && sudo apt-get install -y ${missing[*]}"
    } >&2
    exit 4
}

if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "setup: cannot install the missing packages: ${missing[*]}" >&2
        echo "These are Debian's and Ubuntu's names, and this system has no apt-get." >&2
        echo "Install the equivalent packages with this system's package manager, then run the command again." >&2
        exit 4
    fi
    may_install || missing_because "This user is not root and has no sudo without a password." "Run this command, then try again:"
    apt update ||
        missing_because "'apt-get update' failed with the message above." "Check the network and /etc/apt/sources.list, then run:"
    apt_install "${missing[@]}" ||
        missing_because "'apt-get install' failed with the message above." "Solve what it reports, then run:"
    for package in "${wanted[@]}"; do
        apt_install "$package" || echo "setup: cannot install $package, which is optional; continuing without it" >&2
    done
fi
