#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden vectors for link prediction: decoders, loss, gradients, sparse Adagrad and SparseAdam, by PyTorch in float64.

Nothing here follows the C code: an edge and a candidate are scored one at a time by the papers' formulas (ComplEx with
torch's complex numbers), the loss of an edge is torch's cross entropy, gradients come from autograd, and the optimisers
are torch.optim's. Node vectors are a torch.nn.Embedding(sparse=True), so that its gradient holds the rows that a step
looked up, once for each time: torch brings together what repeats, and leaves alone the moments of all other rows.
Relations are plain parameters, updated whole. Inputs are rounded to float32 first.

    python3 tests/golden/make_golden_link.py [DIRECTORY]        writes link_*.bin there (default: beside this script)

Every step has edges and negatives of its own: rows come, stay away and come again. A seed is taken where all that
happens, and where float32 can be told from a mistake: see well_conditioned.

torch.optim.SparseAdam adds eps to the root before its correction, torch.optim.Adam and the C code after it, so that a
step of the vectors differs by less than eps / (|g| sqrt(0.001)), 3e-7 / |g| of itself. It gets 1e-12 here.

Layout, little-endian (tests/golden/test_golden_link.c reads it):
  char magic[8] = "GNNLINK\\0"; u32 version, decoder, optimizer, dim, relations, nodes, edges, chunk_edges, negatives,
  steps; f64 lr; char generator[96];
  f32 vectors[nodes][dim]; f32 relations of (s, r)[relations][dim], of the inverse[relations][dim];
  per step: u32 source[edges], target[edges], relation[edges];
    per side (0: in the source's place, 1: in the target's): u32 negative[chunks * negatives], own[chunks * negatives];
    per side: f64 score[edges] of the edges, score[edges][negatives] of their chunk's negatives, masked ones too;
    f64 loss, then its gradient: vectors, (s, r), inverse;
  after the last: f64 vectors, (s, r), inverse; f64 moments of the vectors, one table after another.
