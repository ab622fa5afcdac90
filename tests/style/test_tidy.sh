#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2046,SC2086  # lists of file names without blanks are meant to split
# Rules that nobody runs are wishes: banned calls, leftover marks, long lines and functions, the registry, includes of
# systems among one another. Each check prints what it found; closes with cmocka's summary lines.
set -uo pipefail
passed=0
failed=0

verdict() { # name, findings
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s:\n%s\n' "$1" "$2"
    fi
}

sources=$(git ls-files '*.c' '*.h' '*.cc' '*.cu')
product=$(git ls-files 'harness/*.[ch]' 'systems/*.[ch]' )

verdict "systems reach the outside world through harness/world only" \
    "$(grep -nE '\b(pthread_[a-z_]+|clock_gettime|pread|pwrite|mmap|munmap|madvise|io_uring_[a-z_]+|cblas_[a-z]+|cuda[A-Z][A-Za-z]+|usleep|nanosleep)[[:space:]]*\(' \
        $(git ls-files 'systems/*.[ch]') /dev/null)"
verdict "no branch on the world outside of run" \
    "$(grep -nE 'if[[:space:]]*\(.*simulated' $(echo "$product" | grep -v '^harness/run/') /dev/null)"
# Comments may name a system, and so may what cites a paper (.source of an option, the dataset registry) and the example
# of a help page, which is to be pasted.
verdict "a published system's name in the harness" \
    "$(grep -n '' $(echo "$product" | grep '^harness/' | grep -v '^harness/dataset/registry.c$') /dev/null |
        sed -E 's/\.source = "[^"]*"//; s#/\*.*##; s/"\\nexample: [^"]*"//' | grep -vE '^[^:]+:[0-9]+:[[:space:]]*\*' |
        grep -iE 'gnndrive|ginex|agnes|ringsampler|pygplus|marius|diskgnn')"
