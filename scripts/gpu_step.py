# SPDX-License-Identifier: MIT
"""The training steps of tests/gpu/bench_step.c in PyTorch: the same blocks, labels, widths and optimiser.

    gpu_step.py sage|gat whole|small FOLDER [--device cpu] [--plain]

FOLDER holds what bench_gpu dumped. As there, rows lie on the device before the step. Blocks and labels are staged before
it, or go up within it (demand), here from pinned memory. The layers are PyTorch Geometric's, with --plain or where that is not installed a few lines
of PyTorch (index_add for means and sums, scatter_reduce for the softmax). Prints one JSON line that says which, then for
every line "N staged|demand" on standard input trains N steps and prints their times.
"""
import argparse
import array
import glob
import json
import os
import sys
import time

import torch
import torch.nn.functional as F

try:
    import torch_geometric
    from torch_geometric.nn import GATConv, SAGEConv
except ImportError:
    torch_geometric = None

LAYERS, HEADS = 3, 4
SIZES = {"whole": dict(seeds=1000, dim=128, hidden=256, classes=172),
         "small": dict(seeds=2, dim=8, hidden=8, classes=3)}


def take(words, count):
    taken = words[:count]
    del words[:count]
    return taken


def read_batch(path, size, device):
    """Blocks outermost first, each an edge list (source, target) on the host; rows on the device."""
    words = array.array("i")
    with open(path, "rb") as file:
        words.frombytes(file.read())
    blocks, pin = [], device.type == "cuda"
    for _ in range(LAYERS):
        dst, src, edges = take(words, 3)
        start = torch.tensor(take(words, dst + 1), dtype=torch.long)
        col = torch.tensor(take(words, edges), dtype=torch.long)
        target = torch.repeat_interleave(torch.arange(dst), start[1:] - start[:-1])
        edge_list = torch.stack([col, target])
        blocks.append((edge_list.pin_memory() if pin else edge_list, src, dst))
    labels = torch.tensor(list(words), dtype=torch.long)
    assert len(labels) == size["seeds"]
    x = torch.empty(blocks[0][1], size["dim"], device=device).uniform_(-1, 1)
    return blocks, labels.pin_memory() if pin else labels, x


