#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The commands of docs/your-system.md, pasted in order into an empty directory with nothing but an installed oocgnn. Closes
# with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
# shellcheck source=tests/plugin/installed.sh
. "$(dirname "$0")/installed.sh"
awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' docs/your-system.md >"$dir/commands"
mkdir "$dir/work" && cd "$dir/work" || exit 1
bash -euo pipefail "$dir/commands" >"$dir/said" 2>&1
verdict "the commands of docs/your-system.md" $?
[ "$(grep -c . "$dir/commands")" -gt 25 ] && [ "$(grep -c '^FAILED  *feature rows' "$dir/said")" -eq 1 ] && grep -qx found "$dir/said" &&
    grep -q '6 runs made, 0 skipped, 0 failed' "$dir/said" && [ -s plots/epoch_s-0-over-mine.depth.png ]
verdict "they do what the page describes" $?
finish
