#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What README.md says of results is what their pages say. Closes with cmocka's summary lines.
# shellcheck disable=SC2016  # the backquotes are those of Markdown
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
cd "$(dirname "$0")/../.." || exit 1

if ! python3 -c '' 2>/dev/null; then
    echo "left out: no python3 here, which scripts/systems_table.py needs"
    echo "[  PASSED  ] 0 test(s)."
    exit 0
fi

# Two systems whose spreads overlap, one apart from them, one that ended, one under a cap that nobody enforced.
{
    python3 -c 'import sys; sys.path.insert(0, "scripts"); import systems_table as t; print(",".join(t.FIELDS))'
    echo '1/100,320M,paper,pygplus,ok,3,24.9,24.0,25.0,,,0,0,0,1,1,0,,page cache,9,2 workers,cgroup-v1,s,m'
    echo '1/100,320M,paper,ginex,ok,3,10,9.5,10.5,,,0,0,0,1,1,0,76.7,features 236,9,4 samplers,cgroup-v1,s,m'
    echo '1/100,320M,paper,agnes,ok,3,9.9,9.8,10.1,,,0,0,0,1,1,0,50,x,9,2 workers,cgroup-v1,s,m'
    echo '1/100,320M,paper,gnndrive,oom,3,,,,,,,,,,,,,,,,cgroup-v1,too little,m'
    echo '1/100,320M,equal,gnndrive,ok,3,1,1,1,,,0,0,0,1,1,0,60,x,9,4 samplers,in-program,s,m'
} >"$dir/systems.csv"
printf '%s\n' head '<!-- generated from systems.csv: begin -->' old '<!-- generated from systems.csv: end -->' tail >"$dir/page.md"
table() { scripts/systems_table.py --csv "$dir/systems.csv" --page "$dir/page.md" "$@"; }
says() { grep -qF -- "$1" "$dir/page.md" || { echo "missing: $1"; return 1; }; }

table --check >/dev/null 2>&1
verdict "a page that is not what the data give passed" $((1 - ($? != 0)))
table --write >/dev/null && table --check
verdict "a page that was just written did not pass" $?
says '* As each paper sets it, 320M: agnes, not apart from it ginex, then pygplus (gnndrive oom).'
verdict "order by spread" $?
says '| ginex against pygplus | 2.11 times in the mean, 2.67 at most (Ginex); 6.5 times (GNNDrive'"'"'s Table 2: 4116 s, 637 s) | 2.5 |'
verdict "ratios" $?
says '* Equal memory, 320M: agnes, not apart from it ginex, then pygplus.' && says '| gnndrive | 320M (in-program cap) |' &&
    says '| gnndrive against pygplus | 16.9 times (GPU), 11 times (CPU) faster (GNNDrive) | - | - |'
verdict "a cap that nobody enforced is shown and never ranked" $?
sed -i 's/,24.9,/,20.0,/' "$dir/systems.csv"
table --check >/dev/null 2>&1
verdict "a number that changed was not noticed" $((1 - ($? != 0)))

# What a system prepared before has columns of its own, and another model tables of its own.
{
    echo '1/100,320M,paper,diskgnn,ok,1,5,5,5,,,0,9,512,1,1,0,80,features 250,9,2 samplers,cgroup-v1,s,m,8.5,sage'
    echo '1/100,320M,paper,mariusgnn,ok,1,50,50,50,,,0,9,700,1,1,0,80,x,9,4 loaders,cgroup-v1,s,m,30,gat'
} >>"$dir/systems.csv"
table --write >/dev/null && table --check
verdict "a page with a second model did not pass" $?
says '| diskgnn | 320M | 5 | - | 0 | 8.5 | 512 | 1 | 1 | 0 | 80 | features 250 | 9 | 2 samplers |' &&
    says '| diskgnn against ginex | 7.6 times (DiskGNN'"'"'s Table 1: 580 s, 76.3 s) | 2 | 2 |'
verdict "what was prepared" $?
says '### As each paper sets it, 1/100, GAT' && says '| mariusgnn | 320M | 50 | - | 0 | 30 | 700 |'
verdict "a second model" $?

