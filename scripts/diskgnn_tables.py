#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables 1, 4 and 5 and Figures 13 and 14 of DiskGNN in the simulated world, compared with the published numbers.

Every cell is one `oocgnn run --world simulated` on the machine of the paper's section 7.1 (profile diskgnn-paper) under
its preset; of two epochs the second counts, and the preparation is before the first. A record that is there is not made
again: cut it off and start it again. Nothing is tuned to the published numbers, which are read from
results/published/diskgnn.csv for their columns and for the findings alone.

The cells go to build/results/diskgnn.csv, from which the generated part of diskgnn.md there is written: tables, and what
the paper says of each with whether it holds here. `--write` writes that part from the CSV file alone, `--check`
compares it (tests/style/test_results.sh).

  scripts/diskgnn_tables.py                                          # at 1/100: five minutes of one core
  scripts/diskgnn_tables.py --parts table4,table5,fig14 --scale 1/10  # a quarter of an hour
  scripts/diskgnn_tables.py --parts table1,fig14 --rows DiskGNN --scale 1/1 # 45 minutes beside other work, and 25 GB for graph samples in TMPDIR
  scripts/diskgnn_tables.py --parts table1 --rows Ginex --scale 1/1  # 47 minutes, 19 GB of memory; --rows MariusGNN: 61 minutes, 41 GB in TMPDIR
  scripts/diskgnn_tables.py --parts table4,table5 --scale 1/1        # an hour each, 10 GB of memory and 17 GB in TMPDIR
  scripts/diskgnn_tables.py --parts fig13 --scale 1/1 --millions 0,4,20   # two hours beside other work, 16 GB of memory

What another scale gave of a part stays in the CSV file, and on the page beside it.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import time

from results_page import about, add_places, falls, finding, make_page, placed, read_csv, table, tolerance, write_csv

NODES = {"papers100m-sym": 111059956, "friendster-sym": 65608366}
ROW_BYTES = 512
PAPERS, FRIENDSTER = NODES
PUBLISHED = os.path.join(os.path.dirname(__file__), "../results/published/diskgnn.csv")
FIELDS = ["part", "scale", "row", "column", "value"]
# Figure 13: 50, 100 and 150 of 641 mini-batches; 0 to 20 M of 65.6 M nodes in steps of 4 M.
SEGMENTS = (50, 100, 150)
MILLIONS = (0, 4, 8, 12, 16, 20)
# Table 1: a tenth of the features is resident, in as many partitions as the rule of MariusGNN gives at scale 1, about.
MARIUS = ("partitions=160", "capacity=16")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--scale", default="1/100")
    parser.add_argument("--rows", default="Ginex,MariusGNN,DiskGNN", help="of Table 1; Ginex' takes longest by far")
    parser.add_argument("--millions", default=",".join(map(str, MILLIONS)), help="of Figure 13: rows of the disk cache, in millions")
    parser.add_argument("--compute", default="cuda", help="cuda: the profile's GPU")
    parser.add_argument("--keep", default="build/diskgnn", help="records of the cells; a cell that is there is not run")
    add_places(parser, "diskgnn.csv", "diskgnn.md")
    return placed(parser.parse_args())


# ---- runs ----

class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.lines = []

    def nodes(self, dataset):
        return NODES[dataset] // int(self.arguments.scale.split("/")[1])

    def cell(self, dataset, system="diskgnn", settings=(), epochs=2):
        """The record of one run. settings: of the system, "name=value"."""
        a = self.arguments
        name = "-".join([dataset, a.scale, system, a.compute, *settings]).replace("/", "_")
        kept = os.path.join(a.keep, name + ".json")
        if not os.path.exists(kept):
            command = [a.oocgnn, "run", "--world", "simulated", "--profile", "diskgnn-paper", "--dataset", dataset,
                       "--preset", "diskgnn", "--scale", a.scale, "--system", system, "--compute", a.compute, "--epochs",
                       str(epochs), "--evaluate", "never", "--db", os.path.join(a.keep, "runs.db"), "--json", "--quiet"]
            for setting in settings:
                command += ["--set", f"{system}.{setting}"]
            os.makedirs(a.keep, exist_ok=True)
            started = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not done.stdout.strip():
                sys.exit(f"{' '.join(command)}\n{done.stderr}")
            print(f"{name}: {time.monotonic() - started:.0f} s of host time", file=sys.stderr)
            with open(kept + ".new", "w", encoding="utf-8") as target:
                target.write(done.stdout)
            os.replace(kept + ".new", kept)
        with open(kept, encoding="utf-8") as source:
            return json.load(source)

    def put(self, part, row, **values):
        for column, value in values.items():
            self.lines.append(dict(part=part, scale=self.arguments.scale, row=row, column=column, value=f"{value:.6g}"))


