#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packs what scripts/gpu_check.sh needs into one folder that runs on a machine without network, packages or source tree.
#   scripts/gpu_bundle.sh BUILD FOLDER       BUILD: where make put the programs; FOLDER is made anew
# In it: programs, plugin, stand-in, every shared library they need but the C library's and CUDA's, golden vectors,
# presets, scripts. cuBLAS (half a gigabyte) has to be on the machine: in the toolkit's folder, or where pip put it for
# PyTorch; gpu_check.sh looks in both. At most 60 MiB, or it ends with status 1. `make gpu-bundle` builds for x86-64-v3.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: gpu_bundle.sh BUILD FOLDER" >&2; exit 2; }
build=$1 folder=$2
limit_kib=61440
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
programs=(oocgnn tests/gpu/test_gpu_ops tests/gpu/test_gpu_models tests/gpu/bench_gpu)
plugins=(liboocgnn-cuda.so tests/support/stand_in_cuda.so)

rm -rf "$folder"
mkdir -p "$folder"/{bin/tests/gpu,bin/tests/support,lib,scripts,tests/golden,workloads/presets,results/gpu}
for program in "${programs[@]}"; do
    strip -o "$folder/bin/$program" "$build/$program"
done
for plugin in "${plugins[@]}"; do
    if [ -f "$build/$plugin" ]; then
        strip --strip-unneeded -o "$folder/bin/$plugin" "$build/$plugin"
    else
        echo "gpu_bundle: left out: $plugin, which this build does not have" >&2
    fi
done

# The C library must be the machine's own, and so must what belongs to its driver and toolkit.
for file in "${programs[@]}" "${plugins[@]}"; do
    [ -f "$folder/bin/$file" ] && ldd "$folder/bin/$file"
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libcuda|libcudart|libcublas|libcublasLt|libnvidia[^/]*)\.so' |
    while read -r library; do
        cp -L "$library" "$folder/lib/"
    done

cp "$root"/scripts/gpu_*.{sh,py} "$folder/scripts/"
cp "$root"/tests/golden/*.bin "$folder/tests/golden/"
cp "$root"/workloads/presets/*.ini "$folder/workloads/presets/"
[ -f "$root/results/gpu/README.md" ] && cp "$root/results/gpu/README.md" "$folder/results/gpu/"
cat >"$folder/gpu_check.sh" <<'START'
#!/usr/bin/env bash
exec "$(dirname "${BASH_SOURCE[0]}")/scripts/gpu_check.sh" "$@"
START
chmod +x "$folder/gpu_check.sh"
{
    git -C "$root" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown
    echo "packed $(date -u +%Y-%m-%dT%H:%M:%SZ); start gpu_check.sh"
} >"$folder/BUNDLE"

size_kib=$(du -sk --apparent-size "$folder" | cut -f1)
echo "gpu_bundle: $folder, $((size_kib / 1024)) MiB of 60"
if [ "$size_kib" -gt "$limit_kib" ]; then
    echo "gpu_bundle: that is too large; the largest files:" >&2
    find "$folder" -type f -printf '%s %P\n' | sort -rn | sed -n 1,5p >&2
    exit 1
fi
