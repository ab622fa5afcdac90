#!/usr/bin/env python3
"""GNNDrive (ICPP 2024), Figures B1a to B1d, of this machine: fio reads 512 B at random, by read() from 1 to 64 threads (a:
bandwidth, c: latency) and by io_uring from one thread at depths 1 to 256 (b, d), through the page cache and past it.

The paper's file of 30 GB is taken at --scale; a buffered point starts with the file's pages dropped. A file that fits into
memory is soon in the page cache: buffered points are the device's only as long as it is not, so give --scale 1/1 where there
is room. Where the device's sector is larger than 512 B, direct reads have its size. Draws DIR/gnndrive-figB1?.{csv,png,svg,pdf}
in the shape of the other figures and prints a table of each with what holds; --check reads the CSV files that are there.
"""
import argparse
import csv
import json
import mmap
import os
import subprocess
import sys

GIB = 1 << 30
THREADS, DEPTHS = [1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64, 128, 256]
PANELS = {"a": ("sync", "bandwidth"), "b": ("async", "bandwidth"), "c": ("sync", "latency"), "d": ("async", "latency")}
TITLES = {"a": "Synchronous random reads: bandwidth against threads", "b": "One thread with io_uring: bandwidth against depth",
          "c": "Synchronous random reads: latency against threads", "d": "One thread with io_uring: latency against depth"}
LABELS = {"sync": "threads", "async": "I/O depth", "bandwidth": "MB/s", "latency": "mean latency, us"}


def run_fio(a, mode, at, direct):
    size = a.sector if direct else 512
    line = ["fio", "--output-format=json", "--name=read", f"--filename={a.file}", "--rw=randread", f"--bs={size}", f"--direct={direct}",
            f"--size={a.bytes}", "--time_based", f"--runtime={a.seconds}", "--thread", "--group_reporting", "--norandommap",
            "--invalidate=1", "--randrepeat=1"]
    line += ["--ioengine=psync", f"--numjobs={at}"] if mode == "sync" else ["--ioengine=io_uring", f"--iodepth={at}"]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(line)}\n{ended.stdout[-500:]}{ended.stderr[-500:]}")
    read = json.loads(ended.stdout[ended.stdout.index("{"):])["jobs"][0]["read"]
    return {"bandwidth": read["bw_bytes"] / 1e6, "latency": read["clat_ns"]["mean"] / 1e3}


def make_file(a):
    """A file of the size, written and not merely allocated, so that reads reach the device."""
    if os.path.exists(a.file) and os.path.getsize(a.file) == a.bytes:
        return
    block = os.urandom(1 << 20)
    with open(a.file, "wb") as target:
        for done in range(0, a.bytes, len(block)):
            target.write(block[:a.bytes - done])
        os.fsync(target.fileno())


def direct_sector(path):
    """The least size of a direct read of the file: 512 or 4096."""
    aligned = 4096
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        room = memoryview(mmap.mmap(-1, aligned))
        try:
            os.preadv(fd, [room[:512]], 512)
            return 512
        except OSError:
            return aligned
    finally:
        os.close(fd)


def measure(a):
    points = {}
    for mode, values in (("sync", THREADS), ("async", DEPTHS)):
        for at in values:
            for name, direct in (("buffered", 0), ("direct", 1)):
                points[mode, at, name] = run_fio(a, mode, at, direct)
                print(f"{mode} {at} {name}: {points[mode, at, name]['bandwidth']:.1f} MB/s", file=sys.stderr)
    return points


def write_csv(a, points):
    for panel, (mode, what) in PANELS.items():
        with open(f"{a.out}/gnndrive-figB1{panel}.csv", "w", newline="", encoding="utf-8") as target:
            out = csv.writer(target)
            out.writerow([LABELS[mode], "buffered", "direct", "bytes of a direct read"])
            for at in THREADS if mode == "sync" else DEPTHS:
                out.writerow([at] + [f"{points[mode, at, name][what]:.6g}" for name in ("buffered", "direct")] + [a.sector])


