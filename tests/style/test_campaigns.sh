#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What carries the campaigns of tests/README.md, with made-up programs and verdicts: that they go on where they were
# stopped, and lose nothing that was found. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out" "$dir/calls")

# ---- scripts/fuzz.sh ----

cat >"$dir/fuzzer" <<FUZZER
#!/usr/bin/env bash
echo "\$OOCGNN_FUZZ_TARGET \$1" >>"$dir/calls"
echo '#2 INITED cov: 7 ft: 9'
echo 'stat::number_of_executed_units: 5'
[ "\$OOCGNN_FUZZ_TARGET" = bad ] || exit 0
sleep 0.1
for word; do [[ \$word != -artifact_prefix=* ]] || echo x >"\${word#*=}crash"; done
exit 77
FUZZER
chmod +x "$dir/fuzzer"

fuzz() { # SECONDS TARGET...
    : >"$dir/calls"
    JOBS=2 FUZZ_SLICE_S=10 scripts/fuzz.sh "$dir/fuzzer" "$dir/work" "$@" >"$dir/out" 2>&1
}
calls_of() { grep -c "^$1 " "$dir/calls"; }

fuzz 25 one two && [ "$(calls_of one)" -eq 3 ] && [ "$(grep -c '^two -max_total_time=10$' "$dir/calls")" -eq 2 ] &&
    grep -q '^two -max_total_time=5$' "$dir/calls" && grep -qF '| one | 25 | 15 | 7 | none |' "$dir/out"
verdict "each target gets its seconds, a slice at a time" $?
fuzz 25 one two && [ ! -s "$dir/calls" ] && grep -qF '| two | 25 | 15 | 7 | none |' "$dir/out"
verdict "what was spent is not spent again" $?
fuzz 30 one && [ "$(cat "$dir/calls")" = 'one -max_total_time=5' ]
verdict "it goes on where it was" $?
fuzz 30 bad two
[ $? -eq 1 ] && [ "$(calls_of bad)" -eq 1 ] && grep -qF "OOCGNN_FUZZ_TARGET=bad $dir/fuzzer $dir/work/found-bad-crash" "$dir/out" &&
    grep -qF "| bad | 10 | 5 | 7 | $dir/work/found-bad-crash |" "$dir/out" && grep -qF '| two | 30 | 20 | 7 | none |' "$dir/out"
verdict "what was found is told, ends its target and no other" $?
fuzz 30 bad
[ $? -eq 1 ] && [ ! -s "$dir/calls" ] && grep -qF 'found-bad-crash |' "$dir/out"
verdict "and is told until the program is built anew" $?
echo '# anew' >>"$dir/fuzzer"
fuzz 10 one && [ "$(calls_of one)" -eq 1 ] && grep -qF '| one | 10 | 5 | 7 | none |' "$dir/out"
verdict "a program that was built anew begins again" $?

# ---- scripts/mutate.py ----

if ! python3 -c '' 2>/dev/null; then
    echo "left out: no python3 here, which scripts/mutate.py needs"
else
    {
        echo '{"id": "a", "file": "systems/x/a.c", "line": 3, "was": "a", "is": "b", "state": "dead", "by": "t", "tests": 1, "all_s": 4}'
        echo '{"id": "b", "file": "systems/x/b.c", "line": 7, "was": "c = 1;", "is": "c = 0;", "state": "survives", "by": "", "tests": 9, "all_s": 8}'
        echo '{"id": "c", "file": "systems/x/b.c", "line": 8, "was": "e", "is": "f", "state": "no code", "by": "", "tests": 0, "all_s": 0}'
        echo '{"id": "a", "file": "systems/x/a.c", "line": 3, "was": "a", "is": "b", "state": "dead", "by": "t", "tests": 1, "all_s": 4}'
        printf '{"id": "d", "file": "systems/x'
    } >"$dir/verdicts-$(git rev-parse --short=12 HEAD)-5.jsonl"
    scripts/mutate.py --keep "$dir" --seed 5 --report >"$dir/out" 2>&1 &&
        grep -qF '1 of 2 mutants died (50.0 %), 200 asked for; 1 more did not compile or left the code as it was; 6 s a mutant' "$dir/out" &&
        grep -qF 'systems/x/b.c:7 (all of its tests pass: 9)' "$dir/out" && grep -qF '+ c = 0;' "$dir/out"
    verdict "a report counts a mutant once, and none that a crash cut off" $?
    ! scripts/mutate.py --keep "$dir" --share 3/2 >"$dir/out" 2>&1 && grep -qF -- '--share 3/2' "$dir/out"
    verdict "a share that is none is refused" $?
    python3 - >"$dir/out" 2>&1 <<'PYTHON'
import sys
sys.path.insert(0, "scripts")
import mutate
tree = object.__new__(mutate.Tree)
tree.seconds = {"b/unit/test_slow": 9, "b/unit/test_fast": 1, "b/unit/test_agnes": 5, "b/cli/test_run": 0.5}
tree.reach = [list(tree.seconds), {"systems/agnes/epoch.c": {"10": [0, 1, 2, 3], "14": [], "20": [1]}}]
relevant = lambda *numbers: [t.split("/")[-1] for t in tree.relevant("systems/agnes/epoch.c", numbers)]
assert relevant(10) == ["test_agnes", "test_fast", "test_slow", "test_run"], relevant(10)
assert relevant(12) == relevant(10)  # a statement's second line
assert relevant(14) == []
assert relevant(14, 21) == ["test_fast"]
assert len(relevant(3)) == 4  # before all code: anything may see it
tree.kinds = [["computes", "cli/test_s*"], ["shares", "unit/*"]]
assert [tree.kind(t) for t in ("b/cli/test_sim", "b/unit/test_a", "b/cli/test_run")] == ["computes", "shares", "alone"]
PYTHON
    verdict "tests of the folder come first, then the fastest, those from outside last; none that does not reach the line" $?
fi

finish
