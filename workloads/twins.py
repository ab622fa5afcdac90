#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near a recipe comes: real graphs beside the twins that `oocgnn stats --recipe-from` makes of them.

    workloads/twins.py DATADIR [--only NAME,...] [--within SHARE]

DATADIR holds the graphs as tests find them (tests/README.md). Each is imported into a temporary folder and counted; its
recipe is written and counted too. A Markdown table: how many of the statistics of `unit/twin_real` agree to within
--within (or a hundredth, if more), and those that do not, real and twin. Nothing here has seen a time.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("OOCGNN", os.path.join(HERE, "..", "build", "gcc", "oocgnn"))
LIST = ["--format", "snap", "--dim", "64", "--classes", "4", "--drop-duplicates", "--drop-self-loops"]
GRAPHS = {"cora": [], "citeseer": [], "tolokers": ["--add-reverse"], "coauthor-physics": [],
          "fb100-13schools": ["--add-reverse"], "amsterdam-museum": [], "gowalla": [*LIST, "--add-reverse"],
          "soc-slashdot0902": LIST, "fb15k-237": ["--format", "triples", "--add-reverse"],
          "codex-m": ["--format", "triples", "--add-reverse"]}


def oocgnn(*words):
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def meta_of(folder):
    with open(os.path.join(folder, "meta"), encoding="utf-8") as file:
        return dict(line.strip().split(" = ", 1) for line in file if " = " in line)


def figures(counts):
    """What is compared, by name; None where a graph has no such thing."""
    at = {share: place for place, share in enumerate(counts["shares"])}
    found = {"neighbours of a node": counts["lists"]["mean"], "nodes without one": counts["lists"]["zero"],
             "reach": counts["reach"], "windows": counts["windows_reached"], "edges of a class": counts["same_class"],
             "rows a mini-batch": counts["rows"], "edges a mini-batch": counts["batch_edges"],
             "touched by an epoch": counts["touched_first"], "touched again": counts["next_epoch"]}
    for share in (0.01, 0.1):
        found[f"best {100 * share:g} % of the sources"] = counts["sources"]["best"][at[share]]
    for share in (0.01, 0.1, 0.3):
        found[f"best {100 * share:g} % of the rows"] = counts["hits_best"][at[share]]
    for share in (0.1, 0.3):
        found[f"LRU of {100 * share:g} %"] = counts["hits_lru"][at[share]]
        found[f"Belady of {100 * share:g} %"] = counts["hits_belady"][at[share]]
    return found


def compare(name, source, folder, within):
    dataset, recipe = os.path.join(folder, name), os.path.join(folder, name + ".ini")
    oocgnn("prepare", name, "--from", source, *GRAPHS[name], "--out", dataset, "--quiet")
    meta = meta_of(dataset)
    seeds = int(meta.get("train", 0)) or int(meta["nodes"])
    batch = str(min(max(seeds // 20, 1), 1000))
    how = ["--json", "--batch", batch, "--fanout", "10,10", "--epochs", "2", "--accesses", "20000000"]
    real = figures(json.loads(oocgnn("stats", dataset, "--recipe-from", recipe, *how)))
    twin = figures(json.loads(oocgnn("stats", "--recipe", recipe, *how)))
    known = [what for what, value in real.items() if value is not None]
    off = [what for what in known
           if twin[what] is None or abs(twin[what] - real[what]) > max(within * abs(real[what]), 0.01)]
    said = "; ".join(f"{what} {real[what]:.4g}, twin {twin[what] or 0:.4g}" for what in off)
    print(f"| {name} | {batch} | {len(known) - len(off)} of {len(known)} | {said} |", flush=True)
    return not off


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(GRAPHS))
    parser.add_argument("--within", type=float, default=0.1)
    options = parser.parse_args()
    print(f"| graph | seeds | within {100 * options.within:g} % | not |\n|---|---|---|---|")
    good = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            source = os.path.join(options.data, name)
            if os.path.isdir(source):
                good.append(compare(name, source, folder, options.within))
    print(f"\n{sum(good)} of {len(good)} graphs have every statistic within {100 * options.within:g} %")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
