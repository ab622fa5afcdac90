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
     .help = "Sampler threads (Ns); 0 = 4, at most 2 a core.", .source = "paper section 5: 4; artifact: 2"},
    {.name = "extractors", .type = GNN_OPT_U32, .offset = FIELD(extractors), .unit = "threads", .def = "0", .max = 64,
     .help = "Extractor threads (Ne), each with a ring of its own; 0 = 4, at most 2 a core.",
     .source = "paper section 5: 4; artifact: 2"},
    {.name = "extract_queue", .type = GNN_OPT_U32, .offset = FIELD(extract_queue), .unit = "batches", .def = "0",
     .max = 1024, .help = "Depth of the extracting queue (Q_e); 0 = samplers + 2.",
     .source = "paper section 5: 6; artifact: Ns + 2"},
    {.name = "train_queue", .type = GNN_OPT_U32, .offset = FIELD(train_queue), .unit = "batches", .def = "0",
     .max = 1024, .help = "Depth of the training queue (Q_t); 0 = extractors.",
     .source = "paper section 5: 4; artifact: Ne"},
    {.name = "batch_nodes", .type = GNN_OPT_U32, .offset = FIELD(batch_nodes), .def = "0", .max = UINT32_MAX,
     .unit = "nodes",
     .help = "Largest mini-batch (Mb); 0 = by batch_rule: the bound when it is at most N / 20, else 1.1 x measured.",
     .source = "paper section 4.2: maximum over mini-batches; artifact: product of the fan-outs"},
    {.name = "batch_rule", .type = GNN_OPT_CHOICE, .offset = FIELD(batch_rule), .def = "bound", .choices = batch_words,
     .help = "What batch_nodes=0 stands for: as said there, or seeds x the product of the fan-outs, but three quarters "
             "of the bound at least.",
     .source = "paper section 5 with Figure 12 (2.38 GB = 5 x 1000 x 1000 rows of 512 bytes) and artifact: product"},
    {.name = "calibration_batches", .type = GNN_OPT_U32, .offset = FIELD(calibration_batches), .unit = "batches",
     .def = "8", .min = 1, .max = 100000, .source = "ours",
     .help = "Mini-batches sampled at open to measure Mb when batch_nodes is 0 and the bound is large."},
    {.name = "buffer_mult", .type = GNN_OPT_U32, .offset = FIELD(buffer_mult), .def = "1", .min = 1, .max = 1024,
     .help = "Feature buffer size in multiples of (train_queue + 1) x batch_nodes slots.",
     .source = "paper section 5.2, Figure 12: 1x, swept to 8x"},
    {.name = "buffer_share", .type = GNN_OPT_U32, .offset = FIELD(buffer_share), .unit = "percent", .def = "0",
     .max = 100, .help = "Feature buffer as a share of what the cap leaves beside everything else, but Ne x Mb slots "
                         "at least; 0 = from slots or buffer_mult.", .source = "ours: AGNES' Figure 6 gives half"},
    {.name = "slots", .type = GNN_OPT_U32, .offset = FIELD(slots), .unit = "slots", .def = "0", .max = UINT32_MAX,
     .help = "Feature buffer slots (S), at least extractors x batch_nodes; 0 = from buffer_mult.",
     .source = "paper section 4.2: at least Ne x Mb"},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "80",
     .max = GNNDRIVE_DEPTH_MAX, .help = "Reads in flight per extractor; 0 = unbounded: all of a batch, 4096 at most.",
     .source = "artifact: ring of 80 entries, reads in flight not bounded"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = io_words,
     .help = "direct: features bypass the page cache in whole sectors; buffered: exact rows through the page cache.",
     .source = "paper sections 4.2 and 4.4"},
    {.name = "joint", .type = GNN_OPT_BOOL, .offset = FIELD(joint), .def = "true",
     .help = "Rows below the sector size are read and kept with their neighbours in the sector.",
     .source = "paper section 4.4, access granularity"},
    {.name = "in_order", .type = GNN_OPT_BOOL, .offset = FIELD(in_order), .def = "false",
     .source = "paper section 4.3: reordering",
     .help = "Batches are extracted and trained in the epoch's order instead of overtaking each other."},
    {.name = "valid", .type = GNN_OPT_CHOICE, .offset = FIELD(valid), .def = "completion", .choices = valid_words,
     .help = "When rows become ready for other batches: at each read's completion, or when the batch has all.",
     .source = "paper section 4.2 (text): completion; Algorithm 1: batch"},
    {.name = "serial_extract", .type = GNN_OPT_BOOL, .offset = FIELD(serial_extract), .def = "false",
     .help = "One extraction at a time with trainer and releaser kept out, as under the interpreter lock.",
     .source = "artifact: native calls keep the interpreter lock"},
    {.name = "lock_submit", .type = GNN_OPT_BOOL, .offset = FIELD(lock_submit), .def = "false",
     .help = "Hold the mapping table's lock through all submissions of a batch.",
     .source = "artifact: true; paper section 4.2: lookup and allocation only"},
    {.name = "order", .type = GNN_OPT_CHOICE, .offset = FIELD(order), .def = "global", .choices = order_words,
     .help = "global: one permutation; segments: each sampler owns a contiguous part and shuffles inside it.",
     .source = "paper section 4.3: global; artifact: segments"},
    {.name = "meta", .type = GNN_OPT_CHOICE, .offset = FIELD(meta), .def = "artifact", .choices = meta_words,
     .help = "Memory of the tables: as much as the released code (24 bytes per node), or 8 bytes per group.",
     .source = "artifact: 16N map + 8N staging table, 72 bytes per slot"},
    {.name = "coalesce", .type = GNN_OPT_BOOL, .offset = FIELD(coalesce), .def = "false",
     .help = "With a GPU: reads that complete together and lie side by side in both memories are one copy.",
     .source = "ours; paper section 4.2 and artifact: a copy each"},
    {.name = "readahead", .type = GNN_OPT_CHOICE, .offset = FIELD(readahead), .def = "kernel",
     .choices = gnn_map_advice_words,
     .help = "Of the topology mapping. kernel: nothing is advised, a fault reads around as far as the device's "
             "readahead says; off: one fault reads one page.", .source = "artifact: no advice"},
    {.name = "rank_buffers", .type = GNN_OPT_CHOICE, .offset = FIELD(rank_buffers), .def = "shared",
     .choices = rank_buffer_words,
     .help = "--workers. shared: one staging buffer with GPUs, one feature buffer without, a part each; own: one each.",
     .source = "paper sections 4.3 and 4.4, CPU-based training: shared"},
    {.name = "staging", .type = GNN_OPT_U32, .offset = FIELD(staging), .unit = "loads", .def = "0", .max = INT32_MAX,
     .help = "With a GPU: loads each extractor stages in pinned host memory; 0 = batch_nodes (Mb).",
     .source = "paper section 4.2 and artifact: Ne x Mb"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "copies", .choices = transfer_words,
     .help = "With a GPU. copies: a copy for each completed read; gather: a kernel moves the rows of all reads that "
             "completed together out of the staging memory.",
     .source = "paper section 4.2 and artifact: a copy a row; gather: ours"},
    {.name = NULL},
};
/* clang-format on */
