#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Speed beside PyG, DGL and GraphBolt (scripts/bench_peers.py), from the package index: two environments under
# build/peers, as DGL's newest build there is for an older PyTorch; 1.4 GB are fetched and several GB unpacked, once. PyTorch's
# wheels ask for CUDA's libraries, which stay out (scripts/torch_without_cuda.py). Where no index answers, it says so and
# ends with status 0.
#   scripts/bench_peers.sh [--write] [OPTIONS of bench_peers.py]
# The page is speed.md in build/peers, at first a copy of results/speed.md. With --write, it is results/speed.md.
# Wants OOCGNN (the program), BENCH (folder of the bench programs) and DATA (where datasets go).
set -euo pipefail
here=$(dirname "$0")
work=${PEERS_DIR:-build/peers}
data=${DATA:-data}
oocgnn=${OOCGNN:-build/gcc/oocgnn}
bench=${BENCH:-build/gcc/tests/bench}
pip_words=(--quiet --no-cache-dir --disable-pip-version-check)
mkdir -p "$work"

skip() {
    echo "skip: bench-peers: $1"
    exit 0
}

# An environment: its name, what is installed without its dependencies, what with.
environment() {
    local name=$1 alone=$2 whole=$3
    [ -e "$work/$name/ready" ] && return 0
    rm -rf "${work:?}/$name"
    python3 -m venv "$work/$name" >"$work/said" 2>&1 || { # Debian's python3 says on its output which package it lacks
        rm -rf "${work:?}/$name"
        skip "python3 makes no environment: $(grep -o -m 1 -E 'apt install.*|.*Error.*' "$work/said" || tail -n 1 "$work/said")"
    }
    echo "bench-peers: installing $alone" >&2
    # shellcheck disable=SC2086 # words
    { "$work/$name/bin/pip" install "${pip_words[@]}" --no-deps $alone &&
        "$work/$name/bin/pip" install "${pip_words[@]}" $whole; } >"$work/said" 2>&1 || {
        rm -rf "${work:?}/$name"
        skip "$name cannot be had from the package index: $(grep -m 1 ERROR "$work/said" || tail -n 1 "$work/said")"
    }
    python3 "$here/torch_without_cuda.py" "$("$work/$name/bin/python" -c 'import site; print(site.getsitepackages()[0])')"
    "$work/$name/bin/python" -c 'import torch; torch.randn(8, 8) @ torch.randn(8, 8)' 2>"$work/said" ||
        skip "torch does not load: $(tail -n 1 "$work/said")"
    touch "$work/$name/ready"
}

common="filelock==4.2.11 typing_extensions==4.16.0 sympy==1.14.0 jinja2==3.1.6 fsspec==2026.9.0 networkx==3.6.1 tqdm==4.70.1
    requests==2.34.2 psutil==7.2.2 packaging==26.3 setuptools==65.5.0"
environment dgl "torch==2.2.1 dgl==2.1.0 torchdata==0.7.1 nvidia-cuda-runtime-cu12==12.1.105" \
    "numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 pyyaml==6.0.3 pydantic==2.14.3 $common"
environment pyg "torch==2.15.0 torch_geometric==2.8.1 nvidia-cuda-runtime==13.5.37" \
    "numpy==2.4.6 aiohttp==3.14.5 xxhash==4.1.0 pyparsing==3.3.3 $common"
[ "${1:-}" = --install ] && exit 0

page=$work/speed.md words=()
for word in "$@"; do
    if [ "$word" = --write ]; then page=results/speed.md; else words+=("$word"); fi
done
set -- "${words[@]}"
[ -e "$page" ] || cp results/speed.md "$page"

scale=1/100 dim=128
for ((i = 1; i < $#; i++)); do
    next=$((i + 1))
    case ${!i} in
    --scale) scale=${!next} ;;
    --dim) dim=${!next} ;;
    esac
done
[ -f "$data/papers100m-${scale/\//_}/meta" ] ||
    "$oocgnn" prepare papers100m --scale "$scale" --dim "$dim" --data "$data" --quiet

# Beside this shell, which so hears a signal at once, hands it on and waits until what was changed is put back.
OOCGNN=$oocgnn BENCH=$bench DATA=$data python3 "$here/bench_peers.py" --work "$work" --page "$page" "$@" &
measuring=$!
trap 'kill -TERM "$measuring" 2>/dev/null; wait "$measuring"; exit 143' INT TERM HUP
wait "$measuring"
trap - INT TERM HUP

# The same steps on a GPU, where there is one: against PyTorch and against the device's own roofline.
echo
if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
    OOCGNN=$oocgnn "$here/gpu_check.sh" --only bench --limit 480 --report "$work/gpu.json"
else
    echo "left out: the steps on a GPU: no NVIDIA GPU here"
fi