# Three epochs, of which the record counts the second: its time and its counters, what the drive wrote being unknown.
cat >"$dir/oocgnn" <<'EOF'
#!/usr/bin/env bash
[[ "$*" == *"--epochs 3"* ]] || exit 1
epoch() {
    echo '{"wall_ns": '"$1"'000000000, "counted": '"$2"', "prepare_ns": 0, "stages": [], "figures": {"row_slots": 8192, "windows": '"$3"'},
    "counters": {"device_read_ios": 1000, "device_read_bytes": 1073741824, "device_write_bytes": null, "requested_write_bytes": 3145728,
    "hit_ratio": 0.5, "peak_memory_bytes": 1048576}}'
}
echo '{"run_id": 1, "status": "ok", "system": "presort", "dim": 128, "world": "measured", "cap_enforcement": "cgroup-v1",
"config": {}, "environment": {"cpu.model": "m", "cpu.online": "2", "system.open_ns": "7500000000"}, "counters": {"prepare_disk_bytes": 0},
"before_first_epoch": {"device_read_bytes": 52428800}, "epochs": ['"$(epoch 20 0 2), $(epoch 10 1 3), $(epoch 4 "${LAST:-0}" 4)"']}'
EOF
chmod +x "$dir/oocgnn"
measured() { table --oocgnn "$dir/oocgnn" --keep "$dir/systems" --rows presort --caps "$1" --repeat 1 >/dev/null 2>&1; }
measured 640M && says '| presort | 640M | 10 | 20 | 0 | 7.5 | 0 | 1 | 1 | - | 50 | features 4; 3 windows | 1 | - | 3 | 50 |' &&
    says '| threads | writes asked MiB | read before MiB |'
verdict "the epoch that counts, and what came before the first" $?
LAST=1 measured 480M && says '| presort | 480M | 7 | 20 | 0 | 7.5 |'
verdict "the median of the epochs that count" $?

python3 - <<'EOF'
import sys
sys.path.insert(0, "scripts")
import systems_table
def run(settled):
    return {"status": "ok", "epochs": [{"wall_ns": 5, "figures": {"full_epoch_ns": 9, "full_epoch_settled": settled}}]}
for settled, status in ((1, "ok"), (0, "not settled")):
    assert systems_table.status(run(settled)) == status
EOF
verdict "systems_table.py has a number of a part that is not settled" $?

# presort's experiments: auto as good as the better class in the drive's time and not in the epoch's; two caps of which the
# wider is the worse one; a system that is faster; the least cap by halving.
{
    echo 'part,row,column,value'
    cells() { # part, row, and column=value...
        local part=$1 row=$2 cell
        shift 2
        for cell in "$@"; do echo "$part,$row,${cell%%=*},${cell#*=}"; done
    }
    sorts=(status=ok loads=1110599 random=5612 load_work_s=1.5 slots=9 windows=1 hyperbatches=1 threads=1 last_s=1 late_s=0.25 floor_s=1 first_s=2)
    cells crossover 'gnndrive-paper 256 direct' "${sorts[@]}" epoch_s=10 device_s=10 planned_s=10 sorted=0 sorted_load=2048
    cells crossover 'gnndrive-paper 256 sorted' "${sorts[@]}" epoch_s=5 device_s=5 planned_s=5 sorted=1110599 sorted_load=2048
    cells crossover 'gnndrive-paper 256 auto' "${sorts[@]}" epoch_s=5 device_s=5 planned_s=5 sorted=1110599 sorted_load=2048
    cells crossover 'gnndrive-paper 512 direct' "${sorts[@]}" epoch_s=11 device_s=5 planned_s=6 sorted=0 sorted_load=4096
    cells crossover 'gnndrive-paper 512 sorted' "${sorts[@]}" epoch_s=10 device_s=10 planned_s=10 sorted=1110599 sorted_load=4096
    cells crossover 'gnndrive-paper 512 auto' "${sorts[@]}" epoch_s=11 device_s=5 planned_s=6 sorted=0 sorted_load=4096
    cells wrong 'gnndrive-paper 256 random_read 4 times' "${sorts[@]}" epoch_s=4 device_s=6.5 planned_s=1 sorted=0 sorted_load=2048
    cells tenth 'gnndrive-paper 800M presort' "${sorts[@]}" epoch_s=4 prepared_s=0 'busiest=load 3'
    cells tenth 'gnndrive-paper 800M GNNDrive' status=ok first_s=1 epoch_s=8 prepared_s=0
    cells tenth 'gnndrive-paper 800M AGNES as set' status=oom reason=small
    cells tenth 'gnndrive-paper 800M DiskGNN' status=ok first_s=1 epoch_s=2 prepared_s=9
    cells tenth 'gnndrive-paper 800M Ginex' 'status=not run'
    cells cliffs 'closed reach 80' "${sorts[@]}" epoch_s=5 topology_mib=0 sorted=1
    cells cliffs 'closed reach 82' "${sorts[@]/threads=1/threads=2}" epoch_s=5.5 topology_mib=0 sorted=1
    cells cliffs 'every node 100' "${sorts[@]}" epoch_s=5 topology_mib=0 sorted=1
    cells cliffs 'every node 105' "${sorts[@]}" epoch_s=5.2 topology_mib=0 sorted=1
    cells graphs 'twitter presort' "${sorts[@]}" cap_mib=112 epoch_s=4 topology_mib=0 sorted=1110599
    cells graphs 'twitter agnes' cap_mib=112 status=ok epoch_s=2
} >"$dir/presort.csv"
printf '%s\n' head '<!-- generated from presort_experiments.csv: begin -->' old '<!-- generated from presort_experiments.csv: end -->' tail >"$dir/page.md"
presort() { scripts/presort_experiments.py --csv "$dir/presort.csv" --page "$dir/page.md" --oocgnn "$dir/oocgnn" --keep "$dir/presort" "$@" >/dev/null; }

