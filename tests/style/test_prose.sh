#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a user reads is plain: words and shapes that have to be decoded, sentences over 30 words, help that does not stand
# alone, pages over 300 lines. prose_ceilings.txt has today's counts, which may only fall. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
evidence=("$dir/found")
command -v python3 >/dev/null || skip_all "no python3" 6

python3 -B tests/style/prose.py tests/style/prose_ceilings.txt >"$dir/found" 2>&1
verdict "the texts are plain" $?

# The check itself, on files with one fault each.
: >"$dir/none"
prose() { # KIND FILE: the number of findings
    python3 -B tests/style/prose.py --list "$1" "$dir/none" "$2" | sed '/^$/d' | wc -l
}
page=$dir/page.md
cat >"$page" <<'PAGE'
# A page

One sentence of a page that is as long as a sentence may be, for it has exactly thirty words and
not a single one that is more than these.

| what | why |
|---|---|
| `cell` | names in code do not count, and neither does a program that somebody told this |
PAGE
[ "$(prose page-sentences "$page")" -eq 0 ] && [ "$(prose page-words "$page")" -eq 1 ]
verdict "a word in a table is found, a word in code is not" $?
sed -i 's/more than these/more than these here/' "$page"
[ "$(prose page-sentences "$page")" -eq 1 ]
verdict "a sentence of 31 words is found" $?
printf 'A line.%.0s\n' {1..300} >"$page"
[ "$(prose page-length "$page")" -eq 0 ] && echo 'One more.' >>"$page" && [ "$(prose page-length "$page")" -eq 1 ]
verdict "a page of 301 lines is found" $?

mkdir -p "$dir/harness"
cat >"$dir/harness/a.c" <<'SOURCE'
    OPTION(SEED, "seed", U64, seed, "1", .help = "of mini-batches, "
                                                 "parameters and dropout"),
    OPTION(SEED, "io", U64, io, "1", .help = "Engine of reads; nobody changes it."),
    return gnn_fail(err, GNN_EINVAL, "%s is told twice (%d)", name, times);
SOURCE
cat >"$dir/harness/a.h" <<'SOURCE'
/* Returns what there is of it. */
SOURCE
[ "$(prose help-starts "$dir/harness/a.c")" -eq 1 ] && [ "$(prose help-words "$dir/harness/a.c")" -eq 1 ]
verdict "help that does not stand alone is found" $?
[ "$(prose message-words "$dir/harness/a.c")" -eq 1 ] && [ "$(prose comment-words "$dir/harness/a.h")" -eq 1 ]
verdict "a word in a message and in a header's comment is found" $?
finish
