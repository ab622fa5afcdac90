# SPDX-License-Identifier: MIT
"""What the scripts that write results/*.md share: a CSV file of cells, the part of a page that is generated, tables, and
findings beside what is printed in a paper."""
import csv
import os
import sys


def read_csv(path):
    """Lines as {column: text}; none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def write_csv(path, fields, lines):
    with open(path, "w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


class Part:
    """The lines of a page between two marks, which name what generates them."""

    def __init__(self, page, mark):
        self.page = page
        begin, end = f"<!-- generated {mark}: begin -->\n", f"<!-- generated {mark}: end -->\n"
        with open(page, encoding="utf-8") as source:
            self.before = source.read()
        head, rest = self.before.split(begin)
        self.head, self.tail = head + begin + "\n", "\n" + end + rest.split(end)[1]

    def write(self, text):
        with open(self.page, "w", encoding="utf-8") as target:
            target.write(self.head + text + self.tail)

    def check(self, text, source, command):
        """Ends the program: with a message where the page is not what its source gives."""
        sys.exit(0 if self.before == self.head + text + self.tail else f"{self.page} is not what {source} gives: run {command}")


def make_page(a, mark, run_all, generated):
    """What is left of a script whose page comes from a CSV file: runs, unless --write or --check is given; then writes the generated
    part of --page, between marks that name the file, from --csv, or compares it."""
    if not a.write and not a.check:
        run_all(a)
    part, text = Part(a.page, f"from {mark}"), generated(read_csv(a.csv))
    if a.check:
        part.check(text, a.csv, f"scripts/{os.path.basename(sys.argv[0])} --write")
    part.write(text)
    print(text)


def table(headings, rows):
    """Lines of a table, with the empty one behind it."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows] + [""]


def finding(text, seen, holds, cause):
    """One line. holds: True, False, or a word that says how far."""
    verdict = "**holds**" if holds is True else f"**{holds or 'does not hold'}**"
    return f"* {text}: {seen}. {verdict}" + ("." if holds is True else f": {cause}.")
