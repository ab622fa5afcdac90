#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RingSampler's ways to read, side by side, on the fixed graph `kron` (8.4 M nodes, 134 M edges; 100 000 seeds once,
# batch 1024, fan-out 20,15,10, 2 threads, ring 512): cold and warm without a cap, and under a cap of 192 MiB, 64 MiB of
# it the index. Prints a Markdown table; a run that did not end well has a row that says how it ended. Modes that read a
# sector per sample take minutes for hours: they get some batches of the epoch, and the table says how many. Workspaces
# under the cap have a size, as bounds of mini-batches without their targets, which is what a plan counts, do not fit.
#   scripts/bench_ringsampler.sh [all]      all: also the modes that take minutes under the cap
# Wants OOCGNN (the program) and DATA (where datasets go). The figures to compare with are the released code's: warm
# 4.7 M samples/s without building blocks; under the cap 68-74 s an epoch and 30-80 GiB read.
set -euo pipefail
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=${DB:-build/bench_ringsampler.db}
which=${1:-quick}
mkdir -p "$(dirname "$db")"
[ -f "$data/kron-1_1/meta" ] || "$oocgnn" prepare kron --data "$data"

# label, batches (0 = all), epochs, cap (0 = none), parameters of ringsampler
run() {
    local label=$1 batches=$2 epochs=$3 cap=$4 parameter
    shift 4
    local set=()
    for parameter in frontier=neighbours "$@"; do
        set+=(--set "ringsampler.$parameter")
    done
    "$oocgnn" run --system ringsampler --dataset kron --data "$data" --fanout 20,15,10 --batch 1024 --sample-only \
        --max-batches "$batches" --epochs "$epochs" --memory "$cap" --evaluate never --db "$db" --quiet "${set[@]}" \
        >/dev/null 2>"$db.err" || { echo "| $label | failed: $(tail -n 1 "$db.err") |"; return; }
    sqlite3 "$db" "
select '| $label | ' || iif(r.cap_bytes is null or r.cap_bytes = 0, 'none', (r.cap_bytes >> 20) || ' MiB') || ' | ' ||
       iif(r.cap_bytes > 0, 'capped', iif(e.epoch = 0, 'cold', 'warm')) || ' | ' || c.batches || ' | ' ||
       printf('%.2f | %.2f | ', e.wall_ns / 1e9, c.sampled_edges * 1e3 / e.wall_ns) ||
       printf('%.2f | %d | ', c.device_read_bytes / 1073741824.0, c.device_read_ios / 1000) ||
       printf('%.2f | %d |', s.cpu_ns * 1e-3 / c.sampled_edges, c.peak_memory_bytes >> 20)
from runs r join epochs e using (run_id) join counters c on c.run_id = e.run_id and c.epoch = e.epoch
join stages s on s.run_id = e.run_id and s.epoch = e.epoch
where r.run_id = (select max(run_id) from runs) and r.status = 'ok' order by e.epoch;
select '| $label | ' || status || ': ' || reasons || ' |' from runs
where run_id = (select max(run_id) from runs) and status <> 'ok'"
}

workspace=56M # of a thread, under the cap
echo "| mode | cap | page cache | batches | s | M samples/s | device GiB | device kI/Os | CPU µs/sample | peak MiB |"
echo "|---|---|---|---|---|---|---|---|---|---|"
run "buffered, plain (release)" 0 2 0 io=buffered polling=false
run "buffered, polling" 0 2 0 io=buffered
run "mapped" 0 2 0 io=mapped
run "sorted, cache of the file" 0 2 0 io=sorted cache=600M
run "direct, a sector each (paper)" 2 1 0 io=direct coalesce=none
run "direct, equal sectors once" 2 1 0 io=direct coalesce=sector
run "direct, adjacent sectors" 2 1 0 io=direct coalesce=adjacent
run "sorted" 0 1 192M io=sorted workspace=$workspace
run "sorted, sleeping" 0 1 192M io=sorted polling=false workspace=$workspace
run "sorted, bundle of 1" 0 1 192M io=sorted bundle=1 workspace=$workspace
run "direct, a sector each (paper)" 2 1 192M io=direct coalesce=none workspace=$workspace
run "direct, equal sectors once" 2 1 192M io=direct coalesce=sector workspace=$workspace
[ "$which" = all ] || exit 0
run "buffered, plain (release)" 0 1 192M io=buffered polling=false workspace=$workspace
run "buffered-random" 0 1 192M io=buffered-random polling=false workspace=$workspace
run "mapped" 0 1 192M io=mapped workspace=$workspace
