#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs scripts/setup.sh with stand-ins for dpkg-query, apt-get, sudo and id, through every way it can end.
# Closes with cmocka's summary lines.
# shellcheck disable=SC2016  # bodies of stand-ins
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/said" "$dir/calls")
tools=$dir/tools

# Writes a stand-in, which records its call and then runs the body.
stand_in() { # name, body
    rm -f "$tools/$1"
    printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$dir" "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

# A machine with apt-get where the user is root and no package is installed.
machine() {
    local program
    rm -rf "$tools"
    mkdir "$tools"
    # Files of this folder's own, not links: a stand-in that replaces one must never write to the program itself.
    for program in bash cat dirname env mktemp paste rm sed sort true uname; do
        printf '#!/bin/bash\nexec "%s" "$@"\n' "$(type -P "$program")" >"$tools/$program"
        chmod +x "$tools/$program"
    done
    stand_in dpkg-query 'case " $INSTALLED " in *" ${!#} "* | " all ") echo -n installed ;; *) exit 1 ;; esac'
    stand_in apt-get 'for word; do case " $BROKEN " in *" $word "*) echo "E: apt-get cannot do $word" >&2; exit 100 ;; esac; done'
    stand_in id 'echo 0'
    export INSTALLED='' BROKEN=''
}

plain_user() { stand_in id 'echo 1000'; }

# Runs setup.sh; keeps its status, what it printed, and in `installs` the calls of apt-get.
setup() {
    : >"$dir/calls"
    PATH=$tools /bin/bash scripts/setup.sh "$@" >"$dir/said" 2>&1
    status=$?
    installs=$(grep '^apt-get' "$dir/calls")
}

# Whether every text was printed.
said() {
    local text
    for text in "$@"; do grep -qF -- "$text" "$dir/said" || { echo "not printed: $text" && return 1; }; done
}

packages="gnuplot-nox fonts-dejavu-core" # of the group demo
command="    sudo apt-get update && sudo apt-get install -y $packages"

machine
INSTALLED=all
setup build demo test
[ $status -eq 0 ] && [ -z "$installs" ] && [ ! -s "$dir/said" ]
verdict "nothing missing: nothing is installed and nothing printed" $?

machine
setup demo
[ $status -eq 0 ] && said "installing $packages" && ! grep -q '^sudo' "$dir/calls" &&
    [ "$installs" = "apt-get -qq update
apt-get -qq install -y --no-install-recommends $packages" ]
verdict "root: installed without sudo" $?

machine
INSTALLED=gnuplot-nox
setup demo
[ $status -eq 0 ] && [[ $installs == *"recommends fonts-dejavu-core" ]]
verdict "only what is missing is installed" $?

machine
plain_user
stand_in sudo '[ "$1" = -n ] && shift && exec "$@"'
setup demo
[ $status -eq 0 ] && [[ $installs == *"install -y --no-install-recommends $packages" ]] &&
    grep -q '^sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -qq update' "$dir/calls"
verdict "sudo without a password: installed through it" $?

machine
plain_user
setup demo
[ $status -eq 4 ] && [ -z "$installs" ] && said "cannot install the missing packages: $packages" "not root" "$command"
verdict "no sudo: the command is printed, status 4" $?

machine
plain_user
stand_in sudo 'echo "sudo: a password is required" >&2; exit 1'
setup demo
[ $status -eq 4 ] && [ -z "$installs" ] && said "without a password" "$command"
verdict "sudo with a password: the command is printed, status 4" $?

machine
rm "$tools/apt-get"
setup demo
[ $status -eq 4 ] && said "$packages" "no apt-get" "package manager"
verdict "no apt-get: the packages are named, status 4" $?

machine
stand_in uname 'echo x86_64'
BROKEN=libxsmm-dev
setup build
[ $status -eq 0 ] && said "cannot install libxsmm-dev, which is optional; continuing without it"
verdict "an optional package that is not available is done without" $?

machine
stand_in uname 'echo aarch64'
setup build
[ $status -eq 0 ] && [[ $installs != *libxsmm* ]]
verdict "a package of another processor is not asked for" $?

machine
BROKEN=install
setup demo
[ $status -eq 4 ] && said "E: apt-get cannot do install" "missing packages: $packages" "'apt-get install' failed" "$command"
verdict "an installation that fails: packages, reason and command, status 4" $?

machine
BROKEN=update
setup demo
[ $status -eq 4 ] && said "E: apt-get cannot do update" "missing packages: $packages" "'apt-get update' failed" "$command" &&
    [[ $installs != *install* ]]
verdict "package lists that cannot be read: packages, reason and command, status 4" $?

machine
setup build no-such-group
[ $status -eq 2 ] && [ -z "$installs" ] && said "unknown package group 'no-such-group'" "build"
verdict "an unknown group: the groups are named, status 2" $?

finish
