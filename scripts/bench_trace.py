#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The requests of a measured run, replayed by fio, against the minimum time of its device (docs/floor.md): traces the
second epoch of a system, replays it as fast as the device allows, and prints fio's time / floor_device_ns.

usage: scripts/bench_trace.py DATASET-DIR FOLDER [SYSTEM [RUN-OPTION...]]
FOLDER is on the device of the dataset; the replay's files are removed from it. OOCGNN names the program. A run has
floor_device_ns where `oocgnn calibrate` has described the device."""

import json
import os
import shutil
import subprocess
import sys


def json_of(*command):
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text[text.index("{"):])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    dataset, folder, system, options = sys.argv[1], sys.argv[2], (sys.argv[3:] or ["presort"])[0], sys.argv[4:]
    program = os.environ.get("OOCGNN", "build/gcc/oocgnn")
    if shutil.which("fio") is None:
        sys.exit("no fio; install it: apt-get install fio")
    replay = os.path.join(folder, "replay")
    trace = os.path.join(folder, "trace")
    shutil.rmtree(replay, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    run = json_of(program, "run", "--system", system, "--dataset", dataset, "--epochs", "2", "--evaluate", "never", "--quiet",
                  "--json", "--db", os.path.join(folder, "trace.db"), "--trace-io", trace, *options)
    if run["status"] != "ok":
        sys.exit(f"{system}: {run['status']}: {run['reasons']}")
    requests = json_of(program, "trace", trace, "--epoch", "2", "--replay", replay, "--json")
    subprocess.run(["fio", "--output=/dev/null", f"{replay}/fill.fio"], check=True)
    job = json_of("fio", "--output-format=json", f"{replay}/replay.fio")["jobs"][0]
    shutil.rmtree(replay)
    issued = job["read"]["total_ios"] + job["write"]["total_ios"]
    traced = requests["reads"]["requests"] + requests["writes"]["requests"]
    if issued != traced:
        sys.exit(f"fio issued {issued} requests, the trace has {traced}")
    replayed_ns = 1e6 * job["job_runtime"]
    floor_ns = run["epochs"][1]["figures"].get("floor_device_ns")
    ratio = f"{replayed_ns / floor_ns:.2f} of floor_device_ns" if floor_ns else "no floor_device_ns; `oocgnn calibrate` first"
    print(f"{system}: {traced} requests, fio {replayed_ns / 1e6:.0f} ms: {ratio}")


if __name__ == "__main__":
    main()
