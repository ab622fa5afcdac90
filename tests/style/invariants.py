# SPDX-License-Identifier: MIT
"""Checks that the tests that pages of invariants name exist.

  invariants.py PAGE...

A page names a test as `unit/belady: misses_are_the_least_possible`: a function of tests/unit/test_belady.c, with or
without test_ before its name. A name without a folder behind it is a function of the same file. Files of tests/support
have no prefix. Other files have their path: `harness/pipeline/team.c: gnn_team_post`.
Prints a line for each name that does not exist. Exit status: 0, or 1 if there is one or if a page names no test.
"""

import functools
import os
import re
import sys

IN_FILE = re.compile(r"([\w.-]+/[\w./-]+)(?:: (\w+))?")
ALONE = re.compile(r"[a-z]\w+|\S*…")  # an abbreviated name is never found


def path_of(name):
    """Returns the path of a file that a page names, or None if it does not exist."""
    folder, _, program = name.partition("/")
    prefix = "" if folder == "support" else "test_"
    paths = [f"tests/{folder}/{prefix}{program}.c", f"tests/{name}", name]
    return next((path for path in paths if os.path.isfile(path)), None)


@functools.lru_cache(maxsize=None)
def functions_of(path):
    """Returns the names of the functions that a file defines, each also without test_."""
    with open(path, encoding="utf-8") as source:
        names = re.findall(r"^(?:[a-z]\w*[ *]+)+(\w+)\([^;{]*\)\s*\{", source.read(), re.MULTILINE)
    return {*names, *(name.removeprefix("test_") for name in names)}


def units(page):
    """Yields (line, text) of every table row, list item and paragraph: a name without a folder belongs to its own."""
    start, held = 0, []
    for number, line in enumerate([*page.split("\n"), ""], 1):
        if held and (not line.strip() or line[0] in "|#*-"):
            yield start, " ".join(held)
            held = []
        if line.strip():
            start = start if held else number
            held.append(line)


def look_at(page_path):
    """Returns the number of names of a page, and a finding for each that does not exist."""
    count, findings = 0, []
    with open(page_path, encoding="utf-8") as page:
        text = page.read()
    for number, unit in units(text):
        where = path = None  # of the last file
        for span in re.findall(r"`([^`]*)`", unit):
            if named := IN_FILE.fullmatch(span):
                where, function = named.groups()
                path = path_of(where)
            elif where and ALONE.fullmatch(span):
                function = span
            else:
                continue
            count += 1
            if path is None:
                findings.append(f"{page_path}:{number}: {where}: no such file")
            elif function and function not in functions_of(path):
                findings.append(f"{page_path}:{number}: {where}: {function}: no such function")
    return count, findings


def main(pages):
    found = []
    for page in pages:
        count, findings = look_at(page)
        found += findings or ([] if count else [f"{page}: names no test"])
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
