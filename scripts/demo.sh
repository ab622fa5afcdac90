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

# Under a cap that nothing enforces PyG+ would have the whole machine's page cache, and the picture would say the reverse.
seen=$("$OOCGNN" doctor --data . || true)
if grep -q '^ok  *memory cap' <<<"$seen"; then
    world=(--memory 80M)
else
    echo "== no control group may be made here, so no cap can be enforced on this machine: the two run in the simulated" >&2
    echo "== world, in virtual time on the machine of GNNDrive's paper, where the cap holds" >&2
    world=(--world simulated --profile gnndrive-paper --compute cpu --memory 80M)
fi

if [ "${world[0]}" = --memory ]; then
    echo "== a synthetic papers100m at scale $scale" >&2
    if ! "$OOCGNN" prepare papers100m --scale "$scale" --id-bytes 8 --data "$DATA" --check --quick >/dev/null 2>&1; then
        "$OOCGNN" prepare papers100m --scale "$scale" --dim 128 --id-bytes 8 --data "$DATA"
    fi
fi

workload=(--dataset papers100m --scale "$scale" --data "$DATA" --preset gnndrive --batch 10 --lr 0.0005 --epochs 6 "${world[@]}")
# Whatever this device's readahead is, a miss reads one page here: with a window of megabytes, as clouds set it, the first of the
# two would take minutes an epoch.
for system in pygplus gnndrive; do
    echo "== $system, all stages" >&2
    "$OOCGNN" run --system $system "${workload[@]}" --set $system.readahead=off --db "$db" >/dev/null
done

echo "== the comparison" >&2
"$OOCGNN" report --db "$db" --plot "$plots"
echo "== plots: $plots/epoch-time.png and $plots/stage-split.png (.svg beside them); records: $db" >&2
