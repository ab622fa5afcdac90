#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden values of the negatives of link prediction (--negative-set), by NumPy in float64: loss and gradients.

The loss of an edge is written down from the definition, one candidate at a time: minus the logarithm of the softmax of
its own score. Gradients are central differences of that loss. A chunk has one sampled negative, the node POOL, so that
no random number of the C code is needed. The edges have an edge from a node to itself, and two edges of a chunk with
the same true end. The last chunk is short.

    python3 tests/golden/make_golden_link_sets.py [DIRECTORY]   writes link_sets.bin there (default: beside this script)

Layout, little-endian (tests/golden/test_golden_link_sets.c reads it):
  char magic[8] = "GNNSETS\\0"; u32 version, dim, relations, nodes, edges, chunks, pool, cases;
  u32 source[edges], relation[edges], target[edges];
  f32 vectors[nodes][dim], relations of (s, r)[relations][dim], of the inverse[relations][dim];
  per case: u32 decoder, set; f64 loss, then its gradient: vectors, (s, r), inverse.
"""
import os
import struct
import sys

import numpy as np

VERSION, DIM, RELATIONS, NODES, CHUNKS, POOL = 1, 6, 3, 12, 3, 10
SAMPLED, OWN, ALL = 0, 1, 2
DISTMULT, COMPLEX, TRANSE = 0, 1, 2
EDGES = [(0, 0, 1), (2, 1, 1), (3, 2, 3), (4, 0, 5), (1, 1, 0), (6, 0, 2), (7, 2, 5), (8, 1, 9)]
CHUNK = -(-len(EDGES) // CHUNKS)
assert len(EDGES) % CHUNK != 0


def score(decoder, start, relation, end):
    half = DIM // 2
    if decoder == COMPLEX:
        start, relation, end = (v[:half] + 1j * v[half:] for v in (start, relation, end))
        return np.real(np.sum(start * relation * np.conj(end)))
    if decoder == DISTMULT:
        return np.sum(start * relation * end)
    return -np.sqrt(np.sum((start + relation - end) ** 2))


def negatives(chosen, edge, side):
    """The nodes that an edge is compared with if its source (side 0) or its target (side 1) is replaced."""
    true_end = EDGES[edge][2 if side else 0]
    if chosen == ALL:
        return [node for node in range(NODES) if node != true_end]
    found = [POOL]
    if chosen == OWN:
        first = edge // CHUNK * CHUNK
        for other in range(first, min(first + CHUNK, len(EDGES))):
            query_end = EDGES[other][0 if side else 2]
            if not (other == edge and query_end == true_end):
                found.append(query_end)
    return found


def loss_of(decoder, chosen, parameters):
    vectors, forward, inverse = parameters
    total = 0.0
    for edge, (source, relation, target) in enumerate(EDGES):
        for side, start, true_end, table in ((1, source, target, forward), (0, target, source, inverse)):
            scores = [score(decoder, vectors[start], table[relation], vectors[node])
                      for node in [true_end] + negatives(chosen, edge, side)]
            total -= scores[0] - np.log(np.sum(np.exp(scores)))
    return total


def gradient(decoder, chosen, parameters, step=1e-6):
    found = []
    for table in parameters:
        of_table = np.zeros_like(table)
        for place in np.ndindex(table.shape):
            value = table[place]
            table[place] = value + step
            above = loss_of(decoder, chosen, parameters)
            table[place] = value - step
            below = loss_of(decoder, chosen, parameters)
            table[place] = value
            of_table[place] = (above - below) / (2 * step)
        found.append(of_table)
    return found


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    rng = np.random.default_rng(4907)
    start = [rng.uniform(-1, 1, (rows, DIM)).astype(np.float32) for rows in (NODES, RELATIONS, RELATIONS)]
    cases = [(decoder, chosen) for decoder in (DISTMULT, COMPLEX, TRANSE) for chosen in (SAMPLED, OWN, ALL)]
    with open(os.path.join(directory, "link_sets.bin"), "wb") as f:
        f.write(b"GNNSETS\0" + struct.pack("<8I", VERSION, DIM, RELATIONS, NODES, len(EDGES), CHUNKS, POOL,
                                            len(cases)))
        for column in range(3):
            f.write(struct.pack(f"<{len(EDGES)}I", *(edge[column] for edge in EDGES)))
        for table in start:
            f.write(table.astype("<f4").tobytes())
        for decoder, chosen in cases:
            parameters = [table.astype(np.float64) for table in start]
            f.write(struct.pack("<2Id", decoder, chosen, loss_of(decoder, chosen, parameters)))
            for table in gradient(decoder, chosen, parameters):
                f.write(table.astype("<f8").tobytes())


if __name__ == "__main__":
    main()
