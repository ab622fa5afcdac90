#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Speed against something outside this project: fio's IOPS, the machine's SGEMM peak; and the harness's own cost.
# Wants OOCGNN (the program), BENCH (folder of the bench programs) and DATA (where datasets go).
set -euo pipefail

dataset="$DATA/papers100m-1_100"
# What some need in 4 bytes is added where a dataset has neighbour IDs of 8 alone.
[ -f "$dataset/indices" ] || "$OOCGNN" prepare papers100m --scale 1/100 --dim 128 --id-bytes 4 --data "$DATA"

echo "== storage: random direct reads and writes, one ring and several, against fio"
"$BENCH/bench_io" --dir build/bench
echo
echo "== sampling: 3 layers 10,10,10, topology in memory"
"$BENCH/bench_sample" "$dataset"
echo
echo "== MariusGNN: one sample a node for all layers (DENSE) against resampling in every layer"
"$BENCH/bench_dense" "$dataset"
echo
echo "== a dataset without a disk: papers100m at 1/1, 1.4 GB of memory"
"$BENCH/bench_procedural"
echo
echo "== the simulated storage device, and a ring over it: host time a read"
"$BENCH/bench_device"
echo
echo "== the simulator's executor: host time of a scheduling point"
"$BENCH/bench_simulator"
echo
echo "== the page cache model at a published run's size: host time a touch"
"$BENCH/bench_page_cache"
echo
echo "== RingSampler: ways to read, on the fixed graph kron"
rm -f build/bench_ringsampler.db # runs of an earlier day
"$OOCGNN" figure ringsampler-modes --data "$DATA" --db build/bench_ringsampler.db --out build/bench
echo
echo "== Ginex: what a superbatch's inspection costs per sampled node; its large reads and writes against fio"
"$BENCH/bench_ginex" --dir build/bench
echo
echo "== AGNES: what a bucket costs per entry; blocks through its block reader against fio"
"$BENCH/bench_agnes" --dir build/bench
echo
echo "== DiskGNN: packing under a cap of 320 MiB against fio's sequential bandwidth, batched against row by row"
"$BENCH/bench_packing" --dir build/bench --oocgnn "$OOCGNN" --data "$DATA"
echo
echo "== preparing papers100m at 1/100 and 1/10 against fio writing as many bytes"
"$BENCH/bench_prepare" --dir build/bench --oocgnn "$OOCGNN"
echo
echo "== GNNDrive's released containers, as costs/released.ini has them"
"$BENCH/bench_containers"
echo
echo "== MariusGNN's released sorts and bitmap, as costs/released.ini has them"
"$BENCH/bench_subgraph"
echo
echo "== training: SAGE 3x256 against the SGEMM peak"
"$BENCH/bench_train"
echo
echo "== starting: what a command and an empty run cost"
"$BENCH/bench_startup" --dir build/bench --oocgnn "$OOCGNN" --data "$DATA"
echo
echo "== the harness's own cost: the null system on the same mini-batch count"
"$OOCGNN" run --system null --dataset papers100m --scale 1/100 --data "$DATA" --preset gnndrive --id-bytes 4 --evaluate never \
    --db build/bench.db
echo
echo "== I/O traces: fio's replay of an epoch's requests against the minimum time of the device"
rm -f build/bench/trace.db
for system in presort gnndrive; do
    scripts/bench_trace.py "$dataset" build/bench/trace "$system" --preset gnndrive --id-bytes 4 --memory 320M
done
