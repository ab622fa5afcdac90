#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MariusGNN (EuroSys 2023), Tables 3, 6 and 8 in the simulated world, beside the published numbers.

Every cell is `oocgnn run --world simulated` on the machine that the paper took for it: p3.2xlarge from the disk,
p3.8xlarge and p3.16xlarge in memory. Of two epochs the second counts. An epoch costs what its seconds cost at the hourly
price of Table 2. A record that is there is not made again: cut it off and start it again. The published numbers are read from
results/published/mariusgnn.csv for their columns and for the findings alone.

The cells go to build/results/marius.csv, from which a generated part of marius.md there is written: tables, and what the paper
says of each with whether it holds here. Cells of another scale stay. `--write` writes that part from the CSV file alone,
`--check` compares it (tests/style/test_results.sh).

  scripts/marius_tables.py DIR                                        # at 1/100; DIR: FB15k-237's train.txt, valid.txt, test.txt
  scripts/marius_tables.py --parts table3 --scale 1/10 --rows disk --batches 60    # a part of an epoch; --rows 'MAG240M-Cites mem' --batches 20
  scripts/marius_tables.py --parts table3 --scale 1/1 --rows disk --batches 60 # at the paper's size: 70 minutes beside other work, 17 GB
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time

from results_page import about, add_places, finding, make_page, placed, read_csv, table, write_csv

PUBLISHED = os.path.join(os.path.dirname(__file__), "../results/published/mariusgnn.csv")
FIELDS = ["part", "scale", "row", "column", "value"]
# Machine of Table 2: profile; of its 61, 244 and 488 GB what a run is given, in GiB; cores, of which each has a loader.
MACHINES = {"P3.2xLarge": ("mariusgnn-paper", 60, 4), "P3.8xLarge": ("mariusgnn-p3.8xlarge", 240, 16),
            "P3.16xLarge": ("mariusgnn-p3.16xlarge", 480, 32)}
# Table 3, a row: dataset, machine, policy, and p and c where the released configuration has them: buckets keep their size at any
# scale. None: by the rules of section 6.
TABLE_3 = {"Papers100M mem": ("papers100m", "P3.8xLarge", "memory", None),
           "Papers100M disk": ("papers100m", "P3.2xLarge", "training-first", (8192, 3584)),
           "MAG240M-Cites mem": ("mag240m-cites", "P3.16xLarge", "memory", None),
           "MAG240M-Cites disk": ("mag240m-cites", "P3.2xLarge", "training-first", None)}
# Its fan-outs are of both directions together, the program's of each.
FANOUT = "15,10,5"
BATCH = "1000"  # of table 6, at any scale; in table 3 the preset divides it
DEPTHS = (1, 2, 3, 4)
# Table 8 on FB15k-237, as scripts/links.py trains it.
MODELS = {"DistMult": [], "GraphSAGE": ["--encoder", "--model", "sage", "--fanout", "64"],
          "GAT": ["--encoder", "--model", "gat", "--hidden", "50", "--heads", "10", "--fanout", "10"]}
POLICIES = {"COMET": ["policy=comet", "partitions=32", "capacity=8", "logical=2"],
            "BETA": ["policy=beta", "partitions=16", "capacity=4"]}
FB15K = "FB15k-237"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", metavar="DIR", nargs="?", help="FB15k-237, for table8")
    parser.add_argument("--oocgnn", default=os.environ.get("OOCGNN", "build/gcc/oocgnn"))
    parser.add_argument("--data", default=os.environ.get("DATA", "data"))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--scale", default="1/100", help="of tables 3 and 6")
    parser.add_argument("--rows", default="", help="of table 3: those whose name has this in it")
    parser.add_argument("--batches", type=int, default=0, help="table 3: simulate so many of an epoch, after 20 of warm-up; 0: all")
    parser.add_argument("--seeds", type=int, default=3, help="of table 8, whose orders are drawn at random")
    parser.add_argument("--keep", default="build/marius", help="records of the cells; a cell that is there is not run")
    add_places(parser, "marius.csv", "marius.md")
    return placed(parser.parse_args())


# ---- runs ----

