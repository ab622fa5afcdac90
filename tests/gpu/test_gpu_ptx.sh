#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The CUDA back-end's tests once more, on the PTX that nvcc made of its kernels (tests/support/ptx): every op, every kernel.
# Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/said")

build=$(dirname "${OOCGNN:-build/gcc/oocgnn}")
tests=(kernels batches link group)
kernels() { sed -n 's/^\.visible \.entry \([A-Za-z0-9_]*\)(.*/\1/p' "$build"/ptx/*.ptx | sort; }
[ -n "$(ls "$build"/ptx/*.ptx 2>/dev/null)" ] || skip_all "the kernels' PTX is not built: make tests, where nvcc is" 7

faulty() { # a directory of PTX; the test aborts, of which the shell is to say nothing
    { (OOCGNN_CUDA_PTX=$1 "$build/tests/op/test_cuda_kernels" >"$dir/said" 2>&1); } 2>/dev/null
}

export OOCGNN_CUDA_PTX_LOG=$dir/ran
for name in "${tests[@]}"; do
    OOCGNN_CUDA_PTX=$build/ptx "$build/tests/op/test_cuda_$name" >"$dir/said" 2>&1
    verdict "test_cuda_$name on nvcc's PTX" $?
done
comm -23 <(kernels) <(sort -u "$dir/ran") >"$dir/said"
[ ! -s "$dir/said" ] && [ "$(kernels | wc -l)" -gt 50 ]
verdict "a kernel that no test ran on its PTX" $?

# That the engine was chosen shows in what it refuses: a directory without the kernels, and a kernel with a fault in it.
mkdir "$dir/none" "$dir/broken"
faulty "$dir/none"
grep -q 'gnn_cuda_gather<float4> is not in the PTX of' "$dir/said"
verdict "kernels that are not there" $?
# Rows of four are read one word further on: float4 is then misaligned.
sed '/\.entry _Z15gnn_cuda_gatherI6float4/,/^}/s/\(ld\.global\.v4\.f32.*\[%rd[0-9]*\)\]/\1+4]/' "$build/ptx/dense.ptx" \
    >"$dir/broken/dense.ptx"
cp "$build"/ptx/{attention,blocks,link,sparse}.ptx "$dir/broken"
faulty "$dir/broken"
grep -q 'gnn_cuda_gather.*dense.h:.*16-byte global read.*is not aligned to its size' "$dir/said"
verdict "a misaligned float4 in a kernel" $?
finish
