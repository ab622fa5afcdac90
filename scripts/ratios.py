#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The papers' ratios, simulated on the papers' machines, beside the published ones.

Every published ratio between two things that can be run here is a row; a column is a readahead of the device (128K, Linux'
default, which the papers' instructions leave, or 0, as Ginex' set it) and a file of costs (ideal or released). Every cell of
a row is one `oocgnn run --world simulated`. Writes results/ratios.csv and the generated part of results/ratios.md; `--write`
writes that part from the CSV file alone, `--check` compares it (tests/style/test_results.sh). Nothing is tuned to a published
number: those are read from results/published for the comparison alone.

A run's record is kept, and not made again as long as program, profiles, costs and presets are the same: cut off, or ended by
--minutes, the command goes on from there. The first seed of every row comes first, so the tables are whole early; a row
counts the seeds it has. Where the tree is worked in meanwhile, copy the program within its folder, from where it finds
profiles and presets, and say --oocgnn.

  scripts/ratios.py --list                                                   # what there is to run, and how long it takes
  nice -n 19 scripts/ratios.py --scale 1/100 --jobs 2                        # every row, four columns, three seeds
  nice -n 19 scripts/ratios.py --seeds 1 --minutes 30                        # a part of it; the next start goes on
  scripts/ratios.py --figures gnndrive-fig8,gnndrive-table2 --scale 1/1 --seeds 1 --part pygplus=200+100 --part gnndrive=200+100