class PlainSage(torch.nn.Module):
    """Mean over the sampled neighbours, a product each for them and for the node itself."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.neighbours = torch.nn.Linear(n_in, n_out)
        self.own = torch.nn.Linear(n_in, n_out, bias=False)

    def forward(self, x, edges):
        own = x[1]
        total = torch.zeros(own.shape[0], x[0].shape[1], device=own.device).index_add(0, edges[1], x[0][edges[0]])
        degree = torch.bincount(edges[1], minlength=own.shape[0]).clamp(min=1)
        return self.neighbours(total / degree[:, None]) + self.own(own)


class PlainGat(torch.nn.Module):
    """Attention over the sampled neighbours and the node itself."""

    def __init__(self, n_in, channels, heads, concat=True):
        super().__init__()
        self.heads, self.channels, self.concat = heads, channels, concat
        self.linear = torch.nn.Linear(n_in, heads * channels, bias=False)
        self.source = torch.nn.Parameter(torch.randn(heads, channels) * 0.1)
        self.target = torch.nn.Parameter(torch.randn(heads, channels) * 0.1)
        self.bias = torch.nn.Parameter(torch.zeros(heads * channels if concat else channels))

    def forward(self, x, edges):
        dst = x[1].shape[0]
        u = self.linear(x[0]).view(-1, self.heads, self.channels)
        kept = edges[:, edges[0] != edges[1]]
        loops = torch.arange(dst, device=edges.device)
        source, target = torch.cat([kept[0], loops]), torch.cat([kept[1], loops])
        score = F.leaky_relu((u * self.source).sum(-1)[source] + (u[:dst] * self.target).sum(-1)[target], 0.2)
        index = target[:, None].expand(-1, self.heads)
        top = torch.zeros(dst, self.heads, device=u.device).scatter_reduce(0, index, score.detach(), "amax",
                                                                           include_self=False)
        weight = torch.exp(score - top[target])
        total = torch.zeros(dst, self.heads, device=u.device).index_add(0, target, weight)
        alpha = weight / total[target]
        out = torch.zeros(dst, self.heads, self.channels, device=u.device).index_add(0, target,
                                                                                     u[source] * alpha[:, :, None])
        return (out.flatten(1) if self.concat else out.mean(1)) + self.bias


class Net(torch.nn.Module):
    """Three layers; GAT's with a linear skip connection beside each, as in harness/model/gat.c."""

    def __init__(self, kind, size, plain):
        super().__init__()
        self.kind = kind
        self.layers, self.skips = torch.nn.ModuleList(), torch.nn.ModuleList()
        for k in range(LAYERS):
            last = k == LAYERS - 1
            n_in = size["dim"] if k == 0 else size["hidden"]
            n_out = size["classes"] if last else size["hidden"]
            if kind == "sage":
                self.layers.append(PlainSage(n_in, n_out) if plain else SAGEConv(n_in, n_out, aggr="mean"))
                continue
            channels = n_out if last else n_out // HEADS
            self.layers.append(PlainGat(n_in, channels, HEADS, concat=not last) if plain
                               else GATConv((n_in, n_in), channels, HEADS, concat=not last))
            self.skips.append(torch.nn.Linear(n_in, n_out))

    def forward(self, x, blocks):
        for k, (edges, _, dst) in enumerate(blocks):
            own = x[:dst]
            y = self.layers[k]((x, own), edges)
            if self.kind == "gat":
                y = y + self.skips[k](own)
            if k < LAYERS - 1:
                y = F.dropout(F.relu(y) if self.kind == "sage" else F.elu(y), 0.5, self.training)
            x = y
        return x


def lists_up(blocks, labels, device):
    return [(edges.to(device, non_blocking=True), src, dst) for edges, src, dst in blocks], labels.to(device, non_blocking=True)


def step_ns(net, optimiser, batch, device, staged):
    blocks, labels, x = batch
    if staged:
        blocks, labels = lists_up(blocks, labels, device)
        if device.type == "cuda":
            torch.cuda.synchronize()
    start = time.perf_counter_ns()
    if not staged:
        blocks, labels = lists_up(blocks, labels, device)
    optimiser.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(x, blocks), labels)
    loss.backward()
    optimiser.step()
    assert loss.item() == loss.item(), "the loss is no number"  # waits for the device, as the harness does
    return time.perf_counter_ns() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", choices=("sage", "gat"))
    parser.add_argument("size", choices=tuple(SIZES))
    parser.add_argument("folder")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--plain", action="store_true")
    a = parser.parse_args()
    device, size = torch.device(a.device), SIZES[a.size]
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    torch.manual_seed(1)
    plain = a.plain or torch_geometric is None
    batches = [read_batch(path, size, device) for path in sorted(glob.glob(os.path.join(a.folder, "batch*")))]
    net = Net(a.model, size, plain).to(device).train()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.003, fused=device.type == "cuda")
    for i in range(2 * len(batches)):
        step_ns(net, optimiser, batches[i % len(batches)], device, i % 2 == 0)
    library = f"torch {torch.__version__}"
    library += ", plain layers" if plain else f", torch_geometric {torch_geometric.__version__}"
    print(json.dumps({"library": library, "device": str(device)}), flush=True)
    at = 0
    for line in sys.stdin:
        times = []
        count, way = line.split()
        for _ in range(int(count)):
            times.append(step_ns(net, optimiser, batches[at % len(batches)], device, way == "staged"))
            at += 1
        print(json.dumps({"steps_ns": times}), flush=True)


if __name__ == "__main__":
    main()
