#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The revision that records carry tells builds of different code apart, also those of one changed checkout. Closes with
# cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
script=$PWD/scripts/revision.sh
command -v git >/dev/null || skip_all "no git" 4

now() { # the revision as it is, noted as `was`
    was=${is:-}
    is=$(cd "$dir/tree" && "$script")
    echo "$is" >>"$dir/said"
}

evidence=("$dir/said")
mkdir -p "$dir/tree/harness" "$dir/tree/docs" "$dir/empty"
(
    cd "$dir/tree" && git init -q && echo one >harness/a.c && echo text >docs/a.txt && git add . &&
        git -c user.name=t -c user.email=t@example.org commit -qm first
)
now
[[ $is =~ ^[0-9a-f]{12}$ ]]
verdict "an unchanged checkout has its commit" $?

echo two >"$dir/tree/harness/a.c" && now
first=$is
[[ $is =~ ^[0-9a-f]{12}-dirty-[0-9a-f]{8}$ ]] && echo three >"$dir/tree/harness/a.c" && now && [ "$is" != "$was" ] &&
    echo two >"$dir/tree/harness/a.c" && now && [ "$is" = "$first" ]
verdict "two changes of one commit are two revisions, and equal ones are one" $?

echo new >"$dir/tree/harness/b.c" && now && [ "$is" != "$first" ] && echo newer >"$dir/tree/harness/b.c" && now &&
    [ "$is" != "$was" ] && rm "$dir/tree/harness/b.c" && echo other >"$dir/tree/docs/a.txt" && now && [ "$is" = "$first" ]
verdict "a new file counts, and text that is not compiled does not" $?

[ "$(cd "$dir/empty" && GIT_CEILING_DIRECTORIES=$dir "$script")" = unknown ]
verdict "without a repository it is unknown" $?

finish
