#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that need one another: A uses what B defines and B, directly or through others, what A defines. Read from the
# symbols of the object files, since a header may be implemented elsewhere than in the file of its name. Known circles
# stand in cycles.txt, a line each; the list may only shrink. Closes with cmocka's summary lines.
set -uo pipefail
build=$(dirname "${OOCGNN:-build/gcc/oocgnn}")
objects=()
while read -r source; do
    objects+=("$build/${source%.c}.o")
done < <(git ls-files 'harness/*.c' 'systems/*.c')

# nm -A: "OBJECT: [address] TYPE SYMBOL". A circle is printed as its files in order, without folder prefix and ending.
found=$(nm -A --format=posix "${objects[@]}" 2>&1 | awk -v prefix="$build/" '
    function reach(from, to, i, n, list) { # can `to` be reached from `from`?
        seen[from] = round
        n = split(uses[from], list, " ")
        for (i = 1; i <= n; i++) {
            if (list[i] == to) return 1
            if (seen[list[i]] != round && reach(list[i], to)) return 1
        }
        return 0
    }
    !/\.o: / { print "cannot read: " $0; next }
    {
        file = $1; sub(/\.o:$/, "", file); file = substr(file, length(prefix) + 1)
        files[file] = 1
        if ($3 == "U") need[++needs] = file SUBSEP $2
        else if ($3 ~ /[A-Z]/) owner[$2] = file
    }
    END {
        for (i = 1; i <= needs; i++) {
            split(need[i], pair, SUBSEP)
            to = owner[pair[2]]
            if (to == "" || to == pair[1] || (pair[1], to) in edge) continue
            edge[pair[1], to] = 1
            uses[pair[1]] = uses[pair[1]] to " "
        }
        count = 0
        for (file in files) { round++; if (reach(file, file)) inside[file] = 1 }
        for (file in inside) {
            if (file in grouped) continue
            line = ""
            for (other in inside) {
                there = 0
                if (other == file) there = 1
                else { round++; if (reach(file, other)) { round++; there = reach(other, file) } }
                if (there) { grouped[other] = 1; line = line " " other }
            }
            print substr(line, 2)
        }
    }' | while read -r line; do tr ' ' '\n' <<< "$line" | sort | paste -sd ' '; done | sort)

# A circle is known when one line of the list holds all its files: one that was opened in part needs no new line.
new=$(while read -r circle; do
    while read -r known; do
        [ -z "$(comm -23 <(tr ' ' '\n' <<< "$circle") <(tr ' ' '\n' <<< "$known" | sort))" ] && continue 2
    done < <(grep -v '^#' tests/style/cycles.txt)
    echo "$circle"
done <<< "$found")
if [ -n "$new" ]; then
    printf 'files that need one another:\n%s\n' "$new"
    echo "[  FAILED  ] 1 test(s), listed below:"
    exit 1
fi
echo "[  PASSED  ] 1 test(s)."