presort --check 2>/dev/null
verdict "a page of presort that is not what the data give passed" $((1 - ($? != 0)))
presort --write && presort --check
verdict "a page of presort that was just written did not pass" $?
says '| SATA | 512 | 2048 | 11 | 5 | 10 | 10 | 11 | 5 | 0 | 1.10 | 1.00 |' && says 'in device time: 2 of 2, 1.00 at most. **holds**.' &&
    says 'in epoch time: 1 of 2, 1.10 at most. **does not hold**: SATA 512 floats 1.10 (its loading thread works 1.5 s, the drive 5 s)'
verdict "auto beside the better class" $?
sed -i 's/^crossover,gnndrive-paper 512 direct,epoch_s,11$/crossover,gnndrive-paper 512 direct,epoch_s,5/' "$dir/presort.csv"
presort --write && says 'between 1871 B (with a sweep over every row) and 2806 B (c1 / (c2 + cw), no sweep at all)' &&
    says 'in device time at 1536 B, in epoch time at 1536 B. **does not hold**'
verdict "where sorting stops paying" $?
says 'planned: 4 of 6, from 0.83 to 1.00. **does not hold**' && says '| SATA | 256 | 100 % | 0.80, 1.30 (0 %) |' &&
    says 'less than 20 % of device time: 0 of 1, 1.30 times at most. **does not hold**' && says 'better by more than 5 %: SATA 256 floats, random_read 4 times 0.80'
verdict "planned costs and wrong ones" $?
says 'presort takes least: 2.00 times as long in GNNDrive, the first epoch 0.50 times in GNNDrive. **does not hold**' &&
    says 'takes 0.50 of presort'"'"'s; with what it prepares it is ahead after 5.0 epochs.' && says '| load 3 |' && says '| SATA | 800M | AGNES as set | fresh | 0 | oom | oom | - |' &&
    says '* gnndrive-paper 800M AGNES as set: oom: small.' && says '* Not run: Ginex, SATA 800M.'
