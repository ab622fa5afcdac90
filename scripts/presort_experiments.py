#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Experiments with presort in the simulated world: where sorting begins to pay, devices of every kind, wrong costs, least
caps, steps between caps, other graphs, and the other systems at 1/10.

Every cell is one `oocgnn run --world simulated`, training as long as the profile's GPU takes. presort prepares the next
epoch while one trains, and AGNES searched gathers for it, so that a run's last epoch is not like those before: of three
epochs the second counts, which does what every epoch of a long run does. A record that is there is not made again: cut it
off and start it again.

The cells go to build/results/presort_experiments.csv, from which the generated part of presort-experiments.md there is
written: tables, and what they say. `--write` writes that part from the CSV file alone, `--check` compares it
(tests/style/test_results.sh).

  scripts/presort_experiments.py                                         # all parts: two hours of one core beside other work
  scripts/presort_experiments.py --parts crossover,wrong,devices         # these, ten minutes; what is there of the others stays
  scripts/presort_experiments.py --parts least,cliffs,graphs             # a quarter of an hour
  scripts/presort_experiments.py --systems presort                       # half an hour: what is of others stays as it is
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

from results_page import add_places, finding, make_page, placed, read_csv, table, write_csv

FIELDS = ["part", "row", "column", "value"]
SATA, NVME = "gnndrive-paper", "agnes-paper"
DRIVES = {SATA: "SATA", NVME: "NVMe"}
CLASSES = ("direct", "sorted", "auto")
NODES = 111059956 // 100
# What the parts vary.
DIMS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
ROW_SHARE = 0.08  # of the rows in memory
NEAR = 1.05  # "within 5 %"
CLIFF = 1.03
MEMORY = "like memory"
AS_BEFORE = "as before"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--systems", help="comma-separated: what is of others stays as the CSV file has it")
    parser.add_argument("--keep", default="build/presort_experiments", help="records of the cells; a cell that is there is not run")
    add_places(parser, "presort_experiments.csv", "presort-experiments.md")
    parser.add_argument("--no-run", action="store_true", help="of the records that are there; the other cells say that they were not run")
    return placed(parser.parse_args())


# ---- runs ----

class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.lines = []
        self.before = {}
        for line in read_csv(arguments.csv) if arguments.systems else []:
            self.before.setdefault((line["part"], line["row"]), []).append(line)

    def run(self, name, system, settings=(), **options):
        """The record of one run, kept by its name. options: of the command, as --name=value; settings: of the system."""
        a = self.arguments
        if a.systems and system not in a.systems.split(","):
            return {"status": AS_BEFORE}
        options = {"scale": "1/100", "dim": 128, "dataset": "papers100m", "preset": "gnndrive", "compute": "cuda",
                   "epochs": 3, **options}
        of = hashlib.sha256(json.dumps([system, options, settings], sort_keys=True).encode()).hexdigest()[:8]  # others are another run
        kept = os.path.join(a.keep, re.sub("[^A-Za-z0-9.,=]+", "_", name) + f"-{of}.json")
        if not os.path.exists(kept):
            if a.no_run:
                return {"status": "not run"}
            command = [a.oocgnn, "run", "--world", "simulated", "--system", system, "--evaluate", "never", "--db",
                       os.path.join(a.keep, "runs.db"), "--json", "--quiet"]
            for key, value in options.items():
                command += ["--" + key.replace("_", "-"), str(value)]
            for setting in settings:
                command += ["--set", f"{system}.{setting}"]
            os.makedirs(a.keep, exist_ok=True)
            started = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not done.stdout.strip() or json.loads(done.stdout)["status"] not in ("ok", "oom"):
                sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            print(f"{name}: {time.monotonic() - started:.0f} s of host time", file=sys.stderr, flush=True)
            with open(kept + ".new", "w", encoding="utf-8") as target:
                target.write(done.stdout)
            os.replace(kept + ".new", kept)
        with open(kept, encoding="utf-8") as source:
            return json.load(source)

    def put(self, part, row, **values):
        for column, value in values.items():
            self.lines.append(dict(part=part, row=row, column=column,
                                   value=value if isinstance(value, str) else f"{value:.6g}"))

    def put_record(self, part, row, record):
        """What every table may show of a run."""
        if record["status"] == AS_BEFORE:
            self.lines = [line for line in self.lines if (line["part"], line["row"]) != (part, row)] + self.before.get((part, row), [])
            return
        self.put(part, row, status=record["status"])
        if record["status"] != "ok":
            if "reasons" in record:
                self.put(part, row, reason=record["reasons"])
            return
        epoch = record["epochs"][1]
        self.put(part, row, first_s=record["epochs"][0]["wall_ns"] * 1e-9, epoch_s=epoch["wall_ns"] * 1e-9,
                 floor_s=epoch["figures"].get("floor_device_ns", 0) * 1e-9,
                 read_mib=epoch["counters"]["device_read_bytes"] / 2**20, reads=epoch["counters"]["device_read_ios"],
                 written_mib=(epoch["counters"]["device_write_bytes"] or 0) / 2**20,
                 work_s=sum(s["work_ns"] for s in epoch["stages"]) * 1e-9)

    def put_presort(self, part, row, record):
        self.put_record(part, row, record)
        if record["status"] != "ok":
            return
        epoch = record["epochs"][1]
        figures = epoch["figures"]
        stages = {stage["stage"]: stage for stage in epoch["stages"]}
        self.put(part, row, device_s=device_seconds(record, epoch), load_work_s=stages["load"]["work_ns"] * 1e-9,
                 last_s=record["epochs"][-1]["wall_ns"] * 1e-9, late_s=(epoch["wall_ns"] - stages["assemble"]["wall_ns"]) * 1e-9,
                 planned_s=figures["planned_bytes"] / storage(record["config"]["profile"])["bandwidth"],
                 loads=figures["planned_loads"], sorted=figures["planned_sorted_loads"], slots=figures["row_slots"],
                 random=figures["random_read_bytes"], sorted_load=figures["sorted_load_bytes"], windows=figures["windows"],
                 hyperbatches=figures["hyperbatches"], threads=figures["threads"], topology_mib=figures["topology_bytes"] / 2**20)


