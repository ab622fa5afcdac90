#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports calls in shell scripts of functions and programs that do not exist.

    tests/style/shell_commands.py PROGRAMS SCRIPT...

A called word must be a function of the script or of a script that it sources ("# shellcheck source=FILE" names it), a
builtin of bash, or a program that the file PROGRAMS lists. A called path must be a file of this tree. Words made at run
time ("$program") are not judged. Prints a line "FILE:LINE: WORD: reason" for each mistake, then a line
"PROGRAMS: WORD: reason" for each program that no script calls. Exit status 1 if there is one.
"""
import os
import re
import sys

BUILTINS = set(
    ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable"
    " eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd"
    " read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias"
    " unset wait".split())
LEADERS = {"if", "then", "else", "elif", "while", "until", "do", "!", "time", "{"}
ENDS = {"fi", "done", "}"}
# Words that run the command behind them; the number of operands between the two.
WRAPPERS = {"exec": 0, "env": 0, "nohup": 0, "setsid": 0, "nice": 0, "timeout": 1, "builtin": 0}
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")


class Scanner:
    """Finds the command words of a script: enough of bash's grammar for this tree, and an error for the rest."""

    def __init__(self, name, text, first_line=1):
        self.name, self.text, self.at, self.first_line = name, text, 0, first_line
        self.calls, self.functions, self.sources, self.heredocs = [], set(), [], []

    def line(self):
        return self.first_line + self.text.count("\n", 0, self.at)

    def sees(self, what):
        return self.text.startswith(what, self.at)

    def fail(self, why):
        raise SyntaxError(f"{self.name}:{self.line()}: {why}")

    def until(self, end):
        found = self.text.find(end, self.at)
        if found < 0:
            self.fail(f"no {end!r}")
        self.at = found + len(end)

    # ---- parts of words ----

    def arithmetic(self):
        """Behind "((": to the matching "))"."""
        depth = 2
        while depth > 0:
            if self.at >= len(self.text):
                self.fail("no '))'")
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1

    def dollar(self, quoted):
        """At "$"."""
        if self.sees("$(("):
            self.at += 3
            self.arithmetic()
        elif self.sees("$("):
            self.at += 2
            self.commands(")")
        elif self.sees("${"):
            self.at += 2
            self.braces(quoted)
        elif self.sees("$'") and not quoted:
            self.at += 2
            while not self.sees("'"):
                self.at += 2 if self.sees("\\") else 1
            self.at += 1
        else:
            self.at += 1

    def braces(self, quoted):
        while not self.sees("}"):
            if self.at >= len(self.text):
                self.fail("no '}'")
            if self.sees("\\"):
                self.at += 2
            elif self.sees('"'):
                self.double_quotes()
            elif self.sees("'") and not quoted:
                self.at += 1
                self.until("'")
            elif self.sees("$"):
                self.dollar(quoted)
            else:
                self.at += 1
        self.at += 1

    def double_quotes(self):
        self.at += 1
        while not self.sees('"'):
            if self.at >= len(self.text):
                self.fail("no closing quote")
            if self.sees("\\"):
                self.at += 2
            elif self.sees("$"):
                self.dollar(True)
            elif self.sees("`"):
                self.at += 1
                self.commands("`")
            else:
                self.at += 1
        self.at += 1

    def word(self):
        """The raw text of a word; "" at something else."""
        begin = self.at
        while self.at < len(self.text):
            if self.sees("\\"):
                self.at += 2
            elif self.sees('"'):
                self.double_quotes()
            elif self.sees("'"):
                self.at += 1
                self.until("'")
            elif self.sees("$"):
                self.dollar(False)
            elif self.sees("`"):
                if self.in_backquotes:
                    break
                self.at += 1
                self.commands("`")
            elif (self.sees("<(") or self.sees(">(")) and self.at == begin:
                self.at += 2
                self.commands(")")
            elif self.sees("(") and ASSIGNMENT.fullmatch(self.text, begin, self.at):
                self.at += 1
                self.words_until(")")
            elif self.text[self.at] in " \t\n;&|<>()":
                break
            else:
                self.at += 1
        return self.text[begin:self.at]

    in_backquotes = False

    def words_until(self, end):
        """Words that are no commands: an array, a condition of [[, patterns of a case."""
        while True:
            self.blanks(newlines=True)
            if end == ")" and self.sees(")"):
                self.at += 1
                return
            word = self.word()
            if word == end:
                return
            if word == "":
                if self.at >= len(self.text):
                    self.fail(f"no {end!r}")
                self.at += 1

    def blanks(self, newlines=False):
        while self.at < len(self.text):
            if self.sees("\\\n"):
                self.at += 2
            elif self.sees("#"):
                end = self.text.find("\n", self.at)
                comment = self.text[self.at:end if end >= 0 else len(self.text)]
                hint = re.match(r"# shellcheck source=(\S+)", comment)
                if hint:
                    self.sources.append(hint[1])
                self.at += len(comment)
            elif self.text[self.at] in " \t" or (newlines and self.sees("\n")):
                self.at += 1
            else:
                return

    # ---- commands ----

    def heredoc(self):
        self.at += 2
        tabs = self.sees("-")
        self.at += tabs
        self.blanks()
        self.heredocs.append((re.sub(r"[\"'\\]", "", self.word()), tabs))

    def newline(self):
        self.at += 1
        for end, tabs in self.heredocs:
            while True:
                stop = self.text.find("\n", self.at)
                text = self.text[self.at:stop if stop >= 0 else len(self.text)]
                self.at += len(text) + 1
                if (text.lstrip("\t") if tabs else text) == end:
                    break
                if stop < 0:
                    self.fail(f"no end of here-document {end!r}")
        self.heredocs = []

    def case(self):
        self.blanks()
        self.word()
        self.blanks(newlines=True)
        if self.word() != "in":
            self.fail("no 'in' of a case")
        while True:
            self.blanks(newlines=True)
            if re.match(r"esac\b", self.text[self.at:self.at + 5]):
                self.at += 4
                return
            if self.sees("("):
                self.at += 1
            self.words_until(")")
            if self.commands("esac") == "esac":
                return

    def redirection(self):
        while self.at < len(self.text) and self.text[self.at] in "<>&|":
            self.at += 1
            if self.sees("(") and self.text[self.at - 1] in "<>":
                self.at -= 1
                break
        self.blanks()
        self.word()

    def commands(self, closer=None):
        outer, self.in_backquotes = self.in_backquotes, closer == "`"
        ended = self.commands_until(closer)
        self.in_backquotes = outer
        return ended

    def commands_until(self, closer):
        begins, skip = True, 0  # whether the next word is a command; operands of a wrapper before it is
        wrapped = False
        while True:
            self.blanks()
            if self.at >= len(self.text):
                if closer is not None:
                    self.fail(f"no {closer!r}")
                return None
            if closer in (")", "`") and self.sees(closer):
                self.at += 1
                return closer
            if closer == "esac" and (self.sees(";;") or self.sees(";&")):
                self.until("&" if self.sees(";&") else ";;")
                return ";;"
            if self.sees("\n"):
                self.newline()
                begins, wrapped = True, False
            elif self.sees("&>"):
                self.redirection()
            elif self.text[self.at] in ";&|":
                self.at += 1
                begins, wrapped = True, False
            elif self.sees("<<") and not self.sees("<<<"):
                self.heredoc()
            elif self.text[self.at] in "<>" and not self.sees("<(") and not self.sees(">("):
                self.redirection()
            elif descriptor := re.match(r"(\d+|\{\w+\})(?=[<>])", self.text[self.at:self.at + 40]):
                self.at += descriptor.end()
            elif self.sees("((") and begins:
                self.at += 2
                self.arithmetic()
                begins = False
            elif self.sees("(") and begins:
                self.at += 1
                self.commands(")")
                begins = False
            else:
                line, word = self.line(), self.word()
                if word == "":
                    self.fail(f"not understood: {self.text[self.at:self.at + 20]!r}")
                if not begins:
                    continue
                if wrapped and (word.startswith("-") or ASSIGNMENT.match(word)):
                    continue
                if skip > 0:
                    skip -= 1
                elif word in LEADERS:
                    pass
                elif word in ENDS:
                    begins = False
                elif word == "esac" and closer == "esac":
                    return "esac"
                elif word == "case":
                    self.case()
                    begins = False
                elif word in ("for", "select"):
                    self.blanks()
                    if self.sees("(("):
                        self.at += 2
                        self.arithmetic()
                    begins = False
                elif word == "[[":
                    self.words_until("]]")
                    begins = False
                elif ASSIGNMENT.match(word):
                    pass
                elif re.match(r"[ \t]*\([ \t]*\)", self.text[self.at:self.at + 8]):
                    self.functions.add(word)
                    self.until(")")
                else:
                    self.calls.append((line, word))
                    begins = wrapped = word in WRAPPERS
                    skip = WRAPPERS.get(word, 0)
                    if word == "trap":
                        self.trap()

    def trap(self):
        """What a trap runs is a script too."""
        self.blanks()
        line, text = self.line(), self.word()
        if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
            inner = Scanner(self.name, text[1:-1], line)
            inner.commands()
            self.calls += inner.calls


