#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A bundle of this build, unpacked elsewhere, under an empty environment: it needs neither the source tree nor packages.
# Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")

build=$(dirname "${OOCGNN:-build/gcc/oocgnn}")
if [ ! -f "$build/tests/support/stand_in_cuda.so" ]; then
    skip_all "the stand-in is not built: make tests" 5
fi
if [[ $(ldd "$build/oocgnn") =~ lib[at]san ]]; then
    skip_all "a build with sanitizers is too large for a bundle" 5
fi

scripts/gpu_bundle.sh "$build" "$dir/bundle" >"$dir/out" 2>&1
verdict "a packed bundle has at most 20 MiB" $?
mkdir "$dir/unpacked" && tar -C "$dir/unpacked" -xf "$dir/bundle.tar.xz" && diff -r "$dir/bundle" "$dir/unpacked/bundle" >>"$dir/out"
verdict "the packed file holds the folder" $?
if [ -f "$build/liboocgnn-cuda.so" ]; then
    [ -s "$dir/bundle/bin/liboocgnn-cuda.so" ]
    verdict "with the plugin in it" $?
else
    echo "left out: what the plugin adds to a bundle: it is not built here"
fi
mkdir "$dir/some where"
mv "$dir/bundle" "$dir/some where/else"
bundle="$dir/some where/else"

there() { # words of its gpu_check.sh, as a bare machine would start it
    (cd / && env -i PATH=/usr/bin:/bin TMPDIR="$dir" CUDA_VISIBLE_DEVICES= "$bundle/gpu_check.sh" "$@") >"$dir/out" 2>&1
}

# Every library but the C library's is the bundle's own: the loader's search names none of the system's.
env -i LD_LIBRARY_PATH="$bundle/lib" ldd "$bundle/bin/oocgnn" >"$dir/out" && ! grep -q 'not found' "$dir/out" &&
    ! grep -E 'openblas|sqlite|uring|cgroup|jansson|gfortran' "$dir/out" | grep -vF "$bundle/lib/"
verdict "it brings its libraries" $?

there --only test && grep -q '^gpu_check: skipped' "$dir/out"
verdict "without a GPU it skips" $?

there --stand-in --only golden,faults --report "$dir/report.json" && there --validate "$dir/report.json" &&
    grep -q '"source": "bundle"' "$dir/report.json" && ! grep -qF "$PWD" "$dir/report.json"
verdict "what needs no GPU runs, and nothing of the source tree is named" $?

finish
