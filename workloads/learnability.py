#!/usr/bin/env python3
"""How learnable a prepared dataset is without a graph network: the table of harness/dataset/README.md.

    /usr/bin/python3 workloads/learnability.py data/papers100m-1_100     (packages python3-numpy, python3-torch)

Test accuracy of logistic regression on a node's own row, and on that row beside sampled means over one and two hops
(10 in-neighbours a hop). Not part of the build or of any test.
"""
import sys

import numpy as np
import torch

FANOUT, EPOCHS, BATCH = 10, 15, 500


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
    total = np.zeros((count, rows.shape[1]), np.float32)
    np.add.at(total, owners, rows)
    return total / np.maximum(np.bincount(owners, minlength=count), 1)[:, None]


def fit(features, labels, train_count, test_count, classes):
    x = torch.tensor(features.astype(np.float32))
    x = (x - x[:train_count].mean(0)) / x[:train_count].std(0)
    y = torch.tensor(labels)
    net = torch.nn.Linear(x.shape[1], classes)
    optimiser = torch.optim.Adam(net.parameters(), 3e-3, weight_decay=1e-3)
    for _ in range(EPOCHS):
        for part in torch.randperm(train_count).split(BATCH):
            loss = torch.nn.functional.cross_entropy(net(x[part]), y[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        hits = net(x[-test_count:]).argmax(1) == y[-test_count:]
    return hits.float().mean().item()


def main(folder):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    meta = read_meta(folder)
    nodes, classes, dim = int(meta["nodes"]), int(meta["classes"]), int(meta["dims"].split()[0])
    indptr = np.fromfile(folder + "/indptr", np.uint64).astype(np.int64)
    indices = np.memmap(folder + "/indices", np.uint32, "r")
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

    args = (labels[seeds], len(train), len(test), classes)
    print(f"majority class           {np.bincount(labels[test]).max() / len(test):6.1%}")
    print(f"own row                  {fit(own, *args):6.1%}")
    print(f"own row, one and two hops {fit(np.hstack([own, near, far]), *args):5.1%}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: learnability.py DATASET_DIRECTORY")
    main(sys.argv[1])
