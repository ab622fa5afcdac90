#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Plots epoch time over the memory limit for four systems: the figure oocgnn-demo. Runs on this machine's disk where a
# control group can enforce the limit, else in the simulated world, and says which.
# Reads OOCGNN (the program) and DATA (directory of datasets). Writes the dataset, build/demo.db and build/demo/.
set -euo pipefail

figure=oocgnn-demo
scale=1/100
db=build/demo.db
plots=build/demo
mkdir -p build
rm -f "$db" "$db-wal" "$db-shm"

echo "== This machine" >&2
seen=$("$OOCGNN" doctor --data . || true)
echo "$seen" >&2

# Without an enforced limit PyG+ would use the whole machine's page cache.
if grep -q '^ok  *memory cgroup' <<<"$seen"; then
    echo "== A graph like papers100M at scale $scale: 1.1 million nodes, 650 MB" >&2
    if ! "$OOCGNN" prepare papers100m --scale "$scale" --id-bytes 8 --data "$DATA" --check --quick >/dev/null 2>&1; then
        "$OOCGNN" prepare papers100m --scale "$scale" --dim 128 --id-bytes 8 --data "$DATA" >/dev/null
    fi
    world=(--world measured --scale "$scale" --data "$DATA")
    where="Storage is this machine's disk. GPU time is modelled as that of an RTX 3090 (GNNDrive's paper); no GPU is used."
else
    echo "== No control group can be created here, so this machine cannot enforce a memory limit." >&2
    echo "== The demo uses the simulated world instead: the machine of GNNDrive's paper on a virtual clock." >&2
    world=(--world simulated)
    where="All of this is simulated: the machine of GNNDrive's paper on a virtual clock."
fi

echo "== Four systems under four memory limits: 16 runs of two epochs, about a minute" >&2
"$OOCGNN" figure "$figure" "${world[@]}" --db "$db" --out "$plots"
echo "== Each line of the picture is a system. Further left, less memory is available and more is read from storage." >&2
echo "== Every point is one run: other work on the machine shows. The README's picture has medians of three runs." >&2
echo "== $where" >&2
echo "== Picture: $plots/$figure.png (also .svg and .pdf). Values: $plots/$figure.csv. Records: $db" >&2
