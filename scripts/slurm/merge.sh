#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Joins the databases of an array's tasks: merge.sh DIR. Run again, it adds what is new.
set -euo pipefail
shopt -s nullglob
databases=("$1"/cell-*.db)
[ ${#databases[@]} -gt 0 ] || { echo "$1: no cell-N.db there; cell-N.log says why" >&2; exit 1; }
exec "$OOCGNN" merge "$1/all.db" "${databases[@]}"
