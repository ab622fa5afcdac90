#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# MariusGNN (EuroSys 2023), Table 8, in memory, on FB15k-237: DistMult on vectors, and behind a GraphSAGE layer; ten
# epochs each, ranks on the validation edges after every one. Prints a Markdown table with the printed values beside.
#   scripts/links.sh DIR [distmult|graphsage|complex|transe...]       DIR: train.txt, valid.txt, test.txt
# One thread trains; minutes a row on one core.
set -euo pipefail
"$(dirname "$0")/setup.sh" build bench
oocgnn=${OOCGNN:-build/gcc/oocgnn}
data=${DATA:-data}
db=${DB:-build/links.db}
[ $# -gt 0 ] || { echo "usage: scripts/links.sh DIR [distmult|graphsage|complex|transe...]" >&2; exit 2; }
from=$1
shift
[ $# -gt 0 ] || set -- distmult graphsage
mkdir -p "$(dirname "$db")"

# Both directions of every edge in the lists, as GraphSAGE samples them.
[ -e "$data/fb15k-237" ] ||
    "$oocgnn" prepare fb15k-237 --from "$from" --format triples --add-reverse --data "$data" --quiet >/dev/null

for row in "$@"; do
    case $row in
    graphsage) set -- --encoder --model sage --fanout 64 ;;
    distmult | complex | transe) set -- --decoder "$row" ;;
    *) echo "$row: no such row" >&2; exit 2 ;;
    esac
    "$oocgnn" run --system pygplus --dataset fb15k-237 --data "$data" --task link --dim 50 --batch 1000 \
        --degree-share 0 --epochs 10 --evaluate each --set pygplus.workers=1 --set pygplus.gather_threads=1 "$@" \
        --db "$db" --quiet >/dev/null
done

sqlite3 -markdown "$db" "
with best as (
    select r.model, e.valid_mrr, e.test_mrr, e.test_raw_mrr, e.test_hits_1, e.test_hits_10,
           row_number() over (partition by r.model order by r.run_id desc, e.epoch desc) as newest
    from runs r join epochs e using (run_id) where r.status = 'ok')
select model, printf('%.4f', valid_mrr) as 'MRR, validation',
       case model when 'distmult' then '.2533' when 'sage distmult' then '.2825' else '' end as published,
       printf('%.4f', test_mrr) as 'MRR, test', printf('%.4f', test_raw_mrr) as unfiltered,
       printf('%.4f', test_hits_1) as 'Hits@1', printf('%.4f', test_hits_10) as 'Hits@10'
from best where newest = 1 order by model"