class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.lines = []

    def record(self, name, options):
        """The record of one run, from where it is kept."""
        a = self.arguments
        kept = os.path.join(a.keep, name.replace("/", "_").replace(" ", "_") + ".json")
        if not os.path.exists(kept):
            command = [a.oocgnn, "run", "--system", "mariusgnn", "--world", "simulated", "--evaluate", "never", *options,
                       "--db", os.path.join(a.keep, "runs.db"), "--json", "--quiet"]
            os.makedirs(a.keep, exist_ok=True)
            started = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not done.stdout.strip():
                sys.exit(f"{' '.join(command)}\n{done.stderr}")
            print(f"{name}: {time.monotonic() - started:.0f} s of host time", file=sys.stderr)
            with open(kept + ".new", "w", encoding="utf-8") as target:
                target.write(done.stdout)
            os.replace(kept + ".new", kept)
        with open(kept, encoding="utf-8") as source:
            return json.load(source)

    def put(self, part, scale, row, **values):
        for column, value in values.items():
            text = value if isinstance(value, str) else f"{value:.6g}"
            self.lines.append(dict(part=part, scale=scale, row=row, column=column, value=text))


def divisor(scale):
    return int(scale.split("/")[1])


def on_machine(machine, scale):
    """Profile and cap: all of the machine's memory, divided by the scale."""
    profile, gib, _ = MACHINES[machine]
    return ["--profile", profile, "--memory", f"{gib * 1024 // divisor(scale)}M"]


def partitions(released, scale):
    """Options for p and c, which go with the root of the edges."""
    if released is None:
        return []
    p, c = (round(n / divisor(scale) ** 0.5) for n in released)
    return ["--set", f"mariusgnn.partitions={p}", "--set", f"mariusgnn.capacity={c}"]


def times(record):
    """Seconds of the last epoch: all of it; and what the released code's timer sees, without the fill and the last write."""
    epoch = record["epochs"][-1]
    figures = epoch["figures"]
    whole = figures.get("full_epoch_ns", epoch["wall_ns"])
    return whole * 1e-9, (whole - epoch["wall_ns"] + figures["timed_ns"]) * 1e-9


def status(record):
    """The run's status; "not settled" where its part of an epoch has no time."""
    settled = [epoch["figures"].get("full_epoch_settled") for epoch in record.get("epochs") or []]
    return "not settled" if record["status"] == "ok" and 0 in settled else record["status"]


def a_batch(record):
    """Of the last epoch's mini-batches, a mean one: milliseconds of a loader and of the GPU, nodes, edges."""
    epoch = record["epochs"][-1]
    batches = epoch["counters"]["batches"]
    load = next(stage for stage in epoch["stages"] if stage["stage"] == "load")
    return dict(load_ms=load["work_ns"] * 1e-6 / batches, gpu_ms=epoch["figures"].get("gpu_busy_ns", 0) * 1e-6 / batches,
                nodes=epoch["counters"]["sampled_nodes"] / batches, edges=epoch["figures"]["one_hop_edges"] / batches)


def as_many_as_fit(runner, name, options, loaders):
    """The record with as many mini-batches in flight as the system's own rule says or, where the plan refuses so many, a half, a quarter
    and so on; and how many they are."""
    in_flight = min(loaders + 5, 16)
    while True:
        record = runner.record(f"{name} {in_flight}", [*options, "--set", f"mariusgnn.staleness={in_flight}"])
        if record["status"] not in ("oom", "gpu_oom") or in_flight == 1:
            return record, in_flight
        in_flight //= 2


