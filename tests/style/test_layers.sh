#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The include lines of every source file against tests/style/layers.txt. Closes with cmocka's summary lines.
set -uo pipefail

git ls-files 'harness/*.[ch]' 'systems/*.[ch]' 2>/dev/null | grep -v '/test_' |
    xargs grep -nH '^#include "' |
    awk -v rules=tests/style/layers.txt '
    BEGIN {
        while ((getline line < rules) > 0) {
            if (line ~ /^#/ || line !~ /:/)
                continue
            split(line, part, ":")
            allowed[part[1]] = " " part[2] " "
        }
    }
    # The folder of a path; files of harness/ itself and single headers in the rules stand for themselves.
    function layer(path,    n) {
        if (path == "harness/oocgnn.h")
            return "root"
        if (path == "harness/main.c" || path == "systems/registry.c")
            return path
        n = path
        sub(/\/[^\/]*$/, "", n)
        return n
    }
    function rule(from,    n) {
        for (n = from; !(n in allowed) && n ~ /\//; )
            sub(/\/[^\/]*$/, "", n)
        return n
    }
    {
        split($0, field, ":")
        from = layer(field[1])
        target = $0
        sub(/^[^"]*"/, "", target)
        sub(/".*/, "", target)
        if (target ~ /\.inc$/ || target ~ /^build_(revision|libraries)\.h$/) # written by make
            next
        if (target !~ /^(harness|systems)\//) {
            print field[1] ":" field[2] ": includes are written from the repository root: " target
            bad++
            next
        }
        to = layer(target)
        if (to == from)
            next
        key = rule(from)
        if (!(key in allowed)) {
            print field[1] ": no rule for folder " from
            bad++
        } else if (index(allowed[key], " " to " ") == 0 && index(allowed[key], " " target " ") == 0) {
            print field[1] ":" field[2] ": " from " may not include " to
            bad++
        }
    }
    END {
        if (NR == 0) { print "no include was read"; bad++ }
        if (bad) print "[  FAILED  ] 1 test(s), listed below:"
        else print "[  PASSED  ] 1 test(s)."
        exit bad > 0
    }'
