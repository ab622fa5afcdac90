# SPDX-License-Identifier: MIT
"""Counts what makes a text hard to read in pages, help texts, messages, other strings and comments of headers.

  prose.py [--list KIND] CEILINGS [FILE...]

A line of CEILINGS is a kind and the largest count that is allowed. Ceilings may only fall. Prints a line for each kind
with more findings, and a note for each kind with fewer. --list prints every finding of one kind. FILE limits the search.
Exit status: 0, or 1 if a count is above its ceiling.
"""

import fnmatch
import re
import subprocess
import sys

WORDS_A_SENTENCE = 30
LINES_A_PAGE = 300

# Words and shapes that a reader has to decode; docs/terms.md and CONTRIBUTING.md have what to write instead.
SHAPES = [
    r"\btold\b", r"\btells?\b", r"\bto be had\b", r"\bin earnest\b", r"\bno say\b", r"\bby heart\b", r"\bof a piece\b",
    r"\bbesides?\b", r"\bin the mean\b", r"\bapart from\b", r"\blets? go\b", r"\bgoes on\b", r"\bgo on\b", r"\bwent on\b",
    r"\bstands?\b(?! for)", r"\blies\b", r"\bknows?\b", r"\basks\b", r"\bwants?\b", r"\bsays?\b", r"\bnobody\b",
    r"\bwhoever\b", r"\bwhat there is\b", r"\bwhat is there\b", r"\bas far as\b", r"\bso (much|many|often)\b",
    r"\bbehind your back\b", r"\bwhat holds\b", r"\bhangs? on\b", r"\bthat is no\b", r"\bwhat is no\b", r"\bhas of\b",
    r"\bis asked of\b", r"\bof their own accord\b", r"\bthere and then\b", r"\bby so\b", r"\bonce more\b", r"\breckons?\b",
    r"\bof that day\b", r"\bnot whole\b", r"(?<!-)\bcells?\b", r"(?<!-)\bcaps?\b", r"\bcapped\b", r"\b(?-i:oot)\b",
]
SHAPE = re.compile("|".join(SHAPES), re.IGNORECASE)
HELP_START = re.compile(
    r"^(of|as|what|how|by|for|in|on|with|that|which|from|to|at|so|where|who|whose|after|before|until|than|into)\b", re.IGNORECASE)
STRING = r'"((?:[^"\\]|\\.)*)"'
STRINGS = rf"((?:{STRING}\s*)+)"


def of(chosen, *patterns):
    """Returns the tracked files that fit a pattern; where files were chosen, those of them that do."""
    if chosen:
        return [path for path in chosen if any(fnmatch.fnmatch("/" + path, "*/" + pattern) for pattern in patterns)]
    return subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def joined(literals):
    """Returns adjacent C string literals as one text."""
    text = "".join(re.findall(STRING, literals))
    return text.replace('\\"', '"').replace("\\n", " ").replace("\\\\", "\\")


def plain(text):
    """Returns Markdown or a message without code, links' targets and emphasis."""
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{1,2}(\S[^*_]*)[*_]{1,2}", r"\1", text)


def sentences(text):
    """Returns the sentences of one paragraph. A full stop inside a number or a name ends none."""
    return [s for s in re.split(r"(?<=[.!?])[)\"']?\s+(?=[A-Z\"'(\[0-9X])", text) if s.strip()]


def words(sentence):
    return len([w for w in sentence.split() if re.search(r"[A-Za-z0-9]", w)])


