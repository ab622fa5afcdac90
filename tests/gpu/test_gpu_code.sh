#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Registers, stack, spills and vector loads of the CUDA kernels, in the code that ptxas makes of their PTX for each GPU that
# the build is for. Limits: tests/gpu/code_limits.txt. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
here=$(dirname "$0")
evidence=("$dir/over")

build=$(dirname "${OOCGNN:-build/gcc/oocgnn}")
export PATH=$PATH:/usr/local/cuda/bin
read -ra archs <<<"${CUDA_ARCHS:-$(sed -n 's/^CUDA_ARCHS ?= *//p' Makefile)}"
[ -n "$(ls "$build"/ptx/*.ptx 2>/dev/null)" ] || skip_all "the kernels' PTX is not built: make tests, where nvcc is" 4
command -v ptxas >/dev/null || skip_all "no ptxas" 4

# "kernel registers stack spilled" a line, of ptxas -v.
uses() {
    awk '/Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
         /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
         /Used [0-9]+ registers/ { for (i = 1; i <= NF; i++) if ($i == "Used") print kernel, $(i + 1), stack, spilled }' "$@"
}

# "kernel loads" a line, of 16 bytes each: in the machine code where nvdisasm reads it, else in the PTX.
loads() { # arch
    if command -v nvdisasm >/dev/null; then
        nvdisasm -c "$dir/$1"/*.cubin | awk '/^\.text\./ { kernel = substr($1, 7); sub(/:$/, "", kernel) }
            /LDG?\.E.*\.128/ { count[kernel]++ } END { for (k in count) print k, count[k] }'
    else
        awk '/^\.visible \.entry/ { kernel = $3; sub(/\(.*/, "", kernel) }
            /ld(\.global(\.nc)?)?\.(v4\.[fu]32|v2\.[fu]64)/ { count[kernel]++ } END { for (k in count) print k, count[k] }' "$build"/ptx/*.ptx
    fi
}

# What is over a limit, of "kernel registers stack spilled" lines; loads are in a second file.
over() { # uses, loads, arch
    local kernel registers stack spilled pattern most_registers most_stack least_loads count
    while read -r kernel registers stack spilled; do
        count=$(awk -v k="$kernel" '$1 == k { print $2 }' "$2")
        while read -r pattern most_registers most_stack least_loads; do
            # shellcheck disable=SC2053  # a pattern
            [[ -n $pattern && $pattern != "#"* && $kernel == $pattern ]] && break
        done <"$here/code_limits.txt"
        [ "${3-}" != 75 ] || most_registers=64 # with these, its 32 warps of a multiprocessor are kept
        [ "$spilled" -eq 0 ] || echo "$kernel spills $spilled bytes"
        [ "$registers" -le "$most_registers" ] || echo "$kernel uses $registers registers, $most_registers are the limit"
        [ "$stack" -le "$most_stack" ] || echo "$kernel has $stack bytes of stack, $most_stack are the limit"
        [ "${count:-0}" -ge "$least_loads" ] || echo "$kernel has ${count:-0} loads of 16 bytes, $least_loads are the least"
    done <"$1"
}

command -v nvdisasm >/dev/null || echo "left out: loads of 16 bytes in machine code: no nvdisasm. They are counted in the PTX"
for arch in "${archs[@]}"; do
    mkdir -p "$dir/$arch" && : >"$dir/over"
    for ptx in "$build"/ptx/*.ptx; do
        name=$(basename "$ptx" .ptx)
        ptxas -v -O3 -arch "sm_$arch" "$ptx" -o "$dir/$arch/$name.cubin" >>"$dir/$arch/said" 2>&1 || cat "$dir/$arch/said" >>"$dir/over"
    done
    uses "$dir/$arch/said" >"$dir/$arch/uses"
    loads "$arch" >"$dir/$arch/loads"
    over "$dir/$arch/uses" "$dir/$arch/loads" "$arch" >>"$dir/over"
    [ ! -s "$dir/over" ] && [ "$(wc -l <"$dir/$arch/uses")" -eq "$(cat "$build"/ptx/*.ptx | grep -c '^\.visible \.entry')" ]
    verdict "the code for sm_$arch keeps its limits" $?
done

# Made-up kernels, each over one limit.
printf '%s\n' _Zmany_registers\ 49\ 0\ 0 _Zstack\ 8\ 8\ 0 _Zspills\ 8\ 0\ 4 _Z17gnn_cuda_row_sum4P\ 8\ 0\ 0 _Zfine\ 48\ 0\ 0 >"$dir/planted"
echo "_Z17gnn_cuda_row_sum4P 3" >"$dir/few"
over "$dir/planted" "$dir/few" >"$dir/over"
[ "$(sed 's/ .*//' "$dir/over" | tr '\n' ' ')" = "_Zmany_registers _Zstack _Zspills _Z17gnn_cuda_row_sum4P " ]
verdict "each of four planted faults is found" $?
finish
