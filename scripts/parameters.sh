#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rewrites the parameter tables of systems/*/README.md from the option tables of the program: what stands between
# <!-- parameters: begin --> and <!-- parameters: end --> becomes `oocgnn list params SYSTEM --markdown`.
# usage: scripts/parameters.sh [SYSTEM...]; OOCGNN names the program (build/gcc/oocgnn). tests/cli/test_cli.c compares.
set -euo pipefail
cd "$(dirname "$0")/.."
oocgnn=${OOCGNN:-build/gcc/oocgnn}

if [ $# -eq 0 ]; then
    mapfile -t systems < <("$oocgnn" list systems | awk '{ print $1 }')
    set -- "${systems[@]}"
fi
for system in "$@"; do
    page=systems/$system/README.md
    if ! grep -q '^<!-- parameters: begin -->$' "$page"; then
        echo "$page: no <!-- parameters: begin --> line; left alone" >&2
        continue
    fi
    table=$("$oocgnn" list params "$system" --markdown)
    TABLE=$table awk '
        /^<!-- parameters: end -->$/ { skip = 0 }
        !skip { print }
        /^<!-- parameters: begin -->$/ { print ENVIRON["TABLE"]; skip = 1 }
    ' "$page" > "$page.new"
    mv "$page.new" "$page"
done
