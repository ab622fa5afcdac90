#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# presort beside AGNES, as its paper sets it and searched: runs workloads/presort_opponents.ini in the simulated world and
# prints the table of results/presort.md. Ten minutes of one core; cut off, the same command goes on.
#   scripts/presort_opponents.sh [DB [JOBS]]
# JOBS: another file of the same cases, as workloads/presort_opponents_tenth.ini (a tenth of papers100m, half an hour).
# Seconds are of the second of three epochs, which has both an epoch before and one behind; the search's are those of the
# best of its runs.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
db=${1:-build/opponents.db}
jobs=${2:-workloads/presort_opponents.ini}
mkdir -p "$(dirname "$db")"

"$oocgnn" sweep "$jobs" --db "$db" --resume --keep-going >/dev/null

sqlite3 -markdown "$db" "
with cell as (
    select r.run_id, r.system, r.profile, r.cap_bytes / 1048576 as cap, r.status, e.wall_ns / 1e9 as s,
           max(case when c.key = 'agnes.overlap' then c.value end) as overlap,
           max(case when c.key = 'agnes.block' then c.value end) as block,
           max(case when c.key = 'agnes.hyperbatch' then c.value end) as hyperbatch,
           max(case when c.key = 'agnes.cache_rank' then c.value end) as ranked
    from runs r join config c using (run_id) left join epochs e on e.run_id = r.run_id and e.epoch = 1
    group by r.run_id),
best as (
    select profile, cap, min(s) as s, block, hyperbatch, ranked, count(*) as tried
    from cell where system = 'agnes' and overlap = 'epochs' and status = 'ok' group by profile, cap)
select p.profile, p.cap as 'cap MiB', printf('%.2f', p.s) as 'presort s',
       iif(a.status = 'ok', printf('%.2f', a.s), a.status) as 'AGNES as set s',
       iif(best.tried > 0, printf('%.2f', best.s), '-') as 'AGNES searched s',
       coalesce('Z = ' || best.block || ', H = ' || best.hyperbatch || ', ' || best.ranked, '-') as 'its best',
       coalesce(best.tried, 0) as 'runs that fit', iif(best.tried > 0, printf('%.1f', best.s / p.s), '-') as 'searched over presort'
from cell p
join cell a on a.system = 'agnes' and a.overlap = 'round' and a.profile = p.profile and a.cap = p.cap
left join best on best.profile = p.profile and best.cap = p.cap
where p.system = 'presort' order by p.profile desc, p.cap"
