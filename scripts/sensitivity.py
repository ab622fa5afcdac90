#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much a simulated ratio between two systems rests on figures that nobody measured.

For a pair of systems and a profile: the ratio of their epoch times as the profile stands, and with every figure marked
`assumed` halved and doubled, its own and those of its reference costs, and the readahead of its device. Then the same with
the costs of the released programs and the profile's GPU, and every figure of those halved and doubled, whatever its source:
none was measured on the paper's machine. Simulated, so the numbers are the same on any machine. Prints Markdown tables of
the figures that move the ratio or an epoch by more than --least percent; --page rewrites results/sensitivity.md.

--rows does it for rows of scripts/ratios.py instead, each in the column that it belongs to: assumed figures of its profiles,
all figures of the released costs, the readahead. Its runs are kept as those of scripts/ratios.py; --page
writes a line for each of them into results/sensitivity.md.

--figure does it for the published ratios of a paper's figure (`oocgnn figure ID`): assumed figures of the profiles that its
file names. It takes as long as the figure, twice for every assumed figure (--list tells them): for small figures, or at a
small --scale. Its cells are kept; cut off, it goes on where it was.

  scripts/sensitivity.py --rows gnndrive-fig8:sage-pygplus,gnndrive-table2:papers100m-Ginex --scale 1/100
  nice -n 19 scripts/sensitivity.py --rows all --jobs 2
  scripts/sensitivity.py --figure agnes-fig8 --scale 1/1000
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys

import ratios
from results_page import Part

