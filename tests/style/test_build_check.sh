#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a machine that lacks something `make` says what and how to get it, before it compiles anything; where everything is
# there it says in one line what it builds with. It notices a new revision, and runs under sanitizers what it runs without.
# Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/said")
build=$dir/build
unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs this

# Runs a command and keeps what it printed.
keep() {
    output=$("$@" 2>&1)
    status=$?
    printf '%s\n' "$output" >"$dir/said"
}

# Makes a target where something is hidden.
try() { # target, variable=value...
    keep make -j2 BUILD="$build" "$@"
}

# Every word is in the output, make failed, and no compiler was started.
refused() {
    local word
    for word in "$@"; do grep -qF -- "$word" <<<"$output" || { echo "missing: $word"; return 1; }; done
    [ "$status" -ne 0 ] && ! grep -qE 'error:|fatal' <<<"$output" && [ -z "$(find "$dir" -name '*.o')" ]
}

PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH='' try tests
libraries=$(sed -n 's/^PACKAGES := //p' Makefile)
# shellcheck disable=SC2086  # one word a library
refused $libraries cmocka liburing-dev libopenblas-dev "scripts/setup.sh build test" "apt-get install -y"
verdict "without libraries each is named with its package" $?

# Kernels for narrow products are left out where libxsmm is not there, and nothing else.
try "$build/harness/tensor/cpu/tile_kernels.o" XSMM=
[ "$status" -eq 0 ] && grep -q 'LIBXSMM 0' "$build/gen/build_libraries.h" &&
    [[ $(nm "$build/harness/tensor/cpu/tile_kernels.o") != *libxsmm* ]] &&
    [[ $(make -s -n BUILD="$build" XSMM= "$build/oocgnn") != *lxsmmgen* ]]
verdict "without libxsmm it is built all the same" $?
rm -r "$build"

try all PKG_CONFIG=no-such-pkg-config
refused "'no-such-pkg-config'" "scripts/setup.sh build" " pkg-config"
verdict "without pkg-config it is named" $?

try all CC=no-such-cc
refused "'no-such-cc'" "a C17 compiler"
verdict "without a compiler it is named" $?

keep scripts/setup.sh check build
[ "$status" -eq 0 ] && [ "$(wc -l <<<"$output")" -eq 1 ] && grep -qE '^found: .*OpenBLAS [0-9.]*, (libxsmm [0-9.]*|OpenBLAS for narrow.*), .*CUDA' <<<"$output"
verdict "what was found is one line" $?

version=$(scripts/setup.sh libxsmm)
try "$build/gen/build_libraries.h"
[ "$status" -eq 0 ] && grep -qF "LIBXSMM_VERSION \"$version\"" "$build/gen/build_libraries.h" &&
    { [ -z "$version" ] || [[ $(make -s -n BUILD="$build" "$build/oocgnn") = *lxsmmgen* ]]; }
verdict "and with it where it is there" $?

# A header left by an older checkout: every record would carry that revision.
mkdir -p "$build/gen"
echo '#define GNN_BUILD_REVISION "older"' >"$build/gen/build_revision.h"
try "$build/gen/build_revision.h"
[ "$status" -eq 0 ] && ! grep -q older "$build/gen/build_revision.h"
verdict "the revision is looked at on every make" $?

# Kernels have no compiler of their own there: as host C++ they are the sanitizers' too.
keep make -s -n BUILD="$build" SANITIZE=address,undefined NVCC= run-tests
missing=0
for source in tests/op/test_*.c tests/unit/test_cuda_*.c tests/cli/test_cuda_*.c; do
    grep -qF " $build/${source%.c} " <<<"$output " || { echo "missing: $source" && missing=1; }
done
verdict "the sanitizers' suite has every test of a back-end" "$missing"

finish
