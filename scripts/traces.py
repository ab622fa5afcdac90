#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GNN training as a storage workload: runs every system in the simulated world with --trace-io, and describes the
requests of its second epoch. Virtual time is exact, so the machine need not be quiet.

usage: scripts/traces.py [--write | --check]
  (none)   run, and write traces.csv and the table to build/traces
  --write  run, and write results/data/traces.csv and the table in docs/traces.md
  --check  run nothing: exit status 1 if the table of docs/traces.md is not that of results/data/traces.csv
OOCGNN names the program (build/gcc/oocgnn)."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

DATA, PAGE = "results/data/traces.csv", "docs/traces.md"
BEGIN, END = "<!-- traces: begin -->", "<!-- traces: end -->"
# With the preset's superbatch of 1024 mini-batches, Ginex does not fit into this limit.
SYSTEMS = {
    "pygplus": [], "ginex": ["--set", "ginex.superbatch=128", "--set", "ginex.trace_block=64K", "--set", "ginex.samplers=4"], "gnndrive": [], "agnes": [], "diskgnn": [],
    "mariusgnn": [], "presort": [], "ringsampler": ["--sample-only"],
}
# Without a reachable set, the mini-batches use most of the graph. The GPU's 24 GB are divided by the scale, too.
RUN = ["--dataset", "papers100m", "--generate", "reach=0", "--scale", "1/1000", "--world", "simulated", "--profile",
       "gnndrive-paper", "--profile-set", "gpu.memory=24M", "--preset", "equal-memory", "--memory", "32M", "--epochs", "2",
       "--evaluate", "never", "--quiet"]
COLUMNS = ["system", "file", "action", "requests", "bytes", "least_bytes", "median_bytes", "most_bytes", "depth_mean",
           "depth_most", "sequential", "block_uses", "blocks", "reuse_half_bytes", "reuse_90_bytes"]


def plain(file):
    """Returns the name of a file without the hashes of options and data that some systems put into it."""
    return re.sub(r"[0-9a-f]{12,}", "HASH", os.path.basename(file))


def describe(program, system, options, folder):
    trace = os.path.join(folder, "trace")
    command = [program, "run", "--system", system, *RUN, *options, "--db", os.path.join(folder, "runs.db"), "--json",
               "--trace-io", trace]
    run = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    if run["status"] != "ok":
        sys.exit(f"{system}: {run['status']}: {run['reasons']}")
    analysis = subprocess.run([program, "trace", trace, "--epoch", "2", "--json"], check=True, stdout=subprocess.PIPE)
    for part in json.loads(analysis.stdout)["files"]:
        part["system"], part["file"] = system, plain(part["file"])
        part["depth_mean"] = f"{part['depth_mean']:.2f}"
        yield {name: part[name] for name in COLUMNS}


def size(value):
    if value == "":
        return "-"
    count = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.3g} {unit}"
        count /= 1024


def table(rows):
    """Returns the lines of the table: parts that have at least 3 % of their system's requests or bytes."""
    lines = ["| system | file | action | requests | median size | largest | mean depth | largest depth | sequential "
             "| repeated | 90 % of the repeated within |", "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for r in rows:
        own = [o for o in rows if o["system"] == r["system"]]
        share = max(int(r[k]) / sum(int(o[k]) for o in own) for k in ("requests", "bytes"))
        if share < 0.03:
            continue
        uses = int(r["block_uses"])
        lines.append(f"| {r['system']} | {r['file']} | {r['action']} | {r['requests']} | {size(r['median_bytes'])} "
                     f"| {size(r['most_bytes'])} | {float(r['depth_mean']):.1f} | {r['depth_most']} "
                     f"| {100 * int(r['sequential']) / int(r['requests']):.0f} % "
                     f"| {100 * (uses - int(r['blocks'])) / max(uses, 1):.0f} % | {size(r['reuse_90_bytes'])} |")
    return lines


def fill(page, rows):
    """Returns the page with the table of the rows."""
    before, rest = page.split(BEGIN + "\n", 1)
    return before + "\n".join([BEGIN, *table(rows), END]) + rest.split(END, 1)[1]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    mode = sys.argv[1] if len(sys.argv) == 2 else ""
    if len(sys.argv) > 2 or mode not in ("", "--write", "--check"):
        sys.exit(__doc__)
    page = open(PAGE).read()
    if mode == "--check":
        if fill(page, list(csv.DictReader(open(DATA)))) != page:
            sys.exit(f"{PAGE}: the table is not that of {DATA}; scripts/traces.py --write runs the systems and fills it")
        return
    program = os.path.abspath(os.environ.get("OOCGNN", "build/gcc/oocgnn"))
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for system, options in SYSTEMS.items() for row in describe(program, system, options, folder)]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    data, shown = (DATA, PAGE) if mode == "--write" else ("build/traces/traces.csv", "build/traces/traces.md")
    os.makedirs(os.path.dirname(data), exist_ok=True)
    open(data, "w").write(text.getvalue())
    open(shown, "w").write(fill(page, list(csv.DictReader(open(data)))))
    print(f"{data}, {shown}")


if __name__ == "__main__":
    main()
