#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutation test: changes one line of the sources at a time and asks whether the quick suite notices.

Takes a seeded sample of all mutants that universalmutator's rules for C make of the chosen folders. Each is compiled
alone; one that does not compile, or whose object code is that of the original, counts as none, and the next is drawn.
Then the test programs that reach the line are linked with the mutated object and run, those of its folder first, then
the fastest, until one fails: the mutant is dead. One that all of them pass survives.

What a test reaches is counted once a commit, by gcov, and kept in DIR; so are the seconds each takes. Tests that
fail without a mutant are left out and named, those of style too. Verdicts are appended to
DIR/verdicts-COMMIT-SEED.jsonl, one line a mutant, so that a campaign that was stopped goes on where it was;
--share 1/2 and --share 2/2 beside it halve the time on two processors.
"""
import argparse
import contextlib
import fcntl
import fnmatch
import hashlib
import io
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDERS = "systems,harness/storage,harness/pipeline,harness/sample,harness/world,harness/system"
RULES = ["universal.rules", "c_like.rules", "c.rules"]
KINDS = "unit op golden double differential fault sim cli fuzz".split()
# What no test can see: assertions, messages, static tables of words, and the compiler's business.
IGNORED = [r"\bassert\(", r"_Static_assert", r"^\s*[\"*]", r"^\s*#", r"gnn_fail\(", r"GNN_OPT_", r"\(void\)snprintf"]
SLOWER, SLACK_S = 4, 10  # a test that takes that much longer than it did hangs
FILE_BYTES_MAX = 16 << 30
BUILD, COVERED = "build/mutants", "build/covered"
UNCHANGED = "harness/base/err.c"
# A child that ends without exit() would take what it has counted with it.
COUNT_AT_END = """#include <stdlib.h>
extern void __gcov_dump(void);
extern _Noreturn void __real__exit(int status);
extern _Noreturn void __real_abort(void);
_Noreturn void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); }
_Noreturn void __wrap_abort(void) { __gcov_dump(); __real_abort(); }
"""


def keep_small():
    """A mutant may write or allocate without end: it fills no disk, and is the first that the kernel kills."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def run(line, cwd, limit_s=None, env=None):
    """Returns exit status, -1 after limit_s, and output; the whole process group ends with the call."""
    with subprocess.Popen(line, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=keep_small, text=True,
                          errors="replace") as child:
        try:
            out = child.communicate(timeout=limit_s)[0]
            return child.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return -1, child.communicate()[0]


def short(program):
    """Folder and name of a test program."""
    return "/".join(program.split("/")[-2:])


def of_tests(patterns):
    """What is known by some of the tests alone is kept apart, under this end of a name."""
    return "" if patterns == "*" else "-" + hashlib.sha256(patterns.encode()).hexdigest()[:6]


