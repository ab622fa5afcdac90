#!/usr/bin/env python3
"""Tables 1, 4 and 5 and Figure 13 of DiskGNN in the simulated world, beside the published numbers.

Every cell is one `oocgnn run --world simulated` on the machine of the paper's section 7.1 (profile diskgnn-paper) under
its preset: two epochs, of which the second counts (the preparation is before the first). A record that is there is not
made again. Nothing is tuned to the published numbers, which are read from results/published/diskgnn.csv for the last
columns alone.

  scripts/diskgnn_tables.py --parts table1 --papers-scale 1/1       # hours and 25 GB in TMPDIR
  scripts/diskgnn_tables.py --parts table4,table5,fig13             # friendster at 1/100: minutes
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import time

FEATURES = {"papers100m-sym": 111059956 * 512, "friendster-sym": 65608366 * 512}
PUBLISHED = os.path.join(os.path.dirname(__file__), "../results/published/diskgnn.csv")
# Figure 13: 50, 100 and 150 of 641 mini-batches; 0 to 20 M of 65.6 M nodes in steps of 4 M.
SEGMENTS = (50, 100, 150)
DISK_ROWS = (0, 4, 8, 12, 16, 20)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--parts", default="table4,table5,fig13")
    parser.add_argument("--papers-scale", default="1/100")
    parser.add_argument("--friendster-scale", default="1/100")
    parser.add_argument("--compute", default="cuda", help="cuda: the profile's GPU")
    parser.add_argument("--keep", default="build/diskgnn", help="records of the cells; a cell that is there is not run")
    parser.add_argument("--out", help="write the tables to this file too")
    return parser.parse_args()


class Runner:
    def __init__(self, arguments):
        self.arguments = arguments

    def scale(self, dataset):
        a = self.arguments
        return a.papers_scale if dataset.startswith("papers") else a.friendster_scale

    def divisor(self, dataset):
        return int(self.scale(dataset).split("/")[1])

    def cell(self, dataset, system="diskgnn", settings=(), epochs=2):
        """The record of one run. settings: of the system, "name=value"."""
        a = self.arguments
        name = "-".join([dataset, self.scale(dataset), system, a.compute, *settings]).replace("/", "_")
        kept = os.path.join(a.keep, name + ".json")
        if not os.path.exists(kept):
            command = [a.oocgnn, "run", "--world", "simulated", "--profile", "diskgnn-paper", "--dataset", dataset,
                       "--preset", "diskgnn", "--scale", self.scale(dataset), "--system", system, "--compute",
                       a.compute, "--epochs", str(epochs), "--evaluate", "never", "--db",
                       os.path.join(a.keep, "runs.db"), "--json", "--quiet"]
            for setting in settings:
                command += ["--set", f"{system}.{setting}"]
            os.makedirs(a.keep, exist_ok=True)
            started = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1) or not done.stdout.strip():
                sys.exit(f"{' '.join(command)}\n{done.stderr}")
            print(f"{name}: {time.monotonic() - started:.0f} s of host time", file=sys.stderr)
            with open(kept, "w") as target:
                target.write(done.stdout)
        with open(kept) as source:
            return json.load(source)


def published(figure, metric, parameter, dataset, system="DiskGNN", variant=None):
    with open(PUBLISHED, newline="") as source:
        for row in csv.DictReader(source):
            if (row["figure_id"], row["metric"], row["dataset"], row["system"]) == (figure, metric, dataset, system) \
                    and parameter in row["parameter"] and variant in (None, row["variant"]):
                return row["value"]
    return "-"


def last(record):
    return record["epochs"][-1] if record["status"] == "ok" else None


def figure(record, name):
    """Of the second epoch; what the preparation took is in the first."""
    epoch = record["epochs"][0 if name.endswith("prepare_ns") else -1]
    return epoch["figures"].get(name)


def seconds(record):
    return f"{last(record)['wall_ns'] * 1e-9:.4g}" if last(record) else record["status"]


def waited(record):
    """Time in which a worker of a stage waited for the disk, the longest of them."""
    stages = last(record)["stages"] if last(record) else []
    return f"{max((s['wait_io_ns'] / s['workers'] for s in stages), default=0) * 1e-9:.4g}"


def gigabytes(record):
    return f"{last(record)['counters']['requested_bytes'] / 2**30:.4g}" if last(record) else "-"


def table(title, headings, rows):
    lines = [f"### {title}\n", "| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]) + "\n"


def table_1(runner):
    dataset = "papers100m-sym"
    cache = FEATURES[dataset] // runner.divisor(dataset) // 10
    cells = (("Ginex", runner.cell(dataset, "ginex", (f"feature_cache={cache}",))), ("DiskGNN", runner.cell(dataset)))
    rows = []
    for system, record in cells:
        paper = [published("diskgnn-table1", m, "memory=10%", "Papers100M", system)
                 for m in ("epoch_time_s", "disk_access_time_s", "disk_read_gb")]
        rows.append([system, seconds(record), waited(record), gigabytes(record), *paper])
    return table(f"diskgnn-table1, Papers100M at {runner.scale(dataset)}, 10 % of the features",
                 ["system", "epoch s", "disk s", "read GiB", "paper: epoch s", "disk s", "read GB"], rows)


def table_4(runner):
    rows = []
    step = "brute_step=100"
    for limit in (3, 5):
        for search, variant in ((("search=brute", step), "brute"), (("search=approximate",), "approx"), ((), "")):
            record = runner.cell("friendster-sym", settings=(f"disk_limit={limit}", *search), epochs=1)
            ns = figure(record, "search_prepare_ns")
            bound = f"disk_limit={limit}x"
            disk = figure(record, "placed_bytes") * runner.divisor("friendster-sym") / FEATURES["friendster-sym"]
            rows.append([f"{limit} F", search[0] if search else "search=exact",
                         f"{figure(record, 'amplification_permille') / 1000:.2f}", f"{ns * 1e-9:.4g}",
                         figure(record, "segment_batches"), figure(record, "disk_rows_limit"),
                         f"{disk:.3f}",
                         of_search("io_amplification", bound, variant), of_search("search_time_s", bound, variant)])
    return table(f"diskgnn-table4, Friendster at {runner.scale('friendster-sym')}",
                 ["limit", "search", "amplification", "search s", "s", "m", "disk, x F", "paper: amplification",
                  "search s"], rows)


def of_search(metric, bound, variant):
    with open(PUBLISHED, newline="") as source:
        for row in csv.DictReader(source):
            if row["figure_id"] == "diskgnn-table4" and row["metric"] == metric and row["dataset"] == "Friendster" \
                    and bound in row["parameter"] and variant and row["variant"].startswith(variant):
                return row["value"]
    return "-"


def table_5(runner):
    rows = []
    for percent in (10, 30, 50):
        at = f"memory={percent}%"
        both = [runner.cell("friendster-sym", settings=(f"cache_ratio={percent}", f"pipeline={word}"))
                for word in ("false", "true")]
        times = [last(r)["wall_ns"] if last(r) else None for r in both]
        speedup = f"{times[0] / times[1]:.2f}" if None not in times else "-"
        rows.append([f"{percent} %", *(seconds(r) for r in both), speedup]
                    + [published("diskgnn-table5", m, at, "Friendster", variant=v) for m, v in (
                        ("epoch_time_s", "sequential"), ("epoch_time_s", "pipeline"), ("speedup_vs", "pipeline"))])
    return table(f"diskgnn-table5, Friendster at {runner.scale('friendster-sym')}",
                 ["caches", "sequential s", "pipeline s", "speed-up", "paper: sequential s", "pipeline s", "speed-up"],
                 rows)


def figure_13(runner):
    amplification, disk = [], []
    nodes = 65608366 // runner.divisor("friendster-sym")
    for segment in SEGMENTS:
        for reorder in ("pair", "off"):
            row, space = [f"{segment}, {reorder}"], [segment]
            for millions in DISK_ROWS:
                rows = round(millions * 1e6 / 65608366 * nodes)
                record = runner.cell("friendster-sym", epochs=1, settings=(
                    f"segment={segment}", f"disk_rows={rows}", f"reorder={reorder}"))
                row.append(f"{figure(record, 'amplification_permille') / 1000:.2f}")
                space.append(f"{figure(record, 'placed_bytes') / (nodes * 512):.2f}")
            amplification.append(row)
            if reorder == "pair":
                disk.append(space)
    columns = [f"{m} M" for m in DISK_ROWS]
    scale = runner.scale("friendster-sym")
    return table(f"diskgnn-fig13a, Friendster at {scale}: amplification by rows of a disk cache (at scale 1)",
                 ["segment, order"] + columns, amplification) + "\n" \
        + table(f"diskgnn-fig13b, Friendster at {scale}: disk, x features", ["segment"] + columns, disk)


def main():
    arguments = parse_arguments()
    runner = Runner(arguments)
    parts = {"table1": table_1, "table4": table_4, "table5": table_5, "fig13": figure_13}
    text = "\n".join(parts[part](runner) for part in arguments.parts.split(","))
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as target:
            target.write(text)


if __name__ == "__main__":
    main()
