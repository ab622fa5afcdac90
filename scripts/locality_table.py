#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a scaled graph does to a buffer that lives from reuse: GNNDrive's hit ratio on papers100m at several scales.

Simulated (profile gnndrive-paper; counts hardly depend on it), no cap: the first mini-batches of an epoch with a buffer
of 5 M slots at scale 1 (the paper's) and one of 16 GB (half of its memory), both divided by the scale, so that they hold
the same share of the nodes. Prints a Markdown table; --page rewrites the one in results/systems.md.
"""
import argparse
import json
import subprocess
import sys

from results_page import Part

BUFFERS = {"5 M slots (2.38 GiB, 4.5 % of the nodes)": 5000000, "16 GiB (30 %)": 2**34 // 512}


def hit_ratio(a, scale, slots):
    divisor = int(scale.split("/")[1])
    line = [a.oocgnn, "run", "--system", "gnndrive", "--dataset", "papers100m", "--scale", scale, "--dim", "128", "--preset",
            "gnndrive", "--memory", "0", "--world", "simulated", "--profile", "gnndrive-paper", "--compute", "cpu",
            "--max-batches", str(a.batches), "--db", "build/locality.db", "--json", "--quiet",
            "--set", f"gnndrive.slots={slots // divisor}", "--set", "gnndrive.batch_rule=bound",
            "--set", "gnndrive.extractors=2"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    record = json.loads(done.stdout) if done.stdout.strip() else {"status": "none", "reasons": done.stderr}
    if record["status"] != "ok":
        sys.exit(f"{' '.join(line)}\n{record['status']}: {record['reasons']}")
    print(f"{scale}, {slots // divisor} slots: {record['counters']['hit_ratio']:.4f}", file=sys.stderr)
    return record["counters"]["hit_ratio"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--scales", default="1/1000,1/100,1/10")
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--page", help="the page whose table is rewritten")
    a = parser.parse_args()
    scales = a.scales.split(",")
    lines = ["| hits % of GNNDrive, buffer at scale 1 | " + " | ".join(scales) + " |", "|" + "---|" * (len(scales) + 1)]
    for name, slots in BUFFERS.items():
        lines.append(f"| {name} | " + " | ".join(f"{100 * hit_ratio(a, s, slots):.0f}" for s in scales) + " |")
    table = "\n".join(lines + ["", f"The first {a.batches} mini-batches of 1208, the filling of the buffer included. Command: "
                               f"`scripts/locality_table.py --scales {a.scales} --batches {a.batches}`."]) + "\n"
    print(table)
    if a.page:
        Part(a.page, "by locality_table.py").write(table)


if __name__ == "__main__":
    main()
