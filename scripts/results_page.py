# SPDX-License-Identifier: MIT
"""What the scripts that write results/*.md share: a CSV file of cells, the part of a page that is generated, tables, and
lines of findings."""
import csv
import os
import shutil
import sys

MEASURED = "build/results"


def read_csv(path):
    """Lines as {column: text}; none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def add_places(parser, csv_name, page_name):
    """Adds --csv, --page, --write and --check; placed() gives the first two their default."""
    parser.add_argument("--csv", help=f"results/{csv_name} with --write or --check, else its copy under {MEASURED}/")
    parser.add_argument("--page", help=f"results/{page_name} with --write or --check, else its copy under {MEASURED}/")
    parser.add_argument("--write", action="store_true", help="only write the page from the CSV file")
    parser.add_argument("--check", action="store_true", help="only compare the page with the CSV file")
    parser.set_defaults(names={"csv": csv_name, "page": page_name})


def placed(a):
    """The arguments with places of CSV file and page. What a user measures goes to copies outside the tree's files; to keep it,
    copy the CSV file to results/ and use --write."""
    for key, name in a.names.items():
        if getattr(a, key) is not None:
            continue
        path = os.path.join("results", name)
        if not a.write and not a.check:
            copy = os.path.join(MEASURED, name)
            if not os.path.exists(copy):
                os.makedirs(MEASURED, exist_ok=True)
                shutil.copy(path, copy)
            path = copy
        setattr(a, key, path)
    return a


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
    """One line: the finding, what was seen, and whether it holds, with the cause where it does not."""
    return f"* {text}: {seen}. " + ("**holds**." if holds else f"**does not hold**: {cause}.")
