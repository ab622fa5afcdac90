#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Prints the revision of the checkout in the current folder, for records: the commit, and for a changed checkout -dirty
# and a hash of the changes to what is compiled. Two builds of one revision have the same code, so that a run of one
# stands for a run of the other. "unknown" without git.
set -uo pipefail
compiled=(harness systems plots)
revision=$(git describe --always --exclude='*' --dirty --abbrev=12 2>/dev/null) || { echo unknown; exit; }
if [[ $revision == *-dirty ]] || [ -n "$(git ls-files --others --exclude-standard -- "${compiled[@]}")" ]; then
    changes=$({
        git diff HEAD -- "${compiled[@]}"
        git ls-files --others --exclude-standard -z -- "${compiled[@]}" | xargs -0r tail -n +1 --
    } | sha256sum)
    revision=${revision%-dirty}-dirty-${changes:0:8}
fi
echo "$revision"
