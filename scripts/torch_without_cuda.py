# SPDX-License-Identifier: MIT
"""Lets the PyTorch of an environment be imported without the CUDA libraries that its wheel asks for: gigabytes that no
training step on the processor calls.

    torch_without_cuda.py SITE_PACKAGES

In their place torch/lib gets one small library that has their functions' names and stops the program when one is called.
CUDA's runtime is the real one (a package of 1 MB): it is called when PyTorch is loaded, to register its kernels. What
PyTorch does on the processor, MKL and oneDNN included, lies in libtorch_cpu.so and stays what the wheel brought. Wants gcc
and binutils; does nothing where nothing is missing.
"""
import glob
import os
import re
import subprocess
import sys

CUDA = re.compile(r"^(cu|nccl|nv|__nv)")  # what names of CUDA's libraries, without "lib", and of their functions begin with


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def needed(library):
    return [found.group(1) for found in (re.search(r"NEEDED.*\[(.*)\]", line) for line in lines_of("readelf", "-d", library))
            if found]


def symbols(library, kind):
    """Names without their versions; kind is nm's option."""
    return {line.split()[-1].split("@")[0] for line in lines_of("nm", "-D", kind, library)}


def main():
    site = sys.argv[1]
    folder = os.path.join(site, "torch/lib")
    own = glob.glob(os.path.join(folder, "*.so*"))
    runtime = glob.glob(os.path.join(site, "nvidia/**/libcudart.so*"), recursive=True)
    missing = {name for library in own for name in needed(library)
               if CUDA.match(name.removeprefix("lib")) and not os.path.exists(os.path.join(folder, name))}
    for name in {os.path.basename(library) for library in runtime} & missing:
        real = next(library for library in runtime if os.path.basename(library) == name)
        os.symlink(os.path.relpath(real, folder), os.path.join(folder, name))
        missing.remove(name)
    if not missing:
        return
    asked = set().union(*(symbols(library, "--undefined-only") for library in own))
    there = set().union(*(symbols(library, "--defined-only") for library in own + runtime))
    names = sorted(name for name in asked - there if CUDA.match(name))
    source = "".join(f'void {name}(void) {{ stop("{name}"); }}\n' for name in names)
    stand_in = os.path.join(folder, "libwithoutcuda.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-x", "c", "-", "-o", stand_in], check=True, text=True,
                   input="#include <stdio.h>\n#include <stdlib.h>\nstatic void stop(const char *name)\n{\n"
                         '    (void)fprintf(stderr, "%s of CUDA was called, which is left out here\\n", name);\n'
                         "    abort();\n}\n" + source)
    for name in missing:
        os.symlink(os.path.basename(stand_in), os.path.join(folder, name))


if __name__ == "__main__":
    main()