def figure(record, name):
    """Of the last epoch; what the preparation took is in the first."""
    return record["epochs"][0 if "_prepare_" in name else -1]["figures"].get(name, 0)


def seconds(record):
    return record["epochs"][-1]["wall_ns"] * 1e-9


def waited(record):
    """Time in which a worker of a stage waited for the disk, the longest of them."""
    return max(stage["wait_io_ns"] / stage["workers"] for stage in record["epochs"][-1]["stages"]) * 1e-9


def read_gib(record):
    return record["epochs"][-1]["counters"]["requested_bytes"] / 2**30


def table_1(runner):
    cache = NODES[PAPERS] * ROW_BYTES // int(runner.arguments.scale.split("/")[1]) // 10
    for row, system, settings in (("Ginex", "ginex", (f"feature_cache={cache}",)), ("MariusGNN", "mariusgnn", MARIUS),
                                  ("DiskGNN", "diskgnn", ())):
        if row not in runner.arguments.rows.split(","):
            continue
        record = runner.cell(PAPERS, system, settings)
        runner.put("table1", row, epoch_s=seconds(record), disk_s=waited(record), read_gib=read_gib(record))


def table_4(runner):
    for limit in (3, 5):
        for search in ("brute", "approximate", "exact"):
            settings = (f"disk_limit={limit}", f"search={search}") + (("brute_step=100",) if search == "brute" else ())
            record = runner.cell(FRIENDSTER, settings=settings, epochs=1)
            runner.put("table4", f"{limit}x {search}", amplification=figure(record, "amplification_permille") / 1000,
                       search_s=figure(record, "search_prepare_ns") * 1e-9, segment=figure(record, "segment_batches"),
                       rows=figure(record, "disk_rows_limit"),
                       disk=figure(record, "placed_bytes") / (runner.nodes(FRIENDSTER) * ROW_BYTES))


def table_5(runner):
    for percent in (10, 30, 50):
        ratio = (f"cache_ratio={percent}",)
        runner.put("table5", f"{percent}%", sequential_s=seconds(runner.cell(FRIENDSTER, settings=ratio + ("pipeline=false",))),
                   pipeline_s=seconds(runner.cell(FRIENDSTER, settings=ratio)))


def figure_13(runner):
    for segment in SEGMENTS:
        for millions in map(int, runner.arguments.millions.split(",")):
            rows = round(millions * 1e6 / NODES[FRIENDSTER] * runner.nodes(FRIENDSTER))
            for reorder in ("pair", "off") if millions > 0 else ("pair",):  # no disk cache: nothing to put in order
                record = runner.cell(FRIENDSTER, epochs=1, settings=(
                    f"segment={segment}", f"disk_rows={rows}", f"reorder={reorder}"))
                amplification = figure(record, "amplification_permille") / 1000
                for word in (reorder,) if millions > 0 else ("pair", "off"):
                    runner.put("fig13a", f"{segment} {word}", **{f"{millions}M": amplification})
            runner.put("fig13b", str(segment), **{
                f"{millions}M": figure(record, "placed_bytes") / (runner.nodes(FRIENDSTER) * ROW_BYTES)})


def figure_14(runner):
    for dataset in NODES:
        for packing in ("individual", "batched"):
            record = runner.cell(dataset, settings=() if packing == "batched" else ("packing=individual",),
                                 epochs=2 if packing == "batched" else 1)
            runner.put("fig14", f"{dataset} {packing}", pack_s=figure(record, "pack_prepare_ns") * 1e-9,
                       reading_s=figure(record, "pack_read_prepare_ns") * 1e-9,
                       read_gb=figure(record, "pack_read_prepare_bytes") * 1e-9,
                       written_gb=figure(record, "pack_written_prepare_bytes") * 1e-9)