def scan(path, name=None):
    with open(path, encoding="utf-8") as file:
        scanner = Scanner(name or path, file.read())
    scanner.commands()
    return scanner


def read_programs(path):
    """A line is "PACKAGE: PROGRAM..."."""
    programs = set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if ":" in line and not line.startswith("#"):
                programs.update(line.split(":", 1)[1].split())
    return programs


def main():
    programs = read_programs(sys.argv[1])
    called, wrong = set(), 0
    for path in sys.argv[2:]:
        script = scan(path)
        functions = set(script.functions)
        for source in script.sources:
            functions |= scan(source).functions
        for line, word in script.calls:
            word = word.strip("\"'")
            reason = None
            if re.search(r"[$`*?]", word) or word in functions or word in BUILTINS:
                continue
            if "/" in word:
                if not word.startswith("/") and not word.startswith("build/") and not os.path.exists(word):
                    reason = "no such file"
            elif word in programs:
                called.add(word)
            else:
                reason = f"neither a function here nor a program that {sys.argv[1]} lists"
            if reason:
                wrong += 1
                print(f"{path}:{line}: {word}: {reason}")
    for word in sorted(programs - called) if len(sys.argv) > 3 else []:
        wrong += 1
        print(f"{sys.argv[1]}: {word}: no script calls it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
