#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One task of the array that scripts/slurm/submit.sh submits: cell.sh JOBFILE DIR
set -euo pipefail
exec "$OOCGNN" sweep "$1" --cell "$SLURM_ARRAY_TASK_ID" --db "$2/cell-$SLURM_ARRAY_TASK_ID.db" --resume --json
