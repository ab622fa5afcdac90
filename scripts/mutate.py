#!/usr/bin/env python3
"""Mutation test: changes one line of the sources at a time and asks whether the quick suite notices.

Takes a seeded sample of all mutants that universalmutator's rules for C make of the chosen folders. Each is compiled in
a tree of its own. One that does not compile, or whose object code is that of the original, counts as none, and the next
is drawn. Then the test programs that the mutated object is linked into run, fastest first, until one fails: the mutant is
dead. One that all of them pass survives.

Tests that fail without a mutant are left out and named, those of style too. Verdicts are kept in DIR/verdicts.jsonl, so
that a campaign that was stopped goes on where it was; they hold for one commit and one seed.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

FOLDERS = "systems,harness/storage,harness/pipeline,harness/sample,harness/world,harness/system"
RULES = ["universal.rules", "c_like.rules", "c.rules"]
# What no test can see: assertions, messages, static tables of words, and the compiler's business.
IGNORED = [r"\bassert\(", r"_Static_assert", r"^\s*[\"*]", r"^\s*#", r"gnn_fail\(", r"GNN_OPT_", r"\(void\)snprintf"]
SLOWER, SLACK_S = 5, 20  # a test that takes that much longer than it did hangs


def run(line, cwd, limit_s=None, env=None):
    """Returns exit status, -1 after limit_s, and output; the whole process group ends with the call."""
    with subprocess.Popen(line, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace") as child:
        try:
            out = child.communicate(timeout=limit_s)[0]
            return child.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return -1, child.communicate()[0]


class Tree:
    """A checkout of HEAD with a build of its own, and what its tests took without a mutant."""

    def __init__(self, a):
        self.root = pathlib.Path(a.keep).resolve() / "tree"
        self.build = "build/mutants"
        self.jobs = a.jobs
        self.head = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()
        if not self.root.exists():
            subprocess.check_call(["git", "worktree", "add", "--detach", "--quiet", str(self.root), self.head])
        subprocess.check_call(["git", "checkout", "--quiet", "--force", "--detach", self.head], cwd=self.root)
        if self.make("tests")[0] != 0:
            sys.exit(f"mutate: {self.root} does not build: make BUILD={self.build} NVCC= tests")
        self.tests, self.left_out = self.baseline(pathlib.Path(a.keep) / f"baseline-{self.head[:12]}.json")
        self.symbols = {test: self.defined(test) for test in self.tests}

    def make(self, *targets):
        return run(["make", "-s", f"-j{self.jobs}", f"BUILD={self.build}", "NVCC=", *targets], self.root)

    def defined(self, path):
        done = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", path], cwd=self.root,
                              capture_output=True, text=True, check=False)
        return {words.split()[0] for words in done.stdout.splitlines() if words.split()[1] in "TDBRV"}

    def test(self, program, limit_s):
        env = dict(os.environ, OOCGNN=f"{self.build}/oocgnn")
        start_s = time.monotonic()
        status, out = run([program], self.root, limit_s, env)
        return status, time.monotonic() - start_s, out

    def baseline(self, path):
        if path.exists():
            return json.loads(path.read_text())
        programs = [str(p.relative_to(self.root)) for kind in "unit op golden double differential fault sim cli fuzz".split()
                    for p in sorted((self.root / self.build / "tests" / kind).glob("test_*")) if not p.suffix]
        seconds, left_out = {}, []
        for program in programs:
            status, took_s, _ = self.test(program, 600)
            print(f"baseline: {program} {'' if status == 0 else 'fails, left out '}{took_s:.1f} s", file=sys.stderr)
            if status == 0:
                seconds[program] = took_s
            else:
                left_out.append(program)
        path.write_text(json.dumps([seconds, left_out]))
        return seconds, left_out

    def code(self, source):
        """The object code without what names lines; None where it does not compile."""
        target = f"{self.build}/{source[:-2]}.o"
        if self.make(target)[0] != 0:
            return None, target
        bare = self.root / self.build / "bare.o"
        subprocess.check_call(["objcopy", "--strip-debug", target, str(bare)], cwd=self.root)
        return bare.read_bytes(), target

    def relevant(self, source, target):
        """Programs that the object is linked into, those with its folder's name in theirs first, then the fastest. All
        of cli/ run the program, which every object is linked into."""
        own = self.defined(target)
        folder = source.split("/")[-2]
        chosen = [t for t in self.tests if "/cli/" in t or own & self.symbols[t]]
        return sorted(chosen, key=lambda t: (folder not in t, "/cli/" in t, self.tests[t]))


def mutants_of(root, folders):
    """All mutants as (file, line number, new line), in a fixed order."""
    from universalmutator import mutator  # pylint: disable=import-outside-toplevel
    found = []
    for folder in folders.split(","):
        for path in sorted((root / folder).rglob("*.c")):
            with open(path, encoding="utf-8") as source, contextlib.redirect_stdout(io.StringIO()):
                lines = source.readlines()
                made = mutator.mutants_regexp(lines, ruleFiles=RULES, ignorePatterns=IGNORED, ignoreStringOnly=True)
            found += [(str(path.relative_to(root)), number, text) for number, text, *_ in made]
    return sorted(set(found))


def failed_case(out):
    """The first case that cmocka lists as failed."""
    cases = re.findall(r"^\[  FAILED  \] (\w+)$", out, flags=re.M)
    return f": {cases[0]}" if cases else ""


def judge(tree, source, change, row):
    """Completes a row: how the mutant that change(lines) makes of a source ended, and by which test."""
    path = tree.root / source
    original = path.read_text(encoding="utf-8")
    plain, target = tree.code(source)
    try:
        path.write_text("".join(change(original.splitlines(keepends=True))), encoding="utf-8")
        code, _ = tree.code(source)
        if code is None or code == plain:
            return dict(row, state="no code" if code is None else "same code")
        for program in tree.relevant(source, target):
            binaries = [program] + ([f"{tree.build}/oocgnn"] if "/cli/" in program else [])
            if tree.make(*binaries)[0] != 0:
                return dict(row, state="no code")
            status, took_s, out = tree.test(program, SLOWER * tree.tests[program] + SLACK_S)
            if status != 0:
                how = " (hangs)" if status == -1 else failed_case(out)
                return dict(row, state="dead", by=f"{pathlib.Path(program).name}{how}", s=round(took_s, 1))
        return row
    finally:
        path.write_text(original, encoding="utf-8")


def judge_drawn(tree, source, number, text):
    """Verdict on one mutant of the sample."""
    was = (tree.root / source).read_text(encoding="utf-8").splitlines()[number - 1].strip()
    row = {"file": source, "line": number, "was": was, "is": text.strip(), "state": "survives", "by": ""}
    return judge(tree, source, lambda lines: lines[:number - 1] + [text] + lines[number:], row)


def read_named(path):
    """Mutants placed by hand: [name, file, what it does, {line: what stands there instead}]."""
    named, old = [], None
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("* "):
            name, source, what = re.fullmatch(r"\* (\S+) (\S+): (.*)", line).groups()
            named.append([name, source, what, {}])
        elif line.startswith("- "):
            old = line[2:]
        elif line.startswith("+ "):
            named[-1][3][old] = line[2:]
    return named


def judge_named(tree, path):
    """Prints the verdict on every mutant of a file; returns how many survive, or are no mutants any more."""
    bad = 0
    print("| mutant | what it does | killed by |\n|---|---|---|")
    for name, source, what, pairs in read_named(path):
        def change(lines, pairs=pairs):
            return [line.replace(line.strip(), pairs[line.strip()]) if line.strip() in pairs else line for line in lines]
        there = {line.strip() for line in (tree.root / source).read_text(encoding="utf-8").splitlines()}
        gone = [old for old in pairs if old not in there]
        row = {"state": "survives", "by": ""}
        row = dict(row, state=f"no line of {source} is: {gone[0]}") if gone else judge(tree, source, change, row)
        bad += row["state"] != "dead"
        print(f"| {name} | {what} | {row['by'] if row['state'] == 'dead' else row['state']} |", flush=True)
    return bad


def report(verdicts, count):
    judged = [v for v in verdicts if v["state"] in ("dead", "survives")]
    dead = sum(v["state"] == "dead" for v in judged)
    dropped = len(verdicts) - len(judged)
    print(f"{dead} of {len(judged)} mutants died ({100 * dead / max(1, len(judged)):.1f} %); {dropped} more did not compile or "
          f"left the code as it was; {count} asked for")
    for v in judged:
        if v["state"] == "survives":
            print(f"\n{v['file']}:{v['line']}\n    - {v['was']}\n    + {v['is']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", default="build/mutate", metavar="DIR", help="tree, baseline and verdicts")
    parser.add_argument("--folders", default=FOLDERS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many; the same command goes on")
    parser.add_argument("--report", action="store_true", help="only say what the verdicts so far are")
    parser.add_argument("--named", metavar="FILE", help="the mutants of that file instead (tests/mutants.txt)")
    a = parser.parse_args()
    pathlib.Path(a.keep).mkdir(parents=True, exist_ok=True)
    if not a.report and (shutil.which("nm") is None or shutil.which("objcopy") is None):
        sys.exit("mutate: needs nm and objcopy (package binutils)")
    if a.named:
        sys.exit(min(judge_named(Tree(a), a.named), 1))
    head = subprocess.check_output(["git", "rev-parse", "--short=12", "HEAD"], text=True).strip()
    log = pathlib.Path(a.keep) / f"verdicts-{head}-{a.seed}.jsonl"
    verdicts = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if not a.report:
        tree = Tree(a)
        mutants = mutants_of(tree.root, a.folders)
        random.Random(a.seed).shuffle(mutants)
        print(f"mutate: {len(mutants)} mutants, {len(tree.tests)} test programs, left out: {tree.left_out or 'none'}",
              file=sys.stderr)
        end_s = time.monotonic() + 60 * a.minutes
        for source, number, text in mutants[len(verdicts):]:
            if sum(v["state"] in ("dead", "survives") for v in verdicts) >= a.count or time.monotonic() > end_s:
                break
            verdicts.append(judge_drawn(tree, source, number, text))
            with open(log, "a", encoding="utf-8") as out:
                out.write(json.dumps(verdicts[-1]) + "\n")
            print(f"{len(verdicts)}: {source}:{number} {verdicts[-1]['state']} {verdicts[-1]['by']}", file=sys.stderr)
    report(verdicts, a.count)


if __name__ == "__main__":
    main()
