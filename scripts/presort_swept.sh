#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# presort with mapped and with swept neighbour lists: runs workloads/presort_swept.ini in the simulated world and prints the
# table of results/presort.md. Three minutes of one core; cut off, the same command goes on.
#   scripts/presort_swept.sh [DB]
# Lists, rounds and the device's least time are those of the second of three epochs: the first has nothing drawn ahead, the
# third draws nothing ahead.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/presort_swept.db}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/presort_swept.ini --db "$db" --resume >/dev/null

sqlite3 -markdown "$db" "
with epoch as (
    select run_id, e.epoch, wall_ns / 1e9 as s,
           max(case when f.name = 'floor_device_ns' then f.value end) / 1e9 as device,
           max(case when f.name in ('topology_reads', 'major_faults') then f.value end) / 1000.0 as reads,
           sum(case when f.name = 'topology_read_bytes' then f.value when f.name = 'major_faults' then 4096 * f.value end)
               / 1048576.0 as read,
           max(case when f.name = 'rounds' then f.value end) as rounds,
           max(case when f.name = 'spool_write_bytes' then f.value end) / 1048576.0 as spooled
    from epochs e join figures f using (run_id, epoch) group by run_id, e.epoch)
select case g.value when 'reach=0' then 'every node' else 'closed reach' end as graph, r.profile,
       r.cap_bytes / 1048576 as 'cap MiB', c.value as lists, printf('%.2f', a.s) as 'first epoch s',
       printf('%.2f', b.s) as 'second s',
       printf('%.2f', t.s) as 'all three s', printf('%.2f', b.device) as 'device''s least s',
       printf('%.0f', b.reads) as 'reads of lists k', printf('%.0f', b.read) as 'of lists MiB',
       iif(c.value = 'swept', printf('%d', b.rounds), '-') as rounds,
       iif(c.value = 'swept', printf('%.1f', b.spooled), '-') as 'spooled MiB'
from runs r join config c on c.run_id = r.run_id and c.key = 'presort.topology'
     join epoch a on a.run_id = r.run_id and a.epoch = 0 join epoch b on b.run_id = r.run_id and b.epoch = 1
     join (select run_id, sum(s) as s from epoch group by run_id) t on t.run_id = r.run_id
     left join config g on g.run_id = r.run_id and g.key = 'generate'
order by g.value = 'reach=0', r.profile desc, r.cap_bytes, c.value"
