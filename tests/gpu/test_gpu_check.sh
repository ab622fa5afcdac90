#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/gpu_check.sh without a GPU: what it says when there is none, the whole of it on the stand-in, a report that is
# valid however the check ended. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
export TMPDIR=$dir
export CUDA_VISIBLE_DEVICES="" # on a GPU machine too, this is about none

check() { # words of gpu_check.sh
    scripts/gpu_check.sh "$@" >"$dir/out" 2>&1
}

reports() { # verdict, report
    check --validate "$2" && grep -q "is valid: $1\$" "$dir/out"
}

part() { # report, part: its verdict
    python3 -c 'import json, sys; print(*[p["verdict"] for p in json.load(open(sys.argv[1]))["parts"] if p["name"] == sys.argv[2]])' "$@"
}

stand_in=$(dirname "${OOCGNN:-build/gcc/oocgnn}")/tests/support/stand_in_cuda.so
if [ ! -f "$stand_in" ]; then
    skip_all "the stand-in is not built: make tests" 9
fi

check --only test --report "$dir/none.json" && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q '^gpu_check: skipped' "$dir/out" &&
    ! grep -qi 'passed' "$dir/out" && reports skipped "$dir/none.json"
verdict "without a GPU: one line, status 0, a report that says skipped" $?

# Tools that only a GPU machine has, made up: each kind runs the program and then says what the real one would.
mkdir "$dir/bin"
cat >"$dir/bin/compute-sanitizer" <<'TOOL'
#!/usr/bin/env bash
case $SANITIZER_SAYS:$2 in
refuses:*) echo "========= Device not supported"; exit 1 ;;
race:racecheck) echo "========= ERROR: Race reported"; echo "========= RACECHECK SUMMARY: 1 hazard displayed"; exit 9 ;;
esac
echo "[  PASSED  ] 1 test(s)."
echo "========= ERROR SUMMARY: 0 errors"
TOOL
chmod +x "$dir/bin/compute-sanitizer"

PATH="$dir/bin:$PATH" check --stand-in --only golden,systems,faults,sanitizer,bench --report "$dir/whole.json" &&
    grep -q 'ran whole on a stand-in, which shows nothing about a GPU' "$dir/out" && reports stand-in "$dir/whole.json" &&
    [ "$(part "$dir/whole.json" systems)" = passed ] && [ "$(part "$dir/whole.json" sanitizer)" = passed ]
verdict "on the stand-in it runs whole, and is not called passed" $?

# The stand-in's clock: a nanosecond a kernel and a byte copied. A SAGE step has 30 kernels, and 16 bytes of results; its
# recording and its lists are no time of the device. The roofline is that of the same program at the report's rates.
programs=$(dirname "${OOCGNN:-build/gcc/oocgnn}")/tests/gpu
read -ra rates < <(python3 -c 'import json, sys; print(*[f["value"] for p in json.load(open(sys.argv[1]))["parts"] if p["name"] == "step" or p["name"] == "rates" for f in p["figures"] if f["name"] in ("gemm", "bandwidth", "pinned")][:3])' "$dir/whole.json")
OOCGNN_CUDA_PLUGIN=$stand_in "$programs/bench_gpu" step sage small "${rates[0]}" "${rates[1]}" "${rates[1]}" "${rates[2]}" \
    </dev/null >"$dir/counts.json" 2>"$dir/out"
python3 - "$dir/whole.json" "$dir/counts.json" >"$dir/out" 2>&1 <<'RATIOS'
import json, sys
with open(sys.argv[1]) as report, open(sys.argv[2]) as first:
    figures = {f["name"]: f for p in json.load(report)["parts"] if p["name"] == "step" for f in p["figures"]}
    counts = json.loads(first.readline())
def line(what, value_ns, floor_ns):
    f = figures["SAGE 3x256: step " + what]
    value_ns = f["value"] * 1e6 if value_ns is None else value_ns
    right = abs(f["value"] * 1e6 - value_ns) < 1e-6 and abs(f["ratio"] - value_ns / floor_ns) < 1e-6 * f["ratio"]
    return [] if right else [f"{what}: {f['value']} ms, {f['ratio']}; expected {value_ns} ns, of {floor_ns}"]
roof, lists = counts["roof_ns"], counts["bus_ns"]
wrong = line("as a graph, by device events", 46, roof) + line("op by op, by device events", 46, roof)
wrong += line("as a graph, by the clock", None, roof) + line("op by op, by the clock", None, roof)
wrong += line("with lists on demand, by the clock", None, roof + lists)
wrong += [] if lists > 0 and abs(figures["SAGE 3x256: roofline"]["value"] * 1e6 - roof) < 1e-6 else ["the roofline"]
sys.exit("\n".join(wrong) or 0)
RATIOS
verdict "ratios to the roofline are those of a calculation by hand" $?

SANITIZER_SAYS=race PATH="$dir/bin:$PATH" check --stand-in --only sanitizer --report "$dir/race.json"
[ $? -eq 1 ] && reports failed "$dir/race.json"
verdict "a race that compute-sanitizer finds fails the check" $?

SANITIZER_SAYS=refuses PATH="$dir/bin:$PATH" check --stand-in --only sanitizer --report "$dir/refused.json"
[ "$(part "$dir/refused.json" sanitizer)" = "left out" ] && check --validate "$dir/refused.json" &&
    grep -q 'left out: sanitizer: memcheck: compute-sanitizer cannot work here: Device not supported' "$dir/out"
verdict "a sanitizer that refuses the device is left out by name" $?

check --stand-in --only golden,systems --limit 2 --report "$dir/cut.json"
[ $? -eq 1 ] && reports incomplete "$dir/cut.json"
verdict "a check that ran out of time says incomplete" $?

# Killed in the middle: what was written before stays, and says that it is not all.
scripts/gpu_check.sh --stand-in --only golden,systems,faults --report "$dir/killed.json" >/dev/null 2>&1 &
child=$!
golden_passed() { [ "$(part "$dir/killed.json" golden 2>/dev/null)" = passed ] || ! kill -0 "$child" 2>/dev/null; }
until_true golden_passed
{ kill -9 "$child" && wait "$child"; } 2>/dev/null
reports incomplete "$dir/killed.json" && [ "$(part "$dir/killed.json" golden)" = passed ] &&
    [ "$(part "$dir/killed.json" faults)" = "not reached" ]
verdict "a killed check leaves a valid report" $?

sed 's/"verdict": "stand-in"/"verdict": "passed"/' "$dir/whole.json" >"$dir/tampered.json"
! check --validate "$dir/tampered.json" && grep -q 'the parts say stand-in' "$dir/out" &&
    sed 's/"schema": 1/"schema": "1"/' "$dir/whole.json" >"$dir/broken.json" && ! check --validate "$dir/broken.json" &&
    ! check --validate /nonexistent
verdict "a report that claims more than its parts is refused" $?

check --only nonsense
[ $? -eq 2 ] && grep -q 'no part nonsense' "$dir/out"
verdict "a part that is none is wrong usage" $?

finish