def read_csv(a, panel):
    with open(f"{a.out}/gnndrive-figB1{panel}.csv", encoding="utf-8") as source:
        rows = list(csv.reader(source))[1:]
    return [(int(r[0]), float(r[1]), float(r[2])) for r in rows], int(rows[0][3])


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def draw(a, panel, rows, caption):
    mode, what = PANELS[panel]
    base = f"gnndrive-figB1{panel}"
    with open(f"{a.out}/{base}.dat", "w", encoding="utf-8") as data:
        for at, *values in rows:
            data.write(str(at) + "".join(f"\t{v:.9g}\t{v:.9g}\t{v:.9g}\tNaN\t " for v in values) + "\t.\n")
    tics = ", ".join(f'"{at}" {i}' for i, (at, *_) in enumerate(rows))
    top = 1.12 * max(max(r[1:]) for r in rows)
    with open("plots/figure_lines.gp", encoding="utf-8") as source:
        shape = source.read()
    with open(f"{a.out}/{base}.gp", "w", encoding="utf-8") as script:
        script.write(f"""data = "{base}.dat"
base = "{base}"
heading = {quoted(f'{base}: {TITLES[panel]}')}
caption = {quoted(caption)}
xlabel = {quoted(LABELS[mode])}
ylabel = {quoted(LABELS[what])}
logarithmic = 0
bottom = 0
top = {top}
set xtics nomirror scale 0 norotate ({tics})
series = 2
panels = 1
rows = {len(rows)}
array names[2] = ["buffered", "direct"]
array colours[2] = ["#0072B2", "#D55E00"]
array panel_names[1] = [""]
{shape}""")
    ended = subprocess.run(["gnuplot", f"{base}.gp"], cwd=a.out, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        print(f"{base}: {ended.stderr}", file=sys.stderr)


def holds(word, good, text):
    print(f"* {word}: **{'holds' if good else 'does not hold'}** ({text})")


def check(a):
    tables = {panel: read_csv(a, panel)[0] for panel in PANELS}
    for panel, rows in tables.items():
        mode, what = PANELS[panel]
        print(f"\n## gnndrive-figB1{panel}: {TITLES[panel]}\n\n| {LABELS[mode]} | buffered, {LABELS[what]} | direct |\n|---|---|---|")
        for at, buffered, direct in rows:
            print(f"| {at} | {buffered:.4g} | {direct:.4g} |")
    sync, deep = tables["a"], tables["b"]
    most = max(r[2] for r in sync)
    print()
    holds("bandwidth rises with threads", sync[-1][2] > 2 * sync[0][2], f"direct {sync[0][2]:.3g} to {sync[-1][2]:.3g} MB/s")
    holds("at the most threads direct is close to buffered", 0.8 < sync[-1][2] / sync[-1][1] < 1.25,
          f"{sync[-1][2] / sync[-1][1]:.2f} of it")
    holds("one thread with a deep queue reaches about what threads reach", 0.8 < max(r[2] for r in deep) / most,
          f"{max(r[2] for r in deep) / most:.2f} of it")
    gaps = [abs(1 - r[2] / r[1]) for r in deep]
    holds("the gap between buffered and direct shrinks with depth", gaps[-1] < gaps[0],
          f"{100 * gaps[0]:.1f} % to {100 * gaps[-1]:.1f} %; printed 41.8 and 5.6")
    for panel in "cd":
        rows = tables[panel]
        holds(f"latency grows ({LABELS[PANELS[panel][0]]})", rows[-1][2] > rows[0][2], f"direct {rows[0][2]:.3g} to {rows[-1][2]:.3g} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--file", default="fio.data", help="on the device that is to be measured; made where it is not there")
    parser.add_argument("--scale", default="1/100", metavar="1/K", help="of the paper's 30 GB")
    parser.add_argument("--seconds", type=int, default=3, help="of a point")
    parser.add_argument("--out", default="figures", help="directory of pictures and CSV files")
    parser.add_argument("--check", action="store_true", help="only what the CSV files there say")
    a = parser.parse_args()
    a.bytes = 30 * GIB // int(a.scale.split("/")[-1]) // 4096 * 4096
    if not a.check:
        os.makedirs(a.out, exist_ok=True)
        make_file(a)
        a.sector = direct_sector(a.file)
        write_csv(a, measure(a))
        for panel in PANELS:
            rows, sector = read_csv(a, panel)
            draw(a, panel, rows, f"measured world, this machine, fio on {a.bytes / 1e6:.0f} MB, {a.seconds} s a point, one run; direct reads of "
                                 f"{sector} B, buffered ones of 512 B from a file\\nthat was dropped from the page cache. The paper: 30 GB on a SATA SSD.")
    check(a)


if __name__ == "__main__":
    main()