# ---- devices ----

def storage(profile):
    """Of a profile: bytes and requests a second, all its devices together."""
    path = profile if "/" in profile else f"workloads/hardware/{profile}.ini"
    with open(path, encoding="utf-8") as source:
        text = source.read()
    def number(key):
        found = re.search(rf"^{key} = ([0-9.]+)", text, re.MULTILINE)
        return float(found.group(1))
    devices = number("devices")
    return {"bandwidth": number("read_bandwidth") * 1e6 * devices, "iops": number("read_iops") * devices,
            "write": number("write_bandwidth") * 1e6 * devices}


def device_seconds(record, epoch):
    """The device's time by what presort reads for: direct reads, the sweep and blocks, each as so many reads of their mean
    size, and its writes. floor_device_ns takes all reads for ones of one mean size, which is less where many small ones
    and a few large ones are mixed."""
    drive, figures, counters = storage(record["config"]["profile"]), epoch["figures"], epoch["counters"]
    written = counters["device_write_bytes"] or 0
    swept, back = figures.get("sweep_read_bytes", 0), figures.get("scratch_read_bytes", 0)
    parts = (figures.get("direct_reads", 0), counters["device_read_bytes"] - swept - back), (figures.get("sweep_reads", 0), swept)
    return back / drive["bandwidth"] + written / drive["write"] + sum(
        max(reads / drive["iops"], size / drive["bandwidth"]) for reads, size in parts)


def variant(runner, base, name, **changes):
    """Path of a profile that is another one but for some lines of [storage]."""
    with open(f"workloads/hardware/{base}.ini", encoding="utf-8") as source:
        text = source.read()
    for key, value in changes.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {value} assumed: an experiment", text, count=1, flags=re.MULTILINE)
        assert count == 1, key
    folder = os.path.join(runner.arguments.keep, "profiles")
    os.makedirs(os.path.join(folder, "costs"), exist_ok=True)
    shutil.copy("workloads/hardware/costs/reference.ini", os.path.join(folder, "costs"))
    path = os.path.join(folder, name + ".ini")
    with open(path, "w", encoding="utf-8") as target:
        target.write(text)
    return path if "/" in path else "./" + path


# ---- parts ----

def kib(size):
    return f"{int(size) // 1024}K"


def sorting_run(runner, name, profile, dim, settings):
    """presort where every node can be drawn, neighbour lists are in memory, and a fixed share of the rows is."""
    rows = int(ROW_SHARE * NODES) * (4 * dim + 12)
    return runner.run(name, "presort", ("topology=resident", "topology_share=90", f"row_memory={kib(rows)}", *settings),
                      profile=profile, dim=dim, generate="reach=0", memory=kib(2**29 + 2 * rows))


def crossover(runner):
    for dim in DIMS:
        for profile in DRIVES:
            for classes in CLASSES:
                record = sorting_run(runner, f"crossover {profile} {dim} {classes}", profile, dim, (f"classes={classes}",))
                runner.put_presort("crossover", f"{profile} {dim} {classes}", record)


