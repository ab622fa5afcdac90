# SPDX-License-Identifier: MIT
"""The parts of scripts/gpu_check.sh that give verdicts: ops, golden vectors, systems, faults, sanitizers."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

SYSTEMS = ("pygplus", "ginex", "gnndrive", "ringsampler", "agnes", "diskgnn", "mariusgnn")
# What each system's run adds: losses are compared in order, so batches are trained in order.
EXTRA = {"gnndrive": ["--set", "gnndrive.in_order=yes"]}
# Ways to the device that are no system's default, each trained once.
WAYS = (("pygplus", "transfer=ahead"), ("ginex", "transfer=ahead"), ("gnndrive", "transfer=gather"),
        ("diskgnn", "assembly=kernel"), ("diskgnn", "assembly=scatter"), ("mariusgnn", "transfer=blocking"))
TOLERANCE = 1e-4


def last_lines(text, count=12):
    return "\n".join(text.strip().splitlines()[-count:])


# ---- test programs ----

def cmocka(check, program, *words):
    """One check a test of a cmocka program; what it left out is listed."""
    status, out, err = check.run([check.place.program(program), *words])
    both = out + err
    verdicts = {"OK": "passed", "FAILED": "failed", "SKIPPED": "left out"}
    why = {}
    for line in both.splitlines():
        if line.startswith(("left out: ", "skip: ")):
            why["last"] = line.split(": ", 1)[1]
    seen = []
    for word, name in re.findall(r"^\[ +(OK|FAILED|SKIPPED) +\] (test_\w+)$", both, re.MULTILINE):
        if name not in seen:
            seen.append(name)
            detail = last_lines(both, 30) if word == "FAILED" else why.get("last", "") if word == "SKIPPED" else ""
            check.says(name, verdicts[word], detail)
    if status != 0 and not any(c["verdict"] == "failed" for c in check.part["checks"]):
        check.says(os.path.basename(program), "failed", f"ended with {status}: {last_lines(both)}")
    if not seen and status == 0:
        check.says(os.path.basename(program), "failed", "it ran no test: " + last_lines(both))


def ops(check):
    cmocka(check, "gpu/test_gpu_ops")


def golden(check):
    cmocka(check, "gpu/test_gpu_models")


# ---- systems ----

def train(check, system, compute, *more, trace=None, env=None):
    """One run of the program on the small dataset: (status, record or None, messages)."""
    words = ["run", "--system", system, "--dataset", "papers100m", "--scale", "1/4000", "--data",
             check.dataset("1/4000", 32), "--preset", "gnndrive", "--id-bytes", 4, "--compute", compute, "--batch", 20, "--fanout",
             "5,5,5", "--hidden", 16, "--heads", 2, "--epochs", 2, "--max-batches", 2 if check.stand_in else 8, "--evaluate", "never",
             "--memory", "256M", "--cap", "program", "--no-cold", "--io", io_engine(check), "--db",
             os.path.join(check.work, "runs.db"), "--json", "--quiet", *EXTRA.get(system, []), *more]
    if trace:
        words += ["--trace-loss", trace]
    status, out, err = check.oocgnn(*words, env=env)
    return status, json.loads(out) if out.strip() else None, err


def io_engine(check):
    """io_uring where the kernel has it: a container may not."""
    if not hasattr(check, "engine"):
        _, out, err = check.oocgnn("doctor", "--data", check.work)
        line = next((text for text in (out + err).splitlines() if "io_uring" in text), "")
        check.engine = "uring" if line.strip().startswith("ok") else "pool"
        if check.engine == "pool":
            check.leave_out("io_uring", "this kernel refuses it, so reads go through the thread pool: " + line.strip())
    return check.engine


def losses(path):
    with open(path, encoding="utf-8") as lines:
        return [(tuple(line.split()[:2]), line.split()[2]) for line in lines]


def compare(cpu, cuda, again):
    """"" where every step's loss is the CPU's within the tolerance and the second run's to the bit."""
    if not cpu or [step for step, _ in cpu] != [step for step, _ in cuda]:
        return f"{len(cpu)} steps on the CPU, {len(cuda)} on the device, or in another order"
    if cuda != again:
        at = next((i for i, pair in enumerate(zip(cuda, again)) if pair[0] != pair[1]), min(len(cuda), len(again)))
        return f"a second run has another loss at step {at}"
    for (step, want), (_, got) in zip(cpu, cuda):
        want, got = float.fromhex(want), float.fromhex(got)
        if not abs(got - want) <= TOLERANCE * abs(want):
            return f"epoch {step[0]}, batch {step[1]}: {got:.9g}, on the CPU {want:.9g}"
    return ""


