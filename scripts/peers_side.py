# SPDX-License-Identifier: MIT
"""Their side of scripts/bench_peers.py: answers what tests/bench/bench_peers.c answers, with PyG, DGL or GraphBolt.

    peers_side.py sample dgl|graphbolt DATASET FOLDER BATCH THREADS         mini-batches of the seeds of those in FOLDER
    peers_side.py step dgl|pyg DATASET FOLDER BATCH THREADS MODEL           steps on the mini-batches in FOLDER
    peers_side.py epoch dgl|graphbolt DATASET memory|disk BATCH THREADS     whole epochs of GraphSAGE

DATASET and FOLDER are what `oocgnn export --format csc` and `oocgnn export --batches` wrote. A line of JSON says that the libraries
are loaded; a word on standard input, and what the job needs is opened; then every line "N" is answered by N mini-batches
or epochs and their times. Each library is called as its own examples do, with what would only slow it left out: samplers
are called without a data loader around them, in one process.
"""
import configparser
import glob
import json
import os
import sys
import time
import warnings

import numpy as np
import torch
import torch.nn.functional as F

LAYERS, FANOUT, HIDDEN, HEADS = 3, 10, 256, 4
# The four mini-batches that are trained on over and over would be learnt by heart, and gradients that vanish become
# denormal numbers, which some processors take twice as long for: weights stay as they are.
RATE = 0.0
warnings.filterwarnings("ignore")


def say(**words):
    print(json.dumps(words), flush=True)


def heard():
    """The counts asked for, one a line."""
    for line in sys.stdin:
        yield int(line)


def library_name(library):
    if library == "pyg":
        import torch_geometric
        return f"PyG {torch_geometric.__version__} (torch {torch.__version__})"
    import dgl
    return f"{'DGL' if library == 'dgl' else 'GraphBolt'} {dgl.__version__} (torch {torch.__version__})"


# ---- an exported dataset ----

class Dataset:
    def __init__(self, folder):
        self.folder = folder
        options = configparser.ConfigParser()
        options.read(os.path.join(folder, "import.ini"), encoding="utf-8")
        self.classes = options.getint("import", "classes")
        self.nodes, self.dim = np.load(os.path.join(folder, "node_feat.npy"), mmap_mode="r").shape

    def array(self, name):
        return torch.from_numpy(np.load(os.path.join(self.folder, f"{name}.npy")))

    def topology(self):
        """Offsets and IDs of 64 bits, as the libraries' own data sets have them."""
        return self.array("indptr"), self.array("indices")

    def features(self, on_disk):
        return torch.from_numpy(np.load(os.path.join(self.folder, "node_feat.npy"), mmap_mode="r" if on_disk else None))


def batch_files(folder):
    return sorted(glob.glob(os.path.join(folder, "batch-*.npz")))


# ---- sampling ----

def dgl_sampler(dataset):
    import dgl
    indptr, indices = dataset.topology()
    graph = dgl.graph(("csc", (indptr, indices, torch.tensor([], dtype=torch.long))), num_nodes=dataset.nodes)
    sampler = dgl.dataloading.NeighborSampler([FANOUT] * LAYERS)

    def sample(seeds):
        return sum(block.num_edges() for block in sampler.sample(graph, seeds)[2])
    return sample


def graphbolt_sampler(dataset):
    import dgl.graphbolt as gb
    indptr, indices = dataset.topology()
    graph = gb.fused_csc_sampling_graph(indptr, indices)

    def sample(seeds):
        edges = 0
        for _ in range(LAYERS):
            hop = graph.sample_neighbors(seeds, torch.tensor([FANOUT]))
            seeds, csc = gb.unique_and_compact_csc_formats(hop.sampled_csc, seeds)
            edges += csc.indices.numel()
        return edges
    return sample


def serve_samples(library, dataset, folder):
    seeds = [torch.from_numpy(np.load(path)["seeds"]) for path in batch_files(folder)]
    sample = {"dgl": dgl_sampler, "graphbolt": graphbolt_sampler}[library](dataset)
    say(batches=len(seeds))
    at = 0
    for count in heard():
        edges, start = 0, time.perf_counter_ns()
        for _ in range(count):
            edges += sample(seeds[at % len(seeds)])
            at += 1
        say(total_ns=time.perf_counter_ns() - start, edges=edges)