def table_3(runner):
    a = runner.arguments
    for row, (dataset, machine, policy, released) in TABLE_3.items():
        if a.rows not in row:
            continue
        loaders = MACHINES[machine][2]
        part = ["--warmup", "20", "--batches", str(a.batches)] if a.batches > 0 else []
        record, in_flight = as_many_as_fit(runner, f"table3 {row} {a.scale} {a.batches}", [
            "--dataset", dataset, "--scale", a.scale, "--preset", "mariusgnn", "--fanout", FANOUT, "--epochs", "2",
            *on_machine(machine, a.scale), "--set", f"mariusgnn.policy={policy}", "--set",
            f"mariusgnn.loaders={loaders}", *partitions(released, a.scale), *part], loaders)
        if 0 < a.batches < 2 * in_flight:  # what the warm-up copied ahead is missing in their time
            sys.exit(f"{row}: --batches {a.batches} are fewer than {2 * in_flight}, twice those in flight: too few to tell the rate of an epoch")
        ended = status(record)
        runner.put("table3", a.scale, row, status=ended, in_flight=in_flight)
        if ended != "ok":
            continue
        whole, timed = times(record)
        figures = record["epochs"][-1]["figures"]
        runner.put("table3", a.scale, row, epoch_s=whole, timed_s=timed, partitions=figures["partitions"],
                   capacity=figures["capacity"], read_gb=record["epochs"][-1]["counters"]["requested_bytes"] * 1e-9,
                   batches=a.batches, **a_batch(record))


def table_6(runner):
    a = runner.arguments
    for depth in DEPTHS:
        record = runner.record(f"table6 {depth} {a.scale}", [
            "--dataset", "papers100m", "--scale", a.scale, "--preset", "mariusgnn", "--batch", BATCH, "--fanout", ",".join(["10"] * depth),
            "--hidden", "128", "--epochs", "1", "--warmup", "5", "--batches", "20", *on_machine("P3.8xLarge", a.scale),
            "--set", "mariusgnn.policy=memory", "--set", "mariusgnn.loaders=1", "--set", "mariusgnn.staleness=1"])
        runner.put("table6", a.scale, str(depth), status=record["status"])
        if record["status"] == "ok":
            runner.put("table6", a.scale, str(depth), **a_batch(record))


