#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Level 3 of the CUDA back-end: what only a GPU can show, in parts with a time limit each, and one JSON report.
#   scripts/gpu_check.sh [--only PART,...|test|bench] [--report FILE] [--limit SECONDS] [--stand-in] [--validate FILE]
# Runs from the source tree after `make tests`, or from an unpacked bundle (`make gpu-bundle`). results/gpu/README.md
# says what the parts are, how a verdict comes about and what stands in the report. Without plugin, driver or device it
# says so in one line and ends with status 0. Wants python3 (its standard library alone).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || { echo "gpu_check: needs python3" >&2; exit 4; }
exec python3 -uB "$here/gpu_check.py" "$@"
