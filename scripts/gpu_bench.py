# SPDX-License-Identifier: MIT
"""The parts of scripts/gpu_check.sh that measure: rates, steps against their roofline, transfers, an epoch's floors."""
import json
import os
import shutil
import statistics
import subprocess
import sys

import gpu_tests

STEP_TARGET, TORCH_TARGET, EPOCH_TARGET = 1.3, 0.6, 1.15
ROUNDS, STEPS = 7, 12  # of the interleaved comparison; a round is STEPS steps of each side
RATE_UNITS = {"gemm": ("FLOP/s", "fp32 products"), "bandwidth": ("B/s", "copies on the device or y += x, the faster"),
              "sums": ("B/s", "y += x"), "gather": ("B/s", "rows at random places"),
              "launch": ("ns", "an op on one number"), "pinned": ("B/s", "copies in a lane"),
              "pageable": ("B/s", "copies waited for"), "latency": ("ns", "of a small copy")}


def quartiles(values):
    """Median, and the quartiles around it."""
    if len(values) < 4:
        return statistics.median(values), min(values), max(values)
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, low, high


# ---- rates ----

def rates(check):
    words = ["rates"] + (["modelled"] if check.stand_in else [])
    status, out, err = check.run([check.place.program("gpu/bench_gpu"), *words])
    if status != 0:
        check.says("rates", "failed", f"ended with {status}: {gpu_tests.last_lines(err or out)}")
        return
    check.rates = json.loads(out)
    for name, (unit, note) in RATE_UNITS.items():
        value, spread = check.rates[name], check.rates[name + "_spread"]
        check.figure(name, value, unit, low=value * (1 - spread / 2), high=value * (1 + spread / 2), note=note)
    for shape in check.rates["checks"]:
        check.figure("predicted / measured: " + shape["what"], shape["measured_ns"] / 1e3, "us",
                     ratio=shape["predicted_ns"] / shape["measured_ns"], of="measured")
    check.says("rates", "passed")


# ---- a step against its roofline, and against PyTorch ----

MODELS = {"sage": "SAGE 3x256", "gat": "GAT 3x256, 4 heads"}