PAIRS = [("pygplus", "gnndrive", "gnndrive-paper"), ("ginex", "agnes", "agnes-paper"), ("pygplus", "ginex", "agnes-paper")]
HARDWARE = "workloads/hardware"
# A time or a rate; sizes and counts (a stripe, a queue) say how a machine is built, not how fast it is.
FIGURE = re.compile(r"^(\w[\w.]*) = ([0-9.]+)((?:ps|ns|us|ms|s|cores)|(?:[kMGT]?(?:B|FLOP))?/s|[kMGT]/s) (\w+)")
NANOSECONDS = {"ps": 0.001, "ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}


def lines_of(name):
    with open(os.path.join(HARDWARE, name), encoding="utf-8") as file:
        return file.read().splitlines()


def clock_mhz(lines):
    for line in lines:
        found = re.match(r"clock = ([0-9.]+)(MHz|GHz)", line)
        if found:
            return float(found.group(1)) * (1000 if found.group(2) == "GHz" else 1)
    sys.exit("a profile without a clock")


def plain(number):
    return f"{number:.6f}".rstrip("0").rstrip(".")


def assumed(profile, unused=("gpu", "bus")):
    """(section, key, value, unit) of every assumed time or rate; costs at the profile's own clock, in nanoseconds. Sections
    that are not used are left out: without more words the CPU trains."""
    lines, section, found = lines_of(profile + ".ini"), "", []
    given = set()
    for line in lines:
        if line.startswith("["):
            section = line.strip("[]")
        match = FIGURE.match(line)
        if match:
            given.add(match.group(1))
        if match and match.group(4) == "assumed" and section not in unused:
            found.append((section, match.group(1), float(match.group(2)), match.group(3)))
    for line in lines:
        costs = re.match(r"costs = (\S+)", line)
        if not costs:
            continue
        reference = lines_of(costs.group(1))
        slower = clock_mhz(reference) / clock_mhz(lines)
        for cost in reference:
            match = FIGURE.match(cost)
            if match and match.group(4) == "assumed" and match.group(1) not in given:
                found.append(("cpu", match.group(1), round(float(match.group(2)) * NANOSECONDS[match.group(3)] * slower), "ns"))
    return found


def changed_figure(key, value, unit):
    return f"{key} = {plain(round(value) if unit == 'ns' else value)}{unit} assumed: changed by scripts/sensitivity.py"


def changed_profile(folder, name, profile, section, key, value, unit):
    """Writes the profile with one figure changed to a file of that name; returns its path."""
    figure = changed_figure(key, value, unit)
    out, now, there = [], "", any(line.startswith(f"{key} =") for line in lines_of(profile + ".ini"))
    for line in lines_of(profile + ".ini"):
        if line.startswith("["):
            now = line.strip("[]")
        if now == section and line.startswith(f"{key} ="):
            line = figure
        if line.startswith("costs ="):
            line = f"costs = {os.path.relpath(HARDWARE, folder)}/{line.split()[2]}"
        out.append(line)
        if not there and line == f"[{section}]":
            out.append(figure)
    return written(folder, name, out)


def variant(a, profile, section, key, value, unit):
    return changed_profile(a.keep, f"{profile}-{key}-{plain(value)}.ini", profile, section, key, value, unit)


def home_variant(a, profile, section, key, value, unit):
    """A folder whose profile of the same name has the figure changed: as XDG_DATA_HOME it comes before ours."""
    home = os.path.join(a.keep, f"{profile}-{section}-{key}-{plain(value)}")
    folder = os.path.join(home, "oocgnn")
    os.makedirs(folder, exist_ok=True)
    changed_profile(folder, profile + ".ini", profile, section, key, value, unit)
    return os.path.abspath(home)


def epoch_s(a, system, profile, costs="ideal", readahead=None):
    """An epoch that the CPU trains with ideal costs; with others the GPU, and GNNDrive extracts serially, as released."""
    line = [a.oocgnn, "run", "--system", system, "--dataset", "papers100m", "--scale", a.scale, "--dim", "128", "--preset",
            "gnndrive", "--evaluate", "never", "--world", "simulated", "--profile", profile, "--compute",
            "cpu" if costs == "ideal" else "cuda", "--costs", costs, "--db", os.path.join(a.keep, "runs.db"), "--json", "--quiet"]
    if readahead:
        line += ["--device-readahead", readahead]
    if costs != "ideal" and system == "gnndrive":
        line += ["--set", "gnndrive.serial_extract=true"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    record = json.loads(done.stdout) if done.stdout.strip() else {"status": "none", "reasons": done.stderr}
    if record["status"] != "ok":
        sys.exit(f"{' '.join(line)}\n{record['status']}: {record['reasons']}")
    return record["epochs"][-1]["wall_ns"] * 1e-9


def written(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def released_lines(a):
    with open(os.path.join(HARDWARE, "costs/released.ini"), encoding="utf-8") as file:
        return file.read().splitlines()


def released_figures(a):
    """(key, value, unit) of every figure of the released programs' costs."""
    matches = [FIGURE.match(line) for line in released_lines(a)]
    return [(m.group(1), float(m.group(2)), m.group(3)) for m in matches if m]


def released_variant(a, key, value, unit):
    figure = changed_figure(key, value, unit)
    return written(a.keep, f"released-{key}-{plain(value)}.ini",
                   [figure if line.startswith(f"{key} =") else line for line in released_lines(a)])


def table(a, heading, said, figures, each=""):
    """figures: (how it is shown, what is told of it halved and doubled, by how much the most of that moved)."""
    rows, quiet = [], []
    for shown, cells, moved in figures:
        if 100 * moved < a.least:
            quiet.append(shown.split(" = ")[0])
        else:
            rows.append(f"| {shown} | {cells[0]} | {cells[1]} |")
        print(f"{heading}, {shown}: {cells}", file=sys.stderr)
    lines = [f"## {heading}", "", said, "", f"| figure | halved{each} | doubled{each} |", "|---|---|---|"] + rows
    return "\n".join(lines + ["", f"Below {a.least:g} %: {', '.join(quiet) or 'none'}."])


def ratio_figure(shown, base, values):
    """A figure as table() takes it, of one ratio; a word in a number's place ("oom") moves it by more than any number."""
    moved = [math.inf if isinstance(v, str) or isinstance(base, str) else abs(v / base - 1) for v in values]
    return shown, [v if isinstance(v, str) else f"{v:.3g}" for v in values], max(moved)


def times_figure(shown, base, times_at):
    """Likewise of two epoch times, which a function makes from a factor: their ratio, and what became of each."""
    both = [times_at(factor) for factor in (0.5, 2)]
    cells = [f"{slow / fast:.2f} ({slow / base[0]:.2f}, {fast / base[1]:.2f})" for slow, fast in both]
    return shown, cells, max(abs(t / b - 1) for times in both for t, b in zip(times, base))


def times_table(a, heading, base, figures):
    return table(a, heading, f"Epoch times {base[0]:.3g} and {base[1]:.3g} s, ratio **{base[0] / base[1]:.2f}**.",
                 (times_figure(shown, base, times_at) for shown, times_at in figures), ": ratio (epochs)")


def ideal_table(a, slow, fast, profile):
    def both(path, **more):
        return [epoch_s(a, system, path, **more) for system in (slow, fast)]

    def changed(section, key, value, unit):
        return lambda factor: both(variant(a, profile, section, key, value * factor, unit))
    figures = [(f"`{key}` = {plain(value)} {unit}", changed(section, key, value, unit))
               for section, key, value, unit in assumed(profile)]
    figures.append(("`readahead` = 128K", lambda factor: both(profile, readahead=f"{int(128 * factor)}K")))
    return times_table(a, f"{slow} / {fast} on {profile}", both(profile), figures)


def released_table(a, slow, fast, profile):
    def both(costs):
        return [epoch_s(a, system, profile, costs) for system in (slow, fast)]

    def changed(key, value, unit):
        return lambda factor: both(released_variant(a, key, value * factor, unit))
    figures = [(f"`{key}` = {plain(value)} {unit}", changed(key, value, unit)) for key, value, unit in released_figures(a)]
    return times_table(a, f"{slow} / {fast} on {profile}, released costs", both("released"), figures)


# ---- rows of ratios.py ----

def replaced(words, option, value):
    at = words.index(option) + 1
    return words[:at] + [value] + words[at + 1:]


def row_words(a, row, changes):
    """Words of the row's cells with options changed: "--profile" from one name to a path, others to a value."""
    out = []
    for cell in row.cells:
        words = cell.words(a, row.belongs, 1)
        for option, value in changes.items():
            if option == "--profile":
                value = value[1] if cell.profile == value[0] else cell.profile
            words = replaced(words, option, value)
        out.append(tuple(words))
    return out


def row_figures(a, row):
    """(how it is shown, {factor: words of the cells}) of every figure that the row rests on."""
    unused = () if any(cell.compute == "cuda" for cell in row.cells) else ("gpu", "bus")
    out = []
    for profile in dict.fromkeys(cell.profile for cell in row.cells):
        for section, key, value, unit in assumed(profile, unused):
            out.append((f"`{key}` = {plain(value)} {unit}", {
                factor: row_words(a, row, {"--profile": (profile, variant(a, profile, section, key, value * factor, unit))})
                for factor in (0.5, 2)}))
    if row.belongs.endswith("released"):
        for key, value, unit in released_figures(a):
            out.append((f"`{key}` = {plain(value)} {unit}", {
                factor: row_words(a, row, {"--costs": released_variant(a, key, value * factor, unit)}) for factor in (0.5, 2)}))
    if row.belongs.startswith("128K"):
        out.append(("`readahead` = 128K", {factor: row_words(a, row, {"--device-readahead": f"{int(128 * factor)}K"})
                                           for factor in (0.5, 2)}))
    return out


def row_moves(a, row, figures, records):
    """What the row says, and its figures as table() takes them."""
    base = ratios.value_of(row, [records[words] for words in row_words(a, row, {})])

    def value_at(words):
        return ratios.value_of(row, [records[w] for w in words])
    moves = [ratio_figure(shown, base, [value_at(words_at[factor]) for factor in (0.5, 2)]) for shown, words_at in figures]
    return base if isinstance(base, str) else f"{base:.3g}", moves


def row_table(a, row, said, moves):
    return table(a, row.name, f"{row.what}; {row.belongs}, {a.scale}: **{said}**, published {row.published:.3g}.", moves)


def rows_summary(a, moved):
    """A line for each row: the three figures that move it most."""
    lines = [f"Scale {a.scale}, one seed, each row in its own column; a figure: the row with it halved / doubled.", "",
             "| row | published | ours | rests most on | figures that move it by a tenth | of |", "|---|---|---|---|---|---|"]
    for row, said, moves in moved:
        most = [move for move in sorted(moves, key=lambda move: -move[2])[:3] if math.isfinite(move[2]) and 100 * move[2] >= a.least]
        rests = ", ".join(f"{shown.split(' = ')[0]} {cells[0]} / {cells[1]}" for shown, cells, _ in most) or "none"
        tenth = str(sum(by >= 0.1 for _, _, by in moves))
        if not said[0].isdigit():  # it has no number at any figure
            rests, tenth = "-", "-"
        lines.append(f"| {row.name} | {row.published:.3g} | {said} | {rests} | {tenth} | {len(moves)} |")
    return "\n".join(lines) + "\n"


def rows_moved(a):
    rows = [row for row in ratios.all_rows(a) if a.rows == ["all"] or row.name in a.rows]
    unknown = set(a.rows) - {"all"} - {row.name for row in rows}
    if unknown:
        sys.exit(f"--rows {', '.join(sorted(unknown))}: scripts/ratios.py has no such row")
    figures = {row.name: row_figures(a, row) for row in rows}
    jobs = {}
    for row in rows:
        for words in row_words(a, row, {}) + [w for _, words_at in figures[row.name] for at in words_at.values() for w in at]:
            jobs.setdefault(words, row.name)
    records = ratios.run_jobs(a, jobs)
    return [(row, *row_moves(a, row, figures[row.name], records)) for row in rows]


# ---- a paper's figure ----

RATIO = re.compile(r"^ {6}(?:(.*): )?([0-9.e+-]+) ~ ([0-9.e+-]+) \(log2")
PREDICATE = re.compile(r"^ {2}(?:holds|DOES NOT HOLD|not measurable) +(\w+): ")


def profiles_of(path, seen=()):
    """The profiles that a figure's file names, and those of the files it includes."""
    found = []
    with open(path, encoding="utf-8") as source:
        for line in source:
            words = line.split(";")[0].split("=")
            key, value = words[0].strip(), words[-1].strip()
            if key == "include":
                for name in value.replace(",", " ").split():
                    if name not in seen:
                        found += profiles_of(os.path.join(os.path.dirname(path), name), seen + (name,))
            if key == "profile":
                found += [name.strip() for name in value.split(",")]
    return list(dict.fromkeys(found))


def figure_changes(a):
    """(profile, section, key, value, unit) of everything assumed that the figure rests on."""
    return [(profile, *figure) for profile in profiles_of(f"experiments/papers/{a.figure}.ini") for figure in assumed(profile, ())]


def figure_ratios(a, home):
    """{(predicate, where): (ours, published)} of the figure, with the profiles of home before ours."""
    env = dict(os.environ)
    if home:
        env["XDG_DATA_HOME"] = home
    line = [a.oocgnn, "figure", a.figure, "--db", os.path.join(a.keep, "figures.db"), "--out", os.path.join(a.keep, "out"),
            "--jobs", str(a.jobs)]
    line += ["--scale", a.scale] if a.scale else []
    made = subprocess.run(line, capture_output=True, text=True, check=False, env=env)
    if made.returncode not in (0, 1, 4):
        sys.exit(f"{' '.join(line)}\n{made.stderr[-2000:]}")
    found, name = {}, ""
    for text in made.stdout.splitlines():
        predicate, ratio = PREDICATE.match(text), RATIO.match(text)
        name = predicate.group(1) if predicate else name
        if ratio:
            found[name, ratio.group(1) or ""] = (float(ratio.group(2)), float(ratio.group(3)))
    return found


def figure_tables(a):
    base, rests = figure_ratios(a, None), []
    for profile, section, key, value, unit in figure_changes(a):
        both = [figure_ratios(a, home_variant(a, profile, section, key, value * factor, unit)) for factor in (0.5, 2)]
        rests.append((f"`{section}.{key}` = {plain(value)} {unit} ({profile})", both))
    return [table(a, f"{a.figure}, {name}", f"{where + ': ' if where else ''}**{ours:.3g}**, published {published:g}.",
                  [ratio_figure(shown, ours, [other.get((name, where), ("-",))[0] for other in both]) for shown, both in rests])
            for (name, where), (ours, published) in base.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--oocgnn", default="build/gcc/oocgnn")
    parser.add_argument("--scale", help="else 1/500, and of a figure its own")
    parser.add_argument("--rows", default="", help="rows of scripts/ratios.py, or all")
    parser.add_argument("--figure", metavar="ID", help="one of `oocgnn figure --list`")
    parser.add_argument("--list", action="store_true", help="with --figure: only what is assumed")
    parser.add_argument("--jobs", type=int, default=1, help="with --rows or --figure: runs at a time")
    parser.add_argument("--least", type=float, default=2, help="percent by which a figure must move an epoch to be shown")
    parser.add_argument("--keep", default="build/sensitivity")
    parser.add_argument("--page", help="the page whose tables are rewritten")
    a = parser.parse_args()
    if a.figure and a.list:
        for profile, section, key, value, unit in figure_changes(a):
            print(f"{profile}: [{section}] {key} = {plain(value)} {unit}")
        return
    os.makedirs(a.keep, exist_ok=True)
    if a.figure:
        print("\n\n".join(figure_tables(a)))
        return
    a.scale = a.scale or "1/500"
    if a.rows:
        vars(a).update(rows=a.rows.split(","), figures=[], parts={}, epochs="2", no_run=False, until=math.inf,
                       agnes_datasets=ratios.AGNES_DATASETS, made_with=ratios.made_with(a.oocgnn))
        moved = rows_moved(a)
        print("\n\n".join(row_table(a, *one) for one in moved))
        if a.page:
            Part(a.page, "by sensitivity.py --rows").write(rows_summary(a, moved))
        return
    tables = [ideal_table(a, *pair) for pair in PAIRS] + [released_table(a, *pair) for pair in PAIRS]
    text = "\n\n".join(tables) + "\n"
    print(text)
    if a.page:
        Part(a.page, "by sensitivity.py").write(text)


if __name__ == "__main__":
    main()