def device_times(record):
    """Empty if every epoch on a device tells how long it was busy, and copied how much; and none of the host's does."""
    wanted = ("gpu_busy_ns", "gpu_copy_ns", "gpu_uploaded_bytes")
    for epoch in record["epochs"]:
        figures = epoch["figures"]
        if record["compute"].startswith("cuda"):
            missing = [name for name in wanted if not figures.get(name)]
            if missing:
                return f"epoch {epoch['epoch']} has no {', '.join(missing)}"
        elif any(name in figures for name in wanted):
            return f"epoch {epoch['epoch']} has figures of a device, and the host computed"
    return ""


def traced(check, name, run):
    """One run, which must be sound: (its losses and its digest, "") or (None, what is wrong). run(trace) makes it."""
    trace = os.path.join(check.work, name)
    status, record, err = run(trace)
    if status != 0 or record is None or record["status"] != "ok":
        return None, f"ended with {status}: {last_lines(err)}"
    if not record["counters"]["batches"]:
        return None, "no mini-batch was trained"
    untimed = device_times(record)
    if untimed:
        return None, untimed
    return (losses(trace), record["counters"]["batch_digest"]), ""


def three_runs(check, name, run):
    """On the CPU, on the device, there again; run(compute, trace) makes one. What the CPU had is kept for other ways."""
    seen = []
    for label, compute in (("cpu", "cpu"), ("cuda", "cuda"), ("again", "cuda")):
        done, wrong = traced(check, f"{name}-{label}", lambda trace, c=compute: run(c, trace))
        if done is None:
            return f"--compute {compute} {wrong}"
        seen.append(done)
    check.on_cpu[name] = seen[0]
    if len({digest for _, digest in seen}) != 1:
        return "other mini-batches: " + ", ".join(sorted(str(digest) for _, digest in seen))
    return compare(*(trace for trace, _ in seen))


def one_system(check, system, model):
    return three_runs(check, f"{system}-{model}",
                      lambda compute, trace: train(check, system, compute, "--model", model, trace=trace))


def one_way(check, system, way):
    """One run on the device against what the system's default way had on the CPU."""
    cpu = check.on_cpu.get(f"{system}-sage")
    if cpu is None:
        return "the default way did not train"
    done, wrong = traced(check, f"{system}-{way}",
                         lambda trace: train(check, system, "cuda", "--set", f"{system}.{way}", trace=trace))
    if done is None:
        return wrong
    return compare(cpu[0], done[0], done[0]) if done[1] == cpu[1] else "other mini-batches"


def train_links(check, decoder, compute, trace):
    folder = os.path.join(check.work, "links")
    graph = ["freebase86m", "--scale", "1/50000", "--dim", 24, "--data", folder]
    if not os.path.isdir(folder):
        status, _, err = check.oocgnn("prepare", *graph, "--quiet")
        if status != 0:
            return status, None, err
    status, out, err = check.oocgnn("run", "--system", "pygplus", "--task", "link", "--dataset", *graph, "--decoder", decoder,
                                    "--compute", compute, "--batch", 200, "--negatives", 60, "--chunks", 4, "--epochs", 1,
                                    "--max-batches", 2 if check.stand_in else 8, "--evaluate", "never", "--no-cold", "--db",
                                    os.path.join(check.work, "runs.db"), "--json", "--quiet", "--trace-loss", trace)
    return status, json.loads(out) if out.strip() else None, err


def workers(check):
    """Two workers with a GPU each, where there are two and NCCL."""
    name = "gnndrive, two workers with a GPU each: losses, digest, second run"

    def run(compute, trace):
        return train(check, "gnndrive", compute, "--workers", 2, trace=trace)

    status, _, err = run("cuda", os.path.join(check.work, "two-workers"))
    if status == 4:
        check.says(name, "left out", last_lines(err, 1))
        return
    detail = three_runs(check, "two-workers", run)
    check.expects(name, detail == "", detail)


def systems(check):
    check.on_cpu = {}
    for system in SYSTEMS:
        detail = one_system(check, system, "sage")
        check.expects(f"{system}, sage: losses, digest, second run", detail == "", detail)
    for model in ("gcn", "gat"):
        detail = one_system(check, "gnndrive", model)
        check.expects(f"gnndrive, {model}: losses, digest, second run", detail == "", detail)
    for system, way in WAYS:
        detail = one_way(check, system, way)
        check.expects(f"{system}, {way}: losses, digest", detail == "", detail)
    for decoder in ("transe",) if check.stand_in else ("distmult", "complex", "transe"):
        detail = three_runs(check, f"links-{decoder}", lambda c, trace, d=decoder: train_links(check, d, c, trace))
        check.expects(f"pygplus, links, {decoder}: losses, digest, second run", detail == "", detail)
    workers(check)