verdict "presort beside the others" $?
says '1 of 1 steps are. **does not hold**: at 105 MiB 1.04 of the cap below; an epoch'"'"'s last hyperbatch' && says 'at 82 MiB 1.10 of the cap below; a thread more takes memory' && says 'elsewhere: twitter agnes (0.50). **does not hold**'
verdict "steps between caps, other graphs" $?
cat >"$dir/oocgnn" <<'EOF'
#!/usr/bin/env bash
echo "$*" >>"${0%/*}/started"
asked=$*
cap=${asked#*--memory }
[ "${cap%%M*}" -ge 45 ] || { echo '{"status": "oom", "reasons": "small"}' && exit 1; }
epoch='{"wall_ns": 3000000000, "figures": {}, "counters": {"device_read_bytes": 9, "device_read_ios": 1, "device_write_bytes": null}, "stages": []}'
echo '{"status": "ok", "epochs": ['"$epoch, $epoch"']}'
EOF
presort --parts least 2>/dev/null && grep -qx 'least,presort,cap_mib,45' "$dir/presort.csv" && grep -qx 'least,Ginex as set,epoch_s,3' "$dir/presort.csv" &&
    grep -q '^crossover,' "$dir/presort.csv" && says '| presort | 45 | 3 | 3 |' && says '45 MiB; less have none. **holds**.'
verdict "the least cap by halving" $?
rm -f "$dir/started"
presort --parts least && presort --parts cliffs --no-run && [ ! -e "$dir/started" ] && grep -qx 'cliffs,every node 105,status,not run' "$dir/presort.csv"
verdict "what is kept of presort is not run again" $?


if [ -e results/presort_experiments.csv ]; then
    scripts/presort_experiments.py --check
    verdict "results/presort-experiments.md" $?
fi

# What the README says of results is what their data say.
claims=$(python3 - <<'EOF'
import csv
rows = [r for r in csv.DictReader(open("results/data/recorded.csv")) if r["holds"] and r["paper"] != "oocgnn"]
holds, fails = (sum(int(r[name]) for r in rows) for name in ("holds", "does not hold"))
print(f"{holds} of {holds + fails} measurable claims")
EOF
)
grep -qF "$claims" README.md
verdict "README.md does not say: $claims of the papers hold" $?

figures=$(find experiments/papers -maxdepth 1 -name '*.ini' ! -name tolerances.ini | wc -l)
grep -qE "^oocgnn figure --list +# $figures figures and tables of five papers" README.md
verdict "README.md does not say that there are $figures figures and tables" $?

# The ratios with released costs and the default readahead.
ratios=$(python3 - <<'EOF'
import csv
from math import log2
from statistics import median
rows = [r for r in csv.DictReader(open("results/data/ratios.csv"))
        if r["method"] == "simulated released 1/100, readahead 128K" and r["quotient"] == "yes"]
pairs = [(float(r["ours"]), float(r["published"])) for r in rows]
off = [abs(log2(ours / published)) for ours, published in pairs]
lost = sum((ours - 1) * (published - 1) <= 0 for ours, published in pairs)
print(f"speed-ups differ from {len(off)} published ones by a median factor of {2 ** median(off):.2f}; "
      f"{sum(x <= log2(1.25) for x in off)} differ by at most 1.25, {sum(x <= 1 for x in off)} by at most 2. "
      f"In {lost} there is no difference or the wrong winner. If every speed-up is guessed to be 1, the median factor is "
      f"{2 ** median(abs(log2(p)) for _, p in pairs):.2f}. The worst simulated ratio is {2 ** max(off):.0f} times")
EOF
)
grep -qF "$ratios" <<<"$(tr -s '\n ' ' ' <README.md)"
verdict "README.md does not say: $ratios" $?

[ "$(wc -l <README.md)" -le 120 ]
verdict "README.md has over 120 lines" $?
wide=$(awk '/^```/ { code = !code } code && length > 100 { print FILENAME ":" FNR ": " length }' README.md docs/*.md)
[ -z "$wide" ] || echo "$wide"
[ -z "$wide" ]
verdict "lines of code over 100 columns in README.md or docs/" $?
unlinked=$(for page in docs/*.md; do grep -qF "($page)" README.md || echo "$page"; done)
[ -z "$unlinked" ] || echo "$unlinked"
[ -z "$unlinked" ]
verdict "pages of docs/ that README.md does not link" $?

# How far both worlds agree follows from the times of each configuration.
python3 - <<'EOF'
import csv, itertools, statistics
read = lambda name: list(csv.DictReader(open("results/data/" + name, encoding="utf-8")))
runs = read("trust-agree.csv")
for row in read("trust-agree-sets.csv"):
    ratios = [float(r["ratio"]) for r in runs if r["set"] == row["set"] and row["system"] in ("all", r["system"])]
    assert len(ratios) == int(row["configurations"]), row
    assert abs(statistics.median(ratios) - float(row["ratio"])) < 0.006, (row, statistics.median(ratios))
    assert (min(ratios), max(ratios)) == (float(row["ratio_least"]), float(row["ratio_most"])), row
same, factors = 0, []
for a, b in itertools.combinations([r for r in runs if r["set"] == "whole epochs"], 2):
    if a["memory"] == b["memory"]:
        measured, simulated = (float(a[w]) / float(b[w]) for w in ("measured_s", "simulated_s"))
        same += (measured > 1) == (simulated > 1)
        factors.append(max(simulated / measured, measured / simulated))
claim = (f"Both worlds agree on the faster system in {same} of {len(factors)} pairs, and their speed-ups differ by a median "
         f"factor of {statistics.median(factors):.2f} (at most {max(factors):.2f}).")
assert claim in " ".join(open("results/trust.md", encoding="utf-8").read().split()), claim
EOF
verdict "results/trust.md: agreement of both worlds" $?

finish
