# SPDX-License-Identifier: MIT
"""Runs scripts/peers_side.py on exported arrays with stand-ins for NumPy, PyTorch, DGL, GraphBolt and PyG.

    peers_stand_ins.py DATASET BATCHES BATCH

DATASET and BATCHES are folders of `oocgnn export --format csc` and `--batches`. The stand-ins read the real files. They
compute no values, and check the arguments of each call: lists that fit together, IDs in range, and layers whose targets
are the sources of the next layer. Exits with 1 and the failed check.
"""
import ast
import contextlib
import io
import json
import os
import runpy
import struct
import sys
import types
import zipfile

FANOUT, LAYERS, HIDDEN = 10, 3, 256
calls = []


def check(holds, text):
    if not holds:
        raise AssertionError(text)


class Tensor:
    """A shape, and integers if it has known ones."""

    def __init__(self, shape, values=None, integer=False):
        self.shape, self.values, self.integer = tuple(shape), values, integer

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        if isinstance(index, Tensor):
            check(all(0 <= i < len(self) for i in index.values), "an index is out of range")
            return Tensor((len(index), *self.shape[1:]), self.values and [self.values[i] for i in index.values], self.integer)
        if isinstance(index, int):
            return self.values[index]
        rows = range(len(self))[index]
        return Tensor((len(rows), *self.shape[1:]), self.values and [self.values[i] for i in rows], self.integer)

    def __sub__(self, other):
        return Tensor(self.shape, [a - b for a, b in zip(self.values, other.values)], True)

    def __add__(self, other):
        check(self.shape == other.shape, f"{self.shape} + {other.shape}")
        return Tensor(self.shape)

    def numel(self):
        return len(self)

    def uniform_(self, low, high):
        return self

    def mean(self, axis):
        return Tensor(self.shape[:axis] + self.shape[axis + 1:])

    def flatten(self, axis):
        return Tensor((*self.shape[:axis], self.shape[axis] * self.shape[axis + 1]))

    def item(self):
        return 0.5

    def backward(self):
        calls.append("backward")


def integers(values):
    return Tensor((len(values),), list(values), True)


# ---- NumPy: files of format 1.0 and archives of them ----

def parse(data):
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    shape, descr = header["shape"], header["descr"]
    check(not header["fortran_order"] and descr in ("<i8", "<f4"), f"an array of {descr}")
    if descr == "<f4":
        return Tensor(shape)
    return Tensor(shape, list(struct.unpack(f"<{(len(data) - 10 - length) // 8}q", data[10 + length:])), True)


class Archive(dict):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def load(path, mmap_mode=None):
    if path.endswith(".npz"):
        with zipfile.ZipFile(path) as archive:
            return Archive((name[:-4], parse(archive.read(name))) for name in archive.namelist())
    with open(path, "rb") as file:
        found = parse(file.read())
    found.mapped = mmap_mode == "r"
    return found


# ---- graphs and blocks ----

def check_lists(indptr, indices, targets, sources):
    check(indptr.integer and indices.integer, "lists of floats")
    check(len(indptr) == targets + 1 and indptr[0] == 0 and indptr[-1] == len(indices), "offsets do not fit the lists")
    check(all(a <= b for a, b in zip(indptr.values, indptr.values[1:])), "offsets fall")
    check(all(0 <= i < sources for i in indices.values), "a source is out of range")


class Block:
    def __init__(self, sources, targets, width):
        self.sources, self.targets, self.srcdata = sources, targets, {"x": Tensor((sources, width))}

    def num_edges(self):
        return self.targets

    def num_dst_nodes(self):
        return self.targets


def dgl_graph(form, num_nodes):
    kind, (indptr, indices, edge_ids) = form
    check(kind == "csc" and len(edge_ids) == 0, "a graph of another form")
    check_lists(indptr, indices, num_nodes, num_nodes)
    calls.append("graph")
    return types.SimpleNamespace(nodes=num_nodes, ndata={})


def create_block(form, num_src_nodes, num_dst_nodes):
    kind, (indptr, indices, edge_ids) = form
    check(kind == "csc" and len(edge_ids) == len(indices) and num_dst_nodes <= num_src_nodes, "a block of another form")
    check_lists(indptr, indices, num_dst_nodes, num_src_nodes)
    calls.append("block")
    return Block(num_src_nodes, num_dst_nodes, 0)


