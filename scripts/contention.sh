#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# PyG+ against GNNDrive on the built-in papers100m at 1/100 under 320M: sampling alone (-only) and with extraction and
# training beside it (-all), first epoch (cold) and later ones. Prints a Markdown table: medians, spread as min-max.
#   scripts/contention.sh [REPEATS]
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
repeats=${1:-3}
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=${DB:-build/contention.db}
mkdir -p build

[ -f "$data/papers100m-1_100/indices-8" ] || "$oocgnn" prepare papers100m --scale 1/100 --dim 128 --id-bytes 8 --data "$data"
"$oocgnn" sweep workloads/contention.ini --db "$db" --data "$data" --repeat "$repeats" --resume --keep-going >/dev/null

sqlite3 -markdown "$db" "
with cell as (
    select r.system, coalesce(r.variant, 'all') as variant, e.epoch > 0 as later,
           e.wall_ns / 1e9 as epoch_s,
           (s.work_ns + s.wait_io_ns) / 1e9 / s.workers as sampling_s,
           s.wait_io_ns / 1e9 / s.workers as sampling_io_s,
           100.0 * total.io / total.wall as io_wait,
           c.device_read_bytes / 1048576.0 as read_mib, c.device_read_ios / 1000.0 as kilo_ios,
           c.refaults / 1000.0 as kilo_refaults
    from runs r join epochs e using (run_id)
    join stages s on s.run_id = e.run_id and s.epoch = e.epoch and s.stage = 'sample'
    join counters c on c.run_id = e.run_id and c.epoch = e.epoch
    join (select run_id, epoch, sum(wait_io_ns) as io, sum(wall_ns) as wall from stages group by run_id, epoch) total
        on total.run_id = e.run_id and total.epoch = e.epoch
    where r.status = 'ok'),
ranked as (
    select *, row_number() over (partition by system, variant, later order by epoch_s) as place,
           row_number() over (partition by system, variant, later order by sampling_s) as splace,
           count(*) over (partition by system, variant, later) as n from cell)
select system, variant, iif(later, 'later', 'first') as epoch,
       printf('%.2f (%.2f-%.2f)', max(iif(place = (n + 1) / 2, epoch_s, null)), min(epoch_s), max(epoch_s)) as 'epoch s',
       printf('%.2f (%.2f-%.2f)', max(iif(splace = (n + 1) / 2, sampling_s, null)), min(sampling_s), max(sampling_s))
           as 'sampling s per worker',
       printf('%.2f', avg(sampling_io_s)) as 'of it I/O wait', printf('%.0f', avg(io_wait)) as 'I/O wait % (all stages)',
       printf('%.0f', avg(read_mib)) as 'read MiB', printf('%.0f', avg(kilo_ios)) as 'kI/Os',
       printf('%.0f', avg(kilo_refaults)) as 'k refaults', n
from ranked group by system, variant, later order by system desc, variant desc, later"
