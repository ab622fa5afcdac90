#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a release must have: a licence, one version everywhere, a licence line in every source, a short changelog, and the
# origin of every system. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/out")
oocgnn=${OOCGNN:-build/gcc/oocgnn}
: >"$dir/out"

grep -qx 'MIT License' LICENSE && grep -qE '^Copyright \(c\) 20[0-9]{2} the oocgnn authors$' LICENSE && grep -q '^license: MIT$' CITATION.cff
verdict "LICENSE is MIT's and names the holder" $?

version=$(cat VERSION)
cited=$(sed -n 's/^version: *//p' CITATION.cff)
newest=$(awk '/^## / { print $2; exit }' CHANGELOG.md)
told=$("$oocgnn" --version)
# With a status of its own on machines that lack something.
found=$("$oocgnn" doctor --json | grep '"topic":"program"')
printf 'VERSION %s, CITATION.cff %s, CHANGELOG.md %s, %s, %s\n' "$version" "$cited" "$newest" "$told" "$found" >"$dir/out"
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
verdict "VERSION is x.y.z" $?
[ "$cited" = "$version" ] && [ "$newest" = "$version" ]
verdict "CITATION.cff and the newest heading of CHANGELOG.md have it" $?
[[ $told =~ ^"oocgnn $version (commit "[^\ ,]+", -O".*")"$ ]] && [[ $found = *"oocgnn $version (commit "* ]]
verdict "--version and doctor show it" $?

# Text of a licence is looked for at the head of a file alone.
git ls-files -z '*.c' '*.h' '*.cc' '*.cu' '*.cuh' '*.sh' '*.py' '*.sql' '*.gp' '*.js' '*.css' Makefile >"$dir/files"
git ls-files -z | grep -zvE '(^|/)[^/]+\.[^/]+$|^tests/fuzz/corpus/' | xargs -0 grep -lZE '^#!' >>"$dir/files"
xargs -0 awk 'FNR == 1 && NR > 1 && !marked { print name }
    FNR == 1 { name = FILENAME; marked = 0 }
    /SPDX-License-Identifier: MIT/ { marked = 1 }
    FNR == 3 { if (!marked) print name; marked = 1; nextfile }
    END { if (!marked) print name }' <"$dir/files" >"$dir/out"
[ ! -s "$dir/out" ] && [ "$(tr -cd '\0' <"$dir/files" | wc -c)" -gt 1000 ]
verdict "sources without SPDX-License-Identifier: MIT in their first three lines" $?

awk '/^## / { name = $2; lines = 0 } name != "" && ++lines == 61 { print name ": more than 60 lines" }' CHANGELOG.md >"$dir/out"
[ ! -s "$dir/out" ] && [ -n "$newest" ]
verdict "CHANGELOG.md has at most 60 lines per release" $?

while read -r system; do
    grep -qF "\`systems/$system\`" docs/origin.md || echo "docs/origin.md does not name systems/$system"
done < <(git ls-files systems | awk -F/ 'NF == 3 { print $2 }' | sort -u) >"$dir/out"
[ ! -s "$dir/out" ]
verdict "docs/origin.md names every system" $?

# An archive without git knows its commit.
grep -qxF '.revision export-subst' .gitattributes && commit=$(git rev-parse HEAD) &&
    [ "$(git archive "$commit" .revision | tar -xO .revision)" = "$commit" ]
verdict "an archive keeps its commit" $?

finish