class NeighborSampler:
    def __init__(self, fanouts):
        check(fanouts == [FANOUT] * LAYERS, "other fan-outs")

    def sample(self, graph, seeds):
        check(all(0 <= seed < graph.nodes for seed in seeds.values) and len(set(seeds.values)) == len(seeds), "seeds")
        calls.append(f"sample {len(seeds)}")
        return None, seeds, [Block(graph.nodes, len(seeds), 0)] * LAYERS


def blocks_of(nodes, seeds, width):
    return [Block(nodes, nodes, width), Block(nodes, nodes, width), Block(nodes, len(seeds), width)]


class DglLoader:
    def __init__(self, graph, seeds, sampler, batch_size, shuffle):
        check(shuffle and seeds.integer and isinstance(sampler, NeighborSampler), "a loader of another kind")
        self.graph, self.seeds, self.batch = graph, seeds, batch_size

    def __iter__(self):
        for first in range(0, len(self.seeds), self.batch):
            some = self.seeds[first:first + self.batch]
            calls.append(f"loads {len(some)}")
            yield None, some, blocks_of(self.graph.nodes, some, self.graph.ndata["x"].shape[1])


def fused_csc_sampling_graph(indptr, indices):
    check_lists(indptr, indices, len(indptr) - 1, len(indptr) - 1)

    def sample_neighbors(seeds, fanouts):
        check(fanouts.values == [FANOUT], "other fan-outs")
        calls.append(f"hop {len(seeds)}")
        return types.SimpleNamespace(sampled_csc=seeds)
    return types.SimpleNamespace(nodes=len(indptr) - 1, sample_neighbors=sample_neighbors)


class Pipe:
    def __init__(self, items, batch_size, shuffle):
        self.items, self.batch = items, batch_size
        check(shuffle and len(items[0]) == len(items[1]), "a label for each training node")

    def sample_neighbor(self, graph, fanouts):
        check(fanouts == [FANOUT] * LAYERS, "other fan-outs")
        self.graph = graph
        return self

    def fetch_feature(self, store, node_feature_keys):
        self.features = store["node", None, node_feature_keys[0]]
        return self

    def __iter__(self):
        for first in range(0, len(self.items[0]), self.batch):
            seeds, labels = (part[first:first + self.batch] for part in self.items)
            calls.append(f"loads {len(seeds)}{' mapped' if self.features.mapped else ''}")
            yield types.SimpleNamespace(blocks=blocks_of(self.graph.nodes, seeds, self.features.shape[1]), labels=labels,
                                        node_features={"x": Tensor((self.graph.nodes, self.features.shape[1]))})


def item_set(items, names):
    check(names == ("seed_nodes", "labels"), "other names of items")
    return items


# ---- models ----

class Module:
    training = True

    def __call__(self, *inputs):
        return self.forward(*inputs)

    def parameters(self):
        return []

    def train(self):
        pass


def dgl_layer(heads):
    class Layer(Module):
        def __init__(self, n_in, n_out, *rest, **options):
            self.n_in, self.shape = n_in, (*rest[:heads], n_out)

        def forward(self, block, x):
            check(x.shape == (block.sources, self.n_in), f"rows {x.shape} for {block.sources} sources of {self.n_in}")
            return Tensor((block.targets, *self.shape))
    return Layer


class PygLayer(Module):
    def __init__(self, n_in, n_out, heads=1, concat=True):
        self.n_in, self.n_out = n_in if isinstance(n_in, int) else n_in[0], n_out * (heads if concat else 1)

    def forward(self, x, edges):
        check(x[0].shape[1] == x[1].shape[1] == self.n_in, "rows of another width")
        check(edges.shape == (2, len(edges.values[0])), "edges of another shape")
        for side in (0, 1):
            check(all(0 <= i < len(x[side]) for i in edges.values[side].values), "an end of an edge is out of range")
        return Tensor((len(x[1]), self.n_out))


class Linear(Module):
    def __init__(self, n_in, n_out, bias=True):
        self.n_in, self.n_out = n_in, n_out

    def forward(self, x):
        check(x.shape[1] == self.n_in, "rows of another width")
        return Tensor((len(x), self.n_out))


def cross_entropy(out, labels):
    check(len(out) == len(labels) and all(0 <= label < out.shape[1] for label in labels.values), "labels do not fit")
    return out


