/* SPDX-License-Identifier: MIT */
/* PyG+'s parameters. "Ginex artifact" in a source is the baseline released with Ginex. */
#include "systems/pygplus/pygplus.h"

static const char *const floyd_words[] = {"exact", "biased", NULL};

#define FIELD(name) offsetof(struct pygplus_config, name)

/* clang-format off */
const struct gnn_option pygplus_options[] = {
    {.name = "workers", .type = GNN_OPT_U32, .offset = FIELD(workers), .unit = "threads", .def = "0", .max = 128,
     .help = "Sampler threads (W); thread k mod W samples mini-batch k. 0 = the smallest of three numbers: the "
             "number of cores, 32, and E. E is an eighth of the number of mini-batches of an epoch, but at least 2.",
     .source = "Ginex artifact: 32"},
    {.name = "prefetch", .type = GNN_OPT_U32, .offset = FIELD(prefetch), .unit = "batches", .def = "2",
     .min = 1, .max = 64,
     .help = "Maximum number of undelivered mini-batches of each sampler thread, including the one that it is "
             "sampling.",
     .source = "PyTorch DataLoader prefetch_factor, Ginex artifact"},
    {.name = "gather_threads", .type = GNN_OPT_U32, .offset = FIELD(gather_threads), .unit = "threads", .def = "0",
     .max = 128,
     .help = "Threads of the gather (G). Each has at most one page fault in flight. 0 = 8 per core, at most 128, as "
             "in Ginex.",
     .source = "Ginex artifact: 128; GNNDrive section 5: more than 2x physical cores"},
    {.name = "readahead", .type = GNN_OPT_CHOICE, .offset = FIELD(readahead), .def = "kernel",
     .choices = gnn_map_advice_words,
     .help = "Advice for both mappings. kernel: no advice, so a page fault reads the device's readahead window; off: "
             "a page fault reads one page (MADV_RANDOM).",
     .source = "Ginex and GNNDrive artifacts: no advice; Ginex's instructions set the device's readahead to 0"},
    {.name = "floyd", .type = GNN_OPT_CHOICE, .offset = FIELD(floyd), .def = "exact", .choices = floyd_words,
     .help = "Sampling algorithm. exact: uniform; biased: as the released sampler, whose off-by-one error draws the "
             "last neighbours less often.",
     .source = "GNNDrive and Ginex artifacts: biased; papers: uniform"},
    {.name = "drop_last_train", .type = GNN_OPT_BOOL, .offset = FIELD(drop_last_train), .def = "false",
     .help = "Gather the last mini-batch of an epoch without training it, as the released code does.",
     .source = "Ginex artifact: true; paper: all mini-batches train"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "blocking",
     .choices = gnn_transfer_words,
     .help = "Copying of mini-batches to a GPU. blocking: the trainer copies from pageable memory and waits; ahead: "
             "batch k + 1 is copied from pinned memory (two buffers) while k trains.",
     .source = "Ginex artifact: blocking; ahead: ours"},
    {.name = "ballast_bytes", .type = GNN_OPT_BYTES, .offset = FIELD(ballast_bytes), .unit = "bytes", .def = "0",
     .help = "Memory allocated per sampler thread, in place of the interpreter and page tables of a sampler process; "
             "0 = none.",
     .source = "ours: the original's samplers are processes"},
    {.name = NULL},
};
/* clang-format on */
