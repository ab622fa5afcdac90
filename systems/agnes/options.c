/* SPDX-License-Identifier: MIT */
/* The options of AGNES (--set agnes.NAME=VALUE). Where paper and released code differ, the paper is the default. */
#include "systems/agnes/agnes.h"

_Static_assert(sizeof(enum agnes_layout) == sizeof(uint32_t), "GNN_OPT_CHOICE writes a uint32_t into an enum's field");

const char *const agnes_layout_words[] = {"bf", "input", "degree", "random", NULL};

#define FIELD(name) offsetof(struct agnes_config, name)
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* clang-format off */
const struct gnn_option agnes_options[] = {
    {.name = "layout", .type = GNN_OPT_CHOICE, .offset = FIELD(layout), .def = "bf", .choices = agnes_layout_words,
     .help = "Order of the nodes in the blocks. bf: breadth-first; input: as in the dataset; degree: descending "
             "degree; random: random order.",
     .source = "paper section 3.2: nodes used together are stored together; released code: input"},
    {.name = "block", .type = GNN_OPT_BYTES, .offset = FIELD(block_bytes), .unit = "bytes", .def = "0", .max = 16 << 20,
     .help = "Size of a graph or feature block (Z); 0 = 1 MiB, halved until each file has about 1000 blocks, but at "
             "least 64 KiB.",
     .source = "paper section 4.1: 1 MiB; Figure 9: 64 KiB to 4 MiB"},
    {.name = "id_bytes", .type = GNN_OPT_CHOICE, .offset = FIELD(id_width), .def = "dataset",
     .choices = WORDS("dataset", "4", "8"), .source = "released code: 8",
     .help = "Bytes per neighbour ID in a graph block (w); dataset = as in the dataset's file (--id-bytes)."},
    {.name = "hyperbatch", .type = GNN_OPT_U32, .offset = FIELD(hyperbatch), .unit = "batches", .def = "0",
     .max = 1 << 24, .source = "paper section 4.1: 1024; Figure 9: 64 to 2048",
     .help = "Mini-batches per hyperbatch (H). 0 without a memory limit = H0, the "
             "number of mini-batches that together have 1024 x 1000 seed nodes, as in the paper (1024 x 1000 / K at "
             "scale 1/K). 0 with a memory limit = of the values that are at most H0, the one with the fewest "
             "predicted block reads and writes."},
    {.name = "first", .type = GNN_OPT_U32, .offset = FIELD(first), .unit = "batches", .def = "0", .max = 1 << 24,
     .help = "Mini-batches in the first hyperbatch of an epoch, for which training waits; 0 = H. Each following "
             "hyperbatch has twice as many, up to H. With overlap=epochs, this option applies only to the first "
             "epoch, because later epochs start without this wait.",
     .source = "ours; paper section 3.3: all hyperbatches have one size"},
    {.name = "visits", .type = GNN_OPT_CHOICE, .offset = FIELD(visits), .def = "hyperbatch",
     .choices = WORDS("hyperbatch", "target"), .source = "paper section 3.3, Figure 5",
     .help = "Order of block visits. hyperbatch: block by block, each for all mini-batches; target: seed node by "
             "seed node, so that blocks are visited again. target and hyperbatch=1 = the paper's AGNES-No.",
     .added = true},
    {.name = "accounting", .type = GNN_OPT_CHOICE, .offset = FIELD(accounting), .def = "full",
     .choices = WORDS("full", "paper"), .source = "paper section 4.1: paper",
     .help = "Memory accounting. full: all memory counts towards the memory limit; paper: only the graph buffer and "
             "the feature cache are limited, to the sizes of option setting."},
    {.name = "setting", .type = GNN_OPT_CHOICE, .offset = FIELD(setting), .def = "1", .choices = WORDS("1", "2"),
     .help = "Sizes of graph buffer and feature cache with accounting=paper or without a memory limit. 1: 16 GB "
             "each; 2: 4 GB each. At scale 1/K, both are divided by K.",
     .source = "paper section 4.1: 16 + 16 GB, 4 + 4 GB"},
    {.name = "graph_buffer", .type = GNN_OPT_BYTES, .offset = FIELD(graph_buffer_bytes), .unit = "bytes", .def = "0",
     .help = "Size of the graph buffer; 0 = chosen by the options accounting and setting.",
     .source = "paper section 4.4, Figure 10: 1 to 16 GB"},
    {.name = "feature_cache", .type = GNN_OPT_BYTES, .offset = FIELD(feature_cache_bytes), .unit = "bytes", .def = "0",
     .help = "Size of the feature cache; 0 = chosen by the options accounting and setting.",
     .source = "paper section 4.4, Figure 10: 1 to 16 GB"},
    {.name = "policy", .type = GNN_OPT_CHOICE, .offset = FIELD(policy), .def = "lru", .choices = WORDS("lru", "clock"),
     .help = "Replacement policy of the graph buffer, for blocks that are not pinned.",
     .source = "paper section 3.4 (1): LRU; released code: CLOCK"},
    {.name = "resident_first", .type = GNN_OPT_BOOL, .offset = FIELD(resident_first), .def = "true",
     .help = "Visit the needed graph blocks in the graph buffer before others are read; false: visit all needed "
             "blocks in ascending order.",
     .source = "paper section 3.4 (1); released code"},
    {.name = "gbuf_keep", .type = GNN_OPT_BOOL, .offset = FIELD(gbuf_keep), .def = "false",
     .help = "Keep the blocks in the graph buffer from one hyperbatch to the next.",
     .source = "released code: the buffer is emptied"},
    {.name = "cache_rank", .type = GNN_OPT_CHOICE, .offset = FIELD(cache_rank), .def = "threshold",
     .choices = WORDS("threshold", "count"),
     .help = "Rows that enter the feature cache, until it is full. With count, the most used rows come first. With "
             "threshold, rows whose number of uses is at least the mean over all used rows come first, then the other "
             "used rows; both groups are in order of ID.",
     .source = "paper section 3.4 (2): a threshold, without a value; released code: the mean"},
    {.name = "spill", .type = GNN_OPT_CHOICE, .offset = FIELD(spill), .def = "sync", .choices = WORDS("sync", "async"),
     .help = "Writing of full staging buffers. sync: by the worker that filled the buffer; async: by W writer "
             "threads, one per worker.",
     .source = "released code: sync"},
    {.name = "overlap", .type = GNN_OPT_CHOICE, .offset = FIELD(overlap), .def = "round",
     .choices = WORDS("round", "full", "epochs"), .source = "released code: round",
     .help = "Overlap of stages. round: training runs alone, after sampling and gathering; full: sampling, gathering "
             "and training overlap. With epochs, the next epoch's first hyperbatch is also sampled and gathered "
             "while this epoch's last one trains."},
    {.name = "workers", .type = GNN_OPT_U32, .offset = FIELD(workers), .unit = "threads", .def = "0",
     .max = AGNES_WORKERS_MAX, .source = "paper section 4.1: 16, on 16 cores; Figure 10: 1 to 16; released code: 16",
     .help = "Worker threads for sampling, and the same number for gathering (W); 0 = one per core, at most 16."},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "32", .min = 1, .max = 4096,
     .help = "Block reads in flight per stage (D).",
     .source = "ours; released code: up to 5120"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = WORDS("direct", "buffered"),
     .help = "I/O path for blocks, sample spool and spill file. direct: bypasses the page cache; buffered: uses it.",
     .source = "released code: O_DIRECT"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "Copying of mini-batches to a GPU. blocking: the trainer copies from pageable memory and waits; ahead: "
             "batch k + 1 is copied from pinned memory (two buffers) while k trains.",
     .source = "paper section 3.4 (2): one mini-batch of look-ahead; released code: blocking"},
    {.name = NULL},
};
/* clang-format on */
