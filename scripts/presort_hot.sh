#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# presort with and without packed rows: runs workloads/presort_hot.ini in the simulated world and prints the table of
# results/presort.md. Half a minute of one core; cut off, the same command goes on.
#   scripts/presort_hot.sh [DB]
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/presort_hot.db}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/presort_hot.ini --db "$db" --resume >/dev/null

sqlite3 -markdown "$db" "
with epoch as (
    select run_id, e.epoch, wall_ns / 1e9 as s,
           max(case when f.name = 'floor_device_ns' then f.value end) / 1e9 as device,
           max(case when f.name = 'hot_write_bytes' then f.value end) / 1048576.0 as packed
    from epochs e join figures f using (run_id, epoch) group by run_id, e.epoch)
select r.profile, r.cap_bytes / 1048576 as 'cap MiB', c.value as hot,
       printf('%.3f', max(case when epoch = 0 then s end)) as 'first epoch s',
       printf('%.3f', max(case when epoch = 1 then s end)) as 'second s',
       printf('%.3f', max(case when epoch = 2 then s end)) as 'third s', printf('%.3f', sum(s)) as 'all s',
       printf('%.3f', max(case when epoch = 0 then device end)) as 'device''s least s, first',
       printf('%.3f', max(case when epoch = 1 then device end)) as 'second',
       printf('%.1f', total(packed)) as 'packed MiB'
from runs r join config c on c.run_id = r.run_id and c.key = 'presort.hot' join epoch on epoch.run_id = r.run_id
group by r.run_id order by r.profile desc, r.cap_bytes, c.value"
