# SPDX-License-Identifier: MIT
"""What only a GPU can show, part by part; scripts/gpu_check.sh is how it is called, results/gpu/README.md the manual."""
import argparse
import datetime
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import gpu_bench
import gpu_report
import gpu_tests

# name: what it does, its own limit in seconds. Each half fits into eight minutes.
PARTS = {
    "ops": (gpu_tests.ops, 80),
    "golden": (gpu_tests.golden, 50),
    "systems": (gpu_tests.systems, 150),
    "faults": (gpu_tests.faults, 80),
    "sanitizer": (gpu_tests.sanitizer, 120),
    "rates": (gpu_bench.rates, 60),
    "step": (gpu_bench.step, 200),
    "transfer": (gpu_bench.transfer, 60),
    "epoch": (gpu_bench.epoch, 150),
}
HALVES = {"test": ["ops", "golden", "systems", "faults", "sanitizer"], "bench": ["rates", "step", "transfer", "epoch"]}


class OutOfTime(Exception):
    """A part's limit, or the whole check's, has passed."""


class Missing(Exception):
    """What has to be there before anything can run is not."""


class Place:
    """Where programs, fixtures and libraries are: the source tree after make, or an unpacked bundle."""

    def __init__(self, stand_in):
        self.root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.bundle = os.path.isfile(os.path.join(self.root, "BUNDLE"))
        default = "bin/oocgnn" if self.bundle else "build/gcc/oocgnn"
        given = None if self.bundle else os.environ.get("OOCGNN")
        self.oocgnn = os.path.abspath(given) if given else os.path.join(self.root, default)
        self.built = os.path.dirname(self.oocgnn)
        self.plugin = os.path.join(self.built, "tests/support/stand_in_cuda.so" if stand_in else "liboocgnn-cuda.so")
        self.libraries = ([os.path.join(self.root, "lib")] if self.bundle else []) + library_folders()
        if not os.access(self.oocgnn, os.X_OK):
            raise Missing(f"{self.oocgnn} is not there: run make tests first")

    def program(self, name):
        path = os.path.join(self.built, "tests", name)
        if not os.access(path, os.X_OK):
            raise Missing(f"{path} is not there: run make tests first")
        return path

    def environment(self):
        env = dict(os.environ, OOCGNN=self.oocgnn, OOCGNN_CUDA_PLUGIN=self.plugin)
        given = [env["LD_LIBRARY_PATH"]] if env.get("LD_LIBRARY_PATH") else []
        env["LD_LIBRARY_PATH"] = ":".join(self.libraries + given)
        return env

    def revision(self):
        if self.bundle:
            with open(os.path.join(self.root, "BUNDLE"), encoding="utf-8") as text:
                return text.readline().strip()
        done = subprocess.run(["git", "-C", self.root, "describe", "--always", "--dirty", "--abbrev=12"],
                              capture_output=True, text=True, check=False)
        return done.stdout.strip() or "unknown"


def library_folders():
    """Where cuBLAS may be when the loader does not know: the toolkit, or what pip installed for PyTorch."""
    folders = [f for f in ("/usr/local/cuda/lib64", "/usr/local/nvidia/lib64") if os.path.isdir(f)]
    code = ("import glob,os,site,sysconfig;roots={sysconfig.get_paths()['purelib'],*site.getsitepackages()};"
            "[print(f) for r in roots for p in ('nvidia/cu1*/lib','nvidia/cublas/lib','torch/lib')"
            " for f in glob.glob(os.path.join(r,p)) if glob.glob(os.path.join(f,'libcublas.so*'))]")
    python = shutil.which("python3") or sys.executable
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return folders + done.stdout.split()