PARTS = {"table1": table_1, "table4": table_4, "table5": table_5, "fig13": figure_13, "fig14": figure_14}


def run_all(a):
    runner = Runner(a)
    for part in a.parts.split(","):
        PARTS[part](runner)
    def cell(line):
        return (line["part"], line["scale"], line["row"], line["column"])
    made = {cell(line) for line in runner.lines}
    lines = [line for line in read_csv(a.csv) if cell(line) not in made] + runner.lines
    write_csv(a.csv, FIELDS, sorted(lines, key=lambda line: (line["part"], -divisor(line["scale"]))))  # rows stay as they came


def divisor(scale):
    return int(scale.split("/")[1])


# ---- what is published ----

def published(figure_id, metric, parameter="", dataset="Friendster", system="DiskGNN", variant=""):
    with open(PUBLISHED, newline="", encoding="utf-8") as source:
        for row in csv.DictReader(source):
            if (row["figure_id"], row["metric"], row["dataset"], row["system"]) == (figure_id, metric, dataset, system) \
                    and parameter in row["parameter"] and row["variant"].startswith(variant):
                return row["value"]
    return "-"


# ---- the page ----

class Values:
    """The cells of one part at one scale."""

    def __init__(self, lines, part, scale):
        self.cells = {(line["row"], line["column"]): line["value"] for line in lines
                      if line["part"] == part and line["scale"] == scale}
        self.rows = list(dict.fromkeys(row for row, _ in self.cells))
        self.scale = scale

    def __call__(self, row, column):
        return float(self.cells[row, column])

    def text(self, row, column, digits=4):
        if (row, column) not in self.cells:
            return "-"
        value = self(row, column)
        return f"{value:.0f}" if value >= 10**digits else f"{value:.{digits}g}"


def printed_1(system, metric):
    """A number of Table 1."""
    return float(published("diskgnn-table1", metric, "memory=10%", "Papers100M", system))


def printed_5(memory, variant, metric="epoch_time_s"):
    """A number of Table 5, Friendster."""
    return float(published("diskgnn-table5", metric, f"memory={memory}", variant=variant))


def all_about(ours, printed):
    return all(about(a, b) for a, b in zip(ours, printed))


def show_table_1(v):
    out = [f"## Table 1: epoch, disk and bytes read, Papers100M at {v.scale}, a tenth of the features in memory", ""]
    out += table(["system", "epoch s", "disk s", "read GiB", "paper: epoch s", "disk s", "read GB"],
                 [[row, *(v.text(row, c) for c in ("epoch_s", "disk_s", "read_gib")),
                   *(published("diskgnn-table1", m, "memory=10%", "Papers100M", row)
                     for m in ("epoch_time_s", "disk_access_time_s", "disk_read_gb"))] for row in v.rows])
    return out + table_1_seconds(v) + table_1_ratios(v) + [""]


def table_1_seconds(v):
    """Seconds and bytes compare with the paper's where the graph is as large as its."""
    if divisor(v.scale) != 1:
        return []
    out = []
    for row in v.rows:
        ours = v(row, "epoch_s"), v(row, "disk_s"), v(row, "read_gib") * 2**30 / 1e9
        paper = [float(published("diskgnn-table1", m, "memory=10%", "Papers100M", row))
                 for m in ("epoch_time_s", "disk_access_time_s", "disk_read_gb")]
        factors = [o / p for o, p in zip(ours, paper)]
        out.append(f"* {row}: {ours[0]:.3g} s, {ours[1]:.3g} s and {ours[2]:.3g} GB are {factors[0]:.2f}, {factors[1]:.2f} and "
                   f"{factors[2]:.2f} of what is printed.")
    return out


