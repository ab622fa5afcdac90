# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034  # dir and evidence are those of verdict.sh
# What the tests of systems in shared objects share; sourced after tests/support/verdict.sh. Installs the program below
# $dir and uses nothing else of the tree: `oocgnn` is the installed one, and pkg-config finds its headers.
build=$(dirname "${OOCGNN:-build/gcc/oocgnn}")
# One at a time: make writes the revision anew to compare it.
flock "$build/install.lock" make -s install BUILD="$build" DESTDIR="$dir/dest" PREFIX=/usr >"$dir/installed" 2>&1 ||
    { cat "$dir/installed"; exit 1; }
export PATH=$dir/dest/usr/bin:$PATH
export PKG_CONFIG_SYSROOT_DIR=$dir/dest PKG_CONFIG_PATH=$dir/dest/usr/share/pkgconfig
export XDG_DATA_HOME=$dir/home
unset OOCGNN OOCGNN_DIR
evidence=("$dir/said")

oocgnn() { "$dir/dest/usr/bin/oocgnn" "$@"; }

# Builds an object of sources.
object() { # OUT, sources and options
    local out=$1
    shift
    # shellcheck disable=SC2046  # options of pkg-config are words
    "${CC:-gcc}" $(pkg-config --cflags oocgnn) -std=c17 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -ffp-contract=off \
        -shared -o "$out" "$@" >>"$dir/said" 2>&1
}

# A fresh directory of a system `mine`, and in it mine.c changed by a program of sed, which must change something.
changed() { # DIR, program
    rm -rf "$1"
    oocgnn new-system mine "$1" >>"$dir/said" && cp "$1/mine.c" "$1/before" && sed -i "$2" "$1/mine.c" &&
        ! cmp -s "$1/mine.c" "$1/before" && make -s -C "$1" >>"$dir/said" 2>&1
}

# Whether a command ends with a status and says each text.
ends() { # STATUS, TEXT..., --, command
    local wanted=$1 texts=() status
    shift
    while [ "$1" != -- ]; do texts+=("$1") && shift; done
    shift
    "$@" >"$dir/said" 2>&1
    status=$?
    [ $status -eq "$wanted" ] || { echo "status $status, expected $wanted" >>"$dir/said"; return 1; }
    for text in "${texts[@]}"; do
        grep -qF -- "$text" "$dir/said" || { echo "not said: $text" >>"$dir/said"; return 1; }
    done
}
