#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every system on one graph under memory caps, twice: as its paper sets it, and with equal memory.

Runs what is missing, round by round so that a slow hour of the machine meets every system, keeps every record (a run
that is there is not repeated: cut it off and start it again), and rewrites the generated part of build/results/systems.md:
tables and the sentences that follow from them. `--write` writes that part from results/systems.csv alone, `--check`
compares it (tests/style/test_results.sh).

  scripts/systems_table.py                                          # 1/100, 320M and 80M
  scripts/systems_table.py --scale 1/10 --caps 3200M,800M --epochs 1 --part pygplus=100+100
  scripts/systems_table.py --model gat --epochs 1 --repeat 1        # the same for GNNDrive's GAT
  scripts/systems_table.py --model gat-gpu ...                      # GAT again; training waits as long as the paper's GPU would take

DiskGNN prepares in every run, in a directory below --keep that is removed after it: what is prepared at 1/10 for one cap
is some 10 GB. MariusGNN's store is made by its first run, in the dataset's directory, and is the same for all caps.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

import results_page
from results_page import Part, add_places, placed, write_csv

LAYOUT = "agnes, nodes as they are"
# row: system, its own settings; the settings' presets. Rows that the two presets set alike are run once.
ROWS = {
    "pygplus": ("pygplus", [], ["paper"]),
    "ginex": ("ginex", [], ["paper", "equal"]),
    "gnndrive": ("gnndrive", [], ["paper", "equal"]),
    "agnes": ("agnes", [], ["paper"]),
    LAYOUT: ("agnes", ["--set", "agnes.layout=input"], ["paper"]),
    "diskgnn": ("diskgnn", [], ["paper", "equal"]),
    "mariusgnn": ("mariusgnn", [], ["paper"]),
    "presort": ("presort", [], ["paper"]),  # no paper's: this project's own
    "ringsampler (sampling)": ("ringsampler", ["--sample-only"], ["paper"]),
}
PRESETS = {"paper": "gnndrive", "equal": "equal-memory"}
TITLES = {"paper": "As each paper sets it", "equal": "Equal memory"}
GAT = ["--model", "gat", "--fanout", "10,10,5"]  # GNNDrive, section 5
MODELS = {"sage": [], "gat": GAT, "gat-gpu": GAT + ["--compute", "model:gnndrive-paper/gpu"]}
MODEL_TITLES = {"sage": "", "gat": ", GAT", "gat-gpu": ", GAT, a modelled GPU"}
ASIDE = (LAYOUT, "ringsampler (sampling)")  # not ranked, and not in the second table
THREADS = {"pygplus": ["workers", "gather_threads"], "ginex": ["samplers", "gather_threads"],
           "gnndrive": ["samplers", "extractors"], "agnes": ["workers"], "ringsampler": ["threads"], "diskgnn": ["samplers", "rings"], "mariusgnn": ["loaders"], "presort": []}
FINAL = ("ok", "oom", "oot")
FIELDS = ["scale", "cap", "setting", "row", "status", "runs", "epoch_s", "low_s", "high_s", "first_s", "part",
          "prepare_s", "open_s", "prepared_mib", "reads_k", "read_gib", "written_mib", "hit", "memory", "peak_mib",
          "threads", "cap_kind", "stages", "machine", "made_s", "model", "asked_written_mib", "before_mib"]
RECENT = {"asked_written_mib": "writes asked MiB", "before_mib": "read before MiB"}  # columns that older files lack


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--data", default="data")
    parser.add_argument("--keep", default="build/systems", help="records of the runs, one file each")
    parser.add_argument("--rows", default=",".join(ROWS).replace(LAYOUT, "agnes-layout"))
    parser.add_argument("--scale", default="1/100")
    parser.add_argument("--caps", default="320M,80M")
    parser.add_argument("--dim", default="128")
    parser.add_argument("--model", choices=MODELS, default="sage")
    parser.add_argument("--epochs", default="3", help="of a run; the complete ones after the first count")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--part", action="append", default=[], metavar="SYSTEM=WARMUP+BATCHES",
                        help="extrapolate this system's epoch (not for systems that work in phases)")
    parser.add_argument("--readahead", default="off", help="off: no mapping is read around; else the device's: 0, 128K (needs root)")
    parser.add_argument("--world", default="measured")
    parser.add_argument("--profile", default="this")
    add_places(parser, "systems.csv", "systems.md")
    a = placed(parser.parse_args())
    a.parts = dict(part.split("=") for part in a.part)
    a.rows = [LAYOUT if row == "agnes-layout" else row for row in a.rows.split(",")]
    return a


