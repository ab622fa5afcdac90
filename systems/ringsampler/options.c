/* SPDX-License-Identifier: MIT */
/* RingSampler's parameters: the one table behind the parser, its limits, --help, the record and the README. */
#include "systems/ringsampler/ringsampler.h"

static const char *const io_words[] = {"direct", "buffered", "buffered-random", "mapped", "sorted", NULL};
static const char *const coalesce_words[] = {"none", "sector", "adjacent", NULL};
static const char *const order_words[] = {"submit-first", "drain-first", NULL};
static const char *const frontier_words[] = {"all", "neighbours", NULL};
static const char *const split_words[] = {"consecutive", "interleaved", "release", NULL};
static const char *const dedupe_words[] = {"hash", "sort", NULL};
static const char *const workspaces_words[] = {"right", "release", NULL};
static const char *const feature_io_words[] = {"direct", "buffered", NULL};

/* The parser writes choices as uint32_t. */
_Static_assert(sizeof(enum rs_io) == sizeof(uint32_t), "a choice is 32 bits");

#define FIELD(name) offsetof(struct ringsampler_config, name)
/* clang-format off */
const struct gnn_option ringsampler_options[] = {
    {.name = "threads", .type = GNN_OPT_U32, .offset = FIELD(threads), .unit = "threads", .def = "0", .max = 128,
     .help = "Sampling threads (n), each with a ring, a file handle and a workspace of its own; 0 = a core each, at "
             "most 64.",
     .source = "paper section 4.1: 64 = cores"},
    {.name = "ring", .type = GNN_OPT_U32, .offset = FIELD(ring), .unit = "reads", .def = "512", .min = 1,
     .max = RS_RING_MAX, .source = "paper section 4.1: 512",
     .help = "Ring size (Q): a group is floor(Q / fan-out) targets, and two groups may be in flight."},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "buffered", .choices = io_words,
     .help = "direct: whole sectors past the page cache; buffered, buffered-random: 4 bytes through it, with the "
             "kernel's readahead or without; mapped: no ring; sorted: a hop's reads in file order, joined.",
     .source = "artifact: buffered; sorted is ours"},
    {.name = "coalesce", .type = GNN_OPT_CHOICE, .offset = FIELD(coalesce), .def = "sector", .choices = coalesce_words,
     .help = "io=direct, in a group: one sector read per offset, one for equal sectors, or one for adjacent sectors.",
     .source = "paper section 3.1: none; sector and adjacent are ours"},
    {.name = "order", .type = GNN_OPT_CHOICE, .offset = FIELD(order), .def = "submit-first", .choices = order_words,
     .help = "Of two groups: the next is handed over before the last is drained (2Q reads in flight), or after.",
     .source = "artifact: submit-first; paper section 3, Figure 3b: drain-first"},
    {.name = "polling", .type = GNN_OPT_BOOL, .offset = FIELD(polling), .def = "true",
     .help = "Completion polling: a thread that waits looks at its ring and keeps its core; false: it sleeps.",
     .source = "paper section 4.1; artifact: false"},
    {.name = "sqpoll", .type = GNN_OPT_BOOL, .offset = FIELD(sqpoll), .def = "false",
     .help = "A kernel thread fetches submissions.", .source = "paper section 5: future work"},
    {.name = "iopoll", .type = GNN_OPT_BOOL, .offset = FIELD(iopoll), .def = "false",
     .help = "The device is polled for completions; needs direct reads and a polled queue.",
     .source = "artifact: never set"},
    {.name = "register_file", .type = GNN_OPT_BOOL, .offset = FIELD(register_file), .def = "false",
     .help = "Register the edge file with the ring.", .source = "artifact: false"},
    {.name = "register_buffer", .type = GNN_OPT_BOOL, .offset = FIELD(register_buffer), .def = "false",
     .help = "Register the memory that reads land in: sector buffers, or with buffered reads the workspace.",
     .source = "artifact: false"},
    {.name = "frontier", .type = GNN_OPT_CHOICE, .offset = FIELD(frontier), .def = "all", .choices = frontier_words,
     .help = "Targets of the next hop: every node known so far, or the distinct samples alone (with --sample-only).",
     .source = "paper Figure 1 and artifact: neighbours; all is what models and the other systems use"},
    {.name = "replace", .type = GNN_OPT_BOOL, .offset = FIELD(replace), .def = "false",
     .help = "Draw with replacement (only with --sample-only).", .source = "artifact: true; paper Figure 2: false"},
    {.name = "split", .type = GNN_OPT_CHOICE, .offset = FIELD(split), .def = "consecutive", .choices = split_words,
     .help = "Batches of a thread: consecutive ones, every n-th (always so with training), or the released code's "
             "split, which repeats seeds.",
     .source = "paper section 3.1: consecutive; artifact: release"},
    {.name = "dedupe", .type = GNN_OPT_CHOICE, .offset = FIELD(dedupe), .def = "hash", .choices = dedupe_words,
     .help = "How a hop's samples become distinct nodes: a hash map, or sorted (ID, slot) pairs.",
     .source = "artifact: sort"},
    {.name = "workspaces", .type = GNN_OPT_CHOICE, .offset = FIELD(workspaces), .def = "right",
     .choices = workspaces_words, .source = "artifact: release",
     .help = "right: what batches need; release: also the released code's records, 168 KB per thread and seed."},
    {.name = "workspace", .type = GNN_OPT_BYTES, .offset = FIELD(workspace_bytes), .unit = "bytes", .def = "0",
     .help = "Of each thread: blocks, dedupe, sort; 0 = the bound of a batch, or what the cap leaves.",
     .source = "ours"},
    {.name = "bundle", .type = GNN_OPT_U32, .offset = FIELD(bundle), .unit = "batches", .def = "0",
     .max = RS_BUNDLE_MAX, .source = "ours",
     .help = "io=sorted: batches of a thread sampled together, one sweep a hop; 0 = as many as the workspace holds."},
    {.name = "cache", .type = GNN_OPT_BYTES, .offset = FIELD(cache_bytes), .unit = "bytes", .def = "0",
     .help = "io=sorted: edge-file blocks that stay in memory, shared by the threads; 0 = none.",
     .source = "ours; paper section 4.4 asks for a cache"},
    {.name = "extent", .type = GNN_OPT_BYTES, .offset = FIELD(extent_bytes), .unit = "bytes", .def = "128K",
     .min = 4096, .max = 16777216, .help = "io=sorted: the longest read.", .source = "ours"},
    {.name = "gap", .type = GNN_OPT_BYTES, .offset = FIELD(gap_bytes), .unit = "bytes", .def = "16K", .max = 16777216,
     .help = "io=sorted: unwanted bytes that a read passes over rather than ends: about bandwidth / reads per second.",
     .source = "ours"},
    {.name = "read_buffer", .type = GNN_OPT_BYTES, .offset = FIELD(read_buffer_bytes), .unit = "bytes", .def = "2M",
     .min = 65536, .max = 1073741824, .help = "io=sorted: memory of a thread that reads land in.", .source = "ours"},
    {.name = "prefetch", .type = GNN_OPT_U32, .offset = FIELD(prefetch), .unit = "batches", .def = "2",
     .min = 1, .max = 64, .help = "With training: batches a thread may sample ahead of their turn.",
     .source = "as PyG+ (PyTorch DataLoader)"},
    {.name = "extract_depth", .type = GNN_OPT_U32, .offset = FIELD(extract_depth), .unit = "reads", .def = "128",
     .min = 1, .max = 4096, .help = "With training: feature reads in flight.", .source = "ours"},
    {.name = "feature_io", .type = GNN_OPT_CHOICE, .offset = FIELD(feature_io), .def = "direct",
     .choices = feature_io_words, .source = "as GNNDrive",
     .help = "With training: features in whole sectors past the page cache, or exact rows through it."},
    {.name = "requests", .type = GNN_OPT_U32, .offset = FIELD(requests), .unit = "requests", .def = "0",
     .max = 2147483647, .source = "paper section 4.4: 1000000",
     .help = "On-demand mode: an epoch is a stream of so many requests of one target each, with latencies; 0 = off."},
    {.name = "concurrency", .type = GNN_OPT_U32, .offset = FIELD(concurrency), .unit = "requests", .def = "0",
     .max = 128, .help = "On-demand mode: requests in service at a time, a thread each; 0 = a core each, at most 64.",
     .source = "paper section 4.4: 64 threads"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "With a GPU. blocking: the trainer copies a batch out of pageable memory and waits; ahead: out of pinned "
             "memory, two buffers, batch k + 1 crosses while k trains.",
     .source = "ours: the paper trains elsewhere"},
    {.name = NULL},
};
/* clang-format on */
