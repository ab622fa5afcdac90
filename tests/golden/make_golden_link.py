#!/usr/bin/env python3
"""Golden vectors for link prediction: decoder, loss, sparse Adagrad and SparseAdam, in plain Python and float64.

Nothing here follows the C code: scores are written edge by edge from the papers' formulas, relations of ComplEx are
Python's complex numbers, and gradients come from complex steps, f'(x) = Im f(x + ih) / h with h = 1e-30, which is exact
to rounding because every formula is analytic. So no derivative is written down anywhere. (PyTorch is not needed; where
it is at hand, `--torch` recomputes loss and gradients with autograd and compares.) Inputs are rounded to float32 first.

    python3 tests/golden/make_golden_link.py [--torch] [DIRECTORY]     writes link_*.bin there (default: beside it)

Layout, little-endian (tests/golden/test_golden_link.c reads it):
  char magic[8] = "GNNLINK\\0"; u32 version, decoder, optimizer, dim, relations, nodes, edges, chunk_edges, negatives,
  steps; f64 lr; u32 source[edges], target[edges], relation[edges];
  per side (0: in the source's place, 1: in the target's): u32 negative[chunks * negatives], own[chunks * negatives];
  f32 h[nodes][dim]; f32 relations of (s, r)[relations][dim], of the inverse[relations][dim];
  f64 loss[steps], each before its step; f64 gradient of h of the first step; f64 h, (s, r), inverse after the last.
"""
import cmath
import os
import random
import struct
import sys

DISTMULT, COMPLEX, TRANSE = 0, 1, 2
ADAM, ADAGRAD = 0, 1
NONE = 0xFFFFFFFF
VERSION, STEPS, LR = 1, 3, 0.1
CASES = {
    "link_distmult": (DISTMULT, ADAGRAD),
    "link_complex": (COMPLEX, ADAGRAD),
    "link_transe": (TRANSE, ADAGRAD),
    "link_distmult_adam": (DISTMULT, ADAM),
}
DIM, RELATIONS, NODES, EDGES, CHUNK, NEGATIVES = 6, 3, 9, 7, 3, 5


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def score(decoder, a, r, x):
    """The rows may hold complex numbers: a step of 1e-30 in the imaginary direction, no more."""
    if decoder == DISTMULT:
        return sum(u * v * w for u, v, w in zip(a, r, x))
    if decoder == TRANSE:
        return -cmath.sqrt(sum((u + v - w) ** 2 for u, v, w in zip(a, r, x)))
    half = len(a) // 2
    total = 0
    for c in range(half):  # Re(a r conj(x)), written with real and imaginary parts as numbers of their own
        real, imaginary = a[c] * r[c] - a[c + half] * r[c + half], a[c] * r[c + half] + a[c + half] * r[c]
        total += real * x[c] + imaginary * x[c + half]
    return total


def loss(case, h, relations):
    total = 0
    for side in (0, 1):
        for i, edge in enumerate(case["edges"]):
            asks, answers, r = edge[1 - side], edge[side], relations[1 - side][edge[2]]
            chunk = i // CHUNK
            scores = [score(case["decoder"], h[asks], r, h[answers])]
            for j in range(chunk * NEGATIVES, (chunk + 1) * NEGATIVES):
                if case["own"][side][j] != i % CHUNK:
                    scores.append(score(case["decoder"], h[asks], r, h[case["negative"][side][j]]))
            top = max(s.real for s in map(complex, scores))
            total += top + cmath.log(sum(cmath.exp(s - top) for s in scores)) - scores[0]
    return total


def gradient(case, h, relations, table):
    """d loss / d every entry of `table`, which is one of h and the relations."""
    out = []
    for row in table:
        for c in range(len(row)):
            kept = row[c]
            row[c] = complex(kept, 1e-30)
            out.append(loss(case, h, relations).imag / 1e-30)
            row[c] = kept
    return out


def step(optimizer, table, grad, state, number, touched):
    """Adagrad, or SparseAdam: rows that no edge touched keep their moments and values."""
    for i, row in enumerate(table):
        if optimizer == ADAM and i not in touched:
            continue
        for c in range(len(row)):
            g, k = grad[i * DIM + c], i * DIM + c
            if optimizer == ADAGRAD:
                state[0][k] += g * g
                row[c] -= LR * g / (state[0][k] ** 0.5 + 1e-10)
            else:
                state[0][k] = 0.9 * state[0][k] + 0.1 * g
                state[1][k] = 0.999 * state[1][k] + 0.001 * g * g
                m, v = state[0][k] / (1 - 0.9 ** number), state[1][k] / (1 - 0.999 ** number)
                row[c] -= LR * m / (v ** 0.5 + 1e-8)


