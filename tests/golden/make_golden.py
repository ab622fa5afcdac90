#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden vectors for the models: harness/model written out in dense PyTorch, float64, gradients by autograd.

Nothing here follows the C code: a block is a dense 0/1 matrix, attention is a masked torch.softmax, the optimiser is
torch.optim.Adam. Inputs and initial values are rounded to float32 first, so both sides start from the same numbers.

    python3 tests/golden/make_golden.py [DIRECTORY]        writes *.bin there (default: beside this script)

Layout, little-endian (tests/golden/test_golden.c reads it):
  char magic[8] = "GNNGOLD\\0"; u32 version, kind, layers, in_dim, hidden, heads, classes, gcn_norm, gat_width_total,
  seeds, params, steps; f64 lr, weight_decay; char generator[96];
  per layer, outermost hop first: u32 dst, src, edges, row_start[dst + 1], col[edges];
  f32 x[nodes][in_dim]; i32 labels[seeds];
  per parameter: char name[32]; u32 rows, cols; f32 value[rows][cols];
  f64 log_prob[seeds][classes]; f64 loss[steps], each before its step;
  per parameter: f64 gradient of the first step, f64 value after the last step.
"""
import math
import os
import random
import struct
import sys

import torch
import torch.nn.functional as F

VERSION, STEPS, LR = 1, 3, 0.003
SAGE, GCN, GAT = 0, 1, 2

CASES = {
    "sage": dict(kind=SAGE),
    "sage_weight_decay": dict(kind=SAGE, weight_decay=0.05),
    "gcn": dict(kind=GCN),
    "gcn_standard": dict(kind=GCN, gcn_norm=1),
    "gat": dict(kind=GAT),
    "gat_total": dict(kind=GAT, gat_width_total=1),
}
DEFAULTS = dict(layers=3, in_dim=11, hidden=8, heads=2, classes=6, seeds=10, gcn_norm=0, gat_width_total=0,
                weight_decay=0.0)


def float32(values):
    return torch.tensor(values, dtype=torch.float32).to(torch.float64)


def uniform(rng, rows, cols, bound):
    return float32([[rng.uniform(-bound, bound) for _ in range(cols)] for _ in range(rows)])


def make_blocks(rng, c):
    """Innermost hop first; degrees 0 to 4, a target may sample itself."""
    blocks, dst = [], c["seeds"]
    for _ in range(c["layers"]):
        src = 2 * dst
        rows = [sorted(rng.sample(range(src), rng.randint(0, 4))) for _ in range(dst)]
        rows[0], rows[1] = [], sorted({1, 3, src - 1})  # an empty row and a sampled self are always there
        blocks.append((dst, src, rows))
        dst = src
    return blocks[::-1]


def adjacency(block):
    dst, src, rows = block
    a = torch.zeros(dst, src, dtype=torch.float64)
    for i, row in enumerate(rows):
        a[i, row] = 1
    return a


def make_params(rng, c):
    """name -> tensor, in the order of the C code; biases get values, so that their sign and place are checked."""
    params = {}
    total = c["gat_width_total"]
    channels_hidden = c["hidden"] // c["heads"] if total else c["hidden"]
    width = c["heads"] * channels_hidden if c["kind"] == GAT else c["hidden"]
    for k in range(c["layers"]):
        last = k == c["layers"] - 1
        n_in = c["in_dim"] if k == 0 else width
        n_out = c["classes"] if last else width
        channels = c["classes"] if last else channels_hidden
        shapes = {
            SAGE: dict(b=(1, n_out), w_l=(n_out, n_in), w_r=(n_out, n_in)),
            GCN: dict(b=(1, n_out), w=(n_out, n_in)),
            GAT: dict(skip_b=(1, n_out), b=(1, n_out), w=(c["heads"] * channels, n_in), a_src=(c["heads"], channels),
                      a_dst=(c["heads"], channels), skip_w=(n_out, n_in)),
        }[c["kind"]]
        for name, (rows, cols) in shapes.items():
            params[f"layer{k}.{name}"] = uniform(rng, rows, cols, 1 / math.sqrt(n_in) + 0.2)
    return params


def inverse_root(v):
    return torch.where(v > 0, v.clamp(min=1e-300) ** -0.5, torch.zeros_like(v))


def sage_layer(p, a, x, c, last):
    mean = (a @ x) / a.sum(1, keepdim=True).clamp(min=1)
    return mean @ p["w_l"].T + p["b"] + x[:a.shape[0]] @ p["w_r"].T


def gcn_layer(p, a, x, c, last):
    rows = inverse_root(a.sum(1, keepdim=True))
    columns = inverse_root(a.sum(0, keepdim=True) if c["gcn_norm"] else (rows * a).sum(0, keepdim=True))
    return (rows * a * columns) @ (x @ p["w"].T) + p["b"]


def gat_layer(p, a, x, c, last):
    dst, heads = a.shape[0], c["heads"]
    u = (x @ p["w"].T).view(x.shape[0], heads, -1)
    s, t = (u * p["a_src"]).sum(-1), (u[:dst] * p["a_dst"]).sum(-1)
    mask = a.clone()
    mask[torch.arange(dst), torch.arange(dst)] = 1
    e = F.leaky_relu(s[None, :, :] + t[:, None, :], 0.2)
    alpha = torch.softmax(e.masked_fill(mask[:, :, None] == 0, -math.inf), dim=1)
    o = torch.einsum("ijh,jhc->ihc", alpha, u)
    z = o.mean(1) if last else o.reshape(dst, -1)
    return z + p["b"] + x[:dst] @ p["skip_w"].T + p["skip_b"]


def forward(params, mats, x, c):
    layer = [sage_layer, gcn_layer, gat_layer][c["kind"]]
    activation = F.elu if c["kind"] == GAT else F.relu
    for k, a in enumerate(mats):
        own = {name.split(".")[1]: v for name, v in params.items() if name.startswith(f"layer{k}.")}
        last = k == c["layers"] - 1
        x = layer(own, a, x, c, last)
        x = x if last else activation(x)
    return F.log_softmax(x, dim=1)


def write_case(path, c, seed):
    rng = random.Random(seed)
    blocks = make_blocks(rng, c)
    x = uniform(rng, blocks[0][1], c["in_dim"], 1.0)
    labels = torch.tensor([rng.randrange(c["classes"]) for _ in range(c["seeds"])])
    params = make_params(rng, c)
    start = {name: v.clone() for name, v in params.items()}
    for v in params.values():
        v.requires_grad_(True)
    mats = [adjacency(b) for b in blocks]
    adam = torch.optim.Adam(params.values(), lr=LR, betas=(0.9, 0.999), eps=1e-8, weight_decay=c["weight_decay"])
    losses, grads, log_prob = [], None, None
    for _ in range(STEPS):
        adam.zero_grad()
        out = forward(params, mats, x, c)
        loss = F.nll_loss(out, labels)
        loss.backward()
        if log_prob is None:
            log_prob, grads = out.detach(), {name: v.grad.clone() for name, v in params.items()}
        losses.append(loss.item())
        adam.step()
    if not well_conditioned(grads):
        return False
    generator = f"make_golden.py seed {seed}, torch {torch.__version__}, float64".encode()
    with open(path, "wb") as f:
        f.write(b"GNNGOLD\0")
        f.write(struct.pack("<12I", VERSION, c["kind"], c["layers"], c["in_dim"], c["hidden"], c["heads"], c["classes"],
                            c["gcn_norm"], c["gat_width_total"], c["seeds"], len(params), STEPS))
        f.write(struct.pack("<2d96s", LR, c["weight_decay"], generator))
        for dst, src, rows in blocks:
            starts = [0]
            for row in rows:
                starts.append(starts[-1] + len(row))
            col = [j for row in rows for j in row]
            f.write(struct.pack(f"<{3 + len(starts) + len(col)}I", dst, src, len(col), *starts, *col))
        f.write(struct.pack(f"<{x.numel()}f", *x.flatten().tolist()))
        f.write(struct.pack(f"<{len(labels)}i", *labels.tolist()))
        for name, v in start.items():
            f.write(struct.pack(f"<32s2I{v.numel()}f", name.encode(), *v.shape, *v.flatten().tolist()))
        write_doubles(f, log_prob)
        f.write(struct.pack(f"<{STEPS}d", *losses))
        for name, v in params.items():
            write_doubles(f, grads[name])
            write_doubles(f, v.detach())
    return True


def write_doubles(f, tensor):
    f.write(struct.pack(f"<{tensor.numel()}d", *tensor.flatten().tolist()))


def well_conditioned(grads):
    """Adam divides by |g|: an entry that float32 rounding could push across zero says nothing about the code. Such
    entries exist: where every slot of a row is on one side of the leaky ReLU, the gradient of a_dst is exactly 0."""
    for g in grads.values():
        entries = g.abs()[g != 0]
        if len(entries) and entries.min() < 1e-5 * entries.max():
            return False
    return True


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for number, (name, case) in enumerate(CASES.items()):
        path, seed = os.path.join(directory, name + ".bin"), 100 + number
        while not write_case(path, {**DEFAULTS, **case}, seed):
            seed += 100
        print(f"{path}: seed {seed}")


if __name__ == "__main__":
    main()