"""
import os
import random
import struct
import sys

import torch
import torch.nn.functional as F

VERSION, STEPS, LR = 2, 5, 0.1
DISTMULT, COMPLEX, TRANSE = 0, 1, 2
ADAM, ADAGRAD = 0, 1
NONE = 0xFFFFFFFF
CASES = {
    "link_distmult": (DISTMULT, ADAGRAD),
    "link_complex": (COMPLEX, ADAGRAD),
    "link_transe": (TRANSE, ADAGRAD),
    "link_distmult_adam": (DISTMULT, ADAM),
    "link_complex_adam": (COMPLEX, ADAM),
    "link_transe_adam": (TRANSE, ADAM),
}
DIM, RELATIONS, NODES, EDGES, CHUNK, NEGATIVES = 6, 3, 24, 7, 3, 5
CHUNKS = -(-EDGES // CHUNK)


def float32(rng, rows):
    values = [[rng.uniform(-1, 1) for _ in range(DIM)] for _ in range(rows)]
    return torch.tensor(values, dtype=torch.float32).to(torch.float64)


def as_complex(row):
    return torch.complex(row[:DIM // 2], row[DIM // 2:])


def score(decoder, a, r, x):
    if decoder == DISTMULT:
        return (a * r * x).sum()
    if decoder == TRANSE:
        return -torch.linalg.vector_norm(a + r - x)
    return (as_complex(a) * as_complex(r) * as_complex(x).conj()).sum().real


def make_step(rng):
    """Edges, and their chunks' negatives: two uniform ones, then ends of the mini-batch's edges on that side, each with
    the edge of this chunk that it must not be compared with. Nobody meets the last node."""
    edges = [(rng.randrange(NODES - 1), rng.randrange(NODES - 1), rng.randrange(RELATIONS)) for _ in range(EDGES)]
    negative, own = ([], []), ([], [])
    for side in (0, 1):
        for j in range(CHUNKS * NEGATIVES):
            edge, chunk = rng.randrange(EDGES), j // NEGATIVES
            of_edge = j % NEGATIVES >= 2
            negative[side].append(edges[edge][side] if of_edge else rng.randrange(NODES - 1))
            own[side].append(edge % CHUNK if of_edge and edge // CHUNK == chunk else NONE)
    return dict(edges=edges, negative=negative, own=own)


def forward(decoder, step, vectors, relations):
    """The loss, and the scores by side: of the edges, of their negatives. (s, r) asks for targets with the first table
    of relations, (d, r) for sources with the second."""
    loss, positive, candidate = 0, ([], []), ([], [])
    for side in (0, 1):
        for i, edge in enumerate(step["edges"]):
            first = i // CHUNK * NEGATIVES
            rows = [edge[1 - side], edge[side]] + step["negative"][side][first:first + NEGATIVES]
            looked_up = vectors(torch.tensor(rows))
            r = relations[1 - side][edge[2]]
            scores = torch.stack([score(decoder, looked_up[0], r, x) for x in looked_up[1:]])
            kept = [0] + [1 + j for j in range(NEGATIVES) if step["own"][side][first + j] != i % CHUNK]
            loss = loss + F.cross_entropy(scores[kept][None], torch.tensor([0]), reduction="sum")
            positive[side].append(scores[0].item())
            candidate[side].extend(scores[1:].tolist())
    return loss, positive, candidate


def make_optimizers(optimizer, vectors, relations):
    if optimizer == ADAGRAD:
        return [torch.optim.Adagrad(p, lr=LR, eps=1e-10) for p in (vectors.parameters(), relations)]
    return [torch.optim.SparseAdam(vectors.parameters(), lr=LR, eps=1e-12),
            torch.optim.Adam(relations, lr=LR, eps=1e-8)]


def moments(optimizer, vectors, of_vectors):
    """A row that no step looked up has none."""
    state = of_vectors.state[vectors.weight]
    names = ["sum"] if optimizer == ADAGRAD else ["exp_avg", "exp_avg_sq"]
    return [state[name].to_dense() for name in names]


def gradients(vectors, relations):
    return [vectors.weight.grad.to_dense().clone()] + [r.grad.clone() for r in relations]


def well_conditioned(grads):
    """The first step of both optimisers is lr in the gradient's direction, however short it is: an entry that float32
    rounding could push across zero says nothing about the code."""
    for g in grads:
        entries = g.abs()[g != 0]
        if entries.min() < 1e-3 * entries.max():
            return False
    return True


def rows_come_and_go(steps):
    """Whether some row is in steps 1 and 3 and not in 2, and every step has a node twice among the ends of its
    edges."""
    ends = [[n for e in s["edges"] for n in e[:2]] for s in steps]
    met = [set(e) | set(s["negative"][0]) | set(s["negative"][1]) for e, s in zip(ends, steps)]
    return bool(met[0] & met[2] - met[1]) and all(len(set(e)) < len(e) for e in ends)


def write(f, kind, *values):
    """Numbers, in tensors, lists of any depth, or alone."""
    for value in values:
        flat = torch.as_tensor(value, dtype=torch.float64).flatten().tolist()
        f.write(struct.pack(f"<{len(flat)}{kind}", *(int(x) if kind == "I" else x for x in flat)))


def write_case(path, decoder, optimizer, seed):
    rng = random.Random(seed)
    steps = [make_step(rng) for _ in range(STEPS)]
    start = [float32(rng, rows) for rows in (NODES, RELATIONS, RELATIONS)]
    vectors = torch.nn.Embedding.from_pretrained(start[0].clone(), freeze=False, sparse=True)
    relations = [torch.nn.Parameter(s.clone()) for s in start[1:]]
    optimizers = make_optimizers(optimizer, vectors, relations)
    if not rows_come_and_go(steps):
        return False
    results = []
    for step in steps:
        for o in optimizers:
            o.zero_grad()
        loss, positive, candidate = forward(decoder, step, vectors, relations)
        loss.backward()
        grads = gradients(vectors, relations)
        if not well_conditioned(grads):
            return False
        results.append((positive, candidate, loss.item(), grads))
        for o in optimizers:
            o.step()
    generator = f"make_golden_link.py seed {seed}, torch {torch.__version__}, float64".encode()
    with open(path, "wb") as f:
        f.write(b"GNNLINK\0")
        write(f, "I", VERSION, decoder, optimizer, DIM, RELATIONS, NODES, EDGES, CHUNK, NEGATIVES, STEPS)
        write(f, "d", LR)
        f.write(struct.pack("<96s", generator))
        write(f, "f", *start)
        for step, (positive, candidate, loss, grads) in zip(steps, results):
            write(f, "I", *([e[column] for e in step["edges"]] for column in range(3)))
            for side in (0, 1):
                write(f, "I", step["negative"][side], step["own"][side])
            for side in (0, 1):
                write(f, "d", positive[side], candidate[side])
            write(f, "d", loss, *grads)
        write(f, "d", vectors.weight.detach(), *(r.detach() for r in relations))
        write(f, "d", *moments(optimizer, vectors, optimizers[0]))
    return True


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for number, (name, (decoder, optimizer)) in enumerate(CASES.items()):
        path, seed = os.path.join(directory, name + ".bin"), 900 + number
        while not write_case(path, decoder, optimizer, seed):
            seed += 100
        print(f"{path}: seed {seed}")


if __name__ == "__main__":
    main()