def table_1_ratios(v):
    out = []
    for system, word in (("Ginex", "ginex"), ("MariusGNN", "marius")):
        if system not in v.rows:
            continue
        time, reads = (v(system, column) / v("DiskGNN", column) for column in ("epoch_s", "read_gib"))
        printed = [printed_1(system, metric) / printed_1("DiskGNN", metric) for metric in ("epoch_time_s", "disk_read_gb")]
        out += [finding(f"DiskGNN's epoch is {printed[0]:.1f} times shorter than {system}'s", f"{time:.2g} times",
                        about(time, printed[0]), CAUSES[word]),
                finding(f"{system} reads {printed[1]:.2g} times as much", f"{reads:.2g} times", about(reads, printed[1]),
                        CAUSES[f"{word} reads"])]
    if {"Ginex", "MariusGNN"} <= set(v.rows):
        share = [v(s, "disk_s") / v(s, "epoch_s") for s in ("Ginex", "MariusGNN")]
        printed = [printed_1(s, "disk_access_time_s") / printed_1(s, "epoch_time_s") for s in ("Ginex", "MariusGNN")]
        out += [finding(f"Ginex waits for the disk for {100 * printed[0]:.0f} % of an epoch, MariusGNN for {100 * printed[1]:.0f} %",
                        f"{100 * share[0]:.0f} % and {100 * share[1]:.0f} %", all_about(share, printed), CAUSES["disk share"])]
    return out


def show_table_4(v):
    out = [f"## Table 4: the search under a limit of disk space, Friendster at {v.scale}", ""]
    rows = []
    for row in v.rows:
        limit, search = row.split()
        variant = {"brute": "brute", "approximate": "approx"}.get(search)
        paper = [published("diskgnn-table4", m, f"disk_limit={limit}", variant=variant) if variant else "-"
                 for m in ("io_amplification", "search_time_s")]
        rows.append([limit, search, *(v.text(row, c) for c in ("amplification", "search_s", "segment", "rows", "disk")), *paper])
    out += table(["limit", "search", "amplification", "search s", "s", "m", "disk, x features", "paper: amplification",
                  "search s"], rows)
    out += ["`exact` is not the paper's: Algorithm 2, then segments lengthened until all bytes keep the limit.", ""]
    times = [v(f"{n}x brute", "search_s") / v(f"{n}x approximate", "search_s") for n in (3, 5)]
    better = [v(f"{n}x approximate", "amplification") / v(f"{n}x brute", "amplification") for n in (3, 5)]
    amplification = [v(f"{n}x approximate", "amplification") for n in (3, 5)]
    printed = [float(published("diskgnn-table4", "io_amplification", f"disk_limit={n}x", variant="approx")) for n in (3, 5)]
    over = [v(f"{n}x approximate", "disk") / n for n in (3, 5)]
    return out + [
        finding("The approximate search is over 250 times faster (260 and 417)", f"{times[0]:.3g} and {times[1]:.3g} times",
                min(times) >= 250, CAUSES["search time"]),
        finding("with no higher amplification (0.87 and 0.82 of brute force's)",
                f"{better[0]:.2f} and {better[1]:.2f}", max(better) <= 1, CAUSES["search quality"]),
        finding(f"Its amplification is {printed[0]} and {printed[1]}", f"{v.text('3x approximate', 'amplification', 3)} and "
                f"{v.text('5x approximate', 'amplification', 3)}", all_about(amplification, printed), CAUSES["amplification"]),
        finding("It keeps the limit", f"{over[0]:.2f} and {over[1]:.2f} of it", max(over) <= 1, CAUSES["limit"]),
        finding("More disk space, less amplification", f"{v.text('3x approximate', 'amplification')} at 3x, "
                f"{v.text('5x approximate', 'amplification')} at 5x", falls(amplification), CAUSES["space"]), NOT_HERE, ""]


