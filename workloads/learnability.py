#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How learnable a prepared dataset is without a graph network: the table of harness/dataset/README.md.

    /usr/bin/python3 workloads/learnability.py data/papers100m-1_100     (package python3-numpy)

Test accuracy of logistic regression on a node's own row, and on that row beside sampled means over one and two hops
(10 in-neighbours a hop), for all test nodes and for those that have a neighbour at all. Not part of the build or of any
test.
"""
import os
import sys

import numpy as np

FANOUT, EPOCHS, BATCH, RATE, DECAY = 10, 15, 500, 3e-3, 1e-3


def read_meta(folder):
    lines = (line.strip().split(" = ", 1) for line in open(folder + "/meta") if " = " in line)
    return dict(line for line in lines if not line[0].startswith("#"))


def sample(indptr, indices, nodes, rng):
    """Up to FANOUT in-neighbours of each node: (sources, position of the node each belongs to)."""
    sources, owners = [], []
    for position, node in enumerate(nodes):
        first, end = indptr[node], indptr[node + 1]
        degree = end - first
        places = np.arange(first, end) if degree <= FANOUT else first + rng.choice(degree, FANOUT, replace=False)
        sources.append(indices[places])
        owners.append(np.full(len(places), position))
    return np.concatenate(sources), np.concatenate(owners)


def means(rows, owners, count):
    """The mean of each owner's rows; owners ascend, and who has none gets zeros."""
    total = np.zeros((count, rows.shape[1]), np.float32)
    if len(rows):
        starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
        total[owners[starts]] = np.add.reduceat(rows, starts, axis=0)
    return total / np.maximum(np.bincount(owners, minlength=count), 1)[:, None].astype(np.float32)


def gradients(x, labels, weights, bias):
    """Of cross-entropy and a little weight decay."""
    logits = x @ weights + bias
    off = np.exp(logits - logits.max(1, keepdims=True))
    off /= off.sum(1, keepdims=True)
    off[np.arange(len(labels)), labels] -= 1
    off /= len(labels)
    return x.T @ off + DECAY * weights, off.sum(0)


def fit(features, labels, train_count, classes, rng):
    """Logistic regression by Adam on the first rows; which of the others it tells right."""
    x = (features - features[:train_count].mean(0)) / features[:train_count].std(0)
    values = [np.zeros((x.shape[1], classes), np.float32), np.zeros(classes, np.float32)]
    first, second = ([np.zeros_like(value) for value in values] for _ in range(2))
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(train_count)
        for at in range(0, train_count, BATCH):
            part = order[at:at + BATCH]
            step += 1
            for value, m, v, slope in zip(values, first, second, gradients(x[part], labels[part], *values)):
                m += 0.1 * (slope - m)
                v += 0.001 * (slope * slope - v)
                value -= RATE * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
    return (x[train_count:] @ values[0] + values[1]).argmax(1) == labels[train_count:]


def main(folder):
    rng = np.random.default_rng(0)
    meta = read_meta(folder)
    nodes, classes, dim = int(meta["nodes"]), int(meta["classes"]), int(meta["dims"].split()[0])
    indptr = np.fromfile(folder + "/indptr", np.uint64).astype(np.int64)
    name, width = ("indices", np.uint32) if os.path.exists(folder + "/indices") else ("indices-8", np.uint64)
    indices = np.memmap(f"{folder}/{name}", width, "r")
    rows = np.memmap(f"{folder}/features-d{dim}", np.float32, "r").reshape(nodes, dim)
    labels = np.fromfile(folder + "/labels", np.int32).astype(np.int64)
    train, test = (np.fromfile(f"{folder}/{name}", np.uint32).astype(np.int64) for name in ("train", "test"))
    seeds = np.concatenate([train, test])

    hop1, owner1 = sample(indptr, indices, seeds, rng)
    unique, place = np.unique(hop1, return_inverse=True)
    hop2, owner2 = sample(indptr, indices, unique, rng)
    own = np.array(rows[seeds])
    near = means(np.array(rows[unique])[place], owner1, len(seeds))
    far = means(means(np.array(rows[hop2]), owner2, len(unique))[place], owner1, len(seeds))

    listed = indptr[test + 1] > indptr[test]
    print(f"test nodes with a neighbour {listed.mean():6.1%}")
    print(f"majority class              {np.bincount(labels[test]).max() / len(test):6.1%}")
    for name, features in (("own row", own), ("own row, one and two hops", np.hstack([own, near, far]))):
        right = fit(features, labels[seeds], len(train), classes, rng)
        print(f"{name:27} {right.mean():6.1%}; of those with a neighbour {right[listed].mean():.1%}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: learnability.py DATASET_DIRECTORY")
    main(sys.argv[1])
