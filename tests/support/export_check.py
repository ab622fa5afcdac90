# SPDX-License-Identifier: MIT
"""Compares what `oocgnn export` wrote with NumPy's reading of the dataset.

  export_check.py arrays DATASET FOLDER     the arrays of a dataset
  export_check.py batches DATASET FOLDER    mini-batches: every edge is one of the graph, and the digest is that of batches.json

Exit status: 0, 1 if something differs, 77 without NumPy.
"""

import glob
import json
import os
import sys

try:
    import numpy as np
except ImportError:
    print("left out: no NumPy here")
    sys.exit(77)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NODE_NONE = 0xFFFFFFFF


def require(truth, what):
    if not truth:
        sys.exit(f"differs: {what}")


def mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def fold(key, word):
    return mix((key ^ mix(np.uint64(word) + GOLDEN)) + GOLDEN)


class Dataset:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "meta"), encoding="utf-8") as file:
            self.meta = dict(line.split(" = ") for line in file.read().splitlines())
        wide = self.meta.get("id_bytes") == "8"
        self.indptr = self.read("indptr", "<u8").astype(np.int64)
        self.indices = self.read("indices-8" if wide else "indices", "<u8" if wide else "<u4").astype(np.int64)
        self.labels = self.read("labels", "<i4")

    def read(self, name, dtype):
        return np.fromfile(os.path.join(self.folder, name), dtype)


def check_arrays(d, folder):
    def load(name):
        return np.load(os.path.join(folder, name), mmap_mode="r")
    nodes, dims = int(d.meta["nodes"]), d.meta["dims"].split()[0]
    half, dim = dims.startswith("f16:"), int(dims.split(":")[-1])
    targets = np.repeat(np.arange(nodes), np.diff(d.indptr))
    if os.path.exists(os.path.join(folder, "edge_index.npy")):
        require(np.array_equal(load("edge_index.npy"), np.stack([d.indices, targets])), "edge_index")
    else:
        require(np.array_equal(load("indptr.npy"), d.indptr), "indptr")
        require(np.array_equal(load("indices.npy"), d.indices), "indices")
    features = d.read(f"features-{'f16-' if half else ''}d{dim}", "<f2" if half else "<f4").reshape(nodes, dim)
    require(load("node_feat.npy").dtype == features.dtype, "type of the features")
    require(np.array_equal(load("node_feat.npy"), features), "features")
    require(np.array_equal(load("node_label.npy"), d.labels), "labels")
    for split in ("train", "valid", "test"):
        require(np.array_equal(load(f"{split}_idx.npy"), d.read(split, "<u4")), split)


def check_batch(d, fanout, epoch, number, a):
    """Returns the digest of a mini-batch after checking its blocks (harness/sample/digest.h)."""
    digest, nodes, layers = np.uint64(0), a["nodes"], len(fanout)
    require(np.array_equal(nodes[:len(a["seeds"])], a["seeds"]), "seeds come first")
    require(np.array_equal(d.labels[a["seeds"]], a["labels"]), "labels")
    require(len(np.unique(nodes)) == len(nodes), "nodes occur once")
    for layer in range(layers):
        indptr, indices = a[f"indptr_{layer}"], a[f"indices_{layer}"]
        targets = nodes[:len(indptr) - 1]
        degree = d.indptr[targets + 1] - d.indptr[targets]
        require(np.array_equal(np.diff(indptr), np.minimum(degree, fanout[layers - 1 - layer])), "size of the lists")
        key = fold(fold(fold(np.uint64(0), epoch), number), layer)
        for i, target in enumerate(targets):
            sources = nodes[indices[indptr[i]:indptr[i + 1]]]
            require(np.isin(sources, d.indices[d.indptr[target]:d.indptr[target + 1]]).all(), "edges of the graph")
            counted = sources if len(sources) > 0 else np.array([NODE_NONE])
            digest += mix(fold(key, target) + (counted.astype(np.uint64) + np.uint64(1)) * GOLDEN).sum(dtype=np.uint64)
    sizes = [len(a[f"indptr_{layer}"]) - 1 for layer in range(layers)]
    require(sizes == sorted(sizes, reverse=True) and sizes[-1] == len(a["seeds"]), "layers")
    require(all(a[f"indices_{layer}"].max(initial=-1) < ([len(nodes)] + sizes)[layer] for layer in range(layers)), "sources")
    return digest


def check_batches(d, folder):
    with open(os.path.join(folder, "batches.json"), encoding="utf-8") as file:
        about = json.load(file)
    paths = sorted(glob.glob(os.path.join(folder, "batch-*.npz")))
    require(len(paths) == about["batches"] > 0, "number of mini-batches")
    digest = np.uint64(0)
    for number, path in enumerate(paths):
        with np.load(path) as arrays:
            digest += check_batch(d, about["fanout"], about["epoch"], number, dict(arrays))
    require(f"{int(digest):016x}" == about["batch_digest"], f"digest {int(digest):016x}")


def main():
    np.seterr(over="ignore")
    what, dataset, folder = sys.argv[1:4]
    {"arrays": check_arrays, "batches": check_batches}[what](Dataset(dataset), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
