#!/usr/bin/env python3
"""Every system on one graph under two memory caps: what an epoch takes, where it goes, what it reads, what was prepared.

papers100m at 1/100 by default, measured on this machine (or simulated: --world simulated --profile P). Two epochs a
cell, the first cold; the table shows the second, and the first beside it. RingSampler samples only, as its paper does.
"""
import argparse
import json
import subprocess
import sys

SYSTEMS = {
    "pygplus": [],
    "ginex": [],
    "gnndrive": [],
    "agnes": [],
    "ringsampler": ["--sample-only"],
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--data", default="data")
    parser.add_argument("--db", default="build/systems.db")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--caps", default="320M,80M")
    parser.add_argument("--dim", default="128")
    parser.add_argument("--epochs", default="2")
    parser.add_argument("--world", default="measured")
    parser.add_argument("--profile", default="this")
    parser.add_argument("--out", help="write the table to this file too")
    return parser.parse_args()


def run(a, system, cap):
    command = [a.oocgnn, "run", "--system", system, "--dataset", "papers100m", "--scale", "1/100", "--data", a.data,
               "--preset", "gnndrive", "--dim", a.dim, "--memory", cap, "--epochs", a.epochs, "--evaluate", "never",
               "--world", a.world, "--db", a.db, "--json", "--quiet"] + SYSTEMS[system]
    if a.world == "simulated":
        command += ["--profile", a.profile, "--compute", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def number(value, unit=1.0, digits=3):
    return "-" if value is None else f"{value / unit:.{digits}g}"


def thousands(value):
    return "-" if value is None else f"{value / 1e3:.0f} k"


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


def hit_ratio(counters):
    hits, misses = counters["cache_hits"], counters["cache_misses"]
    if hits is None or misses is None or hits + misses == 0:
        return "-"
    return f"{100 * hits / (hits + misses):.1f} %"


def row(record, system, cap):
    if record["status"] != "ok":
        reason = (record["reasons"] or "").split("\n")[0]
        return [system, cap, record["status"]] + ["-"] * 8 + [reason]
    first, last = record["epochs"][0], record["epochs"][-1]
    c = last["counters"]
    return [system + (" (sampling)" if record["variant"] == "sample-only" else ""), cap,
            number(last["wall_ns"], 1e9), number(first["wall_ns"], 1e9), number(last["prepare_ns"] or 0, 1e9),
            number(int(record["environment"]["system.open_ns"]), 1e9),
            number(record["counters"]["prepare_disk_bytes"] or 0, 2**20), thousands(c["device_read_ios"]),
            number(c["device_read_bytes"], 2**30), number(c["device_write_bytes"] or 0, 2**20), hit_ratio(c), split(last)]


def main():
    a = parse_arguments()
    headings = ["system", "cap", "epoch s", "first epoch s", "of it preparing s", "open s", "prepared MiB", "device reads",
                "GiB read", "MiB written", "row hits", "stages: seconds of a worker (largest parts)"]
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    record = None
    for cap in a.caps.split(","):
        for system in a.systems.split(","):
            print(f"{system}, {cap}", file=sys.stderr)
            record = run(a, system, cap)
            lines.append("| " + " | ".join(row(record, system, cap)) + " |")
    e = record["environment"]
    lines += ["", f"papers100m at scale 1/100, dim {a.dim}, GraphSAGE, batch {record['batch_size']}, fan-out "
              f"{record['fanout']}, {a.world} world"
              + (f" (profile {a.profile})" if a.world == "simulated" else f" ({e['cpu.model']}, {e['cpu.online']} cores)")
              + f", compute {record['compute'] or 'cpu'}. Command: `scripts/systems_table.py {' '.join(sys.argv[1:])}`."]
    print("\n".join(lines))
    if a.out:
        with open(a.out, "w") as target:
            target.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