def show_table_5(v):
    out = [f"## Table 5: pipeline and sequence, Friendster at {v.scale}", ""]
    times = {row: v(row, "sequential_s") / v(row, "pipeline_s") for row in v.rows}
    paper = {row: [published("diskgnn-table5", m, f"memory={row}", variant=w) for m, w in (
        ("epoch_time_s", "sequential"), ("epoch_time_s", "pipeline"), ("speedup_vs", "pipeline"))] for row in v.rows}
    out += table(["caches", "sequential s", "pipeline s", "speed-up", "paper: sequential s", "pipeline s", "speed-up"],
                 [[row.replace("%", " %"), v.text(row, "sequential_s"), v.text(row, "pipeline_s"), f"{times[row]:.2f}", *paper[row]]
                  for row in v.rows])
    shown = ", ".join(f"{t:.2f}" for t in times.values())
    speedups = [printed_5(row, "pipeline", "speedup_vs") for row in v.rows]
    pipeline = [v(row, "pipeline_s") for row in ("10%", "30%", "50%")]
    printed = [printed_5(row, "pipeline") for row in ("10%", "30%", "50%")]
    gain, wanted = pipeline[0] / pipeline[-1], printed[0] / printed[-1]
    return out + [
        finding(f"The pipeline is {', '.join(f'{s:.2f}' for s in speedups)} times faster than the sequence", shown,
                all_about(times.values(), speedups), CAUSES["pipeline"]),
        finding(f"A larger cache makes a shorter epoch ({', '.join(f'{p:.1f}' for p in printed)} s: {wanted:.1f} times from 10 to 50 %)",
                f"{gain:.2g} times", falls(pipeline) and about(gain, wanted), CAUSES["cache"]), *table_5_seconds(v), NOT_HERE, ""]


def table_5_seconds(v):
    """Seconds compare with the paper's where the graph is as large as its."""
    if divisor(v.scale) != 1:
        return []
    factors = [v(row, f"{variant}_s") / printed_5(row, variant) for row in v.rows for variant in ("sequential", "pipeline")]
    return [f"* These {len(factors)} epochs of the table's twelve are {min(factors):.2f} to {max(factors):.2f} of what is printed."]


def show_figure_13(v, w, before):
    """before: the same of the scale shown before it, or None."""
    millions = [m for m in MILLIONS if ("50", f"{m}M") in w.cells]
    columns = [f"{m}M" for m in millions]
    names = [f"{m} M" for m in millions]
    out = [f"## Figure 13: the segmented disk cache, Friendster at {v.scale}", "",
           "By rows of a disk cache, as they would be at scale 1. Left, amplification of what is read:", ""]
    out += table(["segment, order"] + names, [[row.replace(" ", ", "), *(v.text(row, c, 3) for c in columns)] for row in v.rows])
    out += ["Right, disk space, x features:", ""]
    out += table(["segment"] + names, [[row, *(w.text(row, c, 3) for c in columns)] for row in w.rows])
    if len(millions) < len(MILLIONS):  # the findings are of the whole figure
        apart = max(abs(float(value) / values(*cell) - 1) for part, values in zip((v, w), before) for cell, value in part.cells.items())
        return out + [f"* Not the whole figure: these settings alone, which are within {100 * apart:.1f} % of those at {before[0].scale}.", ""]
    saved = {s: [1 - v(f"{s} pair", c) / v(f"{s} off", c) for c in columns[1:]] for s in SEGMENTS}
    shown = ", ".join(f"{100 * max(saved[s]):.0f} % at {s}" for s in SEGMENTS)
    space = [w("50", c) - w("150", c) for c in columns]
    alike = w("50", "4M") / w("150", "4M")
    return out + [
        finding("The order of MinHash lowers the traffic at every segment size", f"by up to {shown}",
                all(min(s) > 0 for s in saved.values()), CAUSES["order"]),
        finding("by more in smaller segments", shown, max(saved[50]) > max(saved[100]) > max(saved[150]), CAUSES["small segments"]),
        finding("Smaller segments take more disk space", f"{space[-1]:.2f} x features more at 50 than at 150 with 20 M rows",
                min(space[1:]) > 0, CAUSES["space of segments"]),
        finding("down to a floor of its own for each segment size, lower for longer ones",
                ", ".join(f"{w.text(str(s), '20M', 3)} at {s}" for s in SEGMENTS),
                w("50", "20M") > w("100", "20M") > w("150", "20M") and w("50", "16M") <= tolerance("noise") * w("50", "20M"),
                CAUSES["floor"]),
        finding("Disk space is about the same for all segment sizes where the disk cache is small", f"{alike:.2f} times at 4 M",
                about(alike, 1), CAUSES["small caches"]), ""]