class Check:
    """One run of the check: what parts are given. Programs it starts end with their part's time."""

    def __init__(self, place, report, limit_s, work):
        self.place, self.report, self.work = place, report, work
        self.end = time.monotonic() + limit_s
        self.part_end = self.end
        self.part = None
        self.child = None
        self.data = {}

    def left_s(self):
        return max(0.0, min(self.end, self.part_end) - time.monotonic())

    @property
    def stand_in(self):
        return self.report["gpu"]["stand_in"]

    def start(self, command, env=None, own=True, **more):
        """own: one of this project's programs, which take their libraries from the bundle; others must not."""
        environment = self.place.environment() if own else dict(os.environ)
        environment.update(env or {})
        return subprocess.Popen([str(word) for word in command], cwd=self.place.root, env=environment, text=True,
                                start_new_session=True, **more)

    def run(self, command, env=None):
        """Runs to the end: (status, output, errors). OutOfTime kills it and everything it started."""
        self.child = self.start(command, env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = self.child.communicate(timeout=max(0.1, self.left_s()))
        except subprocess.TimeoutExpired:
            self.stop(self.child)
            raise OutOfTime(os.path.basename(str(command[0]))) from None
        return self.child.returncode, out, err

    def stop(self, child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.communicate()

    def says(self, name, verdict, detail=""):
        check = {"name": name, "verdict": verdict}
        if detail:
            check["detail"] = detail.strip()[-2000:]
        self.part["checks"].append(check)
        if verdict == "left out":
            self.leave_out(f"{self.part['name']}: {name}", detail or "not said")

    def expects(self, name, holds, detail=""):
        self.says(name, "passed" if holds else "failed", "" if holds else detail)

    def figure(self, name, value, unit, **more):
        self.part["figures"].append({"name": name, "value": value, "unit": unit, **more})

    def leave_out(self, what, why):
        self.report["left_out"].append({"what": what, "why": why.strip()[-500:]})

    def oocgnn(self, *words, env=None):
        return self.run([self.place.oocgnn, *words], env)

    def dataset(self, scale, dim):
        """A generated dataset, prepared once a check; the folder for --data."""
        if (scale, dim) not in self.data:
            folder = os.path.join(self.work, f"data{len(self.data)}")
            status, _, err = self.oocgnn("prepare", "papers100m", "--scale", scale, "--dim", dim, "--data", folder,
                                         "--quiet")
            if status != 0:
                raise Missing(f"oocgnn prepare ended with {status}: {err}")
            self.data[(scale, dim)] = folder
        return self.data[(scale, dim)]


def work_folder(place, asked):
    """Where datasets go: a new folder in the first of a few places that does direct I/O, else in the first."""
    made = []
    for parent in [asked] if asked else [tempfile.gettempdir(), "/var/tmp", place.root, os.getcwd()]:
        try:
            made.append(tempfile.mkdtemp(prefix="oocgnn-gpu-", dir=parent))
        except OSError:
            continue
        done = subprocess.run([place.oocgnn, "doctor", "--data", made[-1]], capture_output=True, text=True, check=False,
                              env=place.environment(), cwd=place.root)
        if any(line.startswith("ok") and "direct I/O" in line for line in done.stdout.splitlines()):
            break
    else:
        made.reverse()
    if not made:
        raise Missing("no folder can be made for the datasets: name one with --work")
    for folder in made[:-1]:
        os.rmdir(folder)
    return made[-1]


def describe_host():
    def first(path, key):
        try:
            with open(path, encoding="utf-8") as lines:
                return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)
        except OSError:
            return None
    memory = first("/proc/meminfo", "MemTotal")
    return {"kernel": platform.release(), "cpu": first("/proc/cpuinfo", "model name"), "cores": os.cpu_count() or 1,
            "memory_bytes": int(memory.split()[0]) * 1024 if memory else None}


def cuda_of_driver():
    """The CUDA version that nvidia-smi prints in its head."""
    try:
        done = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.replace("|", " ").split()
    return next((words[i + 2] for i in range(len(words) - 2) if words[i:i + 2] == ["CUDA", "Version:"]), None)


def look_for_gpu(check):
    """Fills report["gpu"]; why there is none, or ""."""
    status, out, err = check.run([check.place.program("gpu/bench_gpu"), "probe"])
    gpu = check.report["gpu"]
    if status != 0:
        return f"bench_gpu probe ended with {status}: {err or out}"
    seen = json.loads(out)
    gpu["stand_in"] = seen["stand_in"]
    gpu["present"] = seen["present"] and not seen["stand_in"]
    gpu.update({key: seen[key] for key in ("name", "driver", "memory_bytes")})
    gpu["cuda"] = cuda_of_driver() if gpu["present"] else None
    return seen.get("why", "")


def run_part(check, name):
    function, limit_s = PARTS[name]
    check.part = next(part for part in check.report["parts"] if part["name"] == name)
    start, timed_out = time.monotonic(), False
    check.part_end = start + limit_s
    try:
        function(check)
    except OutOfTime as late:
        timed_out = True
        check.part["why"] = f"{late} was stopped after {time.monotonic() - start:.0f} s"
    except Missing as missing:
        check.says("what it needs", "failed", str(missing))
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        check.says("the check itself", "failed", f"{type(error).__name__}: {error}")
    check.part["seconds"] = round(time.monotonic() - start, 2)
    late = None if not timed_out else "timed out" if check.part_end < check.end else "cut short"
    check.part["verdict"] = gpu_report.part_verdict(check.part["checks"], late)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu_check.sh", description=__doc__.split(";", maxsplit=1)[0])
    parser.add_argument("--only", default="test,bench", metavar="PART,...",
                        help=f"of {', '.join(PARTS)}; test and bench are the two halves")
    parser.add_argument("--report", metavar="FILE", help="the JSON report [build/gpu_report.json; in a bundle: beside it]")
    parser.add_argument("--limit", type=float, default=540, metavar="SECONDS", help="of the whole check [540]")
    parser.add_argument("--work", metavar="DIR", help="where datasets go; a place that does direct I/O is looked for")
    parser.add_argument("--stand-in", action="store_true",
                        help="try the check itself on the test suite's launcher; shows nothing about a GPU")
    parser.add_argument("--validate", metavar="FILE", help="check a report and show it; run nothing")
    a = parser.parse_args()
    a.parts = [part for word in a.only.split(",") for part in HALVES.get(word, [word])]
    unknown = [part for part in a.parts if part not in PARTS]
    if unknown:
        parser.error(f"--only: no part {unknown[0]}; there are {', '.join([*PARTS, *HALVES])}")
    return a


def validate(path):
    try:
        with open(path, encoding="utf-8") as text:
            report = json.load(text)
    except (OSError, ValueError) as error:
        print(f"gpu_check: {path}: {error}", file=sys.stderr)
        return 1
    wrong = gpu_report.report_faults(report)
    for sentence in wrong:
        print(f"gpu_check: {path}: {sentence}", file=sys.stderr)
    if not wrong:
        print(gpu_report.table(report))
        print(f"gpu_check: {path} is valid: {report['verdict']}")
    return 1 if wrong else 0


def new_report(a, place):
    return {"schema": gpu_report.SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "finished": False, "verdict": "incomplete", "command": "scripts/gpu_check.sh " + shlex.join(sys.argv[1:]),
            "revision": place.revision(), "source": "bundle" if place.bundle else "tree", "seconds": 0.0,
            "limit_s": a.limit, "host": describe_host(), "left_out": [],
            "gpu": {"present": False, "stand_in": False, "name": None, "driver": None, "cuda": None,
                    "memory_bytes": None},
            "parts": [{"name": name, "verdict": "not reached", "seconds": 0.0, "limit_s": PARTS[name][1], "checks": [],
                       "figures": []} for name in PARTS if name in a.parts]}


def run_all(check, a, path):
    began = time.monotonic()

    def stop(number, _):
        if check.child is not None:
            check.stop(check.child)
        check.report["why"] = f"stopped by {signal.Signals(number).name}"
        gpu_report.write(check.report, path)
        print(f"gpu_check: {check.report['why']}; what there is stands in {path}")
        os._exit(1)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    for name in [part for part in PARTS if part in a.parts]:
        if time.monotonic() >= check.end:
            check.report["why"] = f"the limit of {a.limit:.0f} s passed before {name}"
            break
        run_part(check, name)
        check.report["seconds"] = round(time.monotonic() - began, 2)
        gpu_report.write(check.report, path)
        print(f"gpu_check: {name}: {check.part['verdict']} ({check.part['seconds']:.1f} s)", flush=True)
    check.report["finished"] = all(part["verdict"] not in ("not reached", "cut short")
                                   for part in check.report["parts"])


def close(report, path):
    """The table, the last line, the exit status."""
    gpu_report.write(report, path)
    wrong = gpu_report.report_faults(report)
    print(gpu_report.table(report))
    said = {"passed": "passed on " + (report["gpu"]["name"] or "a GPU"), "failed": "FAILED", "incomplete": "incomplete",
            "stand-in": "ran whole on a stand-in, which shows nothing about a GPU"}[report["verdict"]]
    print(f"gpu_check: {said}; the report is {path}")
    for sentence in wrong:
        print(f"gpu_check: the report is not valid: {sentence}", file=sys.stderr)
    return 0 if report["verdict"] in ("passed", "stand-in") and not wrong else 1


def main():
    a = parse_arguments()
    if a.validate:
        return validate(a.validate)
    try:
        place = Place(a.stand_in)
        report = new_report(a, place)
        path = os.path.abspath(a.report or os.path.join(place.root, "gpu_report.json" if place.bundle
                                                        else "build/gpu_report.json"))
        work = work_folder(place, a.work)
        try:
            check = Check(place, report, a.limit, work)
            why = look_for_gpu(check)
            if not report["gpu"]["present"] and not report["gpu"]["stand_in"]:
                report["why"] = why
                report["finished"] = True
                if a.report:
                    gpu_report.write(report, path)
                print(f"gpu_check: skipped, nothing was run on a GPU: {why}")
                return 0
            gpu_report.write(report, path)
            run_all(check, a, path)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except (Missing, OutOfTime) as missing:
        print(f"gpu_check: {missing}", file=sys.stderr)
        return 4
    return close(report, path)


if __name__ == "__main__":
    sys.exit(main())
