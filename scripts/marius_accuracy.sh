#!/usr/bin/env bash
# What MariusGNN's partitions cost node classification: fb100 (13 schools) with all partitions in memory, half and a quarter
# of them, and with groups that are replaced; five seeds of each cell of workloads/marius_accuracy.ini. Prints a table.
#   scripts/marius_accuracy.sh DATADIR        DATADIR holds fb100-13schools/ as a NumPy directory
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
from=${1:?usage: scripts/marius_accuracy.sh DATADIR}
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=${DB:-build/marius-accuracy.db}
mkdir -p "$(dirname "$db")"

[ -f "$data/fb100/meta" ] || "$oocgnn" prepare fb100 --from "$from/fb100-13schools" --data "$data" --add-reverse
"$oocgnn" sweep workloads/marius_accuracy.ini --db "$db" --data "$data" --resume --keep-going >/dev/null

# The mean of the seeds, and by how much it lies below all partitions in memory.
sqlite3 -markdown "$db" "
with per_run as (
    select r.run_id, r.status, max(case when c.key = 'mariusgnn.policy' then c.value end) as policy,
           max(case when c.key = 'mariusgnn.capacity' then c.value end) as capacity,
           (select e.test_accuracy from epochs e where e.run_id = r.run_id and e.test_accuracy is not null
            order by e.epoch desc limit 1) as test
    from runs r join config c using (run_id) group by r.run_id),
per_cell as (
    select policy, capacity, count(test) as n, avg(test) as mean,
           sqrt(max(0, (avg(test * test) - avg(test) * avg(test)) * count(test) / max(1, count(test) - 1))) as sd,
           sum(status <> 'ok') as bad
    from per_run group by policy, capacity)
select policy, capacity as 'partitions in memory (0: all 32)', n as runs, printf('%.2f', 100 * mean) as 'test %',
       printf('%.2f', 100 * sd) as sd,
       printf('%+.2f', 100 * (mean - (select mean from per_cell where policy = 'memory'))) as 'gap',
       bad as 'not ok'
from per_cell order by mean desc"
