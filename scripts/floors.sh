#!/usr/bin/env bash
# How near each system's epoch comes to the least that its own reads, writes and training take: runs workloads/floors.ini on
# this machine and prints the table of results/floors.md. Half an hour and 40 GB under --data; cut off, the same command goes on.
# Wants `oocgnn calibrate --device DIR` before, DIR on the disk of the datasets, and a machine that does nothing else.
#   scripts/floors.sh [DB] [DATA]
# An epoch here is the first of a run, from a cold start. *floor*: docs/floor.md. *cores*: the processor time of all stages over
# the cores, which is no part of the floor: what no schedule on this machine gets below either.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/floors.db}
data=${2:-data}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/floors.ini --db "$db" --data "$data" --resume --keep-going >/dev/null

sqlite3 -markdown "$db" "
with epoch as (
    select r.run_id, r.system, r.cap_bytes / 1048576 as cap, r.status, e.wall_ns / 1e9 as s,
           max(case when f.name = 'floor_ns' then f.value end) / 1e9 as floor_s,
           max(case when f.name = 'floor_device_ns' then f.value end) / 1e9 as device_s,
           max(case when f.name = 'floor_training_ns' then f.value end) / 1e9 as training_s,
           (select sum(cpu_ns) / 1e9 from stages t where t.run_id = r.run_id and t.epoch = 0) /
           (select value from environment v where v.run_id = r.run_id and v.key = 'cpu.online') as cores_s
    from runs r left join epochs e on e.run_id = r.run_id and e.epoch = 0
         left join figures f on f.run_id = r.run_id and f.epoch = 0
    group by r.run_id)
select system, cap as 'cap MiB', iif(status = 'ok', printf('%.1f', s), status) as 'epoch s',
       iif(device_s is null, '-', printf('%.1f', device_s)) as 'device s',
       iif(training_s is null, '-', printf('%.1f', training_s)) as 'training s',
       iif(cores_s is null, '-', printf('%.1f', cores_s)) as 'cores s',
       iif(floor_s is null, '-', printf('%.2f', s / floor_s)) as 'epoch / floor',
       iif(floor_s is null, '-', printf('%.2f', s / max(floor_s, cores_s))) as 'over the larger of floor and cores'
from epoch order by cap desc, run_id"
