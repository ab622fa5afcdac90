#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures 2 and 8 of GNNDrive (Papers100M column) at scale 1 in the simulated world, beside the published ratios.

Every cell is one `oocgnn run --world simulated`: the machine of the paper's section 5 (profile gnndrive-paper), the
paper's thread counts, two whole epochs of which the second counts (the topology is in the page cache by then); with
--batches N a part of the first epoch after a warm-up, extrapolated, in a tenth of the time. Nothing is tuned to the
published numbers, which are read from results/published/gnndrive.csv for the last columns alone.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import time

from results_page import table

# Threads, queues and buffers are those of the preset and of the systems' rules over the profile's 48 cores: GNNDrive 4
# samplers, 4 extractors, queues of 6 and 4; PyG+ 32 workers and 128 gather threads; Ginex 96 samplers and 128 gather threads.
# series: system, compute
SERIES = {
    "PyG+": ("pygplus", "cuda"),
    "Ginex": ("ginex", "cuda"),
    "GNNDrive-GPU": ("gnndrive", "cuda"),
    "GNNDrive-CPU": ("gnndrive", "cpu"),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--batches", type=int, default=0, help="mini-batches that count; 0: two whole epochs")
    parser.add_argument("--warmup", type=int, default=200, help="mini-batches before them")
    parser.add_argument("--keep", default="build/figures", help="records of the cells; a cell that is there is not run")
    parser.add_argument("--dims", default="64,128,256,512")
    parser.add_argument("--series", default="PyG+,GNNDrive-GPU,GNNDrive-CPU")
    parser.add_argument("--memory", default="32G")
    parser.add_argument("--scale", default="1/1")
    parser.add_argument("--out", help="write the tables to this file too")
    return parser.parse_args()


class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.cells = {}

    def command(self, series, dim, only):
        a = self.arguments
        system, compute = SERIES[series]
        command = [a.oocgnn, "run", "--world", "simulated", "--profile", "gnndrive-paper", "--dataset", "papers100m",
                   "--preset", "gnndrive", "--scale", a.scale, "--memory", a.memory, "--dim", str(dim), "--system",
                   system, "--compute", compute, "--db", "build/figures.db", "--json", "--quiet"]
        if only:
            command += ["--sample-only"]
        if a.batches == 0:
            command += ["--epochs", "2"]
        elif only:
            command += ["--max-batches", str(a.warmup + a.batches)]
        else:
            command += ["--warmup", str(a.warmup), "--batches", str(a.batches)]
        return command

    def cell(self, series, dim, only=False):
        """The record of one run. Sampling alone does not depend on the dimension: it is run once."""
        key = (series, 0 if only else dim, only)
        if key not in self.cells:
            words = [series, key[1] or "any", "only" if only else "all", self.arguments.memory, self.arguments.scale,
                     self.arguments.batches]
            kept = os.path.join(self.arguments.keep, "-".join(str(w).replace("/", "_") for w in words) + ".json")
            if os.path.exists(kept):
                with open(kept) as source:
                    self.cells[key] = json.load(source)
                return self.cells[key]
            started = time.monotonic()
            done = subprocess.run(self.command(series, dim, only), capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1) or not done.stdout.strip():
                sys.exit(f"{' '.join(self.command(series, dim, only))}\n{done.stderr}")
            record = json.loads(done.stdout)
            self.cells[key] = record
            os.makedirs(self.arguments.keep, exist_ok=True)
            with open(kept, "w") as target:
                target.write(done.stdout)
            print(f"{series} dim {dim}{' only' if only else ''}: {record['status']}, "
                  f"{time.monotonic() - started:.0f} s of host time", file=sys.stderr)
        return self.cells[key]


def is_settled(record):
    """False where the time of an epoch, of which a part ran, is not settled."""
    return 0 not in [epoch["figures"].get("full_epoch_settled") for epoch in record["epochs"]]


def epoch_seconds(record):
    """The whole epoch, and half the width of its 95 % interval; None where the run has no time, or none that is settled."""
    if record["status"] != "ok":
        return None, None
    figures = record["epochs"][-1]["figures"]
    if not is_settled(record):
        return None, None
    if "full_epoch_ns" not in figures:
        return record["epochs"][-1]["wall_ns"] * 1e-9, 0.0
    half = (figures["full_epoch_high_ns"] - figures["full_epoch_low_ns"]) / 2
    return figures["full_epoch_ns"] * 1e-9, half * 1e-9


def status(record):
    return record["status"] if record["status"] != "ok" or is_settled(record) else "not settled"


def sampling_seconds(record):
    """Time one sampler spends on an epoch: sampler latency summed over all mini-batches and divided by the workers,
    waiting for the next stage left out."""
    if record["status"] != "ok" or not is_settled(record):
        return None
    epoch = record["epochs"][-1]
    stage = next(s for s in epoch["stages"] if s["stage"] == "sample")
    busy = stage["wall_ns"] - (stage["wait_queue_ns"] or 0)
    batches = epoch["counters"]["batches"]
    seeds, batch = int(record["environment"]["dataset.train"]), record["batch_size"]
    total = -(-seeds // batch)
    return busy / stage["workers"] * (total / batches) * 1e-9


def text(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}"


def ratio(a, b):
    return None if a is None or b is None or b == 0 else a / b


def published(figure, system, variant, metric, contains, baseline=""):
    with open(os.path.join(os.path.dirname(__file__), "../results/published/gnndrive.csv"), newline="") as source:
        for row in csv.DictReader(source):
            if (row["figure_id"], row["system"], row["variant"], row["metric"]) == (figure, system, variant, metric) \
                    and row["dataset"] == "Papers100M" and row["model"] == "GraphSAGE" \
                    and contains in row["parameter"] and row["baseline"] == baseline:
                return float(row["value"])
    return None


def figure_8(runner, dims, series):
    rows = []
    for name in series:
        times = [epoch_seconds(runner.cell(name, dim)) for dim in dims]
        rows.append([name] + [status(runner.cell(name, d)) if t is None else f"{t:.4g}" + (f" ± {h:.2g}" if h else "")
                              for d, (t, h) in zip(dims, times)])
    parts = ["### gnndrive-fig8, Papers100M, GraphSAGE: epoch time in seconds\n",
             *table(["series"] + [f"dim {d}" for d in dims], rows)]
    compared = []
    gpu = epoch_seconds(runner.cell("GNNDrive-GPU", 128))[0] if 128 in dims else None
    for name, row in (("PyG+", ("PyG+",)), ("Ginex", ("Ginex",))):
        if name in series and gpu is not None:
            ours = ratio(epoch_seconds(runner.cell(name, 128))[0], gpu)
            paper = published("gnndrive-fig8", "GNNDrive", "GPU", "speedup_vs", "dim=128", row[0])
            compared.append([f"T({name}) / T(GNNDrive-GPU), dim 128", text(ours), text(paper)])
    if "GNNDrive-CPU" in series and gpu is not None:
        ours = ratio(epoch_seconds(runner.cell("GNNDrive-CPU", 128))[0], gpu)
        paper = ratio(published("gnndrive-table2", "GNNDrive", "CPU", "epoch_time_s", "dim=128"),
                      published("gnndrive-table2", "GNNDrive", "GPU", "epoch_time_s", "dim=128"))
        compared.append(["T(GNNDrive-CPU) / T(GNNDrive-GPU), dim 128", text(ours), text(paper)])
    for name in series:
        system, variant = (name.split("-") + [""])[:2]
        paper = published("gnndrive-table2", system, variant, "epoch_time_s", "dim=128")
        if 128 in dims:
            compared.append([f"T({name}), dim 128, seconds", text(epoch_seconds(runner.cell(name, 128))[0], 4),
                             text(paper, 4)])
        ours = ratio(epoch_seconds(runner.cell(name, dims[-1]))[0], epoch_seconds(runner.cell(name, dims[0]))[0])
        compared.append([f"T({name}), dim {dims[-1]} / dim {dims[0]}", text(ours), "not printed for this graph"])
    return "\n".join(parts + table(["ratio", "simulated", "published"], compared))


def figure_2(runner, dims, series):
    rows = []
    for name in series:
        alone = sampling_seconds(runner.cell(name, dims[0], only=True))
        rows.append([f"{name}-only"] + [text(alone)] * len(dims))
        rows.append([f"{name}-all"] + [text(sampling_seconds(runner.cell(name, d))) for d in dims])
    parts = ["### gnndrive-fig2, Papers100M, GraphSAGE: sampling time per epoch and sampler in seconds\n",
             *table(["series"] + [f"dim {d}" for d in dims], rows)]
    compared = []

    def add(label, ours, paper):
        compared.append([label, text(ours), text(paper)])

    def sampled(name, dim, only=False):
        return sampling_seconds(runner.cell(name, dim, only)) if name in series and dim in dims else None

    add("S(PyG+-all) / S(PyG+-only), dim 128", ratio(sampled("PyG+", 128), sampled("PyG+", 128, True)),
        published("gnndrive-fig2", "PyG+", "all", "sampling_time_ratio", "dim=128", "PyG+-only"))
    add("S(PyG+-all), dim 512 / dim 64", ratio(sampled("PyG+", 512), sampled("PyG+", 64)),
        published("gnndrive-fig2", "PyG+", "all", "sampling_time_ratio", "dim=512", "PyG+-all dim=64"))
    for dim in (128, 512):
        add(f"S(PyG+-all) / S(GNNDrive-GPU-all), dim {dim}", ratio(sampled("PyG+", dim), sampled("GNNDrive-GPU", dim)),
            published("gnndrive-fig2", "GNNDrive", "GPU", "sampling_speedup_vs", f"dim={dim}", "PyG+"))
    return "\n".join(parts + table(["ratio", "simulated", "published"], compared))


def main():
    arguments = parse_arguments()
    dims = [int(d) for d in arguments.dims.split(",")]
    series = arguments.series.split(",")
    runner = Runner(arguments)
    report = figure_8(runner, dims, series) + "\n" + figure_2(runner, dims, series)
    part = "the second of two whole epochs" if arguments.batches == 0 else (
        f"{arguments.batches} mini-batches after {arguments.warmup}, extrapolated (± is half the 95 % interval)")
    report += (f"\nSimulated world, profile gnndrive-paper, papers100m at scale {arguments.scale}, cap "
               f"{arguments.memory}, batch 1000, fan-out 10,10,10; {part}. Command: "
               f"`{' '.join(['scripts/gnndrive_figures.py'] + sys.argv[1:])}`.\n")
    print(report)
    if arguments.out:
        with open(arguments.out, "w") as target:
            target.write(report)


if __name__ == "__main__":
    main()
