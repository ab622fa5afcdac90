#!/usr/bin/env bash
# Installs what the build, the tests and the demo need, by name, through apt, when it is missing and this may be done;
# otherwise prints the command to type and ends with status 4. Installs nothing when nothing is missing.
#   scripts/setup.sh GROUP...        groups: build demo test bench lint
set -euo pipefail

declare -A packages=(
    [build]="gcc make pkg-config git liburing-dev libsqlite3-dev libopenblas-dev libinih-dev libjansson-dev libxxhash-dev zlib1g-dev libcgroup-dev"
    [demo]="gnuplot-nox fonts-dejavu-core"
    [test]="libcmocka-dev procps gnuplot-nox fonts-dejavu-core"
    [bench]="fio sqlite3"
    [lint]="clang clang-tidy clang-format cppcheck shellcheck"
)

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for group in "$@"; do
    if [ -z "${packages[$group]:-}" ]; then
        echo "setup: no package group '$group'; there are: ${!packages[*]}" >&2
        exit 2
    fi
    for package in ${packages[$group]}; do
        installed "$package" || missing+=("$package")
    done
done
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null || {
    echo "setup: this is neither Debian nor Ubuntu; install the equivalents of: ${missing[*]}" >&2
    exit 4
}

root=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        root=(sudo -n)
    else
        echo "setup: missing packages, and no permission to install them. Type:" >&2
        echo "    sudo apt-get install -y ${missing[*]}" >&2
        exit 4
    fi
fi
echo "setup: installing ${missing[*]}" >&2
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
