#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The generated graphs beside what is published about the accesses of real ones (workloads/access.csv).

    workloads/access_fits.py [--fits FILE] [--only NAME,...] [--accesses N] [--batches N]
    workloads/access_fits.py --solve NAME --fits FILE
    workloads/access_fits.py --scaling NAME [--scales 1,10,100]

Without an option: a table, generated beside published. Rows of a mini-batch are counted at scale 1, in --batches
mini-batches; shares of accesses take whole epochs, at the largest scale whose epochs have no more than --accesses.
--fits has recipes to count instead of the registry's own, a section each: [NAME] and options of the generator. --solve
goes on from one of them to a better one, counting at --solve-scale, where the law is the same; the table is what says
whether it is right. --scaling prints what caches of a share of the rows catch at several scales.
Nothing here has seen a time.
"""
import argparse
import configparser
import csv
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("OOCGNN", os.path.join(HERE, "..", "build", "gcc", "oocgnn"))
FACTS = os.path.join(HERE, "access.csv")
# Epochs that a statistic is about, where it is not one.
EPOCHS = {"papers100m": 3}


def published(only):
    with open(FACTS, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [r for r in rows if not only or r["dataset"] in only]


def read_fits(path):
    parser = configparser.ConfigParser(inline_comment_prefixes=(";",))
    if path and os.path.exists(path):
        parser.read(path, encoding="utf-8")
    return {name: ",".join(f"{k}={v.strip()}" for k, v in parser[name].items()) for name in parser.sections()}


def stats(name, divisor, batch, fanout, fit, **more):
    command = [PROGRAM, "stats", name, "--json", "--no-lists", "--scale", f"1/{divisor}", "--batch", str(batch),
               "--fanout", fanout, "--data", "/nonexistent"]
    if fit:
        command += ["--generate", fit]
    for key, value in more.items():
        command += ["--" + key, str(value)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def best_share(counts, share):
    """Share of the accesses of the best `share` of the rows, between the steps of the law as if even inside one."""
    total = got = start = 0.0
    for upto, mean in zip(counts["law_upto"], counts["law_mean"]):
        part = (upto - start) * mean
        total += part
        if share > start:
            got += part * min(1.0, (share - start) / (upto - start))
        start = upto
    return got / total


def share_divisor(name, fact, rows, accesses):
    """The least of 1, 2, 5, 10, … whose epochs have few enough accesses."""
    whole = rows * epoch_batches(name, fact) * EPOCHS.get(name, 1)
    divisor = 1
    for step in (2, 2.5, 2) * 4:
        if whole / divisor <= accesses:
            break
        divisor = int(divisor * step)
    return divisor


TRAIN = {"papers100m": 1207179, "papers100m-sym": 1207179, "friendster-sym": 656084, "mag240m": 1112392,
         "igb260m": 13628916, "twitter": 416522}


def epoch_batches(name, fact):
    return math.ceil(TRAIN[name] / int(fact["batch"]))


def table(options):
    fits = read_fits(options.fits)
    worst = 0.0
    print("| dataset | seeds | fan-out | statistic | published | generated | off | at | source |")
    print("|---|---|---|---|---|---|---|---|---|")
    done = {}
    for fact in published(options.only):
        name, key = fact["dataset"], (fact["dataset"], fact["batch"])
        fit = fits.get(name, "")
        if key not in done:
            done[key] = stats(name, 1, fact["batch"], fact["fanout"], fit, epochs=1, batches=options.batches, accesses=0)
        divisor = 1
        if fact["statistic"] == "rows":
            value = done[key]["rows"]
        else:
            divisor = share_divisor(name, fact, done[key]["rows"], options.accesses)
            whole = (name, fact["batch"], divisor)
            if whole not in done:
                done[whole] = stats(name, divisor, fact["batch"], fact["fanout"], fit, accesses=0,
                                    epochs=max(EPOCHS.get(name, 1), 2 if "next" in fact["statistic"] else 1))
            counts = done[whole]
            value = (best_share(counts["row_accesses"], float(fact["share"])) if fact["statistic"] == "best"
                     else counts["next_epoch"])
        wanted = float(fact["published"])
        worst = max(worst, abs(value / wanted - 1))
        what = {"rows": "rows a mini-batch", "next_epoch": "accesses touched an epoch before"}.get(
            fact["statistic"], f"accesses of the best {100 * float(fact['share'] or 0):g} %")
        show = (lambda v: f"{v:.0f}") if fact["statistic"] == "rows" else (lambda v: f"{100 * v:.2f} %")
        print(f"| {name} | {fact['batch']} | {fact['fanout']} | {what} | {show(wanted)} | {show(value)} | "
              f"{100 * (value / wanted - 1):+.1f} % | 1/{divisor} | {fact['source']} |", flush=True)
    print(f"\nlargest difference: {100 * worst:.1f} %")
    return 0 if worst <= options.within else 1


def scaling(options):
    fit = read_fits(options.fits).get(options.scaling, "")
    facts = published([options.scaling]) or [{"batch": "1000", "fanout": "10,10,10"}]
    print("| scale | cache | best rows | LRU | Belady |\n|---|---|---|---|---|")
    seen = {}
    for divisor in [int(k) for k in options.scales.split(",")]:
        counts = stats(options.scaling, divisor, facts[0]["batch"], facts[0]["fanout"], fit, epochs=2,
                       batches=options.batches, accesses=options.accesses)
        for share, best, lru, belady in zip(counts["shares"], counts["hits_best"], counts["hits_lru"],
                                            counts["hits_belady"]):
            if share in (0.01, 0.05, 0.1, 0.3):
                print(f"| 1/{divisor} | {100 * share:g} % | {100 * best:.1f} % | {100 * lru:.1f} % | "
                      f"{100 * belady:.1f} % |", flush=True)
                for what, hits in (("best", best), ("LRU", lru), ("Belady", belady)):
                    seen.setdefault((share, what), []).append(hits)
    worst = max(max(h) - min(h) for h in seen.values())
    print(f"\nlargest difference between scales: {100 * worst:.1f} points")
    return 0 if worst <= 0.03 else 1


# ---- fitting ----

# Edges of a node: a reach cannot hold more entries than the graph.
MEAN = {"papers100m": 14.55, "papers100m-sym": 29.1, "friendster-sym": 55.06, "mag240m": 14.16, "igb260m": 14.83,
        "twitter": 35.25}
FREE = ("list_mean", "reach", "hub_shift", "popularity")
# Of MAG240M one figure is published: the law is that of the other graph that comes from MAG, the lists' mean is fitted.
FREE_OF = {"mag240m": ("list_mean",)}


def counted(name, divisor, facts, fit):
    """What every fact's statistic is at this scale."""
    text = ",".join(f"{key}={value:.6g}" for key, value in fit.items())
    values, done = [], {}
    for fact in facts:
        key = (fact["batch"], fact["fanout"])
        if key not in done:
            same = [f for f in facts if (f["batch"], f["fanout"]) == key]
            whole = any(f["statistic"] != "rows" for f in same)
            done[key] = stats(name, divisor, *key, text, accesses=0, batches=0 if whole else 30,
                              epochs=EPOCHS.get(name, 1) if whole else 1)
        counts = done[key]
        values.append(counts["rows"] * divisor if fact["statistic"] == "rows" else counts["next_epoch"]
                      if fact["statistic"] == "next_epoch" else best_share(counts["row_accesses"], float(fact["share"])))
    return values


