#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/slurm against a stand-in of sbatch that runs an array's tasks one after another. Closes with cmocka's summary
# lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
cd "$(dirname "$0")/../.." || exit 1
OOCGNN=$(realpath "${OOCGNN:-build/gcc/oocgnn}")
export OOCGNN

cat >"$dir/job.ini" <<'JOB'
[global]
world = simulated
profile = gnndrive-paper
dataset = papers100m
scale = 1/4000
batch = 32
hidden = 16
fanout = 5,5
[a]
system = null | pygplus
JOB

# What sbatch does with an array and with a dependency, at once.
mkdir "$dir/bin"
cat >"$dir/bin/sbatch" <<'STAND_IN'
#!/usr/bin/env bash
last=1
output=/dev/null
while [[ $1 == --* ]]; do
    case $1 in
    --array=*) last=${1#--array=1-}; last=${last%%%*} ;;
    --output=*) output=${1#--output=} ;;
    esac
    shift
done
for ((task = 1; task <= last; task++)); do
    SLURM_ARRAY_TASK_ID=$task "$@" >"${output//%a/$task}" 2>&1
done
echo "7;cluster"
STAND_IN
chmod +x "$dir/bin/sbatch"

said=$(PATH="$dir/bin:$PATH" scripts/slurm/submit.sh "$dir/job.ini" "$dir/out" --partition=any 2>&1)
verdict "submit: $said" $?
[[ $said == *"2 configurations: array 7"* ]]
verdict "what submit says: $said" $?
[ "$("$OOCGNN" report --last 9 --json --db "$dir/out/all.db" | grep -c '"status":"ok"')" -eq 2 ]
verdict "both cells are in all.db: $(cat "$dir"/out/*.log)" $?
PATH="$dir/bin:$PATH" scripts/slurm/submit.sh "$dir/job.ini" "$dir/out" >/dev/null 2>&1
grep -q '0 runs added, 2 known' "$dir/out/merge.log"
verdict "submitted again, nothing is run again: $(cat "$dir/out/merge.log")" $?
printf '[a]\nsystem = nul\n' >"$dir/bad.ini"
PATH="$dir/bin:$PATH" scripts/slurm/submit.sh "$dir/bad.ini" "$dir/bad" >/dev/null 2>&1
verdict "a job file that is none was submitted" $((1 - ($? != 0)))
scripts/slurm/submit.sh >/dev/null 2>&1
verdict "no arguments were taken" $((1 - ($? == 2)))

finish
