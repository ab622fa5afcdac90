#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Accuracy on real graphs: prepares them, trains every system, model and seed of workloads/accuracy.ini, prints a table.
#   scripts/accuracy.sh DATADIR        DATADIR holds cora/, coauthor-physics/ and fb100-13schools/ as NumPy directories
# The test accuracy of a run is that of its best validation epoch.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
from=${1:?usage: scripts/accuracy.sh DATADIR}
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=build/accuracy.db
mkdir -p build

prepare() { # name, folder, options
    local name=$1 folder=$2
    shift 2
    [ -f "$data/$name/meta" ] || "$oocgnn" prepare "$name" --from "$from/$folder" --data "$data" "$@"
}
prepare fb100 fb100-13schools --add-reverse
prepare cora cora --row-normalise
prepare physics coauthor-physics --row-normalise

"$oocgnn" sweep workloads/accuracy.ini --db "$db" --data "$data" --resume --keep-going >/dev/null

sqlite3 -markdown "$db" "
with per_run as (
    select r.run_id, r.dataset, r.model, r.system, r.status,
           (select e.test_accuracy from epochs e where e.run_id = r.run_id and e.valid_accuracy is not null
            order by e.valid_accuracy desc, e.epoch limit 1) as test
    from runs r where r.status <> 'running')
select dataset, model, system, count(test) as runs,
       printf('%.1f', 100 * avg(test)) as 'test %',
       printf('%.1f', 100 * sqrt(max(0, (avg(test * test) - avg(test) * avg(test)) * count(*) / max(1, count(*) - 1)))) as 'sd',
       sum(status <> 'ok') as 'not ok'
from per_run group by dataset, model, system order by dataset, model desc, system"
