#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How far ratios rest on where the rows that can be reached lie among the IDs: runs workloads/spread.ini in the simulated world
# and prints the table of results/ratios.md. Two minutes of one core; cut off, the same command goes on.
#   scripts/spread.sh [DB]
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/spread.db}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/spread.ini --db "$db" --resume >/dev/null

sqlite3 -markdown "$db" "
with second as (
    select g.value as spread, r.system, e.wall_ns / 1e9 as s,
           c.device_read_bytes / 1073741824.0 as gib
    from runs r join epochs e using (run_id) join config g on g.run_id = r.run_id and g.key = 'generate'
         left join counters c on c.run_id = r.run_id and c.epoch = e.epoch
    where r.status = 'ok' and e.epoch = 1)
select substr(p.spread, 8) as 'share of the IDs', printf('%.1f', p.s) as 'PyG+ s', printf('%.1f', p.gib) as 'reads GiB',
       printf('%.2f', x.s) as 'Ginex s', printf('%.2f', x.gib) as 'reads GiB',
       printf('%.2f', g.s) as 'GNNDrive s', printf('%.2f', g.gib) as 'reads GiB',
       printf('%.1f', p.s / g.s) as 'PyG+ / GNNDrive', printf('%.1f', x.s / g.s) as 'Ginex / GNNDrive'
from second p join second x using (spread) join second g using (spread)
where p.system = 'pygplus' and x.system = 'ginex' and g.system = 'gnndrive' order by cast(substr(p.spread, 8) as real) desc"