class Tree:
    """A checkout of a commit, built once as it is and once to count lines; how its objects and tests are made, how
    long its tests take and which lines they reach. Nothing changes afterwards: mutants live in folders of their own."""

    def __init__(self, a):
        keep = pathlib.Path(a.keep).resolve()
        self.root = keep / "tree"
        self.jobs, self.patterns = a.jobs, a.tests.split(",")
        self.commit = subprocess.check_output(["git", "rev-parse", a.commit], text=True).strip()
        self.device = open(keep / "device.lock", "w", encoding="utf-8")  # pylint: disable=consider-using-with
        share = a.share.replace("/", "-")
        self.folder = self.root / "build" / f"mutant-{share}"  # below the tree, where programs find workloads/
        name = f"oocgnn-mutant-{share}-{os.getpid()}"
        self.scratch = [pathlib.Path(tempfile.gettempdir()) / name, pathlib.Path("/dev/shm") / name]
        with open(keep / "lock", "w", encoding="utf-8") as lock:  # another share prepares the same tree
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.check_out()
            self.empty_scratch()
            self.kinds = self.read_kinds()
            self.make(BUILD)
            self.commands = self.read_commands()
            self.folder.mkdir(exist_ok=True)
            known = self.commit[:12] + of_tests(a.tests)
            self.seconds, self.left_out = kept(keep / f"baseline-{known}.json", self.baseline)
            self.reach = kept(keep / f"reach-{known}.json", self.count_lines)
        self.plain = {}  # objects of sources as they are

    def check_out(self):
        if not self.root.exists():
            subprocess.check_call(["git", "worktree", "add", "--detach", "--quiet", str(self.root), self.commit])
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.root, text=True).strip()
        if head != self.commit or subprocess.check_output(["git", "status", "--porcelain"], cwd=self.root):
            subprocess.check_call(["git", "checkout", "--quiet", "--force", "--detach", self.commit], cwd=self.root)

    def remove_scratch(self):
        """What tests leave that crash or are killed."""
        for folder in self.scratch:
            shutil.rmtree(folder, ignore_errors=True)

    def empty_scratch(self):
        self.remove_scratch()
        for folder in self.scratch:
            with contextlib.suppress(OSError):  # no /dev/shm
                folder.mkdir()

    def read_kinds(self):
        """[word, pattern] of tests/lanes.txt: what may run beside another share's tests."""
        lines = (self.root / "tests/lanes.txt").read_text(encoding="utf-8").splitlines()
        return [line.split() for line in lines if line and not line.startswith("#")]

    def kind(self, program):
        name = short(program)
        return next((word for word, pattern in self.kinds if fnmatch.fnmatch(name, pattern)), "alone")

    def make_line(self, build, *more):
        programs = [f"{build}/oocgnn"] + [p.replace(BUILD, build) for p in self.programs()]
        return ["make", "-s", f"-j{self.jobs}", f"BUILD={build}", "NVCC=", *more, *programs]

    def make(self, build, *more, env=None):
        status, out = run(self.make_line(build, *more), self.root, env=env)
        if status != 0:
            sys.exit(f"mutate: {self.root} does not build: {' '.join(self.make_line(build, *more))}\n{out[-2000:]}")

    def read_commands(self):
        """What make runs to make a file, as words: nothing is asked of make again for a mutant."""
        out = run(self.make_line(BUILD, "-n", "-B"), self.root)[1]
        commands = {}
        for line in out.splitlines():
            words = shlex.split(line) if f" -o {BUILD}/" in line else []
            if words:
                commands[words[words.index("-o") + 1]] = words
        return commands

    def test(self, program, limit_s, made=None, oocgnn=f"{BUILD}/oocgnn"):
        """Runs a test, or what was made of it. One that judges the machine has no other share's test beside it."""
        kind = self.kind(program)
        in_memory = kind == "computes" and self.scratch[1].exists()
        env = dict(os.environ, OOCGNN=oocgnn, TMPDIR=str(self.scratch[in_memory]))
        fcntl.flock(self.device, fcntl.LOCK_EX if kind == "alone" else fcntl.LOCK_SH)
        try:
            start_s = time.monotonic()
            status, out = run([made or program], self.root, limit_s, env)
            return status, time.monotonic() - start_s, out
        finally:
            fcntl.flock(self.device, fcntl.LOCK_UN)

    def programs(self):
        found = [f"{BUILD}/tests/{kind}/{path.stem}" for kind in KINDS
                 for path in sorted((self.root / "tests" / kind).glob("test_*.c"))]
        return [p for p in found if any(fnmatch.fnmatch(short(p), pattern) for pattern in self.patterns)]

    def baseline(self):
        """[seconds of each test, tests that fail as they are]. They are linked and run as a mutant's are, with a source
        that is unchanged: what that alone breaks is no mutant's death."""
        seconds, left_out = {}, []
        if self.compile(UNCHANGED, (self.root / UNCHANGED).read_text(encoding="utf-8")) is None:
            sys.exit(f"mutate: {UNCHANGED} does not compile")
        oocgnn = self.link(f"{BUILD}/oocgnn")
        for program in self.programs():
            status, took_s, _ = self.test(program, 600, None if "/cli/" in program else self.link(program), oocgnn)
            print(f"baseline: {program} {'' if status == 0 else 'fails, left out '}{took_s:.1f} s", file=sys.stderr)
            if status == 0:
                seconds[program] = took_s
            else:
                left_out.append(program)
        return seconds, left_out

    def count_lines(self):
        """[tests, {source: {line: [numbers of the tests that reach it]}}], of the lines that have code."""
        flags = "--coverage -fprofile-update=atomic"
        at_end = self.root / "build" / "count_at_end.c"
        at_end.write_text(COUNT_AT_END, encoding="utf-8")
        subprocess.check_call(["gcc", "-c", "-fPIC", "-o", str(at_end.with_suffix(".o")), str(at_end)])
        ends = f"--coverage -Wl,--wrap=_exit,--wrap=abort {at_end.with_suffix('.o')}"
        self.make(COVERED, f"OPT=-Og -g0 {flags}", env=dict(os.environ, LDFLAGS=ends))
        reach, names = {}, list(self.seconds)
        for number, name in enumerate(names):
            program = name.replace(BUILD, COVERED)
            for old in (self.root / COVERED).rglob("*.gcda"):
                old.unlink()
            self.test(program, 10 * self.seconds[name] + 120, oocgnn=f"{COVERED}/oocgnn")
            counted = sorted(str(p.relative_to(self.root)) for p in (self.root / COVERED).rglob("*.gcda"))
            print(f"reach: {name} {len(counted)} objects", file=sys.stderr)
            for first in range(0, len(counted), 50):
                self.add_lines(reach, number, counted[first:first + 50])
        shutil.rmtree(self.root / COVERED)
        return names, reach

    def add_lines(self, reach, number, counted):
        out = run(["gcov", "--json-format", "--stdout", *counted], self.root)[1]
        at = out.find("{")
        while at >= 0:
            told, at = json.JSONDecoder().raw_decode(out, at)
            at = out.find("{", at)
            for source in (f for f in told["files"] if f["file"].endswith(".c")):
                lines = reach.setdefault(source["file"], {})
                for line in source["lines"]:
                    tests = lines.setdefault(str(line["line_number"]), [])
                    if line["count"] > 0 and number not in tests[-1:]:
                        tests.append(number)

    def relevant(self, source, numbers):
        """Tests that reach one of the lines. A line without code of its own belongs to the statement before it."""
        names, reach = self.reach
        lines = reach.get(source, {})
        chosen = set()
        for number in numbers:
            at = next((n for n in range(number, 0, -1) if str(n) in lines), None)
            chosen |= {names[test] for test in lines[str(at)]} if at else set(names)
        folder = source.split("/")[-2]
        return sorted(chosen, key=lambda t: (folder not in t.split("/")[-1], "/cli/" in t, self.seconds[t]))

    def compile(self, source, text):
        """The object of a source that says `text`, as bytes; None where it does not compile. Kept as mutant.o."""
        words = list(self.commands[f"{BUILD}/{source[:-2]}.o"])
        path, target = self.folder / "mutant.c", self.folder / "mutant.o"
        path.write_text(text, encoding="utf-8")
        target.unlink(missing_ok=True)
        words[words.index("-c") + 1] = str(path)
        words[words.index("-o") + 1] = str(target)
        words = [w for w in words if w not in ("-MMD", "-MP", "-g")]
        # What no library defines is no program, nor is what the language forbids and the compiler lets pass.
        words += [f"-Werror={word}" for word in ("implicit-function-declaration", "incompatible-pointer-types", "int-conversion",
                                                "return-type")]
        return target.read_bytes() if run(words, self.root, 300)[0] == 0 and target.exists() else None

    def link(self, program):
        """The program with mutant.o in place of what the library has."""
        words = list(self.commands[program])
        if f"{BUILD}/liboocgnn.a" not in words:  # compiled in double precision, apart from the library
            return program
        made = self.folder / pathlib.Path(program).name
        words[words.index("-o") + 1] = str(made)
        words.insert(words.index(f"{BUILD}/liboocgnn.a"), str(self.folder / "mutant.o"))
        status, out = run(words, self.root, 300)
        if status != 0:
            sys.exit(f"mutate: {' '.join(words)}\n{out}")
        return str(made.relative_to(self.root))  # tests find the program from here, from whatever folder they go to