# ---- models: three layers, dropout between them ----

class DglNet(torch.nn.Module):
    def __init__(self, kind, widths):
        super().__init__()
        from dgl.nn.pytorch import GATConv, GraphConv, SAGEConv
        self.kind, self.layers, self.skips = kind, torch.nn.ModuleList(), torch.nn.ModuleList()
        for k in range(LAYERS):
            n_in, n_out, last = widths[k], widths[k + 1], k == LAYERS - 1
            if kind == "sage":
                self.layers.append(SAGEConv(n_in, n_out, "mean"))
            elif kind == "gcn":
                self.layers.append(GraphConv(n_in, n_out, norm="both", allow_zero_in_degree=True))
            else:
                self.layers.append(GATConv(n_in, n_out if last else n_out // HEADS, HEADS, allow_zero_in_degree=True))
                self.skips.append(torch.nn.Linear(n_in, n_out))

    def forward(self, x, blocks):
        for k, block in enumerate(blocks):
            y = self.layers[k](block, x)
            if self.kind == "gat":
                y = (y.mean(1) if k == LAYERS - 1 else y.flatten(1)) + self.skips[k](x[:block.num_dst_nodes()])
            x = between(self.kind, k, y, self.training)
        return x


def between(kind, k, y, training):
    if k == LAYERS - 1:
        return y
    return F.dropout(F.elu(y) if kind == "gat" else F.relu(y), 0.5, training)


def pyg_net(kind, widths):
    from torch_geometric.nn import GATConv, MessagePassing, SAGEConv

    class BlockGcn(MessagePassing):
        """PyG's GCNConv takes no block of other sources than targets: its parts, put together for one."""

        def __init__(self, n_in, n_out):
            super().__init__(aggr="add")
            self.linear = torch.nn.Linear(n_in, n_out, bias=False)
            self.bias = torch.nn.Parameter(torch.zeros(n_out))

        def forward(self, x, edges):
            n = (x[0].shape[0], x[1].shape[0])
            degree = [torch.bincount(edges[side], minlength=n[side]).clamp(min=1).rsqrt() for side in (0, 1)]
            weight = degree[0][edges[0]] * degree[1][edges[1]]
            return self.propagate(edges, x=(self.linear(x[0]), None), weight=weight, size=n) + self.bias

        def message(self, x_j, weight):
            return weight[:, None] * x_j

    class PygNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.skips = torch.nn.ModuleList(), torch.nn.ModuleList()
            for k in range(LAYERS):
                n_in, n_out, last = widths[k], widths[k + 1], k == LAYERS - 1
                if kind == "gat":
                    self.layers.append(GATConv((n_in, n_in), n_out if last else n_out // HEADS, HEADS, concat=not last))
                    self.skips.append(torch.nn.Linear(n_in, n_out))
                else:
                    self.layers.append(SAGEConv(n_in, n_out) if kind == "sage" else BlockGcn(n_in, n_out))

        def forward(self, x, blocks):
            for k, (edges, dst) in enumerate(blocks):
                own = x[:dst]
                y = self.layers[k]((x, own), edges)
                if kind == "gat":
                    y = y + self.skips[k](own)
                x = between(kind, k, y, self.training)
            return x
    return PygNet()


def trainer(net):
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
    net.train()

    def step(x, blocks, labels):
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x, blocks), labels)
        loss.backward()
        optimiser.step()
        assert loss.item() == loss.item(), "the loss is no number"
    return step


# ---- training steps ----

def read_batch(path, dim):
    """[(targets, sources, row starts, columns)] outermost first, labels, rows."""
    with np.load(path) as arrays:
        batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
    sources, blocks = len(batch["nodes"]), []
    for layer in range(LAYERS):
        start = batch[f"indptr_{layer}"]
        blocks.append((len(start) - 1, sources, start, batch[f"indices_{layer}"]))
        sources = len(start) - 1
    return blocks, batch["labels"], torch.empty(blocks[0][1], dim).uniform_(-1, 1)


def dgl_blocks(blocks):
    """Made in every step, as every mini-batch has blocks of its own: only so is what DGL derives from them counted."""
    import dgl
    return [dgl.create_block(("csc", (start, col, torch.arange(len(col)))), num_src_nodes=src, num_dst_nodes=dst)
            for dst, src, start, col in blocks]


def pyg_blocks(blocks):
    return [(torch.stack([col, torch.repeat_interleave(torch.arange(dst), start[1:] - start[:-1])]), dst)
            for dst, src, start, col in blocks]


def serve_steps(library, dataset, folder, kind):
    widths = [dataset.dim] + [HIDDEN] * (LAYERS - 1) + [dataset.classes]
    batches = [read_batch(path, dataset.dim) for path in batch_files(folder)]
    step = trainer(pyg_net(kind, widths) if library == "pyg" else DglNet(kind, widths))
    if library == "pyg":
        batches = [(pyg_blocks(blocks), labels, x) for blocks, labels, x in batches]

    def one(batch):
        blocks, labels, x = batch
        start = time.perf_counter_ns()
        step(x, dgl_blocks(blocks) if library == "dgl" else blocks, labels)
        return time.perf_counter_ns() - start
    for batch in batches:
        one(batch)
    say(batches=len(batches))
    at = 0
    for count in heard():
        times = [one(batches[(at + i) % len(batches)]) for i in range(count)]
        at += count
        say(steps_ns=times)


# ---- whole epochs ----

def dgl_epoch(dataset, batch, step, _on_disk):
    import dgl
    indptr, indices = dataset.topology()
    graph = dgl.graph(("csc", (indptr, indices, torch.tensor([], dtype=torch.long))), num_nodes=dataset.nodes)
    graph.ndata["x"], labels = dataset.features(False), dataset.array("node_label")
    loader = dgl.dataloading.DataLoader(graph, dataset.array("train_idx"),
                                        dgl.dataloading.NeighborSampler([FANOUT] * LAYERS), batch_size=batch, shuffle=True)

    def epoch():
        for _, seeds, blocks in loader:
            step(blocks[0].srcdata["x"], blocks, labels[seeds])
    return epoch


def graphbolt_epoch(dataset, batch, step, on_disk):
    import dgl.graphbolt as gb
    graph = gb.fused_csc_sampling_graph(*dataset.topology())
    train, labels = dataset.array("train_idx"), dataset.array("node_label")
    store = gb.BasicFeatureStore({("node", None, "x"): gb.TorchBasedFeature(dataset.features(on_disk))})
    items = gb.ItemSet((train, labels[train]), names=("seed_nodes", "labels"))
    pipe = gb.ItemSampler(items, batch_size=batch, shuffle=True)
    pipe = pipe.sample_neighbor(graph, [FANOUT] * LAYERS).fetch_feature(store, node_feature_keys=["x"])
    loader = gb.DataLoader(pipe, num_workers=0)

    def epoch():
        for batch_of_nodes in loader:
            step(batch_of_nodes.node_features["x"], batch_of_nodes.blocks, batch_of_nodes.labels)
    return epoch


def serve_epochs(library, dataset, place, batch):
    step = trainer(DglNet("sage", [dataset.dim] + [HIDDEN] * (LAYERS - 1) + [dataset.classes]))
    epoch = {"dgl": dgl_epoch, "graphbolt": graphbolt_epoch}[library](dataset, batch, step, place == "disk")
    say(place=place)
    for count in heard():
        times = []
        for _ in range(count):
            start = time.perf_counter_ns()
            epoch()
            times.append(time.perf_counter_ns() - start)
        say(epochs_ns=times)


def main():
    job, library, folder, place, batch, threads = sys.argv[1:7]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    say(library=library_name(library), pid=os.getpid())
    sys.stdin.readline()
    dataset = Dataset(folder)
    if job == "sample":
        serve_samples(library, dataset, place)
    elif job == "step":
        serve_steps(library, dataset, place, sys.argv[7])
    else:
        serve_epochs(library, dataset, place, int(batch))


if __name__ == "__main__":
    main()
