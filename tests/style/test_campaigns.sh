#!/usr/bin/env bash
# What carries the campaigns of tests/README.md, with made-up programs and verdicts: that they go on where they were
# stopped, and lose nothing that was found. Closes with cmocka's summary lines.
set -uo pipefail
passed=0
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

verdict() { # name, 0 or 1
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1:"
        cat "$dir/out" "$dir/calls" 2>/dev/null
    fi
}

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

printf '[  PASSED  ] %d test(s).\n' "$passed"
[ "$failed" -eq 0 ] || printf '[  FAILED  ] %d test(s), listed below:\n' "$failed"
[ "$failed" -eq 0 ]