def table_8(runner):
    a = runner.arguments
    if not os.path.exists(f"{a.data}/fb15k-237"):
        if a.source is None:
            sys.exit("table8 needs DIR, with train.txt, valid.txt and test.txt of FB15k-237")
        subprocess.run([a.oocgnn, "prepare", "fb15k-237", "--from", a.source, "--format", "triples", "--add-reverse", "--data",
                        a.data, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    for model, options in MODELS.items():
        for policy, settings in POLICIES.items():
            records = [runner.record(f"table8 {model} {policy} {seed}", [
                "--profile", MACHINES["P3.2xLarge"][0], "--dataset", "fb15k-237", "--data", a.data, "--task", "link", "--dim",
                "50", "--batch", "1000", "--degree-share", "0", "--epochs", "2", "--seed", str(seed), *options,
                *(word for s in ["edges=in", *settings] for word in ("--set", f"mariusgnn.{s}"))])
                for seed in range(1, a.seeds + 1)]
            bad = next((r["status"] for r in records if r["status"] != "ok"), "ok")
            runner.put("table8", "1/1", f"{model} {policy}", status=bad)
            if bad != "ok":
                continue
            figures = [r["epochs"][-1]["figures"] for r in records]
            moved = [r["epochs"][-1]["counters"] for r in records]
            runner.put("table8", "1/1", f"{model} {policy}", epoch_s=statistics.mean(times(r)[0] for r in records),
                       timed_s=statistics.mean(times(r)[1] for r in records),
                       states=statistics.mean(f["states"] for f in figures),
                       moved_mb=statistics.mean(c["requested_bytes"] + c["requested_write_bytes"] for c in moved) * 1e-6)


PARTS = {"table3": table_3, "table6": table_6, "table8": table_8}


def run_all(a):
    runner = Runner(a)
    for part in a.parts.split(","):
        PARTS[part](runner)
    made = {(line["part"], line["scale"], line["row"]) for line in runner.lines}
    lines = [line for line in read_csv(a.csv) if (line["part"], line["scale"], line["row"]) not in made] + runner.lines
    write_csv(a.csv, FIELDS, sorted(lines, key=lambda line: (line["part"], divisor(line["scale"]), line["row"])))


# ---- what is published ----

def published(figure_id, metric, variant="", dataset="Papers100M", model="GraphSAGE", parameter="", system="MariusGNN"):
    """As it is printed."""
    with open(PUBLISHED, newline="", encoding="utf-8") as source:
        for row in csv.DictReader(source):
            if (row["figure_id"], row["system"], row["variant"], row["dataset"], row["model"], row["metric"]) == (
                    figure_id, system, variant, dataset, model, metric) and parameter in row["parameter"]:
                return row["value"]
    raise KeyError(f"{figure_id}, {system}, {variant}, {dataset}, {model}, {metric}")


def price(machine):
    """Dollars a second, Table 2."""
    return float(published("mariusgnn-table2", "price_usd_per_hour", dataset="", model="", system=machine)) / 3600


# ---- the page ----

class Values:
    """The cells of one part, by scale and row."""

    def __init__(self, lines, part):
        self.cells = {(line["scale"], line["row"], line["column"]): line["value"] for line in lines if line["part"] == part}
        self.rows = list(dict.fromkeys((scale, row) for scale, row, _ in self.cells))

    def __call__(self, scale, row, column):
        return float(self.cells[scale, row, column])

    def has(self, scale, row):
        return self.cells.get((scale, row, "status")) == "ok"

    def status(self, scale, row):
        return self.cells[scale, row, "status"]

    def scales(self, *rows):
        """Those that have all these rows, the largest first."""
        found = [scale for scale in dict.fromkeys(scale for scale, _ in self.rows) if all(self.has(scale, r) for r in rows)]
        return sorted(found, key=divisor)


def short(value, digits=3):
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def like_printed(ratio, wanted):
    """Whether a ratio is about the printed one, and on its side of 1."""
    return about(ratio, wanted) and (ratio > 1) == (wanted > 1)


def row_of_table_3(v, scale, row):
    dataset, variant = row.split()
    machine = TABLE_3[row][1]
    print_s = float(published("mariusgnn-table3", "epoch_time_min", variant, dataset)) * 60
    print_usd = published("mariusgnn-table3", "cost_usd_per_epoch", variant, dataset)
    if not v.has(scale, row):
        return [dataset, variant, machine, scale, v.status(scale, row), *["-"] * 8, short(print_s), print_usd]
    full = divisor(scale)
    timed = v(scale, row, "timed_s") * full
    part = f", {v(scale, row, 'batches'):.0f} mini-batches of an epoch" if v(scale, row, "batches") > 0 else ""
    return [dataset, variant, machine, scale + part, f"{v(scale, row, 'capacity'):.0f} of {v(scale, row, 'partitions'):.0f}",
            f"{v(scale, row, 'in_flight'):.0f}",
            *(short(v(scale, row, c)) for c in ("nodes", "edges", "epoch_s", "timed_s")), short(v(scale, row, "read_gb")),
            short(timed), f"{timed * price(machine):.3f}", short(print_s), print_usd]


# Said where a finding does not hold.
BUS = ("the bus binds; more targets in a mini-batch share more neighbours, so that fewer rows a target cross it (nodes a target, below): at "
       "scale 1 fewer again, which is not measured")
CAUSES = {
    "Papers100M mem": BUS,
    "Papers100M disk": "its four loaders bind, which work all the time; with more targets in a mini-batch they share more neighbours",
    "MAG240M-Cites mem": BUS,
    "MAG240M-Cites disk": "few partitions fit, and as few of a node's neighbours, so that little is drawn and copied; the paper's p and c for this "
                          "graph are not printed",
    "Papers100M": "in memory the bus binds, and from the disk mini-batches have half the nodes",
    "MAG240M-Cites": "little of a mini-batch is left, see its nodes; how many partitions the paper had in memory is not printed",
    "smaller": "see the table",
    "depth": "the scaled graph ends: the deeper, the more of it a mini-batch already holds",
    "gpu": "the modelled GPU has no framework on it: rooflines and launches alone",
    "sampling": "one loader samples a mini-batch here, where the paper's threads share one, and deeper ones end with the scaled graph",
    "comet": "swaps are hidden behind training but for their bytes",
}


def show_table_3(v):
    out = ["## Table 3: epoch time and cost of node classification", "",
           "Seconds as simulated at the scale beside them, where the preset divides memory and batch; *at scale 1* is the timed part times the "
           "scale's divisor, and what that costs at Table 2's price. *Timed* leaves the fill of the buffer out, as the released code's timer "
           "does. A GPU and as many loaders as cores; second of two epochs.", "",
           "*In flight*: mini-batches at most: the loaders and five, and no more than 16, as the released queues and bound are; or a half of that, a "
           "quarter and so on, where the plan refuses so many. *Of an epoch*: so many mini-batches after 20 of warm-up, extrapolated.", "",
           "**These settings were settled with the printed times in view**: batches of 1000 at any scale ended in `oom`, so they are the preset's; "
           "p and c of Papers100M are the released configuration's, as the rules of section 6 ended in `oom` there (they do no more: the figure "
           "mariusgnn-table3 is by them); four loaders instead of one a core made the times in memory 134 and 349 s at scale 1. Take them as this "
           "choice, not as a prediction.", ""]
    out += table(["graph", "", "machine", "scale", "partitions in memory", "in flight", "nodes a batch", "edges drawn", "epoch s", "timed s",
                  "read GB", "timed s at scale 1", "USD", "paper: s", "USD"],
                 [row_of_table_3(v, scale, row) for row in TABLE_3 for scale in sorted({s for s, r in v.rows if r == row}, key=divisor)])
    for row in TABLE_3:
        out += finding_of_time(v, row)
    for dataset in ("Papers100M", "MAG240M-Cites"):
        out += findings_of_disk(v, dataset)
    out += shares(v)
    return out + ["* That it is 16 and 64 times cheaper than the cheapest of DGL and PyG: not measurable, neither is here.", ""]


def finding_of_time(v, row):
    scales = v.scales(row)
    if not scales:
        return [f"* {row}: **not measured**."]
    dataset, variant = row.split()
    timed = v(scales[0], row, "timed_s") * divisor(scales[0])
    wanted = float(published("mariusgnn-table3", "epoch_time_min", variant, dataset)) * 60
    return [finding(f"{dataset}, {'in memory' if variant == 'mem' else 'from the disk'}: {short(wanted)} s an epoch",
                    f"{short(timed)} s, {timed / wanted:.2f} of it, from {scales[0]}", about(timed, wanted), CAUSES[row])]


def shares(v):
    """Nodes a target by scale, where there is more than one: with more targets in a mini-batch they share more neighbours."""
    found = []
    for row in TABLE_3:
        if len(v.scales(row)) > 1:
            found.append(f"{row} " + ", ".join(f"{v(s, row, 'nodes') / max(1, round(1000 / divisor(s))):.0f} at {s}" for s in v.scales(row)))
    return [f"* Nodes a target, whose mini-batches have 1000 at scale 1: {'; '.join(found)}."] if found else []


def findings_of_disk(v, dataset):
    mem, disk = f"{dataset} mem", f"{dataset} disk"
    scales = v.scales(mem, disk)
    if not scales:
        return [f"* {dataset}, disk against memory: **not measured** at one scale."]
    scale = scales[0]
    wanted = float(published("mariusgnn-table3", "epoch_time_min", "disk", dataset)) / float(
        published("mariusgnn-table3", "epoch_time_min", "mem", dataset))
    ratio = v(scale, disk, "timed_s") / v(scale, mem, "timed_s")
    word = "slower" if wanted > 1 else "faster"
    cheaper = v(scale, mem, "timed_s") * price(TABLE_3[mem][1]) / (v(scale, disk, "timed_s") * price(TABLE_3[disk][1]))
    printed = wanted * price(TABLE_3[disk][1]) / price(TABLE_3[mem][1])
    smaller = v(scale, disk, "nodes") / v(scale, mem, "nodes")
    return [finding(f"{dataset} from the disk is {word} than in memory ({wanted:.2f} of its time)", f"{ratio:.2f}, at {scale}",
                    like_printed(ratio, wanted), CAUSES[dataset]),
            finding(f"and {1 / printed:.1f} times cheaper", f"{cheaper:.1f} times", like_printed(cheaper, 1 / printed), CAUSES[dataset]),
            finding("Mini-batches from the disk are smaller", f"{smaller:.2f} of the nodes", smaller < 1, CAUSES["smaller"])]


def show_table_6(v):
    scale = v.scales()[0]
    out = [f"## Table 6: a mini-batch by depth, Papers100M at {scale}", "",
           "Milliseconds of one loader, which samples and gathers the features, and of the modelled V100; 1000 targets, 10 incoming and 10 "
           "outgoing neighbours, hidden 128. Both samplers by themselves, on this machine's clock: [dense.md](dense.md).", ""]
    rows = []
    for depth in (d for s, d in v.rows if s == scale):
        def printed(metric, d=depth):
            return published("mariusgnn-table6", metric, "mem", parameter=f"layers={d};")
        ours = [short(v(scale, depth, c)) for c in ("load_ms", "gpu_ms", "nodes", "edges")] if v.has(scale, depth) else [
            v.status(scale, depth), "-", "-", "-"]
        rows.append([depth, ours[0], printed("cpu_sampling_time_ms"), ours[1], printed("gpu_compute_time_ms"),
                     f"{ours[2]} / {ours[3]}", f"{printed('nodes_per_batch')} / {printed('edges_per_batch')}"])
    out += table(["layers", "sampling ms", "paper", "GPU ms", "paper", "nodes / edges", "paper"], rows)
    measured = [d for s, d in v.rows if s == scale and v.has(scale, d)]
    for metric, column, text, cause in (("cpu_sampling_time_ms", "load_ms", "Sampling time", "sampling"),
                                        ("gpu_compute_time_ms", "gpu_ms", "GPU time", "gpu"),
                                        ("nodes_per_batch", "nodes", "Nodes", "depth"), ("edges_per_batch", "edges", "Edges", "depth")):
        ratios = {d: v(scale, d, column) / float(published("mariusgnn-table6", metric, "mem", parameter=f"layers={d};")) for d in measured}
        out += [finding(f"{text} by depth", "ours over printed " + ", ".join(f"{r:.2f}" for r in ratios.values()),
                        all(about(r, 1) for r in ratios.values()), CAUSES[cause])]
    return out + [""]


def show_table_8(v):
    out = [f"## Table 8: epoch time of COMET and BETA, {FB15K}", "",
           "The mean of the seeds' second epochs, a quarter of the partitions in memory: the whole epoch, and the part that the released "
           "code times. Ranks: [links.md](links.md). No spread over the seeds is kept: a ratio of a few per cent tells little more than its sign.", ""]
    rows = []
    for model in MODELS:
        for policy in POLICIES:
            row, printed = f"{model} {policy}", published("mariusgnn-table8", "epoch_time_s", policy, FB15K, model)
            ours = [short(v("1/1", row, c)) for c in ("states", "moved_mb", "epoch_s", "timed_s")] if v.has("1/1", row) else [
                v.status("1/1", row), "-", "-", "-"]
            rows.append([model, policy, *ours, printed])
    out += table(["model", "policy", "states", "MB moved", "epoch s", "timed s", "paper: s"], rows)
    for model in MODELS:
        if not all(v.has("1/1", f"{model} {p}") for p in POLICIES):
            continue
        ratio = v("1/1", f"{model} BETA", "timed_s") / v("1/1", f"{model} COMET", "timed_s")
        wanted = float(published("mariusgnn-table8", "epoch_time_s", "BETA", FB15K, model)) / float(
            published("mariusgnn-table8", "epoch_time_s", "COMET", FB15K, model))
        out += [finding(f"{model}: COMET's epoch is shorter ({wanted:.2f} times)", f"{ratio:.2f} times", like_printed(ratio, wanted),
                        CAUSES["comet"])]
    return out + [""]


SHOWN = {"table3": show_table_3, "table6": show_table_6, "table8": show_table_8}
def generated(lines):
    parts = {line["part"] for line in lines}
    return "\n".join(line for part, show in SHOWN.items() if part in parts for line in show(Values(lines, part))).rstrip("\n") + "\n"


def main():
    make_page(parse_arguments(), "marius.csv", run_all, generated)


if __name__ == "__main__":
    main()