verdict "unfinished marks" "$(grep -nwE 'TODO|FIXME|XXX|HACK' $sources /dev/null)"
verdict "paths of one machine in a page" "$(git grep -nE '(^|[ `(=])/(tmp|home|root|work|mnt)/' -- '*.md')"
verdict "marks of a merge that was not finished" "$(git grep -nE '^(<{7}|>{7}|={7}$)( |$)')"
# What stands in quotes is text, not a call.
verdict "calls that cannot be bounded or seeded" \
    "$(grep -n '' $product /dev/null | sed -E 's/"([^"\\]|\\.)*"/""/g' |
        grep -E '\b(sprintf|strcpy|strcat|gets|rand|srand|random|strtok|alloca|system)[[:space:]]*\(' |
        grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*)')"
verdict "exit only in main and in children" \
    "$(grep -nE '\bexit[[:space:]]*\(' $(echo "$product" | grep -v '^harness/main.c$') /dev/null | grep -v '_exit')"
verdict "absolute paths other than kernel interfaces" \
    "$(grep -nE '"/(home|mnt|root|data|work|tmp|opt)/' $product /dev/null)"
verdict "lines over 120 columns" "$(awk 'length > 120 { print FILENAME ":" FNR ": " length }' $sources /dev/null)"
verdict "a comment's end alone on its line" "$(grep -nE '^[[:space:]]*\*/$' $sources /dev/null)"
verdict "a type alone on its line, apart from what it declares" \
    "$(grep -nE '^[[:space:]]*((static|extern|const|GNN_MUST_CHECK) )*(struct|enum|union) [a-z_0-9]+( const)?( \*+(const)?)?$' \
        $sources /dev/null)"
# A comment cites what a reader of the tree can open: every *.md that a source names is a file of the tree, by its path or
# the end of it.
cited=$(git ls-files '*.c' '*.h' '*.sh' '*.ini' '*.sql' Makefile | grep -v '^tests/style/test_tidy.sh$')
# shellcheck disable=SC2016  # the dollars are those of grep and awk
verdict "citations of documents that are not in the tree" \
    "$(grep -nE 'DESIGN section|ANCHORS|\bspecs/' $cited /dev/null
        grep -noE '[A-Za-z0-9_./${}%"-]*[A-Za-z0-9_-]\.md\b' $cited /dev/null | awk -F: '
            NR == FNR { whole = "/" $0; while (match(whole, "/")) { whole = substr(whole, RSTART + 1); known[whole] = 1 }; next }
            $3 ~ /[$%]|NAME/ { next } # a name that is made at run time
            { gsub(/"/, "", $3); sub(/^(\.\.?\/|\/)+/, "", $3) }
            !($3 in known) { print }' <(git ls-files '*.md') -)"
# A reader that leaves early kills the writer, and with pipefail that is a failure, once in a while.
verdict "pipes into a reader that leaves early" \
    "$(grep -nE '\| *(grep( -[a-zA-Z]+)* -[a-zA-Z]*[qm]|head\b)' $(git ls-files '*.sh' .ci/run | grep -v '^tests/style/test_tidy.sh$') /dev/null)"
verdict "tabs in C" "$(grep -nP '\t' $sources /dev/null | head)"
verdict "registry.c and the folders under systems/ differ" \
    "$(diff <(grep -oE '&gnn_system_[a-z]+' systems/registry.c | sed 's/&gnn_system_//' | sort) \
        <(git ls-files systems | awk -F/ 'NF == 3 { print $2 }' | sort -u))"
verdict "systems that workloads/smoke.ini does not run" \
    "$(comm -23 <(grep -oE '&gnn_system_[a-z]+' systems/registry.c | sed 's/&gnn_system_//' | sort) \
        <(sed -n 's/^system = //p' workloads/smoke.ini | sort))"
# A row of the papers' mechanisms on a GPU (docs/cuda.md) names files with the functions that hold it: each file is
# there and defines each function, no file stands without one, and every system has a row.
# shellcheck disable=SC2016  # the backquotes are those of Markdown
mechanisms=$(awk '/^## The papers. mechanisms on a GPU$/ { on = 1 } on && /^\|/ { rows = 1; print } rows && !/^\|/ { exit }' docs/cuda.md)
# shellcheck disable=SC2016  # as above
verdict "mechanisms on a GPU that are not where docs/cuda.md says" \
    "$([ "$(grep -c '' <<<"$mechanisms")" -gt 20 ] || echo 'no table of them'
        grep -oE '`[^` ]+/[^` ]+`(: `[a-z_0-9]+`(, `[a-z_0-9]+`)*)?' <<<"$mechanisms" | tr -d '`:,' | while read -r file functions; do
            [ -n "$functions" ] || echo "$file: no function"
            [ -f "$file" ] || echo "$file: no such file"
            for name in $functions; do
                grep -qE "^([_a-zA-Z][_a-zA-Z0-9 *]*[ *]|    (template <[^>]*> )?[a-z0-9_]+ )$name\\([^;]*\$" "$file" 2>/dev/null || echo "$file: no function $name"
            done
        done
        git ls-files systems | awk -F/ 'NF == 3 && $2 != "null" { print $2 }' | sort -u | while read -r system; do
            grep -q "systems/$system/" <<<"$mechanisms" || echo "$system: no row"
        done)"
verdict "a system without its README.md" \
    "$(for d in $(git ls-files systems | awk -F/ 'NF == 3 { print $2 }' | sort -u); do [ -f "systems/$d/README.md" ] || echo "$d"; done)"
# A line that a named mutant replaces stands in its file, or the mutant no longer tries anything.
verdict "mutants in tests/mutants.txt whose line is not in their file" \
    "$(while IFS= read -r line; do
        case $line in
        '* '*) file=${line#\* * } && file=${file%%:*} ;;
        '- '*) grep -qF -- "${line#- }" "$file" || echo "$file: ${line#- }" ;;
        esac
    done < <(sed -n '/^\* /,$p' tests/mutants.txt))"
verdict "headers without a guard" "$(grep -L '^#ifndef [A-Z_]*_H$\|^#ifndef OOCGNN_H$' $(git ls-files '*.h') /dev/null | grep -v /dev/null)"

# Functions over 70 lines, as a ratchet: the list may only shrink.
long=$(awk '
    /^[a-z].*[^;]$/ && !/^(struct|enum|union|typedef|static const|const|extern)[^(]*$/ { head = $0; at = FNR }
    /^{$/ { start = FNR; name = head }
    /^}$/ && start { if (FNR - start > 70) { match(name, /[a-z_0-9]+\(/); print FILENAME " " substr(name, RSTART, RLENGTH - 1) }; start = 0 }
' $product /dev/null)
verdict "functions over 70 lines that tests/style/long_functions.txt does not list" \
    "$(comm -13 <(sort tests/style/long_functions.txt) <(printf '%s\n' "$long" | sed '/^$/d' | sort))"

printf '[  PASSED  ] %d test(s).\n' "$passed"
[ "$failed" -eq 0 ] || printf '[  FAILED  ] %d test(s), listed below:\n' "$failed"
[ "$failed" -eq 0 ]
