#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The papers' figures on this machine's disk, at 1/100: runs what is missing of each, and rewrites the generated part of
# figures-measured.md in DIR with their tables and verdicts; with --write, of results/figures-measured.md. An hour and a half,
# of which the disk is the bottleneck for most; cut off, the same command goes on. Nothing else should run meanwhile.
#   scripts/measured_figures.sh [--page-only] [--write] [DIR]     # DIR: where datasets, database and pictures go [build/measured]
# Readahead is the 128 KiB of the papers' machines, whatever this one's device has. Figures of several datasets and models are
# made for papers100m and GraphSAGE. AGNES' layout of Yahoo takes more than the cap to prepare, so that its nodes stay as they
# lie; its staging is a block a mini-batch of a hyperbatch, and neither shrinks with the graph, so that the one that a figure
# does not vary is smaller than the paper's; and part of an epoch is run.
set -euo pipefail
run=--run
write=no
while [[ ${1:-} = --* ]]; do
	case $1 in
	--page-only) run=--no-run ;;
	--write) write=yes ;;
	*) echo "measured_figures.sh: no option $1" >&2; exit 2 ;;
	esac
	shift
done
dir=${1:-build/measured}
oocgnn=${OOCGNN:-build/gcc/oocgnn}
page=results/figures-measured.md
one="--fix dataset=papers100m --fix model=sage"
lies="--fix agnes.layout=input"
figures="gnndrive-fig2
gnndrive-fig3
gnndrive-fig8 $one
gnndrive-fig9 $one
gnndrive-fig10 $one
gnndrive-fig12
diskgnn-table1
diskgnn-table5
ringsampler-fig5
ringsampler-fig6
agnes-fig8
agnes-fig9a $lies --fix max-batches=256 --fix agnes.hyperbatch=64
agnes-fig9b $lies --fix max-batches=2048 --fix agnes.block=64K
agnes-fig10a"
fio="gnndrive-figB1a gnndrive-figB1b gnndrive-figB1c gnndrive-figB1d"
if [ "$run" = --no-run ] && [ ! -f "$dir/figures.db" ]; then
	echo "measured_figures.sh: $dir/figures.db: no such file; leave --page-only out to make it" >&2
	exit 1
fi
mkdir -p "$dir"
if [ "$write" = no ]; then
	[ -e "$dir/figures-measured.md" ] || cp "$page" "$dir/"
	page=$dir/figures-measured.md
fi
text=$(mktemp)
trap 'rm -f "$text"' EXIT

# Prints a figure's tables, and its verdicts as a list.
# shellcheck disable=SC2016 # the backquotes are those of Markdown
figure() {
	local id=$1
	shift
	"$oocgnn" figure "$id" "$run" "$@" --db "$dir/figures.db" --data "$dir/data" --out "$dir" --any-build </dev/null |
		sed -E 's/^  (holds|DOES NOT HOLD|not measurable) +([a-z0-9_]+): (.*)$/* **\1** \2: `\3`/; s/^      /  /; s/^##/\n##/'
}

while read -r id options; do
	# shellcheck disable=SC2086 # options are words
	figure "$id" --world measured --scale 1/100 --fix device-readahead=128K $options >>"$text"
done <<<"$figures"
for id in $fio; do
	figure "$id" >>"$text"
done
cat -s "$text" |
	PYTHONPATH=$(dirname "$0") python3 -c "import sys; from results_page import Part; Part(sys.argv[1], sys.argv[2]).write(sys.stdin.read())" \
		"$page" "by measured_figures.sh"