"""
import argparse
import concurrent.futures
import csv
import functools
import glob
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import time

from results_page import Part, about, read_csv, tolerance, write_csv

PUBLISHED = os.path.join(os.path.dirname(__file__), "../results/published")
WORKLOADS = os.path.join(os.path.dirname(__file__), "../workloads")
NOT_RUN = "not run"
NOT_SETTLED = "not settled"
COLUMNS = {f"{readahead} {costs}": (readahead, costs) for readahead in ("0", "128K") for costs in ("ideal", "released")}
RELEASED = "128K released"  # the column of a paper whose released instructions leave readahead as it is
# What a released program does otherwise, beside what it spends.
RELEASED_SETS = {"gnndrive": ["gnndrive.serial_extract=true"]}
AGNES_DATASETS = ["papers100m", "twitter", "friendster-agnes", "igb-medium"]
FIELDS = ["scale", "row", "what", "published", "relation", "belongs", "column", "ours", "low", "high", "log2", "seeds", "epochs"]
PAGE = 4096
# CPU seconds of a usual run at 1/100: what --list reckons with where no run like it is kept.
USUAL_CPU_S = {"pygplus": 4, "ginex": 5, "gnndrive": 2, "mariusgnn": 5, "agnes": 9, "diskgnn": 15, "ringsampler": 3}


def gib(number):
    return int(number * 2**30)


# ---- published values ----

@functools.lru_cache
def published_rows():
    rows = []
    for name in sorted(os.listdir(PUBLISHED)):
        with open(os.path.join(PUBLISHED, name), encoding="utf-8", newline="") as source:
            rows += list(csv.DictReader(source))
    return rows


def find_published(figure, system, variant, dataset, model, metric, contains="", baseline=""):
    found = [r for r in published_rows()
             if (r["figure_id"], r["system"], r["variant"], r["dataset"], r["metric"], r["baseline"]) ==
             (figure, system, variant, dataset, metric, baseline)
             and r["model"] in ("", model) and contains in r["parameter"]]
    if len({r["value"] for r in found}) != 1:
        sys.exit(f"{figure}, {system} {variant}, {dataset}, {model}, {metric}, {contains}: {len(found)} published values")
    return found[0]


def number(row):
    return float(row["value"])


# ---- what is run ----

class Cell:
    """One configuration at scale 1; memory in bytes (None: the preset's), sets "system.name=value"."""

    def __init__(self, system, dataset, profile, preset, **more):
        self.system, self.dataset, self.profile, self.preset = system, dataset, profile, preset
        self.dim, self.memory = more.pop("dim", None), more.pop("memory", None)
        self.model, self.fanout = more.pop("model", None), more.pop("fanout", None)
        self.compute, self.threads = more.pop("compute", "cuda"), more.pop("threads", None)
        self.only, self.sets, self.scaled = more.pop("only", False), more.pop("sets", []), more.pop("scaled", {})
        assert not more, more

    def words(self, a, column, seed):
        readahead, costs = COLUMNS[column]
        divisor = int(a.scale.split("/")[1])
        words = ["--system", self.system, "--dataset", self.dataset, "--scale", a.scale, "--preset", self.preset, "--world",
                 "simulated", "--profile", self.profile, "--device-readahead", readahead, "--costs", costs, "--seed", str(seed)]
        if not self.only:
            words += ["--compute", self.compute]
        if self.threads:
            words += ["--compute-threads", str(self.threads)]
        for option, value in (("--dim", self.dim), ("--model", self.model), ("--fanout", self.fanout)):
            if value is not None:
                words += [option, str(value)]
        if self.memory is not None:
            words += ["--memory", str(max(self.memory // divisor // PAGE, 1) * PAGE)]
        sets = self.sets + [f"{name}={value // divisor}" for name, value in self.scaled.items()]
        if costs == "released":
            sets = sets + RELEASED_SETS.get(self.system, [])
        for text in sets:
            words += ["--set", text]
        return words + self.length(a)

    def length(self, a):
        if self.only:
            part = a.parts.get(self.system)
            return ["--sample-only", "--epochs", a.epochs] + (["--max-batches", str(sum(map(int, part.split("+"))))] if part else [])
        if self.system in a.parts:
            warmup, batches = a.parts[self.system].split("+")
            return ["--warmup", warmup, "--batches", batches]
        return ["--epochs", a.epochs]


def made_with(program):
    """Digest of all that a record depends on besides its words: the program, and the files that it reads."""
    digest = hashlib.sha256()
    read = [path for folder in ("hardware", "presets") for path in glob.glob(os.path.join(WORKLOADS, folder, "**/*.ini"), recursive=True)]
    for path in [program] + sorted(read):
        with open(path, "rb") as source:
            digest.update(source.read())
    return digest.hexdigest()


def kept_path(a, words):
    name = hashlib.sha256(f"{a.made_with} {' '.join(words)}".encode()).hexdigest()[:16]
    return os.path.join(a.keep, f"{words[1]}-{words[3]}-{name}")


def read_json(path):
    with open(path, encoding="utf-8") as source:
        return json.load(source)


def run_one(line, path):
    """The record of a run, with the CPU time that it took here."""
    started = time.monotonic()
    with open(path + ".out", "wb") as out, open(path + ".err", "wb") as err, subprocess.Popen(line, stdout=out, stderr=err) as run:
        _, wait_status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(wait_status)
    if os.path.getsize(path + ".out") > 0:
        record = read_json(path + ".out")
    else:
        with open(path + ".err", encoding="utf-8") as source:
            record = {"status": "refused", "reasons": source.read()}
    for suffix in (".out", ".err", ".db", ".db-wal", ".db-shm"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)
    record.update(command=" ".join(line), host_cpu_s=usage.ru_utime + usage.ru_stime, host_wall_s=time.monotonic() - started)
    return record


def record_of(a, words, said):
    """The record of a run; NOT_SETTLED where its part of an epoch has no time."""
    record = kept_or_made(a, words, said)
    settled = [epoch["figures"].get("full_epoch_settled") for epoch in record.get("epochs") or []]
    return {**record, "status": NOT_SETTLED} if record["status"] == "ok" and 0 in settled else record


def kept_or_made(a, words, said):
    """The record of a run, kept or made; NOT_RUN after --minutes or with --no-run."""
    path = kept_path(a, words)
    if os.path.exists(path + ".json"):
        return read_json(path + ".json")
    if a.no_run or time.monotonic() > a.until:
        return {"status": NOT_RUN}
    record = run_one([a.oocgnn, "run"] + list(words) + ["--evaluate", "never", "--db", path + ".db", "--json", "--quiet"], path)
    if record["status"] == "interrupted":
        a.until = 0
        return {"status": NOT_RUN}
    if record["status"] in ("ok", "oom", "gpu_oom", "oot", "refused"):  # what failed otherwise is run again next time
        with open(path + ".new", "w", encoding="utf-8") as target:
            json.dump(record, target)
        os.replace(path + ".new", path + ".json")
    else:
        print(f"{record['status']}: {record['reasons']}\n  {record['command']}", file=sys.stderr, flush=True)
    print(f"{said}: {' '.join(words[:4])}: {record['status']}, CPU {record['host_cpu_s']:.0f} s", file=sys.stderr, flush=True)
    return record


# ---- quantities of a record ----

def epoch_s(record):
    last = record["epochs"][-1]
    return (last["figures"].get("full_epoch_ns") or last["wall_ns"]) * 1e-9


def sampling_s(record):
    """Time one sampler spends on an epoch: latency summed over the mini-batches and divided by the workers, waiting for the
    next stage left out."""
    last = record["epochs"][-1]
    stage = next(s for s in last["stages"] if s["stage"] == "sample")
    busy = stage["wall_ns"] - (stage["wait_queue_ns"] or 0)
    batches = -(-int(record["environment"]["dataset.train"]) // record["batch_size"])
    return busy / stage["workers"] * (batches / last["counters"]["batches"]) * 1e-9


def read_bytes(record):
    last = record["epochs"][-1]
    share = epoch_s(record) / (last["wall_ns"] * 1e-9)
    return last["counters"]["device_read_bytes"] * share


# ---- rows ----

class Row:
    """name, what is compared, the published value and how it is meant. cells: the configurations; value(quantities): our number
    from a quantity of each, in their order."""

    def __init__(self, name, what, value_published, relation, cells, value, **more):
        self.name, self.what, self.published, self.relation = name, what, value_published, relation
        self.cells, self.value = cells, value
        self.quantity, self.belongs = more.pop("quantity", epoch_s), more.pop("belongs", RELEASED)
        self.cause = more.pop("cause", "")
        assert not more, more

    @property
    def figure(self):
        return self.name.split(":")[0]


def first_over_second(values):
    return values[0] / values[1]


def ratio(name, what, row, above, below, **more):
    """`row`: a published row with the ratio, or two rows of which the first is divided by the second."""
    value = number(row) if isinstance(row, dict) else number(row[0]) / number(row[1])
    relation = row["relation"] if isinstance(row, dict) else "exact"
    return Row(name, what, value, relation, [above, below], first_over_second, **more)


def most(name, what, row, pairs, **more):
    """An "up to": the largest of several ratios (those whose runs ended)."""
    def value(values):
        return max(values[i] / values[i + 1] for i in range(0, len(values), 2))
    return Row(name, what, number(row), row["relation"], [cell for pair in pairs for cell in pair], value, **more)


def best(name, what, row, cells, **more):
    """cells: setting -> cell; ours is the setting with the least time."""
    settings = list(cells)

    def value(values):
        return settings[min(range(len(values)), key=lambda i: values[i])]
    return Row(name, what, number(row), row["relation"], list(cells.values()), value, **more)


def gnndrive_rows():
    def cell(system, dataset="papers100m", **more):
        return Cell(system, dataset, "gnndrive-paper", "gnndrive", **{"dim": 128, **more})

    def cpu(dataset="papers100m", **more):
        return cell("gnndrive", dataset, compute="cpu", threads=48, **more)

    phi = ("the order of the IDs: what share of the 128 KiB windows holds rows that are reached at all decides what reading around "
           "brings in, and no public source tells")
    software = "what the released program spends on the CPU beside its design; the file of costs has only what can be sourced"
    rows = []
    for model, word, fanout in (("sage", "GraphSAGE", None), ("gcn", "GCN", None), ("gat", "GAT", "10,10,5")):
        gpu = cell("gnndrive", model=model, fanout=fanout)
        for system, name, cause in (("pygplus", "PyG+", phi), ("ginex", "Ginex", phi)):
            rows.append(ratio(f"gnndrive-fig8:{model}-{system}", f"T({name}) / T(GNNDrive-GPU), Papers100M, {word}",
                              find_published("gnndrive-fig8", "GNNDrive", "GPU", "Papers100M", word, "speedup_vs", "dim=128", name),
                              cell(system, model=model, fanout=fanout), gpu, cause=cause))
    rows += [
        ratio("gnndrive-fig8:gcn-cpu", "T(GNNDrive-CPU) / T(GNNDrive-GPU), GCN (Papers100M taken)",
              find_published("gnndrive-fig8", "GNNDrive", "GPU", "", "GCN", "speedup_vs", "", "GNNDrive-CPU"),
              cpu(model="gcn"), cell("gnndrive", model="gcn"), cause=software),
        ratio("gnndrive-fig8:gat-cpu", "T(GNNDrive-CPU) / T(GNNDrive-GPU), Papers100M, GAT",
              find_published("gnndrive-fig8", "GNNDrive", "CPU", "Papers100M", "GAT", "epoch_time_ratio", "dim=128", "GNNDrive-GPU"),
              cpu(model="gat", fanout="10,10,5"), cell("gnndrive", model="gat", fanout="10,10,5"), cause=software),
        ratio("gnndrive-fig8:mag-gpu-dims", "T(GNNDrive-GPU) at dim 512 / 64, MAG240M-Cites",
              find_published("gnndrive-fig8", "GNNDrive", "GPU", "MAG240M-Cites", "GraphSAGE", "epoch_time_ratio", "dim=512",
                             "GNNDrive-GPU dim=64"),
              cell("gnndrive", "mag240m-cites", dim=512), cell("gnndrive", "mag240m-cites", dim=64)),
        ratio("gnndrive-fig8:mag-pygplus-dims", "T(PyG+) at dim 512 / 64, MAG240M-Cites",
              find_published("gnndrive-fig8", "PyG+", "", "MAG240M-Cites", "GraphSAGE", "epoch_time_ratio", "dim=512", "PyG+ dim=64"),
              cell("pygplus", "mag240m-cites", dim=512), cell("pygplus", "mag240m-cites", dim=64), cause=phi),
    ]

    def table2(system, variant, dataset):
        return find_published("gnndrive-table2", system, variant, dataset, "GraphSAGE", "epoch_time_s")

    for dataset, word, dim in (("papers100m", "Papers100M", 128), ("mag240m-cites", "MAG240M-Cites", 768)):
        gpu, base = cell("gnndrive", dataset, dim=dim), table2("GNNDrive", "GPU", word)
        for other, name, system, variant, cause in (
                (cpu(dataset, dim=dim), "GNNDrive-CPU", "GNNDrive", "CPU", software),
                (cell("pygplus", dataset, dim=dim), "PyG+", "PyG+", "", phi),
                (cell("ginex", dataset, dim=dim), "Ginex", "Ginex", "", phi)):
            rows.append(ratio(f"gnndrive-table2:{dataset}-{name}", f"T({name}) / T(GNNDrive-GPU), {word}, dim {dim}",
                              (table2(system, variant, word), base), other, gpu, cause=cause))
    for variant, memory in (("32G", None), ("128G", gib(128))):
        rows.append(ratio(f"gnndrive-table2:mariusgnn-{variant}", f"T(MariusGNN, {variant}) / T(GNNDrive-GPU), Papers100M, dim 128",
                          (table2("MariusGNN", variant, "Papers100M"), table2("GNNDrive", "GPU", "Papers100M")),
                          cell("mariusgnn", memory=memory), cell("gnndrive"),
                          cause="the published preparing moves 163 GB, two and a half times the dataset"))

    def sampling(variant, contains, metric, baseline, system):
        return find_published("gnndrive-fig2", system, variant, "Papers100M", "GraphSAGE", metric, contains, baseline)

    def row2(name, what, found, above, below):
        return ratio(name, what, found, above, below, quantity=sampling_s,
                     cause="how the published sampling time was summed is not said; a sampler's share of the drive decides it")
    rows += [
        row2("gnndrive-fig2:all-only", "S(PyG+-all) / S(PyG+-only), dim 128",
             sampling("all", "dim=128", "sampling_time_ratio", "PyG+-only", "PyG+"), cell("pygplus"), cell("pygplus", only=True)),
        row2("gnndrive-fig2:dims", "S(PyG+-all) at dim 512 / 64",
             sampling("all", "dim=512", "sampling_time_ratio", "PyG+-all dim=64", "PyG+"), cell("pygplus", dim=512),
             cell("pygplus", dim=64)),
    ]
    for dim in (128, 512):
        rows.append(row2(f"gnndrive-fig2:gnndrive-{dim}", f"S(PyG+-all) / S(GNNDrive-GPU-all), dim {dim}",
                         sampling("GPU", f"dim={dim}", "sampling_speedup_vs", "PyG+", "GNNDrive"), cell("pygplus", dim=dim),
                         cell("gnndrive", dim=dim)))
    rows.append(ratio("gnndrive-fig9:pygplus-8G", "T(PyG+) / T(GNNDrive-GPU), 8 GB, dim 512 (Papers100M taken)",
                      find_published("gnndrive-fig9", "GNNDrive", "GPU", "", "", "speedup_vs", "memory=8GB", "PyG+"),
                      cell("pygplus", dim=512, memory=gib(8)), cell("gnndrive", dim=512, memory=gib(8)),
                      cause="the published cell names neither dataset nor model"))
    for variant, make in (("GPU", lambda **more: cell("gnndrive", "twitter", **more)), ("CPU", lambda **more: cpu("twitter", **more))):
        rows.append(ratio(f"gnndrive-fig12:{variant}", f"T(GNNDrive-{variant}), feature buffer of 1x / 2x, Twitter",
                          find_published("gnndrive-fig12", "GNNDrive", variant, "Twitter", "GraphSAGE", "speedup_vs", "feature_buffer=2x",
                                         f"GNNDrive-{variant} feature_buffer=1x"),
                          make(), make(sets=["gnndrive.buffer_mult=2"])))
    return rows


def agnes_rows(a):
    def cell(system, dataset, preset="agnes", **more):
        return Cell(system, dataset, "agnes-paper", preset, dim=128, **more)

    rows = []
    for preset, memory, word in (("agnes", "memory=32GB", "setting 1, 32 GB"), ("agnes-8g", "memory=8GB", "setting 2, 8 GB")):
        rows.append(most(f"agnes-fig6:{preset}", f"T(Ginex) / T(AGNES), the most of {', '.join(a.agnes_datasets)}, {word}",
                         find_published("agnes-fig6", "AGNES", "", "", "", "speedup_vs", memory, "Ginex"),
                         [(cell("ginex", d, preset), cell("agnes", d, preset)) for d in a.agnes_datasets],
                         cause="the paper prints the most of 15 cells without naming it; the graphs' reuse decides how often Ginex misses"))
    rows.append(most("agnes-fig8", f"T(AGNES-No) / T(AGNES-HB), the most of {', '.join(a.agnes_datasets)}",
                     find_published("agnes-fig8", "AGNES", "HB", "", "", "speedup_vs", "", "AGNES-No"),
                     [(cell("agnes", d, sets=["agnes.hyperbatch=1"]), cell("agnes", d)) for d in a.agnes_datasets],
                     cause="without hyperbatches every mini-batch reads its blocks anew: how many depends on the graph's size"))
    if "yahoo" in a.agnes_datasets:
        rows.append(best("agnes-fig9a", "the fastest block of 64 KB to 4 MB, Yahoo (KB)",
                         find_published("agnes-fig9a", "AGNES", "", "Yahoo", "", "best_block_kb"),
                         {k: cell("agnes", "yahoo", sets=[f"agnes.block={k}K"]) for k in (64, 128, 256, 512, 1024, 2048, 4096)},
                         cause="a block does not shrink with the scale"))
        rows.append(best("agnes-fig9b", "the fastest hyperbatch of 64 to 2048, Yahoo (mini-batches)",
                         find_published("agnes-fig9b", "AGNES", "", "Yahoo", "", "best_hyperbatch"),
                         {h: cell("agnes", "yahoo", sets=[f"agnes.hyperbatch={h}"]) for h in (64, 128, 256, 512, 1024, 2048)}))
    return rows


def ringsampler_rows(a):
    def cell(system, **more):
        return Cell(system, "papers100m", "ringsampler-paper", "ringsampler", only=True, **more)

    def threads(memory):
        return {n: cell("ringsampler", memory=memory, sets=[f"ringsampler.threads={n}"]) for n in (1, 2, 4, 8, 16, 32, 64)}

    divisor = int(a.scale.split("/")[1])
    at_4 = find_published("ringsampler-fig5", "RingSampler", "", "Papers100M", "GraphSAGE", "sampling_time_s", "memory=4GB")
    return [
        Row("ringsampler-fig5:4G", "sampling time of an epoch at 4 GB, Papers100M (s; below scale 1 times its divisor)", number(at_4), "exact",
            [cell("ringsampler", memory=gib(4))], lambda values: values[0] * divisor, cause="seconds, not a ratio: rests on the drive's profile"),
        most("ringsampler-fig5:mariusgnn", "S(MariusGNN) / S(RingSampler), the most of 8, 16 and 32 GB",
             find_published("ringsampler-fig5", "RingSampler", "", "Papers100M", "GraphSAGE", "sampling_speedup_vs", "layers=3",
                            "MariusGNN"),
             [(cell("mariusgnn", memory=gib(g)), cell("ringsampler", memory=gib(g))) for g in (8, 16, 32)]),
        best("ringsampler-fig8:4G", "the fastest thread count at 4 GB",
             find_published("ringsampler-fig8", "RingSampler", "", "", "GraphSAGE", "best_thread_count", "memory=4GB"), threads(gib(4)),
             cause="at 1/100 the rings of 64 threads, 16 MiB, and the process, 6 MiB, are as large as at scale 1: 44.8 MiB are needed of a cap of 41.0; "
                   "at 1/10 they fit"),
        best("ringsampler-fig8:uncapped", "the fastest thread count without a cap",
             find_published("ringsampler-fig8", "RingSampler", "", "", "GraphSAGE", "best_thread_count", "memory=unlimited"),
             threads(gib(256))),
    ]


def diskgnn_rows():
    features = {"papers100m-sym": 111059956 * 512, "friendster-sym": 65608366 * 512, "mag240m": 244160499 * 512}

    def cell(system, dataset="papers100m-sym", share=10):
        more = {}
        if system == "ginex":
            more = {"scaled": {"ginex.feature_cache": features[dataset] * share // 100}}
        elif system == "mariusgnn":  # its partitions follow from a cap: the share of the features, and as much again for the rest
            more = {"memory": features[dataset] * share * 2 // 100}
        elif share != 10:
            more = {"sets": [f"diskgnn.cache_ratio={share}"]}
        return Cell(system, dataset, "diskgnn-paper", "diskgnn", **more)

    def table1(system, metric):
        return find_published("diskgnn-table1", system, "", "Papers100M", "GraphSAGE", metric)

    ginex = "Ginex reads here what its rule reads; the paper's run waits for a drive of 0.29 M reads a second where 0.625 M are stated"
    marius = "how much memory the paper gave MariusGNN besides is not said"
    rows = []
    for system, name in (("ginex", "Ginex"), ("mariusgnn", "MariusGNN")):
        for metric, quantity, word in (("epoch_time_s", epoch_s, "T"), ("disk_read_gb", read_bytes, "bytes")):
            rows.append(ratio(f"diskgnn-table1:{system}-{word}", f"{word}({name}) / {word}(DiskGNN), Papers100M, 10 %",
                              (table1(name, metric), table1("DiskGNN", metric)), cell(system), cell("diskgnn"), quantity=quantity,
                              cause=ginex if system == "ginex" else marius))
    shares = [(d, s) for d in ("papers100m-sym", "friendster-sym") for s in (10, 30, 50)]
    for system, name in (("ginex", "Ginex"), ("mariusgnn", "MariusGNN")):
        rows.append(most(f"diskgnn-fig9:{system}", f"T({name}) / T(DiskGNN), the most of Papers100M and Friendster at 10, 30 and 50 %",
                         find_published("diskgnn-fig9", "DiskGNN", "", "", "GraphSAGE", "speedup_vs", "", name),
                         [(cell(system, d, s), cell("diskgnn", d, s)) for d, s in shares], cause=ginex if system == "ginex" else marius))
    rows.append(most("diskgnn-fig10", "bytes read by DiskGNN / Ginex, the most of Papers100M and Friendster at 10, 30 and 50 %",
                     find_published("diskgnn-fig10", "DiskGNN", "", "", "", "disk_read_ratio", "", "Ginex"),
                     [(cell("diskgnn", d, s), cell("ginex", d, s)) for d, s in shares], quantity=read_bytes))
    return rows


def mariusgnn_rows():
    # Section 7.1's 30, 20 and 10 neighbours are of incoming and outgoing edges together: the released configuration for Papers100M
    # has 15, 10 and 5 of each, and a fan-out here is of each direction. So the preset's stands, as in mariusgnn-table3.ini.
    machines = {"mariusgnn-p3.8xlarge": (gib(240), 16), "mariusgnn-p3.16xlarge": (gib(480), 32), "mariusgnn-paper": (gib(60), 4)}

    def cell(dataset, profile):
        memory, cores = machines[profile]
        policy = "training-first" if profile == "mariusgnn-paper" else "memory"
        fewer = ["mariusgnn.staleness=8"] if profile == "mariusgnn-p3.16xlarge" else []  # as in the figure, which says why
        return Cell("mariusgnn", dataset, profile, "mariusgnn", memory=memory,
                    sets=[f"mariusgnn.policy={policy}", f"mariusgnn.loaders={cores}"] + fewer)

    rows = []
    for dataset, word, memory_profile in (("papers100m", "Papers100M", "mariusgnn-p3.8xlarge"),
                                          ("mag240m-cites", "MAG240M-Cites", "mariusgnn-p3.16xlarge")):
        found = tuple(find_published("mariusgnn-table3", "MariusGNN", variant, word, "GraphSAGE", "epoch_time_min")
                      for variant in ("disk", "mem"))
        rows.append(ratio(f"mariusgnn-table3:{dataset}", f"T(disk) / T(mem), {word}", found, cell(dataset, "mariusgnn-paper"),
                          cell(dataset, memory_profile),
                          cause="in memory the modelled bus binds and takes twice the printed time, from the disk less than half of it is taken"))
    return rows


def all_rows(a):
    rows = gnndrive_rows() + agnes_rows(a) + ringsampler_rows(a) + diskgnn_rows() + mariusgnn_rows()
    return [row for row in rows if not a.figures or row.figure in a.figures]


# Published cells that hold no number, and figures of which nothing here can be divided by anything.
LEFT_OUT = [
    ("gnndrive-fig8", "the mean of 8.0 for GAT, CPU over GPU: over which workloads is not said"),
    ("gnndrive-fig9", "out of memory: Ginex on Twitter at 8 GB; the knee at 32 GB: no number to divide by"),
    ("gnndrive-table2", "MariusGNN on MAG240M-Cites: out of memory at 32 and 128 GB"),
    ("agnes-fig6", "OUTRE is not here"),
    ("agnes-fig10b", "no number is printed: both systems fall with the threads, AGNES by more"),
    ("ringsampler-fig4", "SmartSSD, DGL and gSampler are not here"),
    ("ringsampler-fig5", "SmartSSD is not here; MariusGNN at 4 GB: out of memory"),
    ("mariusgnn-table3", "DGL and PyG are not here; costs in dollars follow from the times"),
]


# ---- all cells, then the rows ----

def all_jobs(a, rows):
    """The words of every cell of every row, column and seed once, the first seed of all rows first, and what to say of it."""
    jobs = {}
    for seed in a.seeds:
        for row in rows:
            for column in a.columns:
                for cell in row.cells:
                    jobs.setdefault(tuple(cell.words(a, column, seed)), f"{column}, seed {seed}")
    return jobs


def run_jobs(a, jobs):
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        done = list(pool.map(lambda job: record_of(a, *job), jobs.items()))
    return dict(zip(jobs, done))


class Estimate:
    """CPU seconds of runs that are not there yet: the median of kept ones of the same system, dataset and length, whatever
    program made them; of the same system; or a usual run's, by the scale."""

    def __init__(self, a):
        self.by_key = {}
        for path in glob.glob(os.path.join(a.keep, "*.json")):
            record = read_json(path)
            for key in self.keys(record["command"].split()):
                self.by_key.setdefault(key, []).append(record["host_cpu_s"])
        self.divisor = int(a.scale.split("/")[1])

    @staticmethod
    def keys(words):
        options = {word: value for word, value in zip(words, words[1:]) if word.startswith("--")}
        system = options["--system"], options["--scale"]
        return (system + tuple(options.get(o, "") for o in ("--dataset", "--dim", "--fanout", "--batches", "--epochs")), system)

    def cpu_s(self, words):
        for key in self.keys(words):
            if key in self.by_key:
                return median(self.by_key[key])
        return USUAL_CPU_S[words[words.index("--system") + 1]] * 100 / self.divisor


def list_jobs(a, rows):
    """How many runs of each figure there are, are kept and are left, and the CPU time of those; a run counts for the first
    figure that asks for it."""
    estimate, seen, total = Estimate(a), set(), [0, 0, 0.0]
    print(f"{'figure':<20}{'runs':>6}{'kept':>6}{'CPU minutes left':>18}")
    for figure in dict.fromkeys(row.figure for row in rows):
        jobs = all_jobs(a, [row for row in rows if row.figure == figure])
        new = [words for words in jobs if words not in seen]
        seen.update(new)
        left = [words for words in new if not os.path.exists(kept_path(a, words) + ".json")]
        minutes = sum(estimate.cpu_s(words) for words in left) / 60
        print(f"{figure:<20}{len(new):>6}{len(new) - len(left):>6}{minutes:>18.1f}")
        total = [total[0] + len(new), total[1] + len(new) - len(left), total[2] + minutes]
    print(f"{'all':<20}{total[0]:>6}{total[1]:>6}{total[2]:>18.1f}")


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 == 1 else (values[half - 1] + values[half]) / 2


def value_of(row, found):
    """Our number of the cells' records, or the word for how the first run that has none ended; NOT_RUN as long as one is to
    come. Of an "up to" the pairs that ended count."""
    bad = [r["status"] for r in found if r["status"] != "ok"]
    if NOT_RUN in bad:
        return NOT_RUN
    if row.relation == "up_to" and bad:
        pairs = [(x, y) for x, y in zip(found[::2], found[1::2]) if x["status"] == "ok" and y["status"] == "ok"]
        found, bad = [r for pair in pairs for r in pair], bad if not pairs else []
    return bad[0] if bad else row.value([row.quantity(r) for r in found])


def line_of(a, row, column, records):
    """None: no seed has all its runs."""
    seeds = [value_of(row, [records[tuple(cell.words(a, column, seed))] for cell in row.cells]) for seed in a.seeds]
    values = [value for value in seeds if value != NOT_RUN]
    if not values:
        return None
    out = {"scale": a.scale, "row": row.name, "what": row.what, "published": f"{row.published:.3g}", "relation": row.relation,
           "belongs": row.belongs, "column": column, "seeds": len(values), "low": "", "high": "", "log2": "",
           "epochs": "+".join(sorted(a.parts.values())) or a.epochs}
    words = [v for v in values if isinstance(v, str)]
    if words:
        out["ours"] = words[0]
        return out
    ours = median(values)
    out.update(ours=f"{ours:.3g}", low=f"{min(values):.3g}", high=f"{max(values):.3g}")
    if ours > 0 and row.published > 0:
        out["log2"] = f"{math.log2(ours / row.published):+.2f}"
    return out


def run_all(a, rows):
    records = run_jobs(a, all_jobs(a, rows))
    mine = [line for line in (line_of(a, row, column, records) for row in rows for column in a.columns) if line]
    made = {(line["scale"], line["row"], line["column"]) for line in mine}
    others = [line for line in read_csv(a.csv) if (line["scale"], line["row"], line["column"]) not in made]
    order = [row.name for row in all_rows(argparse.Namespace(**{**vars(a), "figures": []}))]
    lines = sorted(others + mine, key=lambda l: (-int(l["scale"].split("/")[-1]), order.index(l["row"]) if l["row"] in order else 0,
                                                 list(COLUMNS).index(l["column"])))
    write_csv(a.csv, FIELDS, lines)


# ---- the page ----

# Rows that repeat a measurement: the same runs, or one printed number for GraphSAGE and GCN. Each measurement counts once.
REPEATED = {
    "gnndrive-fig8:gcn-pygplus": "gnndrive-fig8:sage-pygplus",
    "gnndrive-fig8:gcn-ginex": "gnndrive-fig8:sage-ginex",
    "gnndrive-table2:papers100m-PyG+": "gnndrive-fig8:sage-pygplus",
    "gnndrive-table2:papers100m-Ginex": "gnndrive-fig8:sage-ginex",
}
# Rows that are no ratio: a setting or seconds.
NO_RATIOS = ("agnes-fig9a", "agnes-fig9b", "ringsampler-fig5:4G", "ringsampler-fig8:4G", "ringsampler-fig8:uncapped")


def counted(lines):
    """Lines with a ratio."""
    return [line for line in lines if line["log2"] and line["row"] not in NO_RATIOS]


def cell_text(line):
    if line is None:
        return ""
    if not line["log2"] or line["row"] in NO_RATIOS:
        return line["ours"]
    spread = "" if line["low"] == line["high"] else f", {line['low']}-{line['high']}"
    return f"{line['ours']} ({line['log2']}{spread})"


def apart(lines):
    return [abs(float(line["log2"])) for line in lines]


def pair(line):
    return float(line["ours"]), float(line["published"])


def beyond_1(lines):
    """Lines whose ratio is at 1, or on the other side of it than the printed one."""
    return [line for line in lines for ours, printed in [pair(line)] if (printed > 1) != (ours > 1) or ours == 1]


def merit(lines):
    """Of lines with a ratio: median of abs log2, ratios within the figures' tolerance and within 2, at or beyond 1, the median if all were 1."""
    return [f"{median(apart(lines)):.2f}", sum(about(*pair(line)) for line in lines), sum(v <= 1 for v in apart(lines)), len(beyond_1(lines)),
            f"{all_1(lines):.2f}"]


def all_1(lines):
    """The median of abs log2 if every ratio here were 1."""
    return median([abs(math.log2(float(line["published"]))) for line in lines])


def of_columns(lines):
    out = [f"| column | rows | ratios | median of abs log2 | within a factor of {tolerance('about'):g} | within 2 | at or beyond 1 | "
           "median if every ratio were 1 |", "|---|---|---|---|---|---|---|---|"]
    own = [line for line in lines if line["column"] == line["belongs"]]
    for name, chosen in [("each row's own", own)] + [(c, [l for l in lines if l["column"] == c]) for c in COLUMNS]:
        found = counted(chosen)
        if found:
            first, *rest = merit(found)
            out.append(f"| {name} | {len(chosen)} | {len(found)} | **{first}** | " + " | ".join(map(str, rest)) + " |")
    return out


def sentences(lines, repeated):
    own = counted([line for line in lines if line["column"] == line["belongs"]])
    if not own:
        return ["No row has a ratio in its own column."]
    middle, near, twice, _, null = merit(own)
    worst = max(own, key=lambda line: abs(float(line["log2"])))
    lost = ", ".join(f"{line['row']} {line['ours']} : {line['published']}" for line in beyond_1(own)) or "none"
    return [f"The median of |log2| over the {len(own)} ratios with a number, each in its own column, is **{middle}**: half of them "
            f"are within a factor of {2 ** median(apart(own)):.2f} of what is published. {near} are within a factor of "
            f"{tolerance('about'):g}, {twice} within 2. If every ratio were 1, the median would be {null}, a factor of "
            f"{2 ** all_1(own):.2f}.", "",
            f"* The worst: {worst['row']}, {worst['ours']} for {worst['published']} ({worst['log2']}).",
            f"* At 1, or on the other side of it than published, so that the paper's direction is lost: {lost}."] + (
                [f"* One row for one measurement. Left out: {', '.join(f'{row} (as {REPEATED[row]})' for row in repeated)}."] if repeated else [])


def table(lines, names):
    columns = [c for c in COLUMNS if any(line["column"] == c for line in lines)]
    out = ["| figure | what | published | " + " | ".join(f"{c.split()[0]}, {c.split()[1]}" for c in columns) + " |",
           "|" + "---|" * (len(columns) + 3)]
    for name in names:
        found = {line["column"]: line for line in lines if line["row"] == name}
        any_line = next(iter(found.values()))
        relation = "" if any_line["relation"] == "exact" else f" ({any_line['relation'].replace('_', ' ')})"
        shown = []
        for column in columns:
            text = cell_text(found.get(column))
            shown.append(f"**{text}**" if column == any_line["belongs"] and text else text)
        out.append(f"| {name.split(':')[0]} | {any_line['what']} | {any_line['published']}{relation} | " + " | ".join(shown) + " |")
    return out


def causes(lines, rows):
    """Rows that are further off than a factor of two in their own column, with the likely cause."""
    out = []
    for row in rows:
        own = next((line for line in lines if line["row"] == row.name and line["column"] == row.belongs), None)
        if own is None or (own["log2"] and abs(float(own["log2"])) <= 1):
            continue
        ended = own["log2"] or own["ours"]
        out.append(f"* {row.name}, {row.what} ({ended}): {row.cause or 'no cause is known'}.")
    return out


def generated(a, lines):
    if not lines:
        return "No run is stored yet.\n"
    out = []
    rows = [row for row in all_rows(a) if row.name not in REPEATED]
    for scale in dict.fromkeys(line["scale"] for line in lines):
        all_here = [line for line in lines if line["scale"] == scale]
        here = [line for line in all_here if line["row"] not in REPEATED]
        repeated = dict.fromkeys(line["row"] for line in all_here if line["row"] in REPEATED)
        names = list(dict.fromkeys(line["row"] for line in here))
        seeds, epochs = sorted({line["seeds"] for line in here}), sorted({line["epochs"] for line in here})
        out += [f"## Scale {scale}", "",
                f"Simulated world; medians of {' or '.join(seeds)} seeds; the last of so many epochs, or warm-up+mini-batches: "
                f"{', '.join(epochs)}. A cell: ours (log2 of ours over published, range over the seeds). Bold: the column that the row "
                "belongs to. Columns: the device's readahead, and whose costs.", "", *sentences(here, repeated), ""]
        out += of_columns(here) + [""] + table(here, names) + [""]
        further = causes(here, rows)
        if further:
            out += ["Further off than a factor of two, or without a number, in their own column, with the likely cause:", ""] + further + [""]
    out += ["## Not compared", ""] + [f"* {figure}: {why}." for figure, why in LEFT_OUT]
    return "\n".join(out) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--scale", default="1/100")
    parser.add_argument("--figures", default="", help="gnndrive-fig8,agnes-fig6,...; all without")
    parser.add_argument("--columns", default=",".join(COLUMNS), help="READAHEAD COSTS,...")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", default="2", help="of a run; the last counts")
    parser.add_argument("--part", action="append", default=[], metavar="SYSTEM=WARMUP+BATCHES",
                        help="extrapolate this system's epoch (not for systems that work in phases)")
    parser.add_argument("--agnes-datasets", default=",".join(AGNES_DATASETS), help="with yahoo: Figure 9 too")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--keep", default="build/ratios", help="records of the runs, one file each")
    parser.add_argument("--csv", default="results/ratios.csv")
    parser.add_argument("--page", default="results/ratios.md")
    parser.add_argument("--no-run", action="store_true", help="take what records there are; rows that lack one stay as they are")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no run after so many")
    parser.add_argument("--list", action="store_true", help="only say what is to be run and how long it takes; runs nothing")
    parser.add_argument("--write", action="store_true", help="only write the page from the CSV file")
    parser.add_argument("--check", action="store_true", help="only compare the page with the CSV file")
    a = parser.parse_args()
    a.parts = dict(part.split("=") for part in a.part)
    a.figures = [f for f in a.figures.split(",") if f]
    a.columns, a.seeds = a.columns.split(","), [int(s) for s in a.seeds.split(",")]
    a.agnes_datasets = a.agnes_datasets.split(",")
    a.until = time.monotonic() + 60 * a.minutes
    unknown = [c for c in a.columns if c not in COLUMNS]
    if unknown:
        sys.exit(f"--columns {unknown[0]}: there are {', '.join(COLUMNS)}")
    return a


def main():
    a = parse_arguments()
    if not a.write and not a.check:
        os.makedirs(a.keep, exist_ok=True)
        a.made_with = made_with(a.oocgnn)
        rows = all_rows(a)
        if a.list:
            list_jobs(a, rows)
            return
        run_all(a, rows)
    a.figures = []
    part, text = Part(a.page, "from ratios.csv"), generated(a, read_csv(a.csv))
    if a.check:
        part.check(text, a.csv, "scripts/ratios.py --write")
    part.write(text)


if __name__ == "__main__":
    main()
