/* SPDX-License-Identifier: MIT */
/* GNNDrive's parameters. "artifact" in a source is the released code as it is set up for one GPU. */
#include "systems/gnndrive/gnndrive.h"

static const char *const io_words[] = {"direct", "buffered", NULL};
static const char *const valid_words[] = {"completion", "batch", NULL};
static const char *const meta_words[] = {"artifact", "compact", NULL};
static const char *const order_words[] = {"global", "segments", NULL};
static const char *const batch_words[] = {"bound", "product", NULL};
static const char *const rank_buffer_words[] = {"shared", "own", NULL};
static const char *const transfer_words[] = {"copies", "gather", NULL}; /* in the order of enum gnndrive_transfer */

#define FIELD(name) offsetof(struct gnndrive_config, name)

/* clang-format off */
const struct gnn_option gnndrive_options[] = {
    {.name = "samplers", .type = GNN_OPT_U32, .offset = FIELD(samplers), .unit = "threads", .def = "0", .max = 128,
     .help = "Sampler threads (Ns); 0 = the smaller of 4 and 2 per core.",
     .source = "paper section 5: 4; artifact: 2"},
    {.name = "extractors", .type = GNN_OPT_U32, .offset = FIELD(extractors), .unit = "threads", .def = "0", .max = 64,
     .help = "Extractor threads (Ne), each with its own ring; 0 = the smaller of 4 and 2 per core.",
     .source = "paper section 5: 4; artifact: 2"},
    {.name = "extract_queue", .type = GNN_OPT_U32, .offset = FIELD(extract_queue), .unit = "batches", .def = "0",
     .max = 1024,
     .help = "Capacity of the queue from samplers to extractors (Q_e); 0 = samplers + 2.",
     .source = "paper section 5: 6; artifact: Ns + 2"},
    {.name = "train_queue", .type = GNN_OPT_U32, .offset = FIELD(train_queue), .unit = "batches", .def = "0",
     .max = 1024,
     .help = "Capacity of the queue from extractors to the trainer (Q_t); 0 = extractors.",
     .source = "paper section 5: 4; artifact: Ne"},
    {.name = "batch_nodes", .type = GNN_OPT_U32, .offset = FIELD(batch_nodes), .def = "0", .max = UINT32_MAX,
     .unit = "nodes",
     .help = "Planned number of nodes in the largest mini-batch (Mb); 0 = set by batch_rule.",
     .source = "paper section 4.2: maximum over mini-batches; artifact: product of the fan-outs"},
    {.name = "batch_rule", .type = GNN_OPT_CHOICE, .offset = FIELD(batch_rule), .def = "bound", .choices = batch_words,
     .help = "Rule for Mb with batch_nodes=0. With bound, Mb is the largest possible number of nodes in a "
             "mini-batch. If this number exceeds 1/20 of all nodes, Mb is 1.1 x the measured maximum instead. With "
             "product, Mb is the batch size x the product of the fan-outs, but at least 3/4 of the largest possible "
             "number.",
     .source = "artifact: product. Paper section 5 with Figure 12: 2.38 GB, which product gives: (train_queue + 1) x "
               "batch size x product of the fan-outs = 5 x 1000 x 1000 rows of 512 bytes"},
    {.name = "calibration_batches", .type = GNN_OPT_U32, .offset = FIELD(calibration_batches), .unit = "batches",
     .def = "8", .min = 1, .max = 100000, .source = "ours",
     .help = "Mini-batches sampled at open to measure Mb, if batch_rule=bound needs the measured maximum."},
    {.name = "buffer_mult", .type = GNN_OPT_U32, .offset = FIELD(buffer_mult), .def = "1", .min = 1, .max = 1024,
     .help = "Feature buffer size in multiples of (train_queue + 1) x batch_nodes slots.",
     .source = "paper section 5.2, Figure 12: 1x, swept to 8x"},
    {.name = "buffer_share", .type = GNN_OPT_U32, .offset = FIELD(buffer_share), .unit = "percent", .def = "0",
     .max = 100,
     .help = "Feature buffer size as a share of what the memory limit leaves after all other planned memory, but at "
             "least Ne x Mb slots; 0 = set by slots or buffer_mult.",
     .source = "ours; in Figure 6 of AGNES's paper, features have half of the memory"},
    {.name = "slots", .type = GNN_OPT_U32, .offset = FIELD(slots), .unit = "slots", .def = "0", .max = UINT32_MAX,
     .help = "Number of slots in the feature buffer (S), at least Ne x Mb; 0 = set by buffer_mult or buffer_share.",
     .source = "paper section 4.2: at least Ne x Mb"},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "80",
     .max = GNNDRIVE_DEPTH_MAX,
     .help = "Reads in flight per extractor; 0 = all reads of a mini-batch, at most 4096.",
     .source = "artifact: ring of 80 entries, reads in flight not bounded"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = io_words,
     .help = "I/O path for features. direct: whole sectors, bypassing the page cache; buffered: exact rows through "
             "the page cache.",
     .source = "paper sections 4.2 and 4.4"},
    {.name = "joint", .type = GNN_OPT_BOOL, .offset = FIELD(joint), .def = "true",
     .help = "Read and keep all rows of a sector together, if rows are smaller than a sector; false: read each row "
             "by itself.",
     .source = "paper section 4.4, access granularity"},
    {.name = "in_order", .type = GNN_OPT_BOOL, .offset = FIELD(in_order), .def = "false",
     .source = "paper section 4.3: reordering",
     .help = "Extract and train mini-batches in the epoch's order; false: mini-batches may overtake each other."},
    {.name = "valid", .type = GNN_OPT_CHOICE, .offset = FIELD(valid), .def = "completion", .choices = valid_words,
     .help = "Moment when rows become ready for other mini-batches. completion: when their read completes; batch: "
             "when all rows of the mini-batch are read.",
     .source = "paper section 4.2 (text): completion; Algorithm 1: batch"},
    {.name = "serial_extract", .type = GNN_OPT_BOOL, .offset = FIELD(serial_extract), .def = "false",
     .help = "Run one extraction at a time and block trainer and releaser meanwhile, as Python's global interpreter "
             "lock does.",
     .source = "artifact: native calls keep the interpreter lock"},
    {.name = "lock_submit", .type = GNN_OPT_BOOL, .offset = FIELD(lock_submit), .def = "false",
     .help = "Hold the lock of the mapping table through all submissions of a mini-batch.",
     .source = "artifact: true; paper section 4.2: only during lookup and allocation"},
    {.name = "order", .type = GNN_OPT_CHOICE, .offset = FIELD(order), .def = "global", .choices = order_words,
     .help = "Order of the training nodes. global: one permutation of all; segments: each sampler shuffles its own "
             "contiguous part.",
     .source = "paper section 4.3: global; artifact: segments"},
    {.name = "meta", .type = GNN_OPT_CHOICE, .offset = FIELD(meta), .def = "artifact", .choices = meta_words,
     .help = "Memory for the tables. artifact: as the released code, 24 bytes per node; compact: 8 bytes per group of "
             "rows that share a slot (see joint).",
     .source = "artifact: 16N map + 8N staging table, 72 bytes per slot"},
    {.name = "coalesce", .type = GNN_OPT_BOOL, .offset = FIELD(coalesce), .def = "false",
     .help = "Combine reads that complete together into one copy to the GPU, if they are adjacent both in the "
             "staging buffer and in the feature buffer.",
     .source = "ours; paper section 4.2 and artifact: one copy per read"},
    {.name = "readahead", .type = GNN_OPT_CHOICE, .offset = FIELD(readahead), .def = "kernel",
     .choices = gnn_map_advice_words,
     .help = "Advice for the topology mapping. kernel: no advice, so a page fault reads the device's readahead; off: "
             "a page fault reads one page.",
     .source = "artifact: no advice"},
    {.name = "rank_buffers", .type = GNN_OPT_CHOICE, .offset = FIELD(rank_buffers), .def = "shared",
     .choices = rank_buffer_words,
     .help = "Buffers with --workers. shared: one staging buffer (with GPUs) or one feature buffer (without), split "
             "equally; own: separate buffers for each worker process.",
     .source = "paper sections 4.3 and 4.4, CPU-based training: shared"},
    {.name = "staging", .type = GNN_OPT_U32, .offset = FIELD(staging), .unit = "loads", .def = "0", .max = INT32_MAX,
     .help = "Loads (reads of one slot's rows) that each extractor can hold in pinned host memory at once, in runs "
             "with a GPU; 0 = batch_nodes (Mb).",
     .source = "paper section 4.2 and artifact: Ne x Mb"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "copies", .choices = transfer_words,
     .help = "Copying of rows to a GPU. copies: one copy per completed read; gather: a kernel moves the rows of all "
             "reads that completed together from the staging buffer.",
     .source = "paper section 4.2 and artifact: one copy per row; gather: ours"},
    {.name = NULL},
};
/* clang-format on */
