#!/usr/bin/env bash
# presort beside AGNES at its best settings, with AGNES' stages overlapping within an epoch and over epochs: runs
# workloads/presort_over_epochs.ini in the simulated world and prints the table of results/presort.md. Some minutes of one
# core; cut off, the same command goes on.
#   scripts/presort_over_epochs.sh [DB]
# Seconds are of the second of three epochs, which has both an epoch before and one behind.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/over_epochs.db}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep workloads/presort_over_epochs.ini --db "$db" --resume --keep-going >/dev/null

sqlite3 -markdown "$db" "
with cell as (
    select r.system, r.profile, r.cap_bytes / 1048576 as cap, e.wall_ns / 1e9 as s,
           max(case when c.key = 'agnes.overlap' then c.value end) as overlap
    from runs r join config c using (run_id) join epochs e on e.run_id = r.run_id and e.epoch = 1
    where r.status = 'ok' group by r.run_id)
select p.profile, p.cap as 'cap MiB', printf('%.2f', p.s) as 'presort s', printf('%.2f', f.s) as 'AGNES, full s',
       printf('%.2f', e.s) as 'AGNES, epochs s', printf('%.1f', e.s / p.s) as 'epochs over presort'
from cell p join cell f on f.overlap = 'full' and f.profile = p.profile and f.cap = p.cap
            join cell e on e.overlap = 'epochs' and e.profile = p.profile and e.cap = p.cap
where p.system = 'presort' order by p.profile desc, p.cap"
