#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Pictures of a page of `oocgnn report --html`, to be looked at: desktop, phone, dark, and on paper.
#   scripts/page_shots.sh PAGE OUT_DIR
# Wants Chromium (scripts/setup.sh browser).
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: scripts/page_shots.sh PAGE OUT_DIR" >&2; exit 2; }
page=file://$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "page_shots: no Chromium here: scripts/setup.sh browser" >&2
    exit 4
}
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
shoot() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000 \
        --user-data-dir="$profile" "$@" "$page" 2>/dev/null
}
shoot --window-size=1280,3200 --screenshot="$out/desktop.png"
shoot --window-size=390,3600 --screenshot="$out/phone.png"
shoot --window-size=1280,3200 --force-dark-mode --blink-settings=preferredColorScheme=0 --screenshot="$out/dark.png"
shoot --print-to-pdf="$out/print.pdf"
ls -l "$out"