# ---- runs ----

def cells(a):
    """(cap, setting, row) in the order of a round."""
    return [(cap, setting, row) for cap in a.caps.split(",") for row in a.rows for setting in ROWS[row][2]]


def prepared_dir(a):
    return os.path.join(os.path.abspath(a.keep), "prepared")


def command(a, cap, setting, row):
    system, words, _ = ROWS[row]
    line = [a.oocgnn, "run", "--system", system, "--dataset", "papers100m", "--scale", a.scale, "--data", a.data,
            "--preset", PRESETS[setting], "--dim", a.dim, "--memory", cap, "--evaluate", "never", "--compute-threads", "1", "--world", a.world,
            "--db", os.path.join(a.keep, "runs.db"), "--json", "--quiet"] + words + MODELS[a.model]
    if system == "diskgnn":
        line += ["--set", f"diskgnn.prepare_dir={prepared_dir(a)}"]
    if a.readahead != "off":
        line += ["--device-readahead", a.readahead]
    elif system in ("pygplus", "gnndrive", "ginex"):
        line += ["--set", f"{system}.readahead=off"]
    if a.world == "simulated":
        line += ["--profile", a.profile, "--compute", "cpu"]
    if system in a.parts:
        warmup, batches = a.parts[system].split("+")
        return line + ["--warmup", warmup, "--batches", batches]
    return line + ["--epochs", a.epochs]


def record_of(a, cap, setting, row, turn):
    readahead = [] if a.readahead == "off" else [a.readahead]
    name = "-".join([a.scale, a.dim, a.world] + readahead + [cap, setting, row, a.parts.get(ROWS[row][0], a.epochs), str(turn)])
    name += "" if a.model == "sage" else "-" + a.model
    path = os.path.join(a.keep, "".join(c if c.isalnum() or c in "-+" else "_" for c in name) + ".json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            return json.load(source)
    line = command(a, cap, setting, row)
    print(f"round {turn + 1}: {row}, {cap}, {setting}", file=sys.stderr, flush=True)
    shutil.rmtree(prepared_dir(a), ignore_errors=True)
    os.makedirs(prepared_dir(a))
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    shutil.rmtree(prepared_dir(a), ignore_errors=True)
    if not done.stdout.strip():
        sys.exit(f"{' '.join(line)}\n{done.stderr}")
    record = json.loads(done.stdout)
    if record["status"] == "interrupted":
        sys.exit("interrupted: start it again, it goes on from here")
    if record["status"] in FINAL:  # what failed is run again next time
        with open(path + ".new", "w", encoding="utf-8") as target:
            json.dump(record, target)
        os.replace(path + ".new", path)
    return record


def opened_s(record):
    """What the system took before its first epoch: reading, sorting, packing; little where it found its files."""
    return int(record["environment"]["system.open_ns"]) * 1e-9


def counted(record):
    """The epochs that count (docs/reading-results.md, "The time of an epoch")."""
    epochs = record["epochs"]
    found = [e for e in epochs if e.get("counted", int(e is not epochs[0] or len(epochs) == 1))]
    if not found:
        sys.exit(f"run {record['run_id']} of {record['system']}: none of its {len(epochs)} epochs is complete; give --epochs 3")
    return found


def epoch_seconds(epoch):
    return (epoch["figures"].get("full_epoch_ns") or epoch["wall_ns"]) * 1e-9


def seconds_of(record):
    return median([epoch_seconds(epoch) for epoch in counted(record)])


def status(record):
    """The run's status; "not settled" where its part of an epoch has no time."""
    settled = [epoch["figures"].get("full_epoch_settled") for epoch in record.get("epochs") or []]
    return "not settled" if record["status"] == "ok" and 0 in settled else record["status"]


# ---- one cell of all rounds ----

def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 == 1 else (values[half - 1] + values[half]) / 2


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}"


def mib(count, share=1):
    """Empty where nobody counts it."""
    return number(None if count is None else count * share / 2**20)


def threads(record):
    words = []
    for name in THREADS[record["system"]]:
        key = f"{record['system']}.{name}"
        words.append(f"{record['environment'].get('rule.' + key, record['config'][key])} {name.replace('_', ' ')}")
    return ", ".join(words)


