#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How near each system's epoch comes to the least that its own reads, writes and training take: runs workloads/floors.ini on
# this machine and prints the table of results/floors.md. Forty minutes and 40 GB under --data; cut off, the same command goes on.
# Wants `oocgnn calibrate --device DIR` before, DIR on the disk of the datasets, and a machine that does nothing else.
#   scripts/floors.sh [DB] [DATA]
# The first epoch is from a cold start, and has nothing beside what must be ready before it trains. *floor*: docs/floor.md.
# *cores*: the processor time of all stages over the cores, which is no part of the floor: what no schedule on this machine
# gets below either.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/floors.db}
data=${2:-data}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/floors.ini --db "$db" --data "$data" --resume --keep-going >/dev/null

sqlite3 -markdown "$db" "
with epoch as (
    select r.run_id, r.system, r.cap_bytes / 1048576 as cap, r.status, e.epoch, e.wall_ns / 1e9 as s,
           max(case when f.name = 'floor_ns' then f.value end) / 1e9 as floor_s,
           max(case when f.name = 'floor_device_ns' then f.value end) / 1e9 as device_s,
           max(case when f.name = 'floor_training_ns' then f.value end) / 1e9 as training_s,
           (select sum(cpu_ns) / 1e9 from stages t where t.run_id = r.run_id and t.epoch = e.epoch) /
           (select value from environment v where v.run_id = r.run_id and v.key = 'cpu.online') as cores_s
    from runs r left join epochs e using (run_id)
         left join figures f on f.run_id = r.run_id and f.epoch = e.epoch
    group by r.run_id, e.epoch),
cell as (
    select r.system || case c.value when 'full' then ', overlapping' when 'epochs' then ', over epochs' when 'direct' then ', filled directly' else '' end as name,
           a.*, b.s as s2, b.floor_s as floor2_s, b.device_s as device2_s, b.training_s as training2_s, b.cores_s as cores2_s
    from runs r join epoch a on a.run_id = r.run_id and coalesce(a.epoch, 0) = 0
         left join epoch b on b.run_id = r.run_id and b.epoch = 1
         left join config c on c.run_id = r.run_id and c.key in ('agnes.overlap', 'ginex.fill'))
select name as system, cap as 'cap MiB',
       iif(s is null, status, printf('%.1f', s)) as 'first epoch s', iif(s is null, '-', printf('%.2f', s / floor_s)) as 'over its floor',
       iif(s2 is null, status, printf('%.1f', s2)) as 'second epoch s', iif(s2 is null, '-', printf('%.1f', device2_s)) as 'device s',
       iif(s2 is null, '-', printf('%.1f', training2_s)) as 'training s', iif(s2 is null, '-', printf('%.1f', cores2_s)) as 'cores s',
       iif(s2 is null, '-', printf('%.2f', s2 / floor2_s)) as 'over its floor',
       iif(s2 is null, '-', printf('%.2f', s2 / max(floor2_s, cores2_s))) as 'over the larger of floor and cores'
from cell where status not in ('invalid', 'failed', 'interrupted', 'running') order by cap desc, run_id"
