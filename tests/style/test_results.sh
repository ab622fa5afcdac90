#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# README.md says of results what their data say, and has the size and the links that it should have. Closes with
# cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
cd "$(dirname "$0")/../.." || exit 1

if ! python3 -c '' 2>/dev/null; then
    echo "left out: no python3 here, which reads the data of results"
    echo "[  PASSED  ] 0 test(s)."
    exit 0
fi

# What the README says of results is what their data say.
claims=$(python3 - <<'EOF'
import csv
verdicts = {}
for r in csv.DictReader(open("results/data/findings.csv")):
    if r["paper"] and (r["method"] == "simulated" or (r["figure"], r["predicate"]) not in verdicts):
        verdicts[r["figure"], r["predicate"]] = r["verdict"]
holds, fails = (list(verdicts.values()).count(name) for name in ("holds", "does not hold"))
print(f"{holds} of {holds + fails} measurable claims")
EOF
)
grep -qF "$claims" README.md
verdict "README.md does not say: $claims of the papers hold" $?

scripts/traces.py --check
verdict "docs/traces.md has another table than results/data/traces.csv" $?

figures=$(find experiments/papers -maxdepth 1 -name '*.ini' ! -name tolerances.ini | wc -l)
grep -qE "^oocgnn figure --list +# $figures figures and tables of six papers" README.md
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
print(f"speed-ups differ from {len(off)} published ones by a median factor of {2 ** median(off):.2f}: "
      f"{sum(x <= log2(1.25) for x in off)} by at most 1.25, {sum(x <= 1 for x in off)} by at most 2. "
      f"For {lost}, simulation finds a tie or the wrong winner. If every speed-up is guessed to be 1, the median factor is "
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
