#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MariusGNN (EuroSys 2023), Figures 6b and 6c: what p and l do to COMET's epochs, on FB15k-237 at scale 1.

Simulated (profile mariusgnn-paper, everything on its processor): the edge permutation bias B, partition sets, bytes between
disk and memory and time of an epoch of GraphSAGE, with a quarter of the partitions in memory, as the mean of some seeds.
6b varies the logical partitions l at one p, 6c the physical partitions p at l = 8. Prints two Markdown tables and, beside
the paper's trends, which of them the numbers show; --page rewrites them in results/marius.md.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

from results_page import Part, about, falls


def one_run(a, partitions, logical, seed):
    line = [a.oocgnn, "run", "--system", "mariusgnn", "--dataset", "fb15k-237", "--data", a.data, "--task", "link", "--dim",
            "50", "--batch", "1000", "--degree-share", "0", "--encoder", "--model", "sage", "--fanout", "20", "--epochs", "1",
            "--seed", str(seed), "--world", "simulated", "--profile", "mariusgnn-paper", "--compute", "cpu", "--evaluate",
            "never", "--set", "mariusgnn.edges=in", "--set", "mariusgnn.policy=comet", "--set",
            f"mariusgnn.partitions={partitions}", "--set", f"mariusgnn.capacity={partitions // 4}", "--set",
            f"mariusgnn.logical={logical}", "--db", a.db, "--json", "--quiet"]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    record = json.loads(ended.stdout) if ended.stdout.strip() else {"status": "none", "reasons": ended.stderr}
    if record["status"] != "ok":
        sys.exit(f"{' '.join(line)}\n{record['status']}: {record['reasons']}")
    epoch, counters = record["epochs"][0], record["counters"]
    return {"bias": epoch["figures"]["bias_millionths"] / 1e6, "states": epoch["figures"]["states"],
            "bytes": counters["requested_bytes"] + counters["requested_write_bytes"], "ns": epoch["wall_ns"]}


def cell(a, partitions, logical):
    runs = [one_run(a, partitions, logical, seed) for seed in range(1, a.seeds + 1)]
    print(f"p {partitions}, c_l {logical}: B {statistics.mean(r['bias'] for r in runs):.3f}", file=sys.stderr)
    return {key: statistics.mean(r[key] for r in runs) for key in runs[0]}


def row(first, c):
    return f"| {first} | {c['bias']:.3f} | {c['states']:.0f} | {c['bytes'] / 1e6:.1f} | {c['ns'] / 1e9:.3f} |"


def slope(xs, ys):
    """Exponent of the power law through the points, by least squares of the logarithms."""
    lx, ly = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mx, my = statistics.mean(lx), statistics.mean(ly)
    return sum((x - mx) * (y - my) for x, y in zip(lx, ly)) / sum((x - mx) ** 2 for x in lx)


def figure_6b(a):
    p = a.partitions
    logical = [c for c in (2, 4, 8, 16, 32, 64) if c <= p // 4]
    cells = {4 * c: cell(a, p, c) for c in logical}
    ls = list(cells)
    lines = [f"**Figure 6b**, p = {p}, c = {p // 4}", "", "| l | B | sets | MB moved | epoch, s |", "|---|---|---|---|---|"]
    lines += [row(length, c) for length, c in cells.items()]
    if len(ls) > 2:
        b, s, m = (slope(ls, [cells[length][k] for length in ls]) for k in ("bias", "states", "bytes"))
        less = falls([cells[length]["bytes"] for length in ls])
        lines += ["", f"* B = O(l^a), 0 < a < 1, slower than |S|: **{'holds' if 0 < b < min(s, 1) else 'does not hold'}** (exponent {b:.2f})",
                  f"* |S| = O(l): **{'holds' if about(s, 1) else 'does not hold'}** (exponent {s:.2f})",
                  f"* bytes fall as l grows: **{'holds' if less else 'does not hold'}** (exponent {m:.2f})"]
    return lines


def figure_6c(a):
    sizes = [8, 16, 32, 64, 128, 256]
    cells = {p: cell(a, p, 2) for p in sizes}
    b = slope(sizes, [cells[p]["bias"] for p in sizes])
    lines = ["", "**Figure 6c**, l = 8, c = p / 4", "", "| p | B | sets | MB moved | epoch, s |", "|---|---|---|---|---|"]
    lines += [row(p, c) for p, c in cells.items()]
    return lines + ["", f"* B = O(p^-a), a > 1: **{'holds' if b < -1 else 'does not hold'}** (exponent {b:.2f})"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", metavar="DIR", help="train.txt, valid.txt and test.txt of FB15k-237")
    parser.add_argument("--oocgnn", default=os.environ.get("OOCGNN", "build/gcc/oocgnn"))
    parser.add_argument("--data", default=os.environ.get("DATA", "data"))
    parser.add_argument("--db", default="build/marius-figures.db")
    parser.add_argument("--partitions", type=int, default=128, help="p of Figure 6b")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--page", help="the page whose tables are rewritten")
    a = parser.parse_args()
    if not os.path.exists(f"{a.data}/fb15k-237"):
        subprocess.run([a.oocgnn, "prepare", "fb15k-237", "--from", a.source, "--format", "triples", "--add-reverse", "--data",
                        a.data, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    text = "\n".join(figure_6b(a) + figure_6c(a) + ["", f"Means of {a.seeds} seeds. Command: `scripts/marius_figures.py DIR "
                                                        f"--partitions {a.partitions} --seeds {a.seeds}`."]) + "\n"
    print(text)
    if a.page:
        Part(a.page, "by marius_figures.py").write(text)


if __name__ == "__main__":
    main()
