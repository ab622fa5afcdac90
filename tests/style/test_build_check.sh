#!/usr/bin/env bash
# On a machine that lacks something `make` says what and how to get it, before it compiles anything; where everything is
# there it says in one line what it builds with. It notices a new revision, and runs under sanitizers what it runs without.
# Closes with cmocka's summary lines.
set -uo pipefail
passed=0
failed=0
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs this

verdict() { # name, 0 or 1
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s; make said:\n%s\n' "$1" "$output"
    fi
}

# Makes a target where something is hidden; keeps what it printed.
try() { # target, variable=value...
    output=$(make -j2 BUILD="$build" "$@" 2>&1)
    status=$?
}

# Every word is in the output, make failed, and no compiler was started.
refused() {
    local word
    for word in "$@"; do grep -qF -- "$word" <<<"$output" || { echo "missing: $word"; return 1; }; done
    [ "$status" -ne 0 ] && ! grep -qE 'error:|fatal' <<<"$output" && [ -z "$(find "$build" -name '*.o')" ]
}

PKG_CONFIG_LIBDIR=/nowhere PKG_CONFIG_PATH='' try tests
libraries=$(sed -n 's/^PACKAGES := //p' Makefile)
# shellcheck disable=SC2086  # one word a library
refused $libraries cmocka liburing-dev libopenblas-dev "scripts/setup.sh build test" "apt-get install -y"
verdict "without libraries each is named with its package" $?

try all PKG_CONFIG=no-such-pkg-config
refused "'no-such-pkg-config'" "scripts/setup.sh build" " pkg-config"
verdict "without pkg-config it is named" $?

try all CC=no-such-cc
refused "'no-such-cc'" "a C17 compiler"
verdict "without a compiler it is named" $?

output=$(scripts/setup.sh check build 2>&1)
status=$?
[ "$status" -eq 0 ] && [ "$(wc -l <<<"$output")" -eq 1 ] && grep -qE '^found: .*OpenBLAS.*CUDA' <<<"$output"
verdict "what was found is one line" $?

# A header left by an older checkout: every record would carry that revision.
mkdir -p "$build/gen"
echo '#define GNN_BUILD_REVISION "older"' >"$build/gen/build_revision.h"
try "$build/gen/build_revision.h"
[ "$status" -eq 0 ] && ! grep -q older "$build/gen/build_revision.h"
verdict "the revision is looked at on every make" $?

# Kernels have no compiler of their own there: as host C++ they are the sanitizers' too.
output=$(make -s -n BUILD="$build" SANITIZE=address,undefined NVCC= run-tests 2>&1)
missing=0
for source in tests/op/test_*.c tests/unit/test_cuda_*.c tests/cli/test_cuda_*.c; do
    grep -qF " $build/${source%.c} " <<<"$output " || { echo "missing: $source" && missing=1; }
done
verdict "the sanitizers' suite has every test of a back-end" "$missing"

printf '[  PASSED  ] %d test(s).\n' "$passed"
[ "$failed" -eq 0 ] || printf '[  FAILED  ] %d test(s), listed below:\n' "$failed"
[ "$failed" -eq 0 ]
