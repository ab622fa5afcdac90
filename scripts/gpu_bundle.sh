#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packs what scripts/gpu_check.sh needs into one folder that runs on a machine without network, packages or source tree.
#   scripts/gpu_bundle.sh BUILD FOLDER       BUILD: where make put the programs; FOLDER is made anew
# In it: programs, plugin, stand-in, every shared library they need but the C library's and CUDA's, golden vectors,
# presets, scripts. cuBLAS (half a gigabyte) has to be on the machine: in the toolkit's folder, or where pip put it for
# PyTorch; gpu_check.sh looks in both. FOLDER.tar.xz beside it is the same in one file, for machines that take little.
# The file has at most 20 MiB, and with the files of the source tree at most 64 MiB, or it ends with status 1.
# `make gpu-bundle` builds for x86-64-v3.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: gpu_bundle.sh BUILD FOLDER" >&2; exit 2; }
command -v xz >/dev/null || { echo "gpu_bundle: no xz, which compresses the bundle: sudo apt-get install -y xz-utils" >&2; exit 4; }
build=$1 folder=$2
limit_kib=20480 sum_limit_kib=65536
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

kib_of() { du -k --apparent-size "$1" | cut -f1; }
tar -C "$(dirname "$folder")" -cf - "$(basename "$folder")" | xz -6 -T0 >"$folder.tar.xz"
size_kib=$(kib_of "$folder.tar.xz")
tree_kib=$(git -C "$root" ls-files -z 2>/dev/null | (cd "$root" && xargs -0 -r stat -c %s 2>/dev/null) | awk '{ all += $1 } END { print int(all / 1024) }')
echo "gpu_bundle: $folder.tar.xz, $((size_kib / 1024)) MiB of $((limit_kib / 1024)), with the source tree $(((size_kib + tree_kib) / 1024)) of $((sum_limit_kib / 1024))"
if [ "$size_kib" -gt "$limit_kib" ] || [ $((size_kib + tree_kib)) -gt "$sum_limit_kib" ]; then
    echo "gpu_bundle: that is too large; the largest files:" >&2
    find "$folder" -type f -printf '%s %P\n' | sort -rn | sed -n 1,5p >&2
    exit 1
fi
