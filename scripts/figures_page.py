#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""results/figures.md from what a database has of the figures: which cells are there, what holds, what does not with its
likely cause, every published ratio beside ours, and the sums by paper.

Runs nothing but `oocgnn figure --all --check` (or of some figures), which says all of it; --page rewrites the generated
part of the page.
"""
import argparse
import os
import re
import subprocess
import sys

from results_page import Part

HEADING = re.compile(r"^## ([\w-]+): (.*) \(\w+, (.*)\)$")
HEADINGS = re.compile(HEADING.pattern, re.MULTILINE)
CELLS = re.compile(r"^(\d+) of (\d+) configurations are recorded$")
VERDICT = re.compile(r"^ {2}(holds|DOES NOT HOLD|not measurable) +(\w+): (.*)$")
CAUSE = re.compile(r"^ {6}likely cause: (.*)$")
JUDGED = re.compile(r"^ {6}judged: (\d+)(?:; without a number: (\d+) [^;]*)?(?:; not run: (\d+))?$")
GAPS = "| incomplete | reason |"
MISSING = re.compile(r"^not available: (.*)$")


def read(text):
    """(figures, rest): each figure a dictionary, and the tables that close the output."""
    figures, now, rest = [], {}, []
    for line in text.splitlines():
        if line.startswith("| figure | ratio |") or rest:
            rest.append(line)
            continue
        heading, cells, verdict = HEADING.match(line), CELLS.match(line), VERDICT.match(line)
        if heading:
            now = {"id": heading.group(1), "title": heading.group(2), "cells": "", "verdicts": [], "missing": ""}
            figures.append(now)
        elif cells:
            now["cells"] = f"{cells.group(1)} of {cells.group(2)}"
        elif verdict:
            now["verdicts"].append({"word": verdict.group(1), "name": verdict.group(2), "text": verdict.group(3), "values": [], "cause": "",
                                    "judged": 0, "words": 0})
        elif JUDGED.match(line):
            judged = JUDGED.match(line)
            now["verdicts"][-1].update(judged=int(judged.group(1)), words=int(judged.group(2) or 0))
        elif CAUSE.match(line):
            now["verdicts"][-1]["cause"] = CAUSE.match(line).group(1)
        elif MISSING.match(line):
            now["missing"] = MISSING.match(line).group(1)
        elif line.endswith(", does not hold"):
            now["verdicts"][-1]["values"].append(line.strip().removesuffix(", does not hold"))
    return figures, rest


def page(figures, rest):
    lines = ["| figure | configurations recorded | holds | does not hold | not measurable | judged | without a number | |",
             "|---|---|---|---|---|---|---|---|"]
    for f in figures:
        if f["missing"]:
            lines.append(f"| {f['id']} | - | | | | | | not available: {f['missing']} |")
            continue
        count = {word: sum(v["word"] == word for v in f["verdicts"]) for word in ("holds", "DOES NOT HOLD", "not measurable")}
        over = " | ".join(str(sum(v[key] for v in f["verdicts"])) for key in ("judged", "words"))
        lines.append(f"| {f['id']} | {f['cells']} | {count['holds']} | {count['DOES NOT HOLD']} | {count['not measurable']} | {over} | {f['title']} |")
    lines += ["", "*Judged*: combinations of the axes with a number, over all findings of the figure. *Without a number*: combinations that "
              "ended out of memory or in a timeout, or are not possible. They do not count against a finding."]
    failed = [(f, v) for f in figures for v in f["verdicts"] if v["word"] == "DOES NOT HOLD"]
    lines += ["", "## What does not hold", ""]
    for f, v in failed:
        values = "; ".join(v["values"][:3]) + (f" and {len(v['values']) - 3} more" if len(v["values"]) > 3 else "")
        cause = f" Likely cause: {v['cause']}." if v["cause"] else ""
        words = f" Without a number: {v['words']}." if v["words"] else ""
        lines.append(f"* {f['id']}, {v['name']}: `{v['text']}`, here {values}.{words}{cause}")
    gaps = rest.index(GAPS) if GAPS in rest else len(rest)
    parts = [*lines, *([] if failed else ["Nothing that was run."])]
    if rest:
        parts += ["", "## Ratios and sums", "", *rest[:gaps]]
    if gaps < len(rest):
        parts += ["## Incomplete figures", "", "An incomplete figure is judged by its recorded configurations.", "", *rest[gaps:]]
    return "\n".join(parts).rstrip() + "\n"


def told(words):
    """The command line, whose directories are the reader's own."""
    own = {"--data": lambda _: "DIR", "--db": os.path.basename}
    return " ".join(own.get(before, str)(word) for before, word in zip(["", *words], words))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default=os.environ.get("OOCGNN", "build/gcc/oocgnn"))
    parser.add_argument("--db", default="figures.db")
    parser.add_argument("--page", help="the page whose generated part is rewritten")
    parser.add_argument("--figures", default="", help="comma-separated; all of them where not given, with their ratios and sums")
    parser.add_argument("figure_options", nargs="*", metavar="OPTION", help="of oocgnn figure, behind --: --scale 1/100, --any-build ...")
    a = parser.parse_args()
    which = a.figures.split(",") if a.figures else ["--all"]
    line = [a.oocgnn, "figure", *which, "--check", "--db", a.db, *a.figure_options]
    output = subprocess.run(line, capture_output=True, text=True, check=False)
    if not a.figures and "| paper | figures |" not in output.stdout or not HEADINGS.search(output.stdout):
        sys.exit(f"{' '.join(line)}\n{output.stderr[-2000:]}")
    text = f"Command: `{told([os.path.basename(a.oocgnn), *line[1:]])}`.\n\n" + page(*read(output.stdout))
    print(text)
    if a.page:
        Part(a.page, "by figures_page.py").write(text)


if __name__ == "__main__":
    main()
