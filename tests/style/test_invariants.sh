#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every test that docs/invariants.md and docs/invariants-harness.md name exists. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/found")
command -v python3 >/dev/null || skip_all "no python3" 4

check() { python3 -B tests/style/invariants.py "$@" >"$dir/found" 2>&1; }

check docs/invariants.md docs/invariants-graphbolt.md docs/invariants-harness.md
verdict "the pages of invariants name tests that exist" $?

# The check itself, on pages with one fault each.
page=$dir/page.md
found() { # ROW: what is found in a page with this row behind sound ones
    cat >"$page" <<'PAGE'
| 1 | `io=direct` | `unit/belady: misses_are_the_least_possible` (`make test`), `ties_go_by_id_on_larger_traces` |
| 2 | other files | `harness/pipeline/team.c: gnn_team_post`, `support/train_graph: check_intent`, `style/test_prose.sh` |
PAGE
    echo "$1" >>"$page"
    check "$page"
    sed "s|^$page:||" "$dir/found"
}
# shellcheck disable=SC2016  # the backquotes are those of Markdown
{
    sound='* a whole file: `sim/device`'
    faults='| 3 | x | `unit/belady: gone`, `gone_too`; `unit/belad`; `units/belady` |'
}
[ -z "$(found "$sound")" ]
verdict "sound names are accepted" $?
[ "$(found "$faults")" = "3: unit/belady: gone: no such function
3: unit/belady: gone_too: no such function
3: unit/belad: no such file
3: units/belady: no such file" ]
verdict "a function or a file that does not exist is found" $?
echo 'no name' >"$page"
! check "$page" && grep -q 'names no test$' "$dir/found"
verdict "a page without names is found" $?
finish