def make_case(rng, decoder):
    edges = [(rng.randrange(NODES - 1), rng.randrange(NODES - 1), rng.randrange(RELATIONS)) for _ in range(EDGES)]
    chunks = -(-EDGES // CHUNK)
    negative, own = ([], []), ([], [])
    for side in (0, 1):
        for j in range(chunks * NEGATIVES):
            edge, chunk = rng.randrange(EDGES), j // NEGATIVES
            of_edge = j % NEGATIVES >= 2
            negative[side].append(edges[edge][side] if of_edge else rng.randrange(NODES - 1))
            own[side].append(edge % CHUNK if of_edge and edge // CHUNK == chunk else NONE)
    return dict(decoder=decoder, edges=edges, negative=negative, own=own)


def table(rng, rows):
    return [[float32(rng.uniform(-1, 1)) for _ in range(DIM)] for _ in range(rows)]


def compare_with_torch(case, h, relations, first_loss, first_grad):
    import torch


    t = [torch.tensor(row, dtype=torch.float64, requires_grad=True) for row in h]
    r = [[torch.tensor(row, dtype=torch.float64) for row in side] for side in relations]

    def one(a, rel, x):
        if case["decoder"] == DISTMULT:
            return (a * rel * x).sum()
        if case["decoder"] == TRANSE:
            return -torch.linalg.vector_norm(a + rel - x)
        half = DIM // 2
        return (torch.complex(a[:half], a[half:]) * torch.complex(rel[:half], rel[half:]) *
                torch.complex(x[:half], x[half:]).conj()).sum().real

    total = torch.zeros((), dtype=torch.float64)
    for side in (0, 1):
        for i, edge in enumerate(case["edges"]):
            rel, chunk = r[1 - side][edge[2]], i // CHUNK
            scores = [one(t[edge[1 - side]], rel, t[edge[side]])]
            for j in range(chunk * NEGATIVES, (chunk + 1) * NEGATIVES):
                if case["own"][side][j] != i % CHUNK:
                    scores.append(one(t[edge[1 - side]], rel, t[case["negative"][side][j]]))
            total = total + torch.logsumexp(torch.stack(scores), 0) - scores[0]
    total.backward()
    grad = [g for row in t for g in (row.grad if row.grad is not None else torch.zeros(DIM)).tolist()]
    assert abs(total.item() - first_loss) < 1e-10 * first_loss
    assert max(abs(a - b) for a, b in zip(grad, first_grad)) < 1e-10


def write_case(path, decoder, optimizer, seed, with_torch):
    rng = random.Random(seed)
    case = make_case(rng, decoder)
    h, relations = table(rng, NODES), (table(rng, RELATIONS), table(rng, RELATIONS))
    start = [[row[:] for row in t] for t in (h, *relations)]
    states = [([0.0] * (len(t) * DIM), [0.0] * (len(t) * DIM)) for t in (h, *relations)]
    touched = {n for e in case["edges"] for n in e[:2]} | {n for side in case["negative"] for n in side}
    everything = set(range(RELATIONS))
    losses, first = [], None
    for number in range(1, STEPS + 1):
        losses.append(loss(case, h, relations).real)
        grads = [gradient(case, h, relations, t) for t in (h, *relations)]
        if first is None:
            first = grads[0]
            if with_torch:
                compare_with_torch(case, h, relations, losses[0], first)
        for t, g, s, rows in zip((h, *relations), grads, states, (touched, everything, everything)):
            step(optimizer, t, g, s, number, rows)
    with open(path, "wb") as f:
        f.write(b"GNNLINK\0")
        f.write(struct.pack("<10Id", VERSION, decoder, optimizer, DIM, RELATIONS, NODES, EDGES, CHUNK, NEGATIVES, STEPS,
                            LR))
        for column in (0, 1, 2):
            f.write(struct.pack(f"<{EDGES}I", *(e[column] for e in case["edges"])))
        for side in (0, 1):
            f.write(struct.pack(f"<{len(case['negative'][side])}I", *case["negative"][side]))
            f.write(struct.pack(f"<{len(case['own'][side])}I", *case["own"][side]))
        for t in start:
            f.write(struct.pack(f"<{len(t) * DIM}f", *(x for row in t for x in row)))
        f.write(struct.pack(f"<{STEPS}d", *losses))
        f.write(struct.pack(f"<{len(first)}d", *first))
        for t in (h, *relations):
            f.write(struct.pack(f"<{len(t) * DIM}d", *(x for row in t for x in row)))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--torch"]
    directory = arguments[0] if arguments else os.path.dirname(os.path.abspath(__file__))
    for number, (name, (decoder, optimizer)) in enumerate(CASES.items()):
        path = os.path.join(directory, name + ".bin")
        write_case(path, decoder, optimizer, 900 + number, "--torch" in sys.argv)
        print(f"{path}: seed {900 + number}")


if __name__ == "__main__":
    main()
