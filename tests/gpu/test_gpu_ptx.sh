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
[ -n "$(ls "$build"/ptx/*.ptx 2>/dev/null)" ] || skip_all "the kernels' PTX is not built: make tests, where nvcc is" 10

faulty() { # a test, a directory of PTX; the test aborts, of which the shell is to say nothing
    { (OOCGNN_CUDA_PTX=$2 "$build/tests/op/test_cuda_$1" >"$dir/said" 2>&1); } 2>/dev/null
}

export OOCGNN_CUDA_PTX_LOG=$dir/ran
for name in "${tests[@]}"; do
    OOCGNN_CUDA_PTX=$build/ptx "$build/tests/op/test_cuda_$name" >"$dir/said" 2>&1
    verdict "test_cuda_$name on nvcc's PTX" $?
done
comm -23 <(kernels) <(sort -u "$dir/ran") >"$dir/said"
[ ! -s "$dir/said" ] && [ "$(kernels | wc -l)" -gt 50 ]
verdict "a kernel that no test ran on its PTX" $?

# That the engine was chosen shows in what it refuses: a directory without the kernels, and kernels with a fault in them.
mkdir "$dir/none"
faulty kernels "$dir/none"
grep -q 'gnn_cuda_gather<float4> is not in the PTX of' "$dir/said"
verdict "kernels that are not there" $?

planted() { # title, test, kernel, edit of its PTX in dense.ptx, fault
    rm -rf "$dir/broken"
    cp -r "$build/ptx" "$dir/broken"
    sed "/\\.entry _Z[0-9]*$3/,/^}/{$4}" "$build/ptx/dense.ptx" >"$dir/broken/dense.ptx"
    faulty "$2" "$dir/broken"
    grep -q "$3.*dense.h:[0-9]* (dense.ptx:[0-9]*), block .*$5" "$dir/said"
    verdict "$1" $?
}
planted "a misaligned float4" kernels gnn_cuda_gatherI6float4 's/\(ld\.global\.v4.*\[%rd[0-9]*\)\]/\1+4]/' \
    '16-byte global read at .* is not aligned to its size'
planted "missing __syncthreads" batches gnn_cuda_loss_total '/bar\.sync/d' 'shared read'
planted "a read out of bounds" batches gnn_cuda_loss_total 's/\(ld\.global\.f32.*\[%rd[0-9]*\)\]/\1+1048576]/' \
    '4-byte global read at .* is outside of every array'
planted "an overlapping write" batches gnn_cuda_adam_step 's/shl\.b64\(.*\), 2;/and.b64\1, 252;/' 'a race: 4-byte global'
finish
