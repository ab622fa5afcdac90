/* SPDX-License-Identifier: MIT */
/* The options of DiskGNN (--set diskgnn.NAME=VALUE). Where paper and released code differ, the paper is the default. */
#include "systems/diskgnn/diskgnn.h"

_Static_assert(sizeof(enum diskgnn_page) == sizeof(uint32_t), "GNN_OPT_CHOICE writes a uint32_t into an enum's field");

#define FIELD(name) offsetof(struct diskgnn_config, name)
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* clang-format off */
const struct gnn_option diskgnn_options[] = {
    {.name = "accounting", .type = GNN_OPT_CHOICE, .offset = FIELD(accounting), .def = "full",
     .choices = WORDS("full", "paper"), .source = "paper section 7.1: paper",
     .help = "Memory accounting. full: all memory counts towards the memory limit, and the CPU cache gets the rest. "
             "paper: only the two caches count, with cache_ratio as their size."},
    {.name = "cache_ratio", .type = GNN_OPT_F64, .offset = FIELD(cache_ratio), .unit = "percent", .def = "10",
     .max = 100,
     .help = "Size of both caches together, in percent of the features, with accounting=paper or without a memory "
             "limit.",
     .source = "paper section 7.1: 10; Figure 9: 10, 30, 50"},
    {.name = "cache_share", .type = GNN_OPT_U32, .offset = FIELD(cache_share), .unit = "percent", .def = "100",
     .min = 1, .max = 100,
     .help = "Rows to cache, in percent of the rows that fit into the memory limit (accounting=full); the rest of the "
             "memory stays unused.",
     .source = "ours: equal memory"},
    {.name = "gpu_share", .type = GNN_OPT_U32, .offset = FIELD(gpu_share), .unit = "percent", .def = "40", .max = 100,
     .help = "Share of the cached rows that the GPU cache gets. With a memory limit and a GPU of known memory size, "
             "the GPU cache gets the free GPU memory instead.",
     .source = "released scripts: 2 + 3, 4 + 6, 2 + 2, 5 + 10 GB"},
    {.name = "gpu_cache", .type = GNN_OPT_BYTES, .offset = FIELD(gpu_cache_bytes), .unit = "bytes", .def = "0",
     .help = "Size of the GPU cache (host memory if the run has no GPU); less than one row = no cache; 0 = set by "
             "accounting.",
     .source = "paper section 4; released scripts: 2 to 15 GB"},
    {.name = "cpu_cache", .type = GNN_OPT_BYTES, .offset = FIELD(cpu_cache_bytes), .unit = "bytes", .def = "0",
     .help = "Size of the CPU cache; less than one row = no cache; 0 = set by accounting.",
     .source = "paper section 4; released scripts: 2 to 60 GB"},
    {.name = "disk_limit", .type = GNN_OPT_F64, .offset = FIELD(prepare.disk_limit), .unit = "x features", .def = "0",
     .max = 1000,
     .help = "Limit on the disk space for chunks, disk caches and tables, as a multiple of the features; 0 = no "
             "limit, every cold row is packed.",
     .source = "paper section 7.2: none, 7, 5, 3"},
    {.name = "search", .type = GNN_OPT_CHOICE, .offset = FIELD(prepare.search), .def = "exact",
     .choices = WORDS("exact", "approximate", "brute"),
     .help = "Search for segment length and disk cache size under disk_limit. With approximate, Algorithm 2 chooses; "
             "a plan that exceeds the limit is reported. With exact, Algorithm 2 chooses, and segments are then "
             "lengthened until the limit holds. With brute, every brute_step-th segment length is tried with the "
             "smallest disk cache that fits, and plans that exceed the limit are skipped.",
     .source = "paper section 5.1: approximate, brute; exact: ours"},
    {.name = "segment", .type = GNN_OPT_U32, .offset = FIELD(prepare.segment), .unit = "batches", .def = "0",
     .max = 1 << 24,
     .help = "Mini-batches that share a disk cache (s); 0 = found by the search.",
     .source = "paper section 5.1: by the search; Figure 13: 50, 100, 150"},
    {.name = "disk_rows", .type = GNN_OPT_U32, .offset = FIELD(prepare.disk_rows), .unit = "rows", .def = "0",
     .max = 1 << 30,
     .help = "Maximum number of rows in a segment's disk cache (m); used only if segment is set.",
     .source = "paper Figure 13: 0 to 20 M"},
    {.name = "brute_step", .type = GNN_OPT_U32, .offset = FIELD(prepare.brute_step), .unit = "batches", .def = "0",
     .max = 1 << 24,
     .help = "Difference between two segment lengths (s) tried by the brute-force search; 0 = a tenth of the "
             "mini-batches.",
     .source = "paper section 7.3: a tenth; released code: 100, 1000"},
    {.name = "hashes", .type = GNN_OPT_U32, .offset = FIELD(prepare.hashes), .unit = "functions", .def = "2", .min = 1,
     .max = DISKGNN_HASHES_MAX,
     .help = "Hash functions of MinHash (k).",
     .source = "paper section 5.1: 2"},
    {.name = "reorder", .type = GNN_OPT_CHOICE, .offset = FIELD(prepare.reorder), .def = "pair",
     .choices = WORDS("pair", "printed", "off"),
     .help = "Order of the rows in a disk cache. pair: by one minimum per hash function, compared in turn; printed: "
             "by one minimum over all functions; off: by descending use count.",
     .source = "released code: pair; paper Algorithm 1: printed"},
    {.name = "unordered", .type = GNN_OPT_BOOL, .offset = FIELD(unordered), .def = "false",
     .help = "Also report what each mini-batch would read with a single disk cache for all mini-batches. This cache "
             "would have as many rows as a segment's disk cache, ordered by descending number of uses. Computed when "
             "the prepared files are opened.",
     .source = "paper Figure 5b"},
    {.name = "packing", .type = GNN_OPT_CHOICE, .offset = FIELD(prepare.packing), .def = "batched",
     .choices = WORDS("batched", "individual"),
     .help = "Reading of features for packing. batched: partition by partition for all mini-batches; individual: row "
             "by row for each mini-batch.",
     .source = "paper section 5.2: batched"},
    {.name = "partitions", .type = GNN_OPT_U32, .offset = FIELD(prepare.partitions), .unit = "partitions", .def = "0",
     .max = DISKGNN_PARTITIONS_MAX,
     .help = "Partitions of the features in batched packing; 0 = as many as needed for two partitions and their row "
             "positions to fit into pack_memory.",
     .source = "paper section 5.2: fits the memory; released code: 8"},
    {.name = "pack_memory", .type = GNN_OPT_BYTES, .offset = FIELD(prepare.pack_memory), .unit = "bytes", .def = "0",
     .help = "Memory for packing; 0 = 7/8 of what the memory limit leaves, at most 1 GiB.",
     .source = "ours"},
    {.name = "checkpoint", .type = GNN_OPT_BYTES, .offset = FIELD(prepare.checkpoint_bytes), .unit = "bytes",
     .def = "1G",
     .help = "Bytes that batched packing reads and writes between two checkpoints. After a kill or Ctrl-C, packing "
             "resumes from the last checkpoint; 0 = no checkpoints.",
     .source = "ours"},
    {.name = "pack_workers", .type = GNN_OPT_U32, .offset = FIELD(prepare.pack_workers), .unit = "threads", .def = "0",
     .max = DISKGNN_WORKERS_MAX,
     .help = "Threads that gather and write packed rows, one write in flight each; 0 = 8.",
     .source = "paper section 5.2: in parallel"},
    {.name = "pack_depth", .type = GNN_OPT_U32, .offset = FIELD(prepare.pack_depth), .unit = "reads", .def = "64",
     .min = 1, .max = 1024,
     .help = "Reads in flight while packing.",
     .source = "released individual packing: 64 threads"},
    {.name = "samplers", .type = GNN_OPT_U32, .offset = FIELD(prepare.samplers), .unit = "threads", .def = "0",
     .max = DISKGNN_WORKERS_MAX,
     .help = "Threads for offline sampling; 0 = one per core.",
     .source = "released code: on the GPU"},
    {.name = "resample_every", .type = GNN_OPT_U32, .offset = FIELD(prepare.resample_every), .unit = "epochs",
     .def = "0", .max = 100000,
     .help = "Epochs after which new mini-batches are drawn and packed; 0 = one set for all epochs, in a new order "
             "each epoch.",
     .source = "paper section 3: one set"},
    {.name = "page", .type = GNN_OPT_CHOICE, .offset = FIELD(prepare.page), .unit = "bytes", .def = "4096",
     .choices = WORDS("4096", "512"),
     .help = "Page size: chunks are padded to it, disk caches are read in it, and no disk-cache row crosses a page "
             "boundary.",
     .source = "paper section 5.1: 4 KB; 512: ours"},
    {.name = "reuse", .type = GNN_OPT_BOOL, .offset = FIELD(prepare.reuse), .def = "true",
     .help = "Reuse what an earlier run prepared; false: prepare again.",
     .source = "paper section 3"},
    {.name = "prepare_dir", .type = GNN_OPT_TEXT, .offset = FIELD(prepare.prepare_dir), .unit = "DIR", .def = "",
     .help = "Directory for prepared files; empty = the dataset's directory.",
     .source = "ours"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(prepare.io), .def = "direct",
     .choices = WORDS("direct", "buffered"),
     .help = "I/O path for prepared files. direct: bypasses the page cache; buffered: uses it.",
     .source = "paper section 6: O_DIRECT"},
    {.name = "meta_io", .type = GNN_OPT_CHOICE, .offset = FIELD(meta_io), .def = "direct",
     .choices = WORDS("direct", "buffered"),
     .help = "I/O path for reading tables and graph samples. direct: bypasses the page cache; buffered: uses it. With "
             "io=buffered, these reads always use the page cache.",
     .source = "paper section 6: O_DIRECT; released code: buffered"},
    {.name = "drop_cache", .type = GNN_OPT_BOOL, .offset = FIELD(drop_cache), .def = "false",
     .help = "Drop the prepared files from the page cache before each epoch. Matters with io=buffered or "
             "meta_io=buffered.",
     .source = "released code: writes 1 to drop_caches", .added = true},
    {.name = "loader", .type = GNN_OPT_CHOICE, .offset = FIELD(loader), .def = "in_place",
     .choices = WORDS("in_place", "copies"),
     .help = "Memory that the feature loader reads into. With in_place, a chunk is read to its place in the partial "
             "input. With copies, a chunk is read into a buffer and cloned, and the threads of rings copy its rows to "
             "the partial input. The released code allocates new memory for chunks, clones and pages. Here, buffers "
             "are reused. With copies and --costs released, the page faults of new memory are charged.",
     .source = "paper section 6: one pread; released code: copies", .added = true},
    {.name = "pipeline", .type = GNN_OPT_BOOL, .offset = FIELD(pipeline), .def = "true",
     .help = "Run four stages in parallel; false: one thread processes one mini-batch at a time.",
     .source = "paper section 5.3, Table 5"},
    {.name = "table_stage", .type = GNN_OPT_BOOL, .offset = FIELD(table_stage), .def = "false",
     .help = "Read the address tables in a separate stage ahead of the feature loader.",
     .source = "paper section 5.3: four stages; released code: true"},
    {.name = "queue", .type = GNN_OPT_U32, .offset = FIELD(queue), .unit = "items", .def = "2", .min = 1, .max = 64,
     .help = "Capacity of each queue between two stages.",
     .source = "paper section 6: 2"},
    {.name = "rings", .type = GNN_OPT_U32, .offset = FIELD(rings), .unit = "threads", .def = "4", .min = 1, .max = 64,
     .help = "Threads that read the disk cache, each with its own ring.",
     .source = "paper section 6: 4"},
    {.name = "ring_entries", .type = GNN_OPT_U32, .offset = FIELD(ring_entries), .unit = "reads", .def = "1024",
     .min = 1, .max = 4096,
     .help = "Pages that a ring reads in one group, all of which complete before the next group.",
     .source = "released code: 1024"},
    {.name = "submit", .type = GNN_OPT_U32, .offset = FIELD(submit), .unit = "reads", .def = "64", .min = 1,
     .max = 4096,
     .help = "Reads of a ring submitted to the kernel at a time.",
     .source = "released code: 64"},
    {.name = "chunk_request", .type = GNN_OPT_BYTES, .offset = FIELD(chunk_request), .unit = "bytes", .def = "0",
     .max = 1 << 30,
     .help = "Bytes per read of a packed chunk, with chunk_depth reads in flight; 0 = the whole chunk in one read.",
     .source = "paper section 6: one pread; 1 MiB: ours"},
    {.name = "chunk_depth", .type = GNN_OPT_U32, .offset = FIELD(chunk_depth), .unit = "reads", .def = "8", .min = 1,
     .max = 1024,
     .help = "Reads of a chunk in flight; used only if chunk_request is set.",
     .source = "ours"},
    {.name = "assembly", .type = GNN_OPT_CHOICE, .offset = FIELD(assembly), .def = "stream",
     .choices = WORDS("stream", "kernel", "scatter"),
     .help = "Assembly of inputs on a GPU. With stream, host rows are copied during training, and rows of the GPU "
             "cache are added before the step. With kernel, one kernel copies all rows before the step. With scatter, "
             "the partial input is copied whole and a kernel scatters it.",
     .source = "paper section 5.3: one kernel, in a stream of its own; released code: scatter"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "Copying of graph samples to a GPU. blocking: the trainer copies from pageable memory and waits; ahead: "
             "the graph loader copies from pinned memory.",
     .source = "released code: blocking; ahead: ours"},
    {.name = NULL},
};
/* clang-format on */