class Asked:
    """A program that answers a number of steps with their times."""

    def __init__(self, check, command, own=True):
        self.check, self.busy = check, {}
        self.errors = os.path.join(check.work, os.path.basename(str(command[0])) + ".err")
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.child = check.child = check.start(command, own=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   stderr=errors)
        self.first = self.answer()

    def answer(self):
        """The next line as JSON; None when the program ended instead. It is stopped with the part's time."""
        import threading
        late = threading.Timer(max(0.1, self.check.left_s()), self.child.kill)
        late.start()
        line = self.child.stdout.readline()
        late.cancel()
        if not line and self.check.left_s() <= 0.2:
            from gpu_check import OutOfTime
            raise OutOfTime("a training step")
        return json.loads(line) if line.startswith("{") else None

    def steps(self, count, way):
        """Their times; what the device computed, per step, goes into self.busy[way] where the program tells."""
        self.child.stdin.write(f"{count} {way}\n")
        self.child.stdin.flush()
        said = self.answer() or {"steps_ns": []}
        if said.get("busy_ns"):
            self.busy.setdefault(way, []).append(said["busy_ns"] / count)
        return said["steps_ns"]

    def why(self):
        with open(self.errors, encoding="utf-8") as errors:
            return gpu_tests.last_lines(errors.read()) or "it said nothing"

    def close(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


def python_with_torch():
    """The interpreter that has torch: the one that runs this, or the PATH's."""
    for python in dict.fromkeys([sys.executable, shutil.which("python3") or sys.executable]):
        done = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return python
    return None


def rival(check, model, size, folder):
    """PyTorch on the same mini-batches; None, and it is listed as left out, where that cannot be."""
    python = python_with_torch()
    if python is None:
        check.leave_out(f"step: PyTorch, {model}", "no python3 here has torch")
        return None
    words = [python, os.path.join(check.place.root, "scripts/gpu_step.py"), model, size, folder]
    asked = Asked(check, words + (["--device", "cpu"] if check.stand_in else []), own=False)
    if asked.first is None:
        check.leave_out(f"step: PyTorch, {model}", asked.why())
        asked.close()
        return None
    if "plain layers" in asked.first["library"]:
        check.leave_out(f"step: PyTorch Geometric, {model}", "not installed: plain PyTorch layers instead")
    return asked


WAYS = ("graphs", "plain", "demand")  # of our steps (tests/gpu/bench_step.c); PyTorch's are "staged" and "demand"
LAUNCHES = {"graphs": "as a graph", "plain": "op by op"}


def interleaved(ours, theirs, check):
    """The times of rounds that take turns, by way, so that what disturbs one disturbs the other."""
    mine, others = {way: [] for way in WAYS}, {"staged": [], "demand": []}
    steps = 1 if check.stand_in else STEPS
    for _ in range(2 if check.stand_in else ROUNDS):
        for way, times in mine.items():
            times += ours.steps(steps, way)
        for way, times in others.items():
            times += theirs.steps(steps, way) if theirs else []
    return mine, others


def step_line(check, name, times_ns, floor_ns, floor, target=None, note=None):
    """One line of the report: the median of times, and its ratio to a time."""
    middle, low, high = quartiles(times_ns)
    more = {"note": note} if note else {}
    if target is not None:
        more.update(target=target, met=None if check.stand_in else middle / floor_ns <= target)
    check.figure(name, middle / 1e6, "ms", low=low / 1e6, high=high / 1e6, ratio=middle / floor_ns, of=floor, **more)
    return middle


def step_figures(check, model, ours, mine, others, library):
    """Kernels by the device's events against the roofline of kernels. Lists on demand are compared with both."""
    name, counts = MODELS[model], ours.first
    kernels, lists = counts["roof_ns"], counts["bus_ns"]
    check.figure(f"{name}: roofline", kernels / 1e6, "ms",
                 note=f"memory alone {counts['traffic_ns'] / 1e6:.3f}; padded to eight sizes an octave "
                      f"{counts['padded_roof_ns'] / 1e6:.3f}; blocks and labels up {lists / 1e6:.3f}")
    best = min(LAUNCHES, key=lambda way: statistics.median(mine[way]))
    for way, label in LAUNCHES.items():
        chosen = "the faster by the clock; " if way == best else ""
        if ours.busy.get(way):
            step_line(check, f"{name}: step {label}, by device events", ours.busy[way], kernels, "its roofline",
                      STEP_TARGET if way == best else None,
                      f"{chosen}{counts['nodes']} nodes, {counts['flops'] / 1e9:.1f} GFLOP")
        step_line(check, f"{name}: step {label}, by the clock", mine[way], kernels, "its roofline")
    step_line(check, f"{name}: step with lists on demand, by the clock", mine["demand"], kernels + lists,
              "its roofline and the lists' copies")
    for way, own, label in (("staged", best, "lists staged"), ("demand", "demand", "lists on demand")):
        if others[way]:
            slow = step_line(check, f"{name}: the same step in PyTorch, {label}", others[way], kernels, "the roofline",
                             note=library)
            step_line(check, f"{name}: step against PyTorch, {label}", mine[own], slow, "PyTorch's",
                      TORCH_TARGET if way == "staged" else None)


def one_step(check, model):
    folder = os.path.join(check.work, f"step-{model}")
    os.makedirs(folder, exist_ok=True)
    size = "small" if check.stand_in else "whole"
    # Rows of 512 bytes and more are gathered at the rate of the memory at best; the gather's own rate is a result.
    roof = [check.rates[key] for key in ("gemm", "bandwidth", "bandwidth", "pinned")]
    ours = Asked(check, [check.place.program("gpu/bench_gpu"), "step", model, size, *roof, folder])
    if ours.first is None:
        check.says(f"step of {model}", "failed", ours.why())
        ours.close()
        return
    theirs = rival(check, model, size, folder)
    mine, others = interleaved(ours, theirs, check)
    ran = all(mine.values())
    why = "" if ran else ours.why()
    library = theirs.first["library"] if theirs else ""
    ours.close()
    if theirs:
        theirs.close()
    check.expects(f"step of {model}", ran, why)
    if ran:
        step_figures(check, model, ours, mine, others, library)


def hub_step(check, model):
    """The step on mini-batches in which one source has 30 % of the edges, against the roofline of these."""
    name = f"{MODELS[model]}, a source with 30 % of the edges"
    roof = [check.rates[key] for key in ("gemm", "bandwidth", "bandwidth", "pinned")]
    ours = Asked(check, [check.place.program("gpu/bench_gpu"), "step", model, "small-hub" if check.stand_in else "hub", *roof])
    mine = interleaved(ours, None, check)[0] if ours.first else {}
    ran = bool(mine) and all(mine.values())
    check.expects(f"step of {model} with a hub", ran, "" if ran else ours.why())
    ours.close()
    for way, label in LAUNCHES.items() if ran else ():
        if ours.busy.get(way):
            step_line(check, f"{name}: step {label}, by device events", ours.busy[way], ours.first["roof_ns"], "its roofline")
        step_line(check, f"{name}: step {label}, by the clock", mine[way], ours.first["roof_ns"], "its roofline")


def step(check):
    if not getattr(check, "rates", None):
        rates(check)
    if getattr(check, "rates", None):
        for model in MODELS:
            one_step(check, model)
            hub_step(check, model)


# ---- small rows, both ways ----

def transfer(check):
    status, out, err = check.run([check.place.program("gpu/bench_gpu"), "transfer", 64 if check.stand_in else 16384])
    check.expects("rows land as they were, by copies and by the kernel", status == 0,
                  f"ended with {status}: {gpu_tests.last_lines(err)}")
    for line in out.splitlines():
        row = json.loads(line)
        size = row["row_bytes"]
        check.figure(f"rows of {size} B: a copy each", row["copies_ns"] / 1e3, "us", note=f"{size / row['copies_ns']:.3g} GB/s")
        check.figure(f"rows of {size} B: a kernel that gathers", row["kernel_ns"] / 1e3, "us",
                     ratio=row["kernel_ns"] / row["copies_ns"], of="a copy each", note=f"{size / row['kernel_ns']:.3g} GB/s")


# ---- an epoch against its floors ----

def epoch_run(check, transfer):
    """Five epochs of GNNDrive. On papers100m at 1/100, batches of 100, so that a batch is a few per cent of the rows."""
    scale, dim = ("1/4000", 32) if check.stand_in else ("1/100", 128)
    size = ["--batch", 20, "--hidden", 16, "--fanout", "5,5,5", "--max-batches", 4] if check.stand_in else ["--batch", 100]
    check.epoch_data = os.path.join(check.dataset(scale, dim), "papers100m-" + scale.replace("/", "_"), f"features-d{dim}")
    status, out, err = check.oocgnn("run", "--system", "gnndrive", "--dataset", "papers100m", "--scale", scale, "--data",
                                    check.dataset(scale, dim), "--preset", "gnndrive", "--id-bytes", 4, "--compute", "cuda", "--epochs",
                                    5, "--evaluate", "never", "--memory", "0", "--no-cold", "--io", gpu_tests.io_engine(check),
                                    "--set", f"gnndrive.transfer={transfer}", "--db", os.path.join(check.work, "epoch.db"),
                                    "--json", "--quiet", *size)
    run = json.loads(out) if out.strip() else None
    if status != 0 or run is None or run["status"] != "ok":
        check.says(f"GNNDrive's epoch, {transfer}", "failed", f"ended with {status}: {gpu_tests.last_lines(err)}")
        return None
    return run


def io_floor_s(check, counters):
    """What storage needs for as many reads of the mean size, by this program's own reader; None where it cannot tell."""
    size = counters["requested_bytes"] / max(1, counters["requested_ios"])
    size = max(512, 512 * round(size / 512))
    status, out, err = check.run([check.place.program("gpu/bench_gpu"), "reads", check.epoch_data, size, 4,
                                  0.3 if check.stand_in else 5, gpu_tests.io_engine(check)])
    if status != 0:
        check.leave_out("epoch: I/O floor", gpu_tests.last_lines(err))
        return None
    rate = json.loads(out)["reads_per_s"]
    check.figure("storage: random reads", rate, "1/s", note=f"direct, {size} bytes, 4 threads, 64 deep each")
    return counters["requested_ios"] / rate


def median_of(epochs, pick):
    values = [pick(epoch) for epoch in epochs if pick(epoch) is not None]
    return statistics.median(values) if values else None


def epoch(check):
    """By a copy for each row, as the paper does it, and by a kernel that gathers; the goal is for either."""
    for transfer in ("copies", "gather"):
        run = epoch_run(check, transfer)
        if run is not None:
            epoch_figures(check, run, f"GNNDrive's epoch, {transfer}")


def epoch_figures(check, run, name):
    later = [e for e in run["epochs"] if e["epoch"] > 0]  # the first is cold
    walls = [e["wall_ns"] / 1e9 for e in later]
    wall = statistics.median(walls)
    counters = {key: median_of(later, lambda e, k=key: e["counters"][k]) for key in ("requested_bytes", "requested_ios")}
    storage_s = io_floor_s(check, counters)
    busy_ns = median_of(later, lambda e: e["figures"].get("gpu_busy_ns"))
    if busy_ns is None:
        check.leave_out("epoch: compute floor", "the back-end does not tell how long the device was busy")
    floors = {"I/O": storage_s, "compute": busy_ns / 1e9 if busy_ns is not None else None}
    known = {name: floor for name, floor in floors.items() if floor is not None}
    for what, floor in known.items():
        check.figure(f"{name}: {what} floor", floor, "s")
    larger = max(known.values(), default=0)
    ratio = wall / larger if larger > 0 else None
    met = None if check.stand_in or ratio is None or len(known) < 2 else ratio <= EPOCH_TARGET
    check.figure(name, wall, "s", low=min(walls), high=max(walls), ratio=ratio, of="the larger floor",
                 target=EPOCH_TARGET, met=met, note=f"{run['counters']['batches'] // len(run['epochs'])} mini-batches")
    if busy_ns is not None:
        check.figure(f"{name}: share in which the GPU is busy", 100 * busy_ns / 1e9 / wall, "%")
    copy_ns, copied = (median_of(later, lambda e, k=key: e["figures"].get(k)) for key in ("gpu_copy_ns", "gpu_uploaded_bytes"))
    if copy_ns and copied:
        check.figure(f"{name}: copies to the GPU, in a second of the device's time for them", copied / copy_ns, "GB/s",
                     note="summed over the extractors' lanes, which share the bus")
    check.says(name, "passed")