def paragraphs(page):
    """Yields (line, text) of every paragraph, list item and table cell of a page; code is left out."""
    code, start, held = False, 0, []
    for number, line in enumerate(page.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        row = line.lstrip().startswith("|")
        item = re.match(r"\s*([*+-]|\d+\.)\s", line)
        if held and (fence or row or item or not line.strip() or line.startswith("#")):
            yield start, " ".join(held)
            held = []
        if fence:
            code = not code
        elif code or not line.strip() or re.match(r"\s*<!--.*-->\s*$", line):
            continue
        elif row:
            for part in re.sub(r"`[^`]*`", "X", line).strip().strip("|").split("|"):
                yield number, part
        elif line.startswith("#"):
            yield number, line.lstrip("# ")
        else:
            if not held:
                start = number
            held.append(re.sub(r"^\s*([*+-]|\d+\.)\s+", "", line).strip())
    if held:
        yield start, " ".join(held)


def look_at_text(where, text, found, kind):
    text = plain(text)
    for match in SHAPE.finditer(text):
        found[f"{kind}-words"].append(f"{where}: {match.group(0)}: {text[:140]}")
    for sentence in sentences(text):
        if words(sentence) > WORDS_A_SENTENCE:
            found[f"{kind}-sentences"].append(f"{where}: {words(sentence)} words: {sentence[:140]}")


def look_at_pages(paths, found):
    for path in paths:
        page = read(path)
        for number, text in paragraphs(page):
            look_at_text(f"{path}:{number}", text, found, "page")
        if page.count("\n") > LINES_A_PAGE:
            found["page-length"].append(path)


def look_at_help(paths, found):
    for path in paths:
        source = read(path)
        for match in re.finditer(rf"\.help\s*=\s*{STRINGS}", source):
            where = f"{path}:{source[:match.start()].count(chr(10)) + 1}"
            text = joined(match.group(1))
            look_at_text(where, text, found, "help")
            if HELP_START.match(text):
                found["help-starts"].append(f"{where}: {text[:100]}")


def look_at_messages(paths, found):
    for path in paths:
        source = read(path)
        for match in re.finditer(r"\b(gnn_fail|gnn_log_warn|gnn_log_info|find|gnn_breach|note_breach)\(", source):
            depth, end = 1, match.end()
            while end < len(source) and depth > 0:  # a bracket inside a string counts too, which pairs it
                depth += {"(": 1, ")": -1}.get(source[end], 0)
                end += 1
            where = f"{path}:{source[:match.start()].count(chr(10)) + 1}"
            for literals in re.finditer(STRINGS, source[match.end():end]):
                look_at_text(where, re.sub(r"\" *PRI[a-zA-Z0-9]+ *\"", "", joined(literals.group(1))), found, "message")


def look_at_strings(paths, found):
    """Looks for the words in every other text of a C file: what it prints, tables and captions. SQL is left out."""
    for path in paths:
        source = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), read(path), flags=re.DOTALL)
        source = re.sub(r"'\\?.'", "   ", source)
        for match in re.finditer(STRINGS, source):
            text = plain(joined(re.sub(r"\" *PRI[a-zA-Z0-9]+ *\"", "", match.group(1))))
            if " " not in text.strip() or re.match(r"\s*(SELECT|WITH|INSERT|CREATE)\b", text):
                continue
            where = f"{path}:{source[:match.start()].count(chr(10)) + 1}"
            for word in SHAPE.finditer(text):
                found["string-words"].append(f"{where}: {word.group(0)}: {text[:140]}")


def look_at_comments(paths, found):
    for path in paths:
        source = read(path)
        for match in re.finditer(r"/\*(.*?)\*/", source, re.DOTALL):
            where = f"{path}:{source[:match.start()].count(chr(10)) + 1}"
            for paragraph in re.split(r"\n[ \t]*\*[ \t]*(?=\n)", match.group(1)):
                look_at_text(where, re.sub(r"\n\s*\*?\s*", " ", paragraph).strip(), found, "comment")


def main(arguments):
    listed = arguments[1] if arguments[0] == "--list" else None
    path, *chosen = arguments[2:] if listed else arguments
    ceilings = dict(line.split() for line in read(path).split("\n") if line.strip() and not line.startswith("#"))
    kinds = [f"{where}-{what}" for where in ("page", "help", "message", "comment") for what in ("words", "sentences")]
    found = {kind: [] for kind in [*kinds, "string-words", "help-starts", "page-length"]}
    pages = [p for p in of(chosen, "*.md") if not re.match(r"results/(?!README)", p)]
    look_at_pages(pages, found)
    look_at_help(of(chosen, "harness/*.[ch]", "systems/*.[ch]"), found)
    look_at_messages(of(chosen, "harness/*.c", "systems/*.c"), found)
    look_at_strings(of(chosen, "harness/*.c", "systems/*.c"), found)
    look_at_comments(of(chosen, "harness/*.h", "systems/*.h"), found)
    bad = 0
    for kind, findings in found.items():
        ceiling = int(ceilings.get(kind, 0))
        if listed:
            print("\n".join(findings if kind == listed else []), end="\n" if kind == listed else "")
        elif len(findings) > ceiling:
            bad = 1
            print(f"{kind}: {len(findings)}, the ceiling is {ceiling}; some of them:")
            print("\n".join("    " + finding for finding in findings[-12:]))
        elif len(findings) < ceiling and not chosen:
            print(f"note: {kind}: {len(findings)}, lower its ceiling from {ceiling}")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