def wrong(runner):
    for profile in DRIVES:
        drive = storage(profile)
        right = {"random_read": drive["bandwidth"] / drive["iops"], "write_cost": 100 * drive["bandwidth"] / drive["write"]}
        for dim in WRONG_DIMS:
            for option, value in right.items():
                for word, factor in (("4 times", 4), ("a quarter", 0.25)):
                    record = sorting_run(runner, f"wrong {profile} {dim} {option} {word}", profile, dim,
                                         (f"{option}={round(value * factor)}",))
                    runner.put_presort("wrong", f"{profile} {dim} {option} {word}", record)


def devices(runner):
    for name, (base, changes) in DEVICES.items():
        profile = variant(runner, base, re.sub("[^a-z0-9]+", "-", name.lower()), **changes)
        for dim in DEVICE_DIMS:
            for classes in CLASSES:
                record = sorting_run(runner, f"devices {name} {dim} {classes}", profile, dim, (f"classes={classes}",))
                runner.put_presort("devices", f"{name} {dim} {classes}", record)


def tenth(runner):
    for name in ("presort", "DiskGNN", "AGNES searched", "GNNDrive", "AGNES as set", "Ginex"):  # what takes longest comes last
        for cap in ("800M", "3200M"):
            for profile in DRIVES:
                system, settings = {
                    "presort": ("presort", ()), "DiskGNN": ("diskgnn", ()), "GNNDrive": ("gnndrive", ()), "Ginex": ("ginex", ("samplers=8",)),
                    "AGNES as set": ("agnes", ("layout=input",)), "AGNES searched": ("agnes", (*SEARCH, *SEARCHED[profile][cap]))}[name]
                record = runner.run(f"tenth {profile} {cap} {name}", system, settings, profile=profile, scale="1/10", memory=cap)
                runner.put_record("tenth", f"{profile} {cap} {name}", record)
                if record["status"] == "ok":
                    runner.put("tenth", f"{profile} {cap} {name}", prepared_s=prepared_seconds(record), busiest=busiest_stage(record))


TENTH = ("presort", "AGNES as set", "AGNES searched", "GNNDrive", "Ginex", "DiskGNN")


def prepared_seconds(record):
    """What DiskGNN takes before its first epoch."""
    return sum(value for name, value in record["epochs"][0]["figures"].items()
               if name in [f"{stage}_prepare_ns" for stage in ("draw", "search", "place", "pack")]) * 1e-9


def busiest_stage(record):
    """Of the epoch that counts, the stage of which a worker works longest, and how long."""
    stages = {stage["stage"]: stage["work_ns"] / stage["workers"] * 1e-9 for stage in record["epochs"][1]["stages"]}
    name = max(stages, key=stages.get)
    return f"{name} {stages[name]:.3g}"


def least(runner):
    for name, (system, settings) in LEAST.items():
        if runner.arguments.systems and system not in runner.arguments.systems.split(","):
            runner.put_record("least", name, {"status": AS_BEFORE})
            continue
        def ends(cap, part="of 3", system=system, settings=settings, name=name):
            return runner.run(f"least {name} {cap} {part}", system, settings, profile=SATA, memory=f"{cap}M",
                              **({"epochs": 1, "max_batches": 3} if part == "of 3" else {}))
        cap = halve(4, 1024, ends)
        if ends(cap, "whole")["status"] == "oom":  # its plan grows with the mini-batches
            cap = halve(cap, 2 * cap, lambda middle, ends=ends: ends(middle, "whole"))
        record = ends(cap, "whole")
        if record["status"] == "ok":
            runner.put("least", name, cap_mib=cap)
            runner.put_record("least", name, record)