def kept(path, make):
    """What make() returned, once; a file that two shares would write at a time is never half there."""
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_text(json.dumps(make()))
        part.rename(path)
    return json.loads(path.read_text())


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


def id_of(source, number, text):
    return hashlib.sha256(f"{source}:{number}:{text}".encode()).hexdigest()[:12]


def failed_case(out):
    """The first case that cmocka lists as failed."""
    cases = re.findall(r"^\[  FAILED  \] (\w+)$", out, flags=re.M)
    return f": {cases[0]}" if cases else ""


def killer(tree, source, numbers, limit_s):
    """The row's words on who kills what was compiled last; a test that judges the machine has to fail twice."""
    end_s = time.monotonic() + limit_s
    oocgnn = None
    done = 0
    for program in tree.relevant(source, numbers):
        if time.monotonic() > end_s:
            return {"state": "survives", "by": f"the first {done} tests: no time for more", "tests": done}
        if "/cli/" in program:
            oocgnn = oocgnn or tree.link(f"{BUILD}/oocgnn")
        made = program if "/cli/" in program else tree.link(program)
        for _ in range(2 if tree.kind(program) == "alone" else 1):
            status, took_s, out = tree.test(program, SLOWER * tree.seconds[program] + SLACK_S, made,
                                            oocgnn or f"{BUILD}/oocgnn")
            if status == 0:
                break
        done += 1
        if status != 0:
            how = " (hangs)" if status == -1 else failed_case(out)
            return {"state": "dead", "by": f"{pathlib.Path(program).name}{how}", "s": round(took_s, 1), "tests": done}
    return {"state": "survives", "by": "" if done else "no test reaches it", "tests": done}


