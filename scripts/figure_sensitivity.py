#!/usr/bin/env python3
"""How much the ratios of a figure rest on figures of its profile that nobody measured.

Makes the figure with every assumed time or rate of its profile halved and doubled, one at a time, those of the costs it
refers to and of its GPU and bus included, and prints beside each ratio that the paper publishes what it is then: a
Markdown table of the figures that move it by more than --least percent. Simulated, so the same on any machine. Cells are
kept in --db; cut off, it goes on where it was. It takes as long as the figure, twice for every assumed figure (--list tells
them): for small figures, or at a small --scale.
"""
import argparse
import os
import re
import subprocess
import sys

import sensitivity

RATIO = re.compile(r"^ {6}(?:(.*): )?([0-9.e+-]+) ~ ([0-9.e+-]+) \(log2")
PREDICATE = re.compile(r"^ {2}(?:holds|DOES NOT HOLD|not measurable) +(\w+): ")


def profiles_of(path, seen=()):
    """The profiles that a figure's file names, and those of the files it includes."""
    found = []
    with open(path, encoding="utf-8") as source:
        for line in source:
            words = line.split(";")[0].split("=")
            key, value = words[0].strip(), words[-1].strip()
            if key == "include" and value not in seen:
                found += profiles_of(os.path.join(os.path.dirname(path), value), seen + (value,))
            if key == "profile":
                found += [name.strip() for name in value.split(",")]
    return list(dict.fromkeys(found))


def assumed(profile):
    """(section, key, value, unit) of every assumed time or rate."""
    found, section = sensitivity.assumed(profile), ""
    for line in sensitivity.lines_of(profile + ".ini"):
        section = line.strip("[]") if line.startswith("[") else section
        match = sensitivity.FIGURE.match(line)
        if match and match.group(4) == "assumed" and section in ("gpu", "bus"):
            found.append((section, match.group(1), float(match.group(2)), match.group(3)))
    return found


def variant(a, profile, section, key, value, unit):
    """A folder of the user's own profiles in which this one has one figure changed: what XDG_DATA_HOME names."""
    home = os.path.join(a.keep, f"{profile}-{section}-{key}-{sensitivity.plain(value)}")
    folder = os.path.join(home, "oocgnn")
    os.makedirs(folder, exist_ok=True)
    path = sensitivity.variant(argparse.Namespace(keep=folder), profile, section, key, value, unit)
    os.replace(path, os.path.join(folder, profile + ".ini"))
    return home


def ratios(a, home):
    """{(predicate, where): (ours, published)} of the figure, with the profiles of home before ours."""
    env = dict(os.environ)
    if home:
        env["XDG_DATA_HOME"] = os.path.abspath(home)
    line = [a.oocgnn, "figure", a.figure, "--db", a.db, "--out", os.path.join(a.keep, "out"), "--jobs", str(a.jobs)]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("figure", metavar="ID")
    parser.add_argument("--oocgnn", default=os.environ.get("OOCGNN", "build/gcc/oocgnn"))
    parser.add_argument("--scale", help="1/K; else the figure's own")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--least", type=float, default=2, help="percent by which a figure must move a ratio to be shown")
    parser.add_argument("--keep", default="build/figure-sensitivity")
    parser.add_argument("--list", action="store_true", help="only which figures are assumed")
    a = parser.parse_args()
    a.db = os.path.join(a.keep, "runs.db")
    changes = [(profile, *figure) for profile in profiles_of(f"plots/figures/{a.figure}.ini") for figure in assumed(profile)]
    if a.list:
        for profile, section, key, value, unit in changes:
            print(f"{profile}: [{section}] {key} = {sensitivity.plain(value)} {unit}")
        return
    os.makedirs(a.keep, exist_ok=True)
    base, rows = ratios(a, None), {}
    for profile, section, key, value, unit in changes:
        halved, doubled = (ratios(a, variant(a, profile, section, key, value * factor, unit)) for factor in (0.5, 2))
        print(f"{profile} {key}", file=sys.stderr)
        for ratio, (ours, _) in base.items():
            both = [other.get(ratio, (float("nan"), 0))[0] for other in (halved, doubled)]
            if any(not abs(new / ours - 1) < a.least / 100 for new in both):
                rows.setdefault(ratio, []).append(f"| `{section}.{key}` = {sensitivity.plain(value)} {unit} | {both[0]:.3g} | {both[1]:.3g} |")
    for (name, where), (ours, published) in base.items():
        print(f"\n**{name}**{' (' + where + ')' if where else ''}: {ours:.3g}, published {published:g}\n")
        if (name, where) not in rows:
            print(f"No assumed figure moves it by {a.least:g} %.")
            continue
        print("| assumed figure | halved | doubled |\n|---|---|---|")
        print("\n".join(rows[name, where]))


if __name__ == "__main__":
    main()