def show_figure_14(v):
    out = [f"## Figure 14: batched and individual packing at {v.scale}", ""]
    out += table(["graph, packing", "packing s", "of it reading s", "read GB", "written GB"],
                 [[row.replace(" ", ", "), *(v.text(row, c) for c in ("pack_s", "reading_s", "read_gb", "written_gb"))] for row in v.rows])
    times = [v(f"{d} individual", "pack_s") / v(f"{d} batched", "pack_s") for d in NODES]
    loads = [v(f"{d} individual", "reading_s") / v(f"{d} batched", "reading_s") for d in NODES]
    shares = [v(f"{d} individual", "reading_s") / v(f"{d} individual", "pack_s") for d in NODES]
    return out + [
        finding("Batched packing is 7.34 times faster in the mean of four graphs",
                " and ".join(f"{t:.2g}" for t in times) + " times", about(sum(times) / len(times), 7.34), CAUSES["packing"]),
        finding("Features are read 61 times faster in the mean", " and ".join(f"{t:.2g}" for t in loads) + " times",
                about(sum(loads) / len(loads), 61), CAUSES["loading"]),
        finding("Reading is 81 to 90 % of individual packing", " and ".join(f"{100 * s:.0f} %" for s in shares),
                all(0.81 <= share <= 0.9 for share in shares), CAUSES["reading share"]), ""]


NOT_HERE = "* The table's rows of IGB260M: [figures.md](figures.md)."
# Said where a finding does not hold.
CAUSES = {
    "ginex": "Ginex' epoch here has no Python in it, and its misses are read with direct I/O by many threads at the drive's rate",
    "marius": "what is not resident is not sampled, so MariusGNN's mini-batches are smaller than the other systems'; its published time "
              "is mostly its own sampling and loading on the CPU",
    "ginex reads": "popularity is cut off at fewer nodes on a scaled graph, so that Ginex' perfect foresight saves more of its reads",
    "marius reads": "a tenth of the partitions is read anew every epoch",
    "disk share": "the drive serves Ginex' small reads at its full rate here; at the published times it did not",
    "search time": "brute force here loads nothing but the lists of input nodes, and tries seven lengths; the published one is said to "
                   "lose most of its time with loading graphs",
    "search quality": "brute force looks at the first segment alone, and steps over the best one or not by chance",
    "amplification": "caches of a tenth serve fewer accesses of the generated graph than of the real one, so that the limit leaves more "
                     "rows to the disk caches; the scale is not it: all three have it alike",
    "limit": "the estimate is of the first segment, without tables and padding; `exact` keeps it",
    "space": "the limit is not what binds at this scale",
    "pipeline": "stages are less alike here: one of them takes most of the time, so there is less to overlap",
    "cache": "on a scaled graph a share of the nodes serves fewer of the accesses, so a larger cache saves less",
    "order": "with few rows of each mini-batch on a page, no order brings enough of them together",
    "small segments": "see the table: the differences are within what the few rows of a small graph allow",
    "space of segments": "see the table",
    "floor": "at the largest disk cache rows used twice are still packed",
    "small caches": "popularity is flatter on a scaled graph, so even a small disk cache saves differently",
    "packing": "both write the same chunks, at half of the reading rate on this profile, and that part no order of reads makes shorter",
    "loading": "individual packing keeps 64 reads in flight here, and the drive serves them at its full rate: the bytes read are the "
               "ratio's bound",
    "reading share": "writing is at half of the reading rate on this profile",
}


def scales_of(lines, part):
    return sorted({line["scale"] for line in lines if line["part"] == part}, key=divisor, reverse=True)


def generated(lines):
    out = []
    for part, show in (("table1", show_table_1), ("table4", show_table_4), ("table5", show_table_5)):
        for scale in scales_of(lines, part):
            out += show(Values(lines, part, scale))
    before = None
    for scale in scales_of(lines, "fig13a"):
        shown = Values(lines, "fig13a", scale), Values(lines, "fig13b", scale)
        out += show_figure_13(*shown, before)
        before = shown
    for scale in scales_of(lines, "fig14"):
        out += show_figure_14(Values(lines, "fig14", scale))
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    make_page(parse_arguments(), "diskgnn.csv", run_all, generated)


if __name__ == "__main__":
    main()
