#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GNNDrive (ICPP 2024), Figure 13: epoch time against the number of data-parallel subprocesses, GPU and CPU variant, on
# the paper's eight-GPU server, simulated. Prints a Markdown table with the paper's printed values beside.
#   scripts/workers.sh [WORKERS...]        default 1 2 4 8; SCALE=1/10
# An epoch is extrapolated from STEPS steps after WARM mini-batches of all workers together. Two samplers and two
# extractors a worker, as in the released code: the buffer of four would not fit a K80's 12 GB at scale 1.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${DB:-build/workers.db}
scale=${SCALE:-1/10}
warm=${WARM:-384}
steps=${STEPS:-48}
[ $# -gt 0 ] || set -- 1 2 4 8
mkdir -p "$(dirname "$db")"

for compute in cuda cpu; do
    for workers in "$@"; do
        "$oocgnn" run --system gnndrive --dataset mag240m-cites --scale "$scale" --preset gnndrive --memory 0 \
            --world simulated --profile gnndrive-multigpu --compute "$compute" --workers "$workers" \
            --set gnndrive.samplers=2 --set gnndrive.extractors=2 \
            --warmup $(((warm + workers - 1) / workers)) --batches "$steps" --db "$db" --quiet >/dev/null
    done
done

sqlite3 -markdown "$db" "
with cell as (
    select iif(r.compute like '%/gpu', 'GPU', 'CPU') as variant, cast(w.value as integer) as workers,
           iif(coalesce(s.value, 1) = 0, null, f.value / 1e9) as epoch_s, lo.value / 1e9 as low_s, hi.value / 1e9 as high_s,
           row_number() over (partition by r.compute, w.value order by r.run_id desc) as newest
    from runs r join config w on w.run_id = r.run_id and w.key = 'workers'
    join figures f on f.run_id = r.run_id and f.name = 'full_epoch_ns'
    left join figures s on s.run_id = r.run_id and s.name = 'full_epoch_settled'
    left join figures lo on lo.run_id = r.run_id and lo.name = 'full_epoch_low_ns'
    left join figures hi on hi.run_id = r.run_id and hi.name = 'full_epoch_high_ns'
    where r.status = 'ok')
select c.variant, c.workers,
       iif(c.epoch_s is null, 'not settled', printf('%.0f (%.0f-%.0f)', c.epoch_s, c.low_s, c.high_s)) as 'epoch s',
       iif(one.epoch_s / c.epoch_s is null, '-', printf('%.2f', one.epoch_s / c.epoch_s)) as 'speed-up',
       iif(c.workers = 2, iif(c.variant = 'GPU', '1.7', '1.8'), '') as 'published'
from cell c left join cell one on one.variant = c.variant and one.workers = 1 and one.newest = 1
where c.newest = 1 order by c.variant desc, c.workers"