def halve(low, high, ends):
    """The least cap in MiB at which a run ends well: more than low, at most high."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ends(middle)["status"] == "ok" else (middle, high)
    return high


def cliffs(runner):
    for graph, (options, caps) in CLIFFS.items():
        for cap in caps:
            record = runner.run(f"cliffs {graph} {cap}", "presort", profile=SATA, memory=f"{cap}M", **options)
            runner.put_presort("cliffs", f"{graph} {cap}", record)


def graphs(runner):
    for name, (dataset, scale, nodes, edges, dim, other) in GRAPHS.items():
        cap = other + (4 * edges + ROW_SHARE * nodes * dim * 4) / 2**20
        for system, settings in (("presort", ()), ("agnes", ("layout=input",)), ("ginex", ("samplers=8",))):
            record = runner.run(f"graphs {name} {system}", system, settings, profile=SATA, memory=f"{cap:.0f}M",
                                dataset=dataset, scale=scale, dim=dim, batch=10,
                                **({"generate": "reach=0"} if "every node" in name else {}))
            runner.put("graphs", f"{name} {system}", cap_mib=round(cap))
            (runner.put_presort if system == "presort" else runner.put_record)("graphs", f"{name} {system}", record)


# Base profile and what is changed of its storage.
DEVICES = {
    "a small cloud volume": (SATA, {"read_iops": "3000/s", "read_bandwidth": "125MB/s", "write_iops": "3000/s",
                                    "write_bandwidth": "125MB/s", "read_latency": "700us", "write_latency": "700us"}),
    "a large cloud volume": (SATA, {"read_iops": "10000/s", "read_bandwidth": "1000MB/s", "write_iops": "10000/s",
                                    "write_bandwidth": "1000MB/s", "read_latency": "700us", "write_latency": "700us"}),
    "four SATA drives": (SATA, {"devices": "4"}),
    "four NVMe drives": (NVME, {"devices": "4"}),
    MEMORY: (NVME, {"read_iops": "5000000/s", "read_latency": "1us"}),
}
DEVICE_DIMS = (128, 512)
WRONG_DIMS = (128, 256, 512, 1024)
# The best at 1/10 of workloads/presort_opponents_tenth.ini (results/presort.md).
SEARCH = ("layout=input", "overlap=epochs", "spill=async", "gbuf_keep=yes", "cache_rank=count")
SEARCHED = {
    SATA: {"800M": ("block=8K", "hyperbatch=0"), "3200M": ("block=8K", "hyperbatch=3000")},
    NVME: {"800M": ("block=32K", "hyperbatch=0"), "3200M": ("block=32K", "hyperbatch=3000")},
}
# As set, and with as few threads as each can do with.
LEAST = {
    "presort": ("presort", ()),
    "AGNES as set": ("agnes", ("layout=input",)),
    "AGNES, one worker": ("agnes", ("layout=input", "workers=1")),
    "GNNDrive as set": ("gnndrive", ()),
    "GNNDrive, one sampler, one extractor": ("gnndrive", ("samplers=1", "extractors=1")),
    "Ginex as set": ("ginex", ()),
    "Ginex, one sampler": ("ginex", ("samplers=1",)),
    "DiskGNN as set": ("diskgnn", ()),
    "DiskGNN, one sampler": ("diskgnn", ("samplers=1",)),
    "MariusGNN as set": ("mariusgnn", ()),
    "MariusGNN, one loader": ("mariusgnn", ("loaders=1",)),
    "PyG+ as set": ("pygplus", ()),
    "PyG+, one worker, one gather thread": ("pygplus", ("workers=1", "gather_threads=1")),
}
CLIFFS = {"closed reach": ({}, range(48, 108, 2)), "every node": ({"generate": "reach=0"}, range(100, 250, 5))}
# Nodes, edges, floats of a row, and MiB of the cap beside lists and rows.
GRAPHS = {
    "papers100m": ("papers100m", "1/100", 1110600, 16156828, 128, 40),
    "papers100m, every node": ("papers100m", "1/100", 1110600, 16156828, 128, 40),
    "friendster-sym": ("friendster-sym", "1/100", 656084, 36144904, 128, 40),
    "igb260m": ("igb260m", "1/1000", 269346, 3995777, 128, 40),
    "igb260m, a wider cap": ("igb260m", "1/1000", 269346, 3995777, 128, 80),
    "mag240m-cites": ("mag240m-cites", "1/100", 1217517, 12977466, 768, 40),
    "twitter": ("twitter", "1/100", 416522, 14671050, 128, 40),
}
PARTS = {"crossover": crossover, "devices": devices, "wrong": wrong, "tenth": tenth, "least": least, "cliffs": cliffs, "graphs": graphs}


def run_all(a):
    runner = Runner(a)
    for part in a.parts.split(","):
        PARTS[part](runner)
    made = {line["part"] for line in runner.lines}
    lines = [line for line in read_csv(a.csv) if line["part"] not in made] + runner.lines
    write_csv(a.csv, FIELDS, sorted(lines, key=lambda line: list(PARTS).index(line["part"])))


# ---- the page ----

class Cells:
    """The cells of one part."""

    def __init__(self, lines, part):
        self.cells = {(line["row"], line["column"]): line["value"] for line in lines if line["part"] == part}
        self.rows = list(dict.fromkeys(row for row, _ in self.cells))

    def __call__(self, row, column):
        return float(self.cells[row, column])

    def ran(self, row):
        return self.cells.get((row, "status")) == "ok"

    def text(self, row, column, digits=3):
        """A number, or - where there is none."""
        if (row, column) not in self.cells:
            return "-"
        value = self(row, column)
        return f"{value:.0f}" if abs(value) >= 10**(digits - 1) or column in WHOLE else f"{value:.{digits}g}"

    def ended(self, row, column):
        """A number of a run that ended well, else how it ended."""
        return self.text(row, column) if self.ran(row) else self.cells.get((row, "status"), "-")

    def over(self, row, others, column):
        """A row's value over the least of others'."""
        return self(row, column) / min(self(other, column) for other in others)

    def sorted_percent(self, row):
        return 100 * self(row, "sorted") / self(row, "loads")


WHOLE = ("slots", "loads", "sorted", "windows", "hyperbatches", "threads", "cap_mib")
CLASSES_HEAD = ["direct: epoch s", "device s", "sorted: epoch s", "device s", "auto: epoch s", "device s", "sorted by auto %",
                "auto over the better: epoch", "device"]


def named(items):
    return ", ".join(items) if items else "none"


def prefixes_of(v):
    """The cells of three classes each."""
    return list(dict.fromkeys(row.rsplit(" ", 1)[0] for row in v.rows))


def forced(prefix):
    return [f"{prefix} {classes}" for classes in CLASSES[:2]]


def classes_row(v, prefix):
    """Direct, sorted and auto beside one another."""
    auto = f"{prefix} auto"
    return [v.text(f"{prefix} {classes}", column) for classes in CLASSES for column in ("epoch_s", "device_s")] + [
        f"{v.sorted_percent(auto):.0f}"] + [f"{v.over(auto, forced(prefix), column):.2f}" for column in ("epoch_s", "device_s")]


def show_near(v, label):
    """Whether auto is within 5 % of the better class, in device time and in epoch time."""
    out = []
    for word, column, cause in (("device time", "device_s", "device"), ("epoch time", "epoch_s", "processor")):
        ratios = {prefix: v.over(f"{prefix} auto", forced(prefix), column) for prefix in prefixes_of(v)}
        far = [p for p, ratio in ratios.items() if ratio > NEAR]
        shown = named([f"{label(p)} {ratios[p]:.2f} (its loading thread works {v.text(f'{p} auto', 'load_work_s')} s, the drive "
                       f"{v.text(f'{p} auto', 'device_s')} s)" for p in far])
        out.append(finding(f"auto is within 5 % of the better of the two in {word}",
                           f"{len(ratios) - len(far)} of {len(ratios)}, {max(ratios.values()):.2f} at most", not far,
                           f"{shown}; {CAUSES[cause]}"))
    return out


def crossing(v, profile, column):
    """Bytes of a row where sorted and direct take the same: between the widths where the order turns, in a straight line."""
    before = None
    for dim in dims_of(v, profile):
        gap = v(f"{profile} {dim} sorted", column) - v(f"{profile} {dim} direct", column)
        if before is not None and before[1] <= 0 < gap:
            return 4 * (before[0] - before[1] / (gap - before[1]) * (dim - before[0]))
        before = dim, gap
    return None


def dims_of(v, profile):
    return [dim for dim in DIMS if f"{profile} {dim} auto" in v.rows]


def predicted(v, profile):
    """Rows up to which sorting costs less: where the sweep reads every row once an epoch, and without a sweep."""
    row = f"{profile} {dims_of(v, profile)[0]} sorted"
    width = 4 * dims_of(v, profile)[0]
    random, written = v(row, "random"), v(row, "sorted_load") / width  # written and read back, by a byte of the row
    return random / (written + NODES / v(row, "loads")), random / written


def show_crossover(v):
    profiles = [profile for profile in DRIVES if dims_of(v, profile)]
    out = ["## Rows of every width", "",
           f"papers100m at 1/100 with every node to be drawn (`reach=0`), {100 * ROW_SHARE:.0f} % of the rows in memory at every width,",
           "neighbour lists in memory, room for the lists of a whole epoch: reading features is what differs.", ""]
    out += table(["drive", "floats", "row B", *CLASSES_HEAD], [
        [DRIVES[profile], dim, 4 * dim, *classes_row(v, f"{profile} {dim}")] for profile in profiles for dim in dims_of(v, profile)])
    for profile in profiles:
        least_row, most = predicted(v, profile)
        at = {column: crossing(v, profile, column) for column in ("device_s", "epoch_s")}
        if None in at.values():
            continue
        out.append(finding(
            f"{DRIVES[profile]}: sorting stops paying between {least_row:.0f} B (with a sweep over every row) and {most:.0f} B (c1 / (c2 + cw), "
            "no sweep at all), by the profile and the number of loads", f"in device time at {at['device_s']:.0f} B, in epoch time at "
            f"{at['epoch_s']:.0f} B", all(least_row <= size <= most for size in at.values()), CAUSES["crossing"]))
    last = [v(row, "last_s") / v(row, "epoch_s") for row in v.rows if row.endswith(" auto")]
    return out + show_near(v, lambda p: f"{DRIVES[p.split()[0]]} {p.split()[1]} floats") + [
        f"* The last epoch of a run, which prepares none, takes {min(last):.2f} to {max(last):.2f} of the epoch before it under auto: it is not",
        "  what counts.", ""] + show_planned(v, profiles)


def show_planned(v, profiles):
    """Planned cost against executed device time."""
    out = ["## Planned and executed", "", "Device time of the cells above over `planned_bytes` at the drive's bandwidth.", ""]
    ratios = {row: v(row, "device_s") / v(row, "planned_s") for row in v.rows}
    dims = dims_of(v, profiles[0])
    out += table(["drive", "classes", *(f"{dim} floats" for dim in dims)], [
        [DRIVES[profile], classes, *(f"{ratios[f'{profile} {dim} {classes}']:.2f}" for dim in dims)]
        for profile in profiles for classes in CLASSES])
    far = [ratio for ratio in ratios.values() if abs(ratio - 1) > NEAR - 1]
    return out + [finding("What is executed is within 5 % of what was planned", f"{len(ratios) - len(far)} of {len(ratios)}, from "
                          f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}", not far, CAUSES["merged"]), ""]


def show_wrong(v, right):
    """right: the cells of the part crossover, whose auto knows the drive."""
    out = ["## Wrong costs on purpose", "",
           "`presort.random_read` or `presort.write_cost` 4 times too high or too low: epoch and device time over those of the right",
           "costs, and in brackets the share of the loads that was sorted.", ""]
    cases = list(dict.fromkeys(row.split(" ", 2)[2] for row in v.rows))
    rows, losses = [], {}
    for prefix in dict.fromkeys(" ".join(row.split()[:2]) for row in v.rows):
        profile, dim = prefix.split()
        shown = []
        for case in cases:
            loss = [v(f"{prefix} {case}", column) / right(f"{prefix} auto", column) for column in ("epoch_s", "device_s")]
            losses[f"{DRIVES[profile]} {dim} floats, {case}"] = loss
            shown.append(f"{loss[0]:.2f}, {loss[1]:.2f} ({v.sorted_percent(f'{prefix} {case}'):.0f} %)")
        rows.append([DRIVES[profile], dim, f"{right.sorted_percent(f'{prefix} auto'):.0f} %", *shown])
    out += table(["drive", "floats", "sorted with the right costs", *(f"`{c.split()[0]}`, {c.split(' ', 1)[1]}" for c in cases)], rows)
    for index, word in enumerate(("epoch time", "device time")):
        far = [loss[index] for loss in losses.values() if loss[index] > 1.2]
        gained = [f"{name} {loss[index]:.2f}" for name, loss in losses.items() if loss[index] < 1 / NEAR]
        out.append(finding(f"A cost that is off by 4 times loses less than 20 % of {word}",
                           f"{len(losses) - len(far)} of {len(losses)}, {max(loss[index] for loss in losses.values()):.2f} times at most",
                           not far, CAUSES["wrong"]))
        if gained:
            out.append(f"* In {word} a wrong cost is better by more than 5 %: {named(gained)}: see above, of processor time.")
    return out + [""]


def show_devices(v):
    out = ["## Other devices", "", "As above, the drive of the profile changed and nothing else of its machine:", ""]
    out += [f"* {name}: {DRIVES[base]}, " + ", ".join(f"`{key}` {value}" for key, value in changes.items())
            for name, (base, changes) in DEVICES.items()] + [""]
    out += table(["device", "floats", *CLASSES_HEAD], [[*p.rsplit(" ", 1), *classes_row(v, p)] for p in prefixes_of(v)])
    memory = f"{MEMORY} {DEVICE_DIMS[0]} auto"
    if memory in v.rows:
        out.append(finding("A device like memory, 0.2 us a read, is read directly throughout",
                           f"{v.sorted_percent(memory):.2g} % of the loads are sorted at {DEVICE_DIMS[0]} floats",
                           v(memory, "sorted") == 0, CAUSES["memory"]))
    return out + show_near(v, lambda p: f"{p} floats") + [""]


def show_tenth(v):
    out = ["## At 1/10, beside the others", "",
           "The registry's papers100m (closed reach), 11.1 M nodes, batch 100. Every system as `--preset gnndrive` sets it, but for Ginex' samplers,",
           "8 instead of one a core, as the buffers of so many do not fit, and for AGNES' nodes, which stay as they lie. AGNES searched: the best of",
           "18 settings, its stages overlapping over epochs ([presort.md](presort.md#at-a-tenth)). **DiskGNN trains on the same mini-batches in every",
           "epoch, the others draw fresh ones.** Work: processor time of all stages, by the costs of the profile.", ""]
    rows, places = [], list(dict.fromkeys(" ".join(row.split()[:2]) for row in v.rows))
    for place in places:
        profile, cap = place.split()
        for name in TENTH:
            row = f"{place} {name}"
            if row in v.rows and v.cells[row, "status"] != "not run":
                packs = name == "DiskGNN"
                rows.append([DRIVES[profile], cap, name, "reused" if packs else "fresh", v.text(row, "prepared_s") if packs else "0",
                             v.ended(row, "first_s"), v.ended(row, "epoch_s"), *(v.text(row, c) for c in (
                                 "floor_s", "read_mib", "written_mib", "work_s")),
                             v.cells.get((row, "busiest"), "-")])
    out += table(["drive", "cap", "system", "mini-batches", "prepared before s", "first epoch s", "epoch s", "device's least s",
                  "read MiB", "written MiB", "work s", "a worker of the busiest stage s"], rows)
    for place in places:
        profile, cap = place.split()
        out += compared(v, place, f"{DRIVES[profile]}, {cap}")
    missing = {name: [place for place in places if v.cells.get((f"{place} {name}", "status")) == "not run"] for name in TENTH}
    for name, where in missing.items():
        if where:
            out.append(f"* Not run: {name}, {'; '.join(DRIVES[place.split()[0]] + ' ' + place.split()[1] for place in where)}.")
    return out + reasons(v) + [""]


def compared(v, place, label):
    """How presort stands to the best of the others with fresh mini-batches, and to DiskGNN."""
    own, packed = f"{place} presort", f"{place} DiskGNN"
    fresh = [name for name in TENTH if v.ran(f"{place} {name}") and name not in ("presort", "DiskGNN")]
    if not v.ran(own) or not fresh:
        return []
    best = {c: min(fresh, key=lambda name, c=c: v(f"{place} {name}", c)) for c in ("epoch_s", "first_s")}
    times = {c: v(f"{place} {name}", c) / v(own, c) for c, name in best.items()}
    out = [finding(f"{label}: of those with fresh mini-batches, presort takes least",
                   f"{times['epoch_s']:.2f} times as long in {best['epoch_s']}, the first epoch {times['first_s']:.2f} times in "
                   f"{best['first_s']}",
                   min(times.values()) > 1, CAUSES["tenth"])]
    if v.ran(packed):
        ahead = v(packed, "prepared_s") + v(packed, "first_s") - v(own, "first_s")  # presort's lead after an epoch each
        gain = v(own, "epoch_s") - v(packed, "epoch_s")
        when = f"with what it prepares it is ahead after {1 + max(ahead, 0) / gain:.1f} epochs" if gain > 0 else "it gains nothing by them"
        share = v(packed, "epoch_s") / v(own, "epoch_s")
        out.append(f"* {label}: an epoch of DiskGNN, of reused mini-batches, takes {share:.2f} of presort's; {when}.")
    return out


def reasons(v):
    """Why runs ended early, but for those that were not made."""
    return [f"* {row}: {v.cells[row, 'status']}: {v.cells[row, 'reason']}." for row in v.rows if (row, "reason") in v.cells]


def show_least(v):
    out = ["## The least cap", "",
           "papers100m at 1/100 with its closed reach, batch 10, on the machine of the SATA drive with 48 cores: the least cap in MiB that is",
           "enough, and epochs under it.", ""]
    out += table(["system", "least cap MiB", "first epoch s", "epoch s"], [
        [name, v.text(name, "cap_mib"), v.text(name, "first_s"), v.text(name, "epoch_s")]
        for name in v.rows])
    less = [f"{name} {v.text(name, 'cap_mib')}" for name in v.rows
            if not name.startswith("MariusGNN") and v(name, "cap_mib") < v("presort", "cap_mib")]
    out.append(finding("presort's is the least, MariusGNN aside, which samples what is in memory",
                       f"{v.text('presort', 'cap_mib')} MiB; less have {named(less)}", not less, CAUSES["least"]))
    return out + [""]


def show_cliffs(v):
    out = ["## Caps in small steps", "", "presort on the SATA drive, papers100m at 1/100, 128 floats.", ""]
    columns = ("epoch_s", "late_s", "floor_s", "slots", "topology_mib", "threads", "windows", "hyperbatches", "loads", "sorted")
    for graph in dict.fromkeys(row.rsplit(" ", 1)[0] for row in v.rows):
        rows = [row for row in v.rows if row.startswith(f"{graph} ")]
        out += [f"### {graph.capitalize()}", ""]
        out += table(["cap MiB", "epoch s", "of it before its first rows s", "device's least s", "rows in memory", "lists in memory MiB",
                      "threads", "windows", "hyperbatches", "loads", "sorted"], [
                          [row.rsplit(" ", 1)[1], *(v.ended(row, column) for column in columns)] for row in rows])
        steps = [(a, b) for a, b in zip(rows, rows[1:]) if v.ran(a) and v.ran(b)]
        out += show_steps(v, steps) if steps else []
    return out


def longer_by(v, a, b):
    """The likely cause of row b, of the larger cap, being longer than row a."""
    if v(b, "topology_mib") > v(a, "topology_mib"):
        return "lists"
    return "threads" if v(b, "threads") > v(a, "threads") else "last"


def show_steps(v, steps):
    """steps: pairs of rows, of a cap and the next one, both of which ran."""
    out = []
    for word, column in (("epoch", "epoch_s"), ("least time of the device", "floor_s")):
        worse = [(a, b) for a, b in steps if v(b, column) > CLIFF * v(a, column)]
        shown = [f"at {b.rsplit(' ', 1)[1]} MiB {v(b, column) / v(a, column):.2f} of the cap below" for a, b in worse]
        causes = dict.fromkeys(CAUSES[longer_by(v, a, b)] for a, b in worse)
        out.append(finding(f"With more memory no {word} is longer by more than 3 %", f"{len(worse)} of {len(steps)} steps are",
                           not worse, "; ".join([*shown, *causes])))
    ratio, row = min((v(b, "epoch_s") / v(a, "epoch_s"), b) for a, b in steps)
    out.append(f"* The largest gain of a step: {ratio:.2f} of the cap below, at {row.rsplit(' ', 1)[1]} MiB, with "
               f"{v.text(row, 'topology_mib')} MiB of neighbour lists in memory.")
    return out + [""]


def show_graphs(v):
    out = ["## Other graphs", "",
           f"On the SATA drive, batch 10; the cap is {100 * ROW_SHARE:.0f} % of the rows, the neighbour lists at 4 bytes an entry, and 40 MiB",
           "(80 where it says wider). AGNES as set, nodes as they lie; Ginex with 8 samplers. igb260m at 1/1000, the others at 1/100.", ""]
    rows, slower = [], []
    for name in dict.fromkeys(row.rsplit(" ", 1)[0] for row in v.rows):
        own, others = f"{name} presort", [f"{name} agnes", f"{name} ginex"]
        ratios = [f"{v(other, 'epoch_s') / v(own, 'epoch_s'):.2f}" if v.ran(own) and v.ran(other) else "-" for other in others]
        slower += [f"{other} ({ratio})" for other, ratio in zip(others, ratios) if ratio != "-" and float(ratio) <= 1]
        rows.append([name, v.text(own, "cap_mib"), GRAPHS[name][4], *(v.ended(row, "epoch_s") for row in (own, *others)), *ratios,
                     v.text(own, "topology_mib"), v.text(own, "floor_s"), f"{v.sorted_percent(own):.0f}" if v.ran(own) else "-",
                     v.text(own, "written_mib")])
    out += table(["graph", "cap MiB", "floats", "presort s", "AGNES s", "Ginex s", "AGNES over presort", "Ginex over presort",
                  "presort: lists in memory MiB", "device's least s", "sorted %", "written MiB"], rows)
    return out + reasons(v) + [finding("presort's epoch is the shortest on every graph", f"shorter or as long elsewhere: {named(slower)}", not slower,
                          CAUSES["graphs"]), ""]


# Said where a finding does not hold.
CAUSES = {
    "device": "a plan is of requests and bytes, and takes a direct row for a request of its own",
    "processor": "the plan counts the device's time alone, and where the drive serves a row sooner than the one thread that loads has asked "
                 "for it, it is that thread's work that a direct row costs",
    "crossing": "in epoch time the loading thread's work on a direct read counts, too",
    "merged": "the plan takes each direct row for a request, and near ones are read together",
    "wrong": "a wrong cost moves the width at which sorting stops, and no plan is corrected by what the device took before",
    "memory": "by the costs of the profile sorting is cheaper",
    "tenth": "what takes the time there is the processor, on which presort draws every mini-batch twice and copies its rows to a slot and to an input",
    "least": "tables of all nodes, two of the largest mini-batches' rows and lists are there from the start",
    "last": "an epoch's last hyperbatch is what full ones leave over: where it is short, the next epoch's first one is not prepared when it ends, "
               "which is in the column of the time before the first rows",
    "lists": "where neighbour lists get room in memory, first those that can be drawn from and then all, they take it from rows",
    "threads": "a thread more takes memory from rows; it is expected to make the epoch shorter, by estimates of what the processor and the drive take",
    "graphs": "where no neighbour lists are in memory they are swept, or mapped where there is no room for that either",
}
SHOWN = {"crossover": show_crossover, "wrong": show_wrong, "devices": show_devices, "tenth": show_tenth, "least": show_least,
         "cliffs": show_cliffs, "graphs": show_graphs}


def generated(lines):
    out = []
    for part, show in SHOWN.items():
        cells = Cells(lines, part)
        if cells.rows:
            out += show(cells, Cells(lines, "crossover")) if part == "wrong" else show(cells)
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    make_page(parse_arguments(), "presort_experiments.csv", run_all, generated)


if __name__ == "__main__":
    main()