def judge(tree, source, change, numbers, limit_s):
    """The words of a row: how the mutant that change(lines) makes of a source ended, and by which test."""
    begun_s = time.monotonic()
    original = (tree.root / source).read_text(encoding="utf-8")
    if source not in tree.plain:
        tree.plain[source] = tree.compile(source, original)
    plain = tree.plain[source]
    code = tree.compile(source, "".join(change(original.splitlines(keepends=True))))
    if code is None or code == plain:
        row = {"state": "no code" if code is None else "same code", "by": "", "tests": 0}
    else:
        row = killer(tree, source, numbers, limit_s)
        tree.empty_scratch()
    return dict(row, all_s=round(time.monotonic() - begun_s, 1))


def judge_drawn(tree, source, number, text, limit_s):
    """Verdict on one mutant of the sample."""
    was = (tree.root / source).read_text(encoding="utf-8").splitlines()[number - 1].strip()
    row = {"id": id_of(source, number, text), "file": source, "line": number, "was": was, "is": text.strip()}
    def change(lines):  # the lines below keep their numbers, which assertions have in their code
        return lines[:number - 1] + [" ".join(text.split("\n")).rstrip() + "\n"] + lines[number:]
    return dict(row, **judge(tree, source, change, [number], limit_s))


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


def judge_named(tree, path, limit_s):
    """Prints the verdict on every mutant of a file; returns how many survive, or are no mutants any more."""
    bad = 0
    print("| mutant | what it does | killed by |\n|---|---|---|")
    for name, source, what, pairs in read_named(path):
        def change(lines, pairs=pairs):
            return [line.replace(line.strip(), pairs.get(line.strip(), line.strip())) for line in lines]
        there = [line.strip() for line in (tree.root / source).read_text(encoding="utf-8").splitlines()]
        gone = [old for old in pairs if old not in there]
        numbers = [n + 1 for n, line in enumerate(there) if line in pairs]
        row = {"state": f"no line of {source} is: {gone[0]}"} if gone else judge(tree, source, change, numbers, limit_s)
        bad += row["state"] != "dead"
        print(f"| {name} | {what} | {row['by'] if row['state'] == 'dead' else row['state']} |", flush=True)
    return bad


def counts(verdict):
    return verdict["state"] in ("dead", "survives")