def memory(record, figures):
    """The system's own caches and buffers, in MiB."""
    row_mib = record["dim"] * 4 / 2**20
    if record["system"] == "gnndrive":
        return f"features {figures['buffer_slots'] * figures['rows_per_slot'] * row_mib:.0f}"
    if record["system"] == "ginex":
        return f"features {figures['cache_rows'] * row_mib:.0f}"
    if record["system"] == "agnes":
        graph = figures["graph_frames"] * figures["block_bytes"] / 2**20
        return f"graph {graph:.0f}, features {figures['cache_rows'] * row_mib:.0f}; H = {figures['hyperbatch_size']}"
    if record["system"] == "diskgnn":
        caches = (figures["gpu_cache_slots"] + figures["cpu_cache_slots"]) * row_mib
        return f"features {caches:.0f}, {figures['cache_permille'] / 10:.0f} % of the nodes"
    if record["system"] == "mariusgnn":
        return f"{figures['capacity']} of {figures['partitions']} partitions, {figures['resident_edges'] * 16 / 2**20:.0f} of edges"
    if record["system"] == "presort":
        return f"features {figures['row_slots'] * row_mib:.0f}; {figures['windows']} windows"
    return "page cache"


def split(epoch):
    """Per stage: seconds of one worker, and the two largest parts of it."""
    words = []
    for stage in epoch["stages"]:
        wall = stage["wall_ns"]
        parts = {"work": stage["work_ns"]}
        for kind in ("io", "queue", "lock", "compute", "resource"):
            parts[kind] = stage[f"wait_{kind}_ns"] or 0
        largest = sorted(parts.items(), key=lambda part: -part[1])[:2]
        shares = " ".join(f"{name} {100 * value / wall:.0f} %" for name, value in largest if wall and value / wall >= 0.01)
        words.append(f"{stage['stage']} {wall / stage['workers'] * 1e-9:.1f} ({shares})")
    return "; ".join(words)


def machine(record):
    if record["world"] == "simulated":
        return f"simulated, profile {record['profile']}"
    e = record["environment"]
    return f"measured, {e['cpu.model']}, {e['cpu.online']} cores"


