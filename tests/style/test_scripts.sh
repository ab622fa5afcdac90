#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every function and program that a shell script or a workflow of this tree calls exists: shell_commands.py reads the scripts, programs.txt
# lists the programs with their packages. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/said")
command -v python3 >/dev/null || skip_all "no python3" 5
programs=tests/style/programs.txt

check() { python3 -B tests/style/shell_commands.py "$programs" "$@" >"$dir/said" 2>&1; }

mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
check "${scripts[@]}"
verdict "what the scripts call exists" $?

# The commands of the workflows, in files of their own; what they call is there, and make has the targets.
for workflow in .github/workflows/*.yml; do
    awk '/^ *- run: [^|]/ { sub(/^ *- run: /, ""); print; next }
        /^ *- run: \|$/ { match($0, /^ */); indent = RLENGTH + 4; inside = 1; next }
        inside { match($0, /^ */); if (RLENGTH < indent) inside = 0; else print }' "$workflow" >"$dir/$(basename "$workflow").sh"
done
python3 -B tests/style/shell_commands.py "$programs" "$dir"/*.yml.sh | grep -v 'no script calls it$' >"$dir/said"
[ -s "$dir/gate.yml.sh" ] || echo "gate.yml: no commands found" >>"$dir/said"
grep -hoE '^make .*' "$dir"/*.yml.sh | tr ' ' '\n' | grep -vE '^make$|^-|=' | while read -r target; do
    grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:( |$)" Makefile || echo "no target $target in Makefile"
done >>"$dir/said"
[ ! -s "$dir/said" ]
verdict "what the workflows call exists" $?

# Every package of the list is one that setup.sh installs, or one that is always there.
always=" bash coreutils apt diffutils dpkg findutils grep libc-bin mawk sed tar util-linux looked-for "
installed=" $(sed -n 's/^    \[[a-z]*\]="\(.*\)"$/\1/p' scripts/setup.sh | paste -sd ' ') "
sed -n 's/^\([a-z0-9.+-]*\): .*/\1/p' "$programs" | while read -r package; do
    case "$always$installed" in *" $package "*) ;; *) echo "$programs: setup.sh does not install $package" ;; esac
done >"$dir/said"
[ ! -s "$dir/said" ]
verdict "the packages of programs.txt are there" $?

# The check itself: each function of setup.sh renamed where it is defined, and nowhere else.
missed=0
renamed=0
while read -r function; do
    [ "$function" = found ] && continue # called by a name made at run time alone
    renamed=$((renamed + 1))
    sed "s/^$function() {/x_$function() {/" scripts/setup.sh >"$dir/setup.sh"
    check "$dir/setup.sh"
    grep -qE "^$dir/setup.sh:[0-9]+: $function: neither" "$dir/said" || missed=$((missed + 1))
done < <(sed -n 's/^\([a-z_]*\)() {$/\1/p' scripts/setup.sh)
[ $missed -eq 0 ] && [ $renamed -ge 5 ]
verdict "a function renamed at its definition alone is reported" $?

# Calls in the places where a script has them.
cat >"$dir/calls.sh" <<'SCRIPT'
known() { echo "$(call_1 "a b")" 'call_0 in quotes' # call_0 in a comment
}
for i in call_0 "$@"; do known && call_2; done | call_3 >/dev/null
case $i in call_0 | *.c) call_4 ;; esac
[[ $i = call_0 && -n $(call_5) ]] || { call_6; }
list=(call_0 "$(call_7)") X=1 call_8 <(call_9) `call_10`
cat <<END
call_0
END
trap 'call_11; known' EXIT
timeout 5 call_12 $((1 + 2)) "${x:-$(call_13)}"
if ! call_14; then scripts/call_15.sh; fi
exec {x}<>/dev/null 2>&1
exec call_16
SCRIPT
check "$dir/calls.sh"
[ $? -eq 1 ] && [ "$(sed -n 's/^[^ ]*:[0-9]*: \(scripts.\)*call_\([0-9]*\).*/\2/p' "$dir/said" | sort -n | paste -sd ' ')" = "$(seq -s ' ' 1 16)" ] &&
    grep -q '^.*calls.sh:12: scripts/call_15.sh: no such file' "$dir/said" && grep -q 'calls.sh:14: call_16:' "$dir/said"
verdict "calls are seen wherever a script has them, with their lines" $?

finish
