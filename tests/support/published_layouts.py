# SPDX-License-Identifier: MIT
"""Builds small copies of the papers' datasets in the layouts of their publishers, imports each with one command and
compares every file of the result with NumPy's reading of the copy.

  published_layouts.py PROGRAM DIR [--scale K] [NAME...]

PROGRAM is oocgnn; DIR is an empty folder. A copy has 1/K of the nodes (default 10000), and the published widths.
Exit status: 0, 1 if a file differs or an import fails, 77 without NumPy.
"""

import argparse
import gzip
import os
import pickle
import shutil
import subprocess
import sys
import zipfile

try:
    import numpy as np
except ImportError:
    print("left out: no NumPy here")
    sys.exit(77)


def lists(source, target, nodes):
    """Returns offsets and sources of the in-neighbour lists, ascending."""
    order = np.lexsort((source, target))
    return np.concatenate([[0], np.cumsum(np.bincount(target, minlength=nodes))]), source[order]


def both(edges):
    """Returns the edges and their opposites. A self-loop has none."""
    loop = edges[0] == edges[1]
    return np.hstack([edges, edges[::-1, ~loop]])


def graph(rng, nodes, per_node):
    return rng.integers(0, nodes, (2, int(nodes * per_node)))


def labels_of(rng, nodes, classes, share):
    """Returns float labels, NaN where there is none."""
    labels = rng.integers(0, classes, nodes).astype(np.float32)
    labels[rng.random(nodes) >= share] = np.nan
    return labels


def split(rng, nodes, shares):
    """Returns three sets of nodes in no order."""
    order = rng.permutation(nodes)
    ends = np.cumsum([int(nodes * share) for share in shares])
    return [order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]]


def expected(edges, nodes, features, labels, splits):
    indptr, indices = lists(edges[0], edges[1], nodes)
    known = ~np.isnan(labels)
    return {
        "indptr": indptr.astype("<u8"), "indices": indices.astype("<u4"),
        "labels": np.where(known, np.nan_to_num(labels), -1).astype("<i4"),
        f"features-d{features.shape[1]}": features.astype("<f4"),
        **{name: np.sort(s[known[s]]).astype("<u4") for name, s in zip(("train", "valid", "test"), splits)},
    }


def folder(*parts):
    path = os.path.join(*parts)
    os.makedirs(path, exist_ok=True)
    return path


def write_csv(path, rows, form="%d"):
    with gzip.open(path, "wt", compresslevel=1) as out:
        np.savetxt(out, rows, fmt=form, delimiter=",")


def write_splits(path, splits):
    for name, members in zip(("train", "valid", "test"), splits):
        write_csv(os.path.join(path, f"{name}.csv.gz"), members)


# ---- the datasets; each returns further arguments and the expected files ----


def papers100m(rng, root, scale, reverse=False):
    nodes = 111059956 // scale
    edges, features = graph(rng, nodes, 14.5), rng.random((nodes, 128), np.float32)
    labels, splits = labels_of(rng, nodes, 172, 0.5), split(rng, nodes, (0.1, 0.01, 0.02))
    raw = folder(root, "papers100M-bin", "raw")
    np.savez_compressed(os.path.join(raw, "data.npz"), edge_index=edges, node_feat=features,
                        node_year=np.full((nodes, 1), 2019.0), num_nodes_list=np.array([nodes]))
    np.savez(os.path.join(raw, "node-label.npz"), node_label=labels[:, None])
    write_splits(folder(root, "papers100M-bin", "split", "time"), splits)
    return [], expected(both(edges) if reverse else edges, nodes, features, labels, splits)


def papers100m_sym(rng, root, scale):
    return papers100m(rng, root, scale, reverse=True)


def ogb_csv(rng, root, nodes, width, classes, per_node, kind, reverse):
    edges = graph(rng, nodes, per_node)
    features = rng.integers(-999, 999, (nodes, width)).astype(np.float32) / np.float32(8)
    labels, splits = labels_of(rng, nodes, classes, 1), split(rng, nodes, (0.5, 0.2, 0.3))
    raw = folder(root, kind, "raw")
    write_csv(os.path.join(raw, "edge.csv.gz"), edges.T)
    write_csv(os.path.join(raw, "node-feat.csv.gz"), features, "%.9g")
    write_csv(os.path.join(raw, "node-label.csv.gz"), labels[:, None])
    write_csv(os.path.join(raw, "num-node-list.csv.gz"), [nodes])
    write_csv(os.path.join(raw, "num-edge-list.csv.gz"), [edges.shape[1]])
    write_splits(folder(root, kind, "split", "time"), splits)
    return [], expected(both(edges) if reverse else edges, nodes, features, labels, splits)