def read_verdicts(log):
    """What is known of each mutant, by its id; a line that a crash cut off is none."""
    found = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            verdict = json.loads(line)
            found[verdict["id"]] = verdict
    return found


def report(verdicts, count):
    judged = [v for v in verdicts if counts(v)]
    dead = sum(v["state"] == "dead" for v in judged)
    spent_s = sum(v.get("all_s", 0) for v in verdicts)
    print(f"{dead} of {len(judged)} mutants died ({100 * dead / max(1, len(judged)):.1f} %), {count} asked for; "
          f"{len(verdicts) - len(judged)} more did not compile or left the code as it was; "
          f"{spent_s / max(1, len(judged)):.0f} s a mutant")
    for v in judged:
        if v["state"] == "survives":
            print(f"\n{v['file']}:{v['line']} ({v['by'] or 'all of its tests pass'}: {v['tests']})\n"
                  f"    - {v['was']}\n    + {v['is']}")


def campaign(tree, a, log):
    """Judges this share of the sample: mutants in the order of the seed, until enough of them count."""
    mutants = mutants_of(tree.root, a.folders)
    random.Random(a.seed).shuffle(mutants)
    share, shares = (int(word) for word in a.share.split("/"))
    mine = mutants[share - 1::shares]
    verdicts = read_verdicts(log)
    wanted = -(-a.count // shares)
    end_s = time.monotonic() + 60 * a.minutes
    judged = 0
    print(f"mutate: {len(mine)} of {len(mutants)} mutants, {len(tree.seconds)} test programs, left out: "
          f"{tree.left_out or 'none'}", file=sys.stderr)
    for source, number, text in mine:
        if judged >= wanted or time.monotonic() > end_s:
            break
        verdict = verdicts.get(id_of(source, number, text))
        if verdict is None:
            verdict = judge_drawn(tree, source, number, text, a.limit_s)
            with open(log, "a", encoding="utf-8") as out:
                out.write(json.dumps(verdict) + "\n")
            print(f"{source}:{number} {verdict['state']} {verdict['by']} {verdict['all_s']} s", file=sys.stderr)
        judged += counts(verdict)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", default="build/mutate", metavar="DIR", help="tree, what is known of it, and verdicts")
    parser.add_argument("--commit", default="HEAD", help="what is mutated; name it to go on when HEAD has moved")
    parser.add_argument("--folders", default=FOLDERS)
    parser.add_argument("--tests", default="*", help="patterns of FOLDER/PROGRAM, with commas: those alone are asked")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", default="1/1", metavar="I/N", help="every N-th mutant, from the I-th on")
    parser.add_argument("--jobs", type=int, default=2, help="of make")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many; the same command goes on")
    parser.add_argument("--limit-s", type=float, default=600, help="seconds of tests a mutant may take")
    parser.add_argument("--report", action="store_true", help="only say what the verdicts so far are")
    parser.add_argument("--named", metavar="FILE", help="the mutants of that file instead (tests/mutants.txt)")
    a = parser.parse_args()
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", a.share) or int(a.share.split("/")[0]) > int(a.share.split("/")[1]):
        sys.exit(f"mutate: --share {a.share}: I/N, I from 1 to N")
    pathlib.Path(a.keep).mkdir(parents=True, exist_ok=True)
    if not a.report and shutil.which("gcov") is None:
        sys.exit("mutate: needs gcov (package gcc)")
    if a.named:
        tree = Tree(a)
        bad = judge_named(tree, a.named, a.limit_s)
        tree.remove_scratch()
        sys.exit(min(bad, 1))
    commit = subprocess.check_output(["git", "rev-parse", "--short=12", a.commit], text=True).strip()
    log = pathlib.Path(a.keep) / f"verdicts-{commit}-{a.seed}{of_tests(a.tests)}.jsonl"
    if not a.report:
        tree = Tree(a)
        try:
            campaign(tree, a, log)
        finally:
            tree.remove_scratch()
    report(list(read_verdicts(log).values()), a.count)


if __name__ == "__main__":
    main()