def cell(a, cap, setting, row, records):
    """One line of the CSV file: the median run by time, its own counters, and the spread of all."""
    good = [r for r in records if status(r) == "ok"]
    out = dict.fromkeys(FIELDS, "")
    out.update(scale=a.scale, cap=cap, setting=setting, row=row, runs=len(records), threads="", machine=machine(records[0]), model=a.model,
               part=a.parts.get(ROWS[row][0], ""), cap_kind=records[0]["cap_enforcement"] or "")
    if len(good) < len(records):
        bad = next(r for r in records if status(r) != "ok")
        out.update(status=status(bad), stages=(bad["reasons"] or "").split("\n")[0])
        return out
    good.sort(key=seconds_of)
    times = [seconds_of(r) for r in good]
    record = good[(len(good) - 1) // 2]
    last = counted(record)[-1]
    c = last["counters"]
    full = last["figures"].get("full_epoch_ns")
    share = full / last["wall_ns"] if full else 1  # counters of a part stand for the epoch in proportion of time
    out.update(status="ok", epoch_s=number(median(times)), low_s=number(times[0]), high_s=number(times[-1]),
               first_s=number(median([epoch_seconds(r["epochs"][0]) for r in good])) if len(record["epochs"]) > 1 else "",
               prepare_s=number((last["prepare_ns"] or 0) * 1e-9), open_s=number(opened_s(record)),
               prepared_mib=number((record["counters"]["prepare_disk_bytes"] or 0) / 2**20),
               reads_k=number(None if c["device_read_ios"] is None else c["device_read_ios"] * share / 1e3, 4),
               read_gib=number(None if c["device_read_bytes"] is None else c["device_read_bytes"] * share / 2**30),
               written_mib=mib(c["device_write_bytes"], share), asked_written_mib=mib(c["requested_write_bytes"], share),
               before_mib=mib(record.get("before_first_epoch", {}).get("device_read_bytes")),
               hit=number(None if c["hit_ratio"] is None else 100 * c["hit_ratio"]), memory=memory(record, last["figures"]),
               peak_mib=number((c["peak_memory_bytes"] or 0) / 2**20), threads=threads(record), stages=split(last),
               made_s=number(max(map(opened_s, good))))
    return out


def run_all(a):
    os.makedirs(a.keep, exist_ok=True)
    records = {key: [] for key in cells(a)}
    for turn in range(a.repeat):
        for key in records:
            records[key].append(record_of(a, *key, turn))
    mine = [cell(a, *key, found) for key, found in records.items()]
    share_store(mine)
    made = {place(line) for line in mine}
    others = [line for line in read_csv(a.csv) if place(line) not in made]
    write_csv(a.csv, FIELDS, sorted(others + mine, key=place))


def share_store(lines):
    """MariusGNN's store is made once for all caps: every row of it says what that took."""
    rows = [line for line in lines if line["row"] == "mariusgnn" and line["status"] == "ok"]
    most = max((line["made_s"] for line in rows), key=float, default="")
    for line in rows:
        line["made_s"] = most


def mebibytes(cap):
    return float(cap[:-1]) * {"K": 1 / 1024, "M": 1, "G": 1024}[cap[-1]]


def place(line):
    """Where a line stands in the file: small scales, SAGE and large caps first, then as the systems are listed."""
    row = list(ROWS).index(line["row"]) if line["row"] in ROWS else len(ROWS)
    return (-int(line["scale"].split("/")[-1]), list(MODELS).index(line["model"]), -mebibytes(line["cap"]), row,
            list(TITLES).index(line["setting"]))


def read_csv(path):
    """Columns that an older file lacks are empty; its model is SAGE."""
    lines = [{name: line.get(name) or "" for name in FIELDS} for line in results_page.read_csv(path)]
    for line in lines:
        line["model"] = line["model"] or "sage"
    return lines


# ---- the page ----

def caps(lines, scale):
    return list(dict.fromkeys(line["cap"] for line in lines if line["scale"] == scale))


def find(lines, scale, cap, setting, row):
    """The cell; one that both presets set alike is the paper's."""
    for wanted in (setting, "paper"):
        for line in lines:
            if (line["scale"], line["cap"], line["setting"], line["row"]) == (scale, cap, wanted, row):
                return line
    return None


def in_program(line):
    return line["cap_kind"] == "in-program"


def seconds(line):
    if line["status"] != "ok":
        return line["status"]
    spread = "" if int(line["runs"]) == 1 else f" ({line['low_s']}-{line['high_s']})"
    return line["epoch_s"] + spread + (f" of {line['part']} batches" if line["part"] else "")


def table(lines, scale, setting):
    head = ["system", "cap", "epoch s (spread)", "first epoch s", "of it preparing s", "prepared before s", "prepared MiB",
            "device reads k", "read GiB", "written MiB", "hits %", "own buffers MiB", "peak MiB", "threads"]
    recent = [name for name in RECENT if any(line[name] for line in lines)]
    head += [RECENT[name] for name in recent]
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for cap in caps(lines, scale):
        for row in ROWS:
            line = find(lines, scale, cap, setting, row)
            if line is None or (setting == "equal" and row in ASIDE):
                continue
            mark = " (in-program cap)" if in_program(line) else ""
            shown = [row, cap + mark, seconds(line)] + [line[f] or "-" for f in (
                "first_s", "prepare_s", "made_s", "prepared_mib", "reads_k", "read_gib", "written_mib", "hit", "memory",
                "peak_mib", "threads", *recent)]
            out.append("| " + " | ".join(shown) + " |")
    return out


def ranked(lines, scale, cap, setting):
    """Full systems under an enforced cap, fastest first."""
    found = [find(lines, scale, cap, setting, row) for row in ROWS if row not in ASIDE]
    found = [line for line in found if line is not None and line["status"] == "ok" and not in_program(line)]
    return sorted(found, key=lambda line: float(line["epoch_s"]))


def order_sentence(lines, scale, cap, setting):
    found = ranked(lines, scale, cap, setting)
    if len(found) < 2:
        return None
    words = found[0]["row"]
    for before, line in zip(found, found[1:]):
        apart = float(line["low_s"]) > float(before["high_s"])
        words += (", then " if apart else ", not apart from it ") + line["row"]
    ended = [f"{row} {line['status']}" for row in ROWS
             if row not in ASIDE and (line := find(lines, scale, cap, setting, row)) is not None and line["status"] != "ok"]
    return f"* {TITLES[setting]}, {cap}: {words}" + (f" ({', '.join(ended)})" if ended else "") + "."


PUBLISHED = [
    ("agnes", "ginex", "up to 3.1 times (32 GB), 4.1 times (8 GB) faster (AGNES, Figure 6)"),
    ("ginex", "pygplus", "2.11 times in the mean, 2.67 at most (Ginex); 6.5 times (GNNDrive's Table 2: 4116 s, 637 s)"),
    ("gnndrive", "ginex", "2.6 times faster (GNNDrive); slower (AGNES' Figure 6: Ginex is the best competitor)"),
    ("gnndrive", "pygplus", "16.9 times (GPU), 11 times (CPU) faster (GNNDrive)"),
    ("diskgnn", "ginex", "7.6 times (DiskGNN's Table 1: 580 s, 76.3 s)"),
    ("diskgnn", "mariusgnn", "2.2 times (DiskGNN's Table 1: 165 s, 76.3 s)"),
]


def ratio(lines, scale, cap, setting, fast, slow):
    a, b = find(lines, scale, cap, setting, fast), find(lines, scale, cap, setting, slow)
    if a is None or b is None or a["status"] != "ok" or b["status"] != "ok" or in_program(a) or in_program(b):
        return "-"
    return f"{float(b['epoch_s']) / float(a['epoch_s']):.2g}"


def ratios(lines, scale):
    columns = [(setting, cap) for setting in TITLES for cap in caps(lines, scale)]
    out = ["| times faster | papers | " + " | ".join(f"{TITLES[s].lower()}, {c}" for s, c in columns) + " |",
           "|" + "---|" * (len(columns) + 2)]
    rows = {line["row"] for line in lines}
    for fast, slow, text in [entry for entry in PUBLISHED if {entry[0], entry[1]} <= rows]:
        shown = [ratio(lines, scale, cap, setting, fast, slow) for setting, cap in columns]
        out.append(f"| {fast} against {slow} | {text} | " + " | ".join(shown) + " |")
    return out


def generated(lines):
    out = []
    for scale, model in dict.fromkeys((line["scale"], line["model"]) for line in lines):
        here = [line for line in lines if (line["scale"], line["model"]) == (scale, model)]
        at = scale + MODEL_TITLES[model]
        runs = sorted({line["runs"] for line in here})
        kinds = sorted({line["cap_kind"] for line in here})
        out += [f"## papers100m at {at}", "",
                f"{', '.join(sorted({line['machine'] for line in here}))}; caps enforced by {', '.join(kinds)}; " +
                ("one run a cell." if runs == ["1"] else
                 f"medians of {' or '.join(runs)} runs, spread in brackets; one run has none." if "1" in runs else
                 f"medians of {' or '.join(runs)} runs, interleaved over the systems, spread in brackets.")]
        if model == "gat-gpu":
            out += ["", "Reads, copies and sampling are this machine's; instead of training, a thread waits as long as the modelled GPU of GNNDrive's "
                    "machine would take (`--compute model:gnndrive-paper/gpu`)."]
        if any(line["part"] for line in here):
            out += ["\"of W+B batches\": the epoch extrapolated from B mini-batches after a warm-up of W; its counts are those of "
                    "the W+B, in proportion of time, its stages' seconds those of the W+B."]
        for setting in TITLES:
            out += ["", f"### {TITLES[setting]}, {at}", ""] + table(here, scale, setting)
        out += ["", f"### Order and ratios, {at}", ""]
        if runs == ["1"]:
            out += ["One run a cell has no spread: no order follows from it, and a ratio near 1 says nothing."]
        else:
            single = " The place of a single run follows from that run alone." if "1" in runs else ""
            out += ["Fastest first; \"not apart from it\": the spreads of the two overlap." + single, ""]
            out += [s for setting in TITLES for cap in caps(here, scale)
                    if (s := order_sentence(here, scale, cap, setting)) is not None]
        out += [""] + ratios(here, scale)
        out += ["", f"### Where the time goes, {at}", "",
                "Seconds of one worker of each stage, and the two largest parts of them.", ""]
        for line in here:
            if line["status"] == "ok":
                out.append(f"* {line['row']}, {line['cap']}, {TITLES[line['setting']].lower()}: {line['stages']}")
            else:
                out.append(f"* {line['row']}, {line['cap']}, {TITLES[line['setting']].lower()}: {line['status']}: {line['stages']}")
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    a = parse_arguments()
    if not a.write and not a.check:
        run_all(a)
    part, text = Part(a.page, "from systems.csv"), generated(read_csv(a.csv))
    if a.check:
        part.check(text, a.csv, "scripts/systems_table.py --write")
    part.write(text)
    print(text)


if __name__ == "__main__":
    main()
