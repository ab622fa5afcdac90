# SPDX-License-Identifier: MIT
"""The JSON report of scripts/gpu_check.sh: made, checked, and shown as a table. results/gpu/README.md says what stands in it."""
import json
import math
import os

SCHEMA = 1
PART_VERDICTS = ("passed", "failed", "left out", "timed out", "cut short", "not reached")
CHECK_VERDICTS = ("passed", "failed", "left out")
VERDICTS = ("passed", "failed", "incomplete", "skipped", "stand-in")

# Of every object: key -> types; None among them: the value may be unknown. A key that ends in "?" may be absent.
REPORT = {"schema": (int,), "date": (str,), "finished": (bool,), "verdict": (str,), "command": (str,), "revision": (str,),
          "source": (str,), "seconds": (int, float), "limit_s": (int, float), "gpu": (dict,), "host": (dict,),
          "parts": (list,), "left_out": (list,), "why?": (str,)}
GPU = {"present": (bool,), "stand_in": (bool,), "name": (str, None), "driver": (str, None), "cuda": (str, None),
       "memory_bytes": (int, None)}
HOST = {"kernel": (str,), "cpu": (str, None), "cores": (int,), "memory_bytes": (int, None)}
PART = {"name": (str,), "verdict": (str,), "seconds": (int, float), "limit_s": (int, float), "checks": (list,),
        "figures": (list,), "why?": (str,)}
CHECK = {"name": (str,), "verdict": (str,), "detail?": (str,)}
FIGURE = {"name": (str,), "value": (int, float, None), "unit": (str,), "low?": (int, float), "high?": (int, float),
          "ratio?": (int, float, None), "of?": (str,), "target?": (int, float), "met?": (bool, None), "note?": (str,)}
LEFT_OUT = {"what": (str,), "why": (str,)}


def fits(value, kinds):
    if value is None:
        return None in kinds
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, tuple(kind for kind in kinds if kind is not None))


def faults_of(value, shape, place):
    """What is wrong with one object, as sentences."""
    if not isinstance(value, dict):
        return [f"{place} is no object"]
    known = {key.rstrip("?") for key in shape}
    wrong = [f"{place} has the unknown key {key}" for key in value if key not in known]
    for key, kinds in shape.items():
        name = key.rstrip("?")
        if name not in value:
            wrong += [] if key.endswith("?") else [f"{place} lacks {name}"]
        elif not fits(value[name], kinds):
            wrong.append(f"{place}: {name} is {value[name]!r}")
    return wrong


def choice_faults(value, key, choices, place):
    said = value.get(key) if isinstance(value, dict) else None
    return [] if said in choices else [f"{place}: {key} is {said!r}, expected one of {', '.join(choices)}"]


def part_faults(part, place):
    wrong = faults_of(part, PART, place) + choice_faults(part, "verdict", PART_VERDICTS, place)
    if wrong:
        return wrong
    for i, check in enumerate(part["checks"]):
        wrong += faults_of(check, CHECK, f"{place}, check {i}")
        wrong += choice_faults(check, "verdict", CHECK_VERDICTS, f"{place}, check {i}")
    for i, figure in enumerate(part["figures"]):
        wrong += faults_of(figure, FIGURE, f"{place}, figure {i}")
    if not wrong and part["verdict"] == "passed" and any(c["verdict"] == "failed" for c in part["checks"]):
        wrong.append(f"{place} passed with a failed check")
    return wrong


def report_faults(report):
    """What keeps a report from being one, as sentences; empty: it is valid."""
    wrong = faults_of(report, REPORT, "the report")
    if wrong:
        return wrong
    wrong += choice_faults(report, "verdict", VERDICTS, "the report")
    wrong += faults_of(report["gpu"], GPU, "gpu") + faults_of(report["host"], HOST, "host")
    for i, part in enumerate(report["parts"]):
        wrong += part_faults(part, f"part {i}")
    for i, item in enumerate(report["left_out"]):
        wrong += faults_of(item, LEFT_OUT, f"left_out {i}")
    if wrong:
        return wrong
    if report["schema"] != SCHEMA:
        wrong.append(f"schema {report['schema']}, expected {SCHEMA}")
    if report["verdict"] != verdict_of(report):
        wrong.append(f"the verdict is {report['verdict']}, the parts say {verdict_of(report)}")
    return wrong


def verdict_of(report):
    """What the parts add up to. No run without a GPU is ever called passed."""
    said = [part["verdict"] for part in report["parts"]]
    if any(verdict in ("failed", "timed out") for verdict in said):
        return "failed"
    if not report["gpu"]["present"] and not report["gpu"]["stand_in"]:
        return "skipped"
    if not report["finished"] or "not reached" in said or "cut short" in said:
        return "incomplete"
    if report["gpu"]["stand_in"]:
        return "stand-in"
    return "passed" if "passed" in said else "incomplete"


def part_verdict(checks, late):
    """late: None, "timed out" (its own limit) or "cut short" (the whole check's)."""
    said = [check["verdict"] for check in checks]
    if "failed" in said:
        return "failed"
    if late:
        return late
    return "passed" if "passed" in said else "left out"


def write(report, path):
    """By rename: whoever reads finds the last whole report, also after a kill."""
    report["verdict"] = verdict_of(report)
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(report, out, indent=1)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    os.replace(path + ".new", path)


def number(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def figure_line(figure):
    line = f"  {figure['name']:<44} {number(figure['value']):>10} {figure['unit']}"
    if "low" in figure:
        line += f" ({number(figure['low'])} to {number(figure['high'])})"
    if figure.get("ratio") is not None:
        line += f"; {figure['ratio']:.2f} x {figure.get('of', '')}"
    if "target" in figure:
        met = {True: "met", False: "MISSED", None: "not known"}[figure.get("met")]
        line += f" (wanted {figure['target']:g}: {met})"
    return line + (f"  [{figure['note']}]" if "note" in figure else "")


def table(report):
    gpu = report["gpu"]
    name = "a stand-in, no GPU" if gpu["stand_in"] else gpu["name"] or "no GPU"
    lines = [f"{report['date']}  {name}, driver {gpu['driver'] or '-'}, CUDA {gpu['cuda'] or '-'}, "
             f"revision {report['revision']}"]
    for part in report["parts"]:
        lines.append(f"{part['name']:<10} {part['verdict']:<12} {part['seconds']:6.1f} s of {part['limit_s']:.0f}"
                     + (f"  {part['why']}" if "why" in part else ""))
        lines += [f"  FAILED {check['name']}: {check.get('detail', '')}" for check in part["checks"]
                  if check["verdict"] == "failed"]
        lines += [figure_line(figure) for figure in part["figures"]]
    lines += [f"left out: {item['what']}: {item['why']}" for item in report["left_out"]]
    return "\n".join(lines)