def repeat_interleave(values, counts):
    return integers([value for value, count in zip(values.values, counts.values) for _ in range(count)])


def stack(parts):
    check(len({len(part) for part in parts}) == 1, "columns of different lengths")
    return Tensor((len(parts), len(parts[0])), parts, True)


# ---- modules ----

def module(name, **members):
    sys.modules[name] = made = types.ModuleType(name)
    made.__dict__.update(members)
    return made


def install():
    adam = types.SimpleNamespace(zero_grad=lambda set_to_none: None, step=lambda: None)
    functional = module("torch.nn.functional", relu=lambda x: x, elu=lambda x: x, dropout=lambda x, rate, training: x,
                        cross_entropy=cross_entropy)
    nn = module("torch.nn", Module=Module, ModuleList=type("ModuleList", (list,), {}), Linear=Linear, functional=functional)
    module("numpy", load=load)
    module("torch", nn=nn, long="int64", __version__="0", from_numpy=lambda array: array, arange=lambda n: integers(range(n)),
           tensor=lambda values, dtype=None: integers(values), empty=lambda *shape: Tensor(shape), stack=stack,
           repeat_interleave=repeat_interleave, set_num_threads=lambda n: None, manual_seed=lambda n: None,
           optim=types.SimpleNamespace(Adam=lambda parameters, lr: adam))
    bolt = module("dgl.graphbolt", fused_csc_sampling_graph=fused_csc_sampling_graph, BasicFeatureStore=dict, ItemSet=item_set,
                  unique_and_compact_csc_formats=lambda csc, seeds: (csc, types.SimpleNamespace(indices=csc)),
                  TorchBasedFeature=lambda features: features, ItemSampler=Pipe, DataLoader=lambda pipe, num_workers: pipe)
    layers = module("dgl.nn.pytorch", SAGEConv=dgl_layer(0), GraphConv=dgl_layer(0), GATConv=dgl_layer(1))
    module("dgl.nn", pytorch=layers)
    module("dgl", graph=dgl_graph, create_block=create_block, graphbolt=bolt, __version__="0",
           dataloading=types.SimpleNamespace(NeighborSampler=NeighborSampler, DataLoader=DglLoader))
    module("torch_geometric.nn", SAGEConv=PygLayer, GATConv=PygLayer, MessagePassing=Module)
    module("torch_geometric", __version__="0")


def side(*words):
    """Answers of a side that is opened and asked for two, and its calls."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/peers_side.py")
    calls.clear()
    sys.argv, sys.stdin, said = [script, *words[:5], "1", *words[5:]], io.StringIO("open\n2\n"), io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(script, run_name="__main__")
    return [json.loads(line) for line in said.getvalue().splitlines()], list(calls)


def main():
    dataset, folder, batch = sys.argv[1:4]
    with open(os.path.join(folder, "batches.json"), encoding="utf-8") as file:
        count = json.load(file)["batches"]
    train = len(load(os.path.join(dataset, "train_idx.npy")))
    epoch = [f"loads {min(int(batch), train - first)}" for first in range(0, train, int(batch))] * 2
    install()
    for library, first in (("dgl", f"sample {batch}"), ("graphbolt", f"hop {batch}")):
        said, made = side("sample", library, dataset, folder, batch)
        check(said[1]["batches"] == count and said[2]["edges"] > 0, f"{library}: {said}")
        check(made.count(first) == 2 * (LAYERS if library == "graphbolt" else 1), f"{library} samples: {made}")
    for library, model in (("dgl", "sage"), ("dgl", "gcn"), ("dgl", "gat"), ("pyg", "sage"), ("pyg", "gat")):
        said, made = side("step", library, dataset, folder, batch, model)
        check(len(said[2]["steps_ns"]) == 2 and made.count("backward") == count + 2, f"{library}, {model}: {made}")
        check(made.count("block") == (LAYERS * (count + 2) if library == "dgl" else 0), f"{library}, {model}: {made}")
    for library, place in (("dgl", "memory"), ("graphbolt", "memory"), ("graphbolt", "disk")):
        said, made = side("epoch", library, dataset, place, batch)
        check(len(said[2]["epochs_ns"]) == 2, f"{library}: {said}")
        mapped = " mapped" if place == "disk" else ""
        check([call for call in made if "loads" in call] == [call + mapped for call in epoch], f"{library}: {made}")


if __name__ == "__main__":
    main()
