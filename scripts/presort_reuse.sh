#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# presort with fresh and with reused mini-batches: runs workloads/presort_reuse.ini in the simulated world and prints the
# table of results/presort.md. Two minutes of one core; cut off, the same command goes on.
#   scripts/presort_reuse.sh [DB]
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/presort_reuse.db}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/presort_reuse.ini --db "$db" --resume >/dev/null

sqlite3 -markdown "$db" "
with epoch as (
    select run_id, e.epoch, wall_ns / 1e9 as s,
           max(case when f.name = 'floor_device_ns' then f.value end) / 1e9 as device,
           sum(case when f.name = 'sweep_read_bytes' then f.value end) / 1048576.0 as swept,
           sum(case when f.name in ('scratch_write_bytes', 'spool_write_bytes') then f.value end) / 1048576.0 as written,
           sum(case when f.name in ('scratch_read_bytes', 'list_read_bytes', 'spool_read_bytes') then f.value end) / 1048576.0 as back
    from epochs e join figures f using (run_id, epoch) group by run_id, e.epoch)
select case g.value when 'reach=0' then 'every node' else 'closed reach' end as graph, r.profile, c.value as reuse,
       printf('%.2f', max(case when epoch = 0 then s end)) as 'first epoch s',
       printf('%.2f', max(case when epoch = 1 then s end)) as 'second s',
       printf('%.2f', max(case when epoch = 2 then s end)) as 'third s', printf('%.2f', sum(s)) as 'all four s',
       printf('%.3f', max(case when epoch = 1 then device end)) as 'device''s least s, second',
       printf('%.3f', max(case when epoch = 2 then device end)) as 'third',
       printf('%.3f', sum(device)) as 'all four',
       printf('%.0f', sum(swept)) as 'swept MiB', printf('%.0f', sum(written)) as 'written MiB',
       printf('%.0f', sum(back)) as 'read back MiB'
from runs r join config c on c.run_id = r.run_id and c.key = 'presort.reuse' join epoch on epoch.run_id = r.run_id
     left join config g on g.run_id = r.run_id and g.key = 'generate'
group by r.run_id order by g.value = 'reach=0', r.profile desc, c.value + 0"
