#!/usr/bin/env bash
# The main job, small: a dataset, PyG+ and GNNDrive under a memory cap on this disk, the comparison, the picture.
# Wants OOCGNN (the program) and DATA (where datasets go). Leaves the dataset, build/demo.db and build/demo/*.png.
set -euo pipefail

scale=1/400
db=build/demo.db
plots=build/demo
mkdir -p build
rm -f "$db" "$db-wal" "$db-shm"

echo "== this machine" >&2
"$OOCGNN" doctor --data . >&2 || true

cap=(--memory 80M)
if ! "$OOCGNN" doctor --data . | grep -q '^ok  *memory cap'; then
    echo "== no control group may be made here: the cap counts the program's own memory only, and says so" >&2
    cap=(--memory 80M --cap program)
fi

echo "== a synthetic papers100m at scale $scale" >&2
if ! "$OOCGNN" prepare papers100m --scale "$scale" --data "$DATA" --check --quick >/dev/null 2>&1; then
    "$OOCGNN" prepare papers100m --scale "$scale" --dim 128 --data "$DATA"
fi

workload=(--dataset papers100m --scale "$scale" --data "$DATA" --preset gnndrive --batch 10 --lr 0.0005 --epochs 6 "${cap[@]}")
for system in pygplus gnndrive; do
    echo "== $system, all stages" >&2
    "$OOCGNN" run --system $system "${workload[@]}" --db "$db" >/dev/null
done

echo "== the comparison" >&2
"$OOCGNN" report --db "$db" --plot "$plots"
echo "== plots: $plots/epoch-time.png and $plots/stage-split.png (.svg beside them); records: $db" >&2