def misfit(name, divisor, facts, fit):
    if fit["reach"] > 1 or fit["list_mean"] * (1 - fit["empty"]) * fit["reach"] > MEAN[name]:
        return 1e3
    return sum((1 if fact["statistic"] == "rows" else 4) * (value / float(fact["published"]) - 1) ** 2
               for fact, value in zip(facts, counted(name, divisor, facts, fit)))


def solve(options):
    """One coordinate after the other, by counting, with steps that shrink."""
    name, facts, divisor = options.solve, published([options.solve]), options.solve_scale
    recipes = read_fits(options.fits)
    if name not in recipes:
        sys.exit(f"--solve {name}: --fits names a file whose section [{name}] is where the search begins")
    fit = {key: float(value) for key, value in (w.split("=") for w in recipes[name].split(","))}
    best, step = misfit(name, divisor, facts, fit), 1.25
    while step > 1.02:
        moved = False
        for key in FREE_OF.get(name, FREE):
            power = {"popularity": 0.5, "hub_shift": 2}.get(key, 1)
            for factor in (step**power, step**-power):
                trial = dict(fit, **{key: fit[key] * factor})
                if key == "list_mean":
                    trial["train_mean"] = fit["train_mean"] * factor
                if key == "list_mean" and "train_share" in fit:  # citations between training nodes are counted
                    trial["train_share"] = fit["train_share"] / factor
                value = misfit(name, divisor, facts, trial)
                if value < best:
                    best, fit, moved = value, trial, True
                    break
        print(f"; {math.sqrt(best / len(facts)):.4f}", flush=True)
        step = step if moved else math.sqrt(step)
    print(f"[{name}]")
    for key, value in fit.items():
        print(f"{key} = {value:.4g}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", default="", help="recipes to count instead of the registry's own")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="datasets")
    parser.add_argument("--accesses", type=int, default=200000000)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--within", type=float, default=0.05, help="difference beyond which the table fails")
    parser.add_argument("--solve", metavar="NAME")
    parser.add_argument("--solve-scale", type=int, default=100, help="1/K: ten seeds a mini-batch and more")
    parser.add_argument("--scaling", metavar="NAME")
    parser.add_argument("--scales", default="10,100")
    options = parser.parse_args()
    if options.solve:
        return solve(options)
    if options.scaling:
        options.batches = 0
        return scaling(options)
    return table(options)


if __name__ == "__main__":
    sys.exit(main())
