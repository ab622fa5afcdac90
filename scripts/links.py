#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MariusGNN (EuroSys 2023), Table 8, on FB15k-237: training in memory against training out of memory with COMET and BETA.

Every cell is some runs, a seed each: ten epochs of MariusGNN with the settings of its artifact for this graph, ranks of the
validation edges among all nodes after the last one, true edges left out. In memory all partitions are in the buffer; out of
memory a quarter of them (the table's setting), COMET with the partitions of section 6 (32), BETA with 16. DistMult on
vectors, and behind a GraphSAGE layer. Prints a Markdown table with the printed values and says what holds; --page rewrites
the one in results/links.md. One thread trains; `--list` says which runs there are and starts none.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

from results_page import Part

# Table 8, MRR: in memory, COMET, BETA.
PUBLISHED = {"distmult": (".2533", ".2659", ".2431"), "sage": (".2825", ".2736", ".2369"), "gat": (".2869", ".2341", ".2076")}
MODELS = {"distmult": [], "sage": ["--encoder", "--model", "sage", "--fanout", "64"],
          "gat": ["--encoder", "--model", "gat", "--hidden", "50", "--heads", "10", "--fanout", "10"]}
POLICIES = {"in memory": {"policy": "memory", "partitions": 32},
            "COMET": {"policy": "comet", "partitions": 32, "capacity": 8, "logical": 2},
            "BETA": {"policy": "beta", "partitions": 16, "capacity": 4}}


def command(a, model, policy, seed):
    line = [a.oocgnn, "run", "--system", "mariusgnn", "--dataset", "fb15k-237", "--data", a.data, "--task", "link", "--dim",
            "50", "--batch", "1000", "--degree-share", "0", "--epochs", str(a.epochs), "--evaluate", "last", "--seed", str(seed),
            "--no-cold", "--set", "mariusgnn.edges=in", "--set", "mariusgnn.loaders=1", *MODELS[model], "--db", a.db, "--json",
            "--quiet"]
    for name, value in POLICIES[policy].items():
        line += ["--set", f"mariusgnn.{name}={value}"]
    return line


def one_run(a, model, policy, seed):
    """Returns what a run gave, from the file of those that are done where it is there."""
    key = f"{model} | {policy} | {seed} | {a.epochs}"
    done = json.load(open(a.done, encoding="utf-8")) if os.path.exists(a.done) else {}
    if key not in done:
        line = command(a, model, policy, seed)
        ended = subprocess.run(line, capture_output=True, text=True, check=False)
        record = json.loads(ended.stdout) if ended.stdout.strip() else {"status": "none", "reasons": ended.stderr}
        if record["status"] != "ok":
            sys.exit(f"{' '.join(line)}\n{record['status']}: {record['reasons']}")
        last = record["epochs"][-1]
        done[key] = {"valid": last["valid_mrr"], "test": last["test_mrr"], "loss": last["loss"],
                     "bias": last["figures"]["bias_millionths"] / 1e6, "states": last["figures"]["states"]}
        with open(a.done, "w", encoding="utf-8") as target:
            json.dump(done, target, indent=1)
        print(f"{key}: {done[key]['valid']:.4f}", file=sys.stderr)
    return done[key]


def mean(runs, key):
    return statistics.mean(r[key] for r in runs)


def spread(runs, key):
    return statistics.stdev(r[key] for r in runs) if len(runs) > 1 else 0.0


def verdict(model, cells):
    """COMET's mean against BETA's: closer to the mean in memory, by more than what both spread around it?"""
    memory, comet, beta = (mean(cells[p], "valid") for p in POLICIES)
    closer = abs(beta - memory) - abs(comet - memory)
    noise = spread(cells["COMET"], "valid") + spread(cells["BETA"], "valid")
    word = "holds" if closer > noise else "does not hold" if closer <= 0 else "not measurable, within the spread of the seeds"
    return (f"* {model}: COMET closer to in-memory than BETA: **{word}** (COMET {comet - memory:+.4f}, BETA {beta - memory:+.4f}; "
            f"printed {float(PUBLISHED[model][1]) - float(PUBLISHED[model][0]):+.4f} and "
            f"{float(PUBLISHED[model][2]) - float(PUBLISHED[model][0]):+.4f})")


def table(a):
    lines = ["| model | policy | states | B | MRR, validation | sd | published | MRR, test |", "|---|---|---|---|---|---|---|---|"]
    verdicts = []
    for model in a.models.split(","):
        cells = {p: [one_run(a, model, p, seed) for seed in range(1, a.seeds + 1)] for p in POLICIES}
        for i, (policy, runs) in enumerate(cells.items()):
            lines.append(f"| {model} | {policy} | {runs[0]['states']} | {mean(runs, 'bias'):.2f} | {mean(runs, 'valid'):.4f} | "
                         f"{spread(runs, 'valid'):.4f} | {PUBLISHED[model][i]} | {mean(runs, 'test'):.4f} |")
        verdicts.append(verdict(model, cells))
    note = (f"{a.seeds} seeds, {a.epochs} epochs each. Command: `scripts/links.py DIR --models {a.models} --seeds {a.seeds} "
            f"--epochs {a.epochs}`.")
    return "\n".join(lines + [""] + verdicts + ["", note]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", metavar="DIR", help="train.txt, valid.txt and test.txt of FB15k-237")
    parser.add_argument("--oocgnn", default=os.environ.get("OOCGNN", "build/gcc/oocgnn"))
    parser.add_argument("--data", default=os.environ.get("DATA", "data"))
    parser.add_argument("--db", default="build/links.db")
    parser.add_argument("--done", default="build/links.json", help="what is there is not run again")
    parser.add_argument("--models", default="distmult,sage")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--list", action="store_true", help="print the commands and run none")
    parser.add_argument("--page", help="the page whose table is rewritten")
    a = parser.parse_args()
    if a.list:
        for model in a.models.split(","):
            for policy in POLICIES:
                for seed in range(1, a.seeds + 1):
                    print(" ".join(command(a, model, policy, seed)))
        return
    if not os.path.exists(f"{a.data}/fb15k-237"):
        subprocess.run([a.oocgnn, "prepare", "fb15k-237", "--from", a.source, "--format", "triples", "--add-reverse", "--data",
                        a.data, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    text = table(a)
    print(text)
    if a.page:
        Part(a.page, "by links.py").write(text)


if __name__ == "__main__":
    main()