# ---- faults ----

def says_remedy(check, name, words, result):
    status, _, err = result
    held = status == 4 and all(word in err for word in words)
    check.expects(name, held, f"status {status} (wanted 4), and it said: {last_lines(err)}")


def full_device(check):
    """The rest of the device is taken by another process; the model wants more than is left."""
    name = "a full device is recorded as gpu_oom"
    hog, env, more = None, {}, ["--hidden", 4096, "--fanout", "3,3,3,3,3"]  # 1.6 GB of parameters and their moments
    if check.stand_in:
        env, more = {"OOCGNN_STAND_IN_BYTES": str(1 << 20)}, ["--hidden", 64]
    else:
        hog = check.start([check.place.program("gpu/bench_gpu"), "hog", 3 << 29], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = hog.stdout.readline()
        if not said.startswith("taken"):
            check.stop(hog)
            check.says(name, "failed", f"bench_gpu hog: {said}")
            return
    try:
        status, run, err = train(check, "pygplus", "cuda", *more, env=env)
    finally:
        if hog is not None:
            check.stop(hog)
    check.expects(name, run is not None and run["status"] == "gpu_oom",
                  f"status {status}, {run['status'] if run else 'no record'}: {last_lines(err)}")


def interrupted(check):
    """SIGINT in the middle of a long run: it ends soon, and says so."""
    words = ["run", "--system", "gnndrive", "--dataset", "papers100m", "--scale", "1/4000", "--data",
             check.dataset("1/4000", 32), "--compute", "cuda", "--batch", 20, "--fanout", "5,5,5", "--hidden", 16,
             "--epochs", 100000, "--evaluate", "never", "--no-cold", "--io", io_engine(check), "--db",
             os.path.join(check.work, "runs.db"), "--json", "--quiet"]
    child = check.child = check.start([check.place.oocgnn, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
    time.sleep(min(1.0 if check.stand_in else 3.0, check.left_s() / 2))
    child.send_signal(signal.SIGINT)
    try:
        out, err = child.communicate(timeout=min(30.0, check.left_s()))
    except subprocess.TimeoutExpired:
        check.stop(child)
        check.says("an interrupted run ends", "failed", "it was still there 30 s after SIGINT")
        return
    run = json.loads(out) if out.strip() else None
    check.expects("an interrupted run ends and is recorded", run is not None and run["status"] == "interrupted",
                  f"status {child.returncode}, {run['status'] if run else 'no record'}: {last_lines(err)}")


def faults(check):
    says_remedy(check, "a missing plugin is refused with the remedy", ["liboocgnn-cuda.so", "--compute cpu"],
                train(check, "pygplus", "cuda", env={"OOCGNN_CUDA_PLUGIN": "/nonexistent/liboocgnn-cuda.so"}))
    says_remedy(check, "a device number out of range is refused", ["cuda:99", "there are devices 0 to"],
                train(check, "pygplus", "cuda:99"))
    full_device(check)
    status, run, err = train(check, "gnndrive", "cuda", "--fault", "die-at-batch=1")
    check.expects("a killed worker is recorded", status == 1 and run is not None and run["status"] == "failed",
                  f"status {status}: {last_lines(err)}")
    interrupted(check)
    status, run, err = train(check, "gnndrive", "cuda")
    check.expects("the device works after all of that", status == 0 and run is not None and run["status"] == "ok",
                  f"status {status}: {last_lines(err)}")


# ---- compute-sanitizer ----

REFUSALS = ("Device not supported", "not supported on this", "Unable to find", "Failed to initialize",
            "The application may have crashed before initializing")


def sanitizer(check):
    tool = shutil.which("compute-sanitizer") or next(
        (path for path in ("/usr/local/cuda/bin/compute-sanitizer",) if os.access(path, os.X_OK)), None)
    for kind in ("memcheck", "racecheck"):
        if tool is None:
            check.says(kind, "left out", "no compute-sanitizer here")
            continue
        status, out, err = check.run([tool, "--tool", kind, "--error-exitcode", 9,
                                      check.place.program("gpu/test_gpu_ops"), "table"])
        both = out + err
        refused = next((word for word in REFUSALS if word in both), None)
        if status != 0 and refused and "ERROR SUMMARY: 0" not in both and "hazard" not in both:
            check.says(kind, "left out", f"compute-sanitizer cannot work here: {refused}")
        else:
            check.expects(kind, status == 0 and "PASSED" in both, f"ended with {status}: {last_lines(both, 30)}")