def arxiv(rng, root, scale):
    return ogb_csv(rng, root, max(169343 // scale, 300), 128, 40, 7, "arxiv", False)


def products(rng, root, scale):
    return ogb_csv(rng, root, max(2449029 // scale, 300), 100, 47, 25, "products", True)


def write_torch(path, values):
    """Writes NumPy arrays as torch.save does."""
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("archive/data.pkl", pickle.dumps(values, protocol=2))
        out.writestr("archive/version", "3\n")


def mag240m_cites(rng, root, scale):
    nodes = 121751666 // scale
    edges, features = graph(rng, nodes, 10.7), rng.random((nodes, 768), np.float32).astype(np.float16)
    labels, splits = labels_of(rng, nodes, 153, 0.9), split(rng, nodes, (0.1, 0.02, 0.02))
    top = folder(root, "mag240m_kddcup2021")
    paper = folder(top, "processed", "paper")
    np.save(os.path.join(paper, "node_feat.npy"), features)
    np.save(os.path.join(paper, "node_label.npy"), labels)
    np.save(os.path.join(folder(top, "processed", "paper___cites___paper"), "edge_index.npy"), edges)
    np.save(os.path.join(folder(top, "processed", "author___writes___paper"), "edge_index.npy"), edges[:, :9])
    write_torch(os.path.join(top, "split_dict.pt"), dict(zip(("train", "valid", "test"), splits)))
    return [], expected(edges, nodes, features, labels, splits)


def igb(rng, root, nodes, size, labelled, raw):
    edges, features = graph(rng, nodes, 13.4), rng.random((nodes, 1024), np.float32)
    labels = labels_of(rng, nodes, 19, 1)
    ends = [int(labelled * 0.6), int(labelled * 0.6) + int(labelled * 0.2), labelled]
    splits = [np.arange(ends[0]), np.arange(ends[0], ends[1]), np.arange(ends[1], ends[2])]
    paper = folder(root, size, "processed", "paper")
    for name, array in (("node_feat", features), ("node_label_19", labels), ("node_label_2K", labels * 3)):
        path = os.path.join(paper, f"{name}.npy")
        array.tofile(path) if raw else np.save(path, array)
    np.save(os.path.join(folder(root, size, "processed", "paper__cites__paper"), "edge_index.npy"), edges.T.astype(np.int32))
    labels[labelled:] = np.nan
    return [], expected(edges, nodes, features, labels, splits)


def igb_medium(rng, root, scale):
    return igb(rng, root, 10000000 // scale, "medium", 10000000 // scale, False)


def igb260m(rng, root, scale):
    nodes = 269346174 // scale
    return igb(rng, root, nodes, "full", 227130858 * nodes // 269346174, True)


def edge_list(rng, root, name, nodes, per_node, header, reverse):
    """A list whose IDs have gaps. The features, labels and splits of the import are random and not compared."""
    ids = np.sort(rng.choice(nodes * 2, nodes, replace=False))
    edges = graph(rng, nodes, per_node)
    with gzip.open(os.path.join(folder(root), f"{name}.txt.gz"), "wt", compresslevel=1) as out:
        out.write(header.format(nodes=len(np.unique(edges)), edges=edges.shape[1]))
        np.savetxt(out, ids[edges].T, fmt="%d", delimiter="\t")
    used, numbered = np.unique(edges, return_inverse=True)
    numbered = numbered.reshape(2, -1)
    indptr, indices = lists(*(both(numbered) if reverse else numbered), len(used))
    return [], {"indptr": indptr.astype("<u8"), "indices": indices.astype("<u4")}


UNDIRECTED = "# Undirected graph: ../../data/output/friendster.txt\n# Nodes: {nodes} Edges: {edges}\n# FromNodeId\tToNodeId\n"


def friendster(rng, root, scale):
    return edge_list(rng, root, "com-friendster.ungraph", 65608366 // scale, 27.5, UNDIRECTED, False)


def friendster_sym(rng, root, scale):
    return edge_list(rng, root, "com-friendster.ungraph", 65608366 // scale, 27.5, UNDIRECTED, True)


def twitter(rng, root, scale):
    return edge_list(rng, root, "twitter-2010", 41652230 // scale, 35, "", False)


def livejournal(rng, root, scale):
    header = "# Directed graph: soc-LiveJournal1.txt\n# Nodes: {nodes} Edges: {edges}\n# FromNodeId\tToNodeId\n"
    return edge_list(rng, root, "soc-LiveJournal1", 4847571 // scale, 14, header, False)


def triples(rng, nodes, relations, counts):
    return [np.stack([rng.integers(0, nodes, n), rng.integers(0, relations, n), rng.integers(0, nodes, n)], 1) for n in counts]


def freebase86m(rng, root, scale):
    nodes = 86054151 // scale
    parts = triples(rng, nodes, 40, (30000, 1700, 1600))
    for name, part in zip(("train", "valid", "test"), parts):
        np.savetxt(os.path.join(folder(root, "Freebase"), f"{name}.txt"), part[:, [0, 2, 1]], fmt="%d", delimiter="\t")
    return ["--nodes", str(nodes)], {f"triples-{n}": p.astype("<u4") for n, p in zip(("train", "valid", "test"), parts)}


def wikikg90mv2(rng, root, scale):
    nodes = 91230610 // scale
    parts = triples(rng, nodes, 40, (60000, 150))
    processed = folder(root, "wikikg90m-v2", "processed")
    np.save(os.path.join(processed, "train_hrt.npy"), parts[0].astype(np.int32))
    np.save(os.path.join(processed, "val_hr.npy"), parts[1][:, :2].astype(np.int32))
    np.save(os.path.join(processed, "val_t.npy"), parts[1][:, 2].astype(np.int32))
    return ["--nodes", str(nodes)], {"triples-train": parts[0].astype("<u4"), "triples-valid": parts[1].astype("<u4")}


DATASETS = {
    "papers100m": papers100m, "papers100m-sym": papers100m_sym, "arxiv": arxiv, "products": products,
    "mag240m-cites": mag240m_cites, "igb-medium": igb_medium, "igb260m": igb260m, "friendster": friendster,
    "friendster-sym": friendster_sym, "twitter": twitter, "livejournal": livejournal, "freebase86m": freebase86m,
    "wikikg90mv2": wikikg90mv2,
}


def check(program, work, name, scale):
    """Imports the copy of one dataset. Returns the faults."""
    root, data = folder(work, "download", name), folder(work, "data")
    further, files = DATASETS[name](np.random.default_rng(20), root, scale)
    command = [program, "prepare", name, "--from", root, "--data", data, "--memory", "16M", "--quiet", *further]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return [f"{name}: {' '.join(command)} ends with {run.returncode}: {run.stderr.strip()}"]
    result = run.stdout.strip()
    faults = []
    for file, array in files.items():
        found = np.fromfile(os.path.join(result, file), array.dtype)
        if found.shape != (array.size,) or not np.array_equal(found, array.ravel()):
            faults.append(f"{name}: {file} differs from NumPy's reading")
    if subprocess.run([program, "prepare", result, "--check"], capture_output=True, check=False).returncode != 0:
        faults.append(f"{name}: prepare --check fails")
    shutil.rmtree(root)
    shutil.rmtree(result)
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--scale", type=int, default=10000)
    parser.add_argument("names", nargs="*", default=list(DATASETS))
    args = parser.parse_args()
    options = subprocess.run([args.program, "prepare", "--help"], capture_output=True, text=True, check=False).stdout
    faults = []
    for name in args.names:
        # These layouts need readers of text that these options came with.
        if ("--columns" not in options and DATASETS[name] in (freebase86m, wikikg90mv2)) or (
            "--label-column" not in options and DATASETS[name] in (arxiv, products)):
            print(f"{name}: left out")
            continue
        found = check(args.program, args.work, name, args.scale)
        faults += found
        print(f"{name}: {'differs' if found else 'as NumPy reads it'}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
