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
     .help = "Sampling threads (n), each with its own ring, file handle and workspace; 0 = one per core, at most 64.",
     .source = "paper section 4.1: 64 = cores"},
    {.name = "ring", .type = GNN_OPT_U32, .offset = FIELD(ring), .unit = "reads", .def = "512", .min = 1,
     .max = RS_RING_MAX, .source = "paper section 4.1: 512",
     .help = "Ring size in reads (Q). A group of targets has floor(Q / fan-out) members, and up to two groups are in "
             "flight."},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "buffered", .choices = io_words,
     .help = "Method of reading the edge file. With direct, whole sectors are read, bypassing the page cache. With "
             "buffered, single IDs are read through the page cache, with readahead; buffered-random is the same "
             "without readahead. With mapped, page faults read the mapped file, without a ring. With sorted, direct "
             "reads are in file order, and close ones are joined.",
     .source = "artifact: buffered; sorted is ours"},
    {.name = "coalesce", .type = GNN_OPT_CHOICE, .offset = FIELD(coalesce), .def = "sector", .choices = coalesce_words,
     .help = "Joining of reads in a group with io=direct. none: one read of a sector per sample; sector: one read per "
             "distinct sector; adjacent: one read per run of adjacent sectors.",
     .source = "paper section 3.1: none; sector and adjacent are ours"},
    {.name = "order", .type = GNN_OPT_CHOICE, .offset = FIELD(order), .def = "submit-first", .choices = order_words,
     .help = "Submission of the next group's reads. submit-first: before the reads of the current group have "
             "completed (up to 2Q reads in flight); drain-first: after they have completed.",
     .source = "artifact: submit-first; paper section 3, Figure 3b: drain-first"},
    {.name = "polling", .type = GNN_OPT_BOOL, .offset = FIELD(polling), .def = "true",
     .help = "Wait for completions by polling the ring, which keeps the core busy; false: the thread sleeps until "
             "they arrive.",
     .source = "paper section 4.1; artifact: false"},
    {.name = "sqpoll", .type = GNN_OPT_BOOL, .offset = FIELD(sqpoll), .def = "false",
     .help = "Let a kernel thread fetch submitted reads from the ring, so that submission needs no system call.",
     .source = "paper section 5: future work"},
    {.name = "iopoll", .type = GNN_OPT_BOOL, .offset = FIELD(iopoll), .def = "false",
     .help = "Poll the device for completions (IORING_SETUP_IOPOLL); requires direct reads and a device queue for "
             "polling.",
     .source = "artifact: never set"},
    {.name = "register_file", .type = GNN_OPT_BOOL, .offset = FIELD(register_file), .def = "false",
     .help = "Register the edge file with the ring.",
     .source = "artifact: false"},
    {.name = "register_buffer", .type = GNN_OPT_BOOL, .offset = FIELD(register_buffer), .def = "false",
     .help = "Register with the ring the memory that receives reads: the sector buffers, or the workspace with "
             "buffered reads.",
     .source = "artifact: false"},
    {.name = "frontier", .type = GNN_OPT_CHOICE, .offset = FIELD(frontier), .def = "all", .choices = frontier_words,
     .help = "Targets of the next hop. all: all nodes found so far; neighbours: only the distinct samples of this "
             "hop (requires --sample-only).",
     .source = "paper Figure 1 and artifact: neighbours; all is what models and the other systems use"},
    {.name = "replace", .type = GNN_OPT_BOOL, .offset = FIELD(replace), .def = "false",
     .help = "Draw neighbours with replacement (requires --sample-only).",
     .source = "artifact: true; paper Figure 2: false"},
    {.name = "split", .type = GNN_OPT_CHOICE, .offset = FIELD(split), .def = "consecutive", .choices = split_words,
     .help = "Assignment of batches to n threads. consecutive: adjacent batches to one thread; interleaved: every "
             "n-th batch (always used with training); release: as in the released code, which repeats seeds.",
     .source = "paper section 3.1: consecutive; artifact: release"},
    {.name = "dedupe", .type = GNN_OPT_CHOICE, .offset = FIELD(dedupe), .def = "hash", .choices = dedupe_words,
     .help = "Method to find distinct nodes among a hop's samples. hash: a hash map; sort: sorted (ID, slot) pairs.",
     .source = "artifact: sort"},
    {.name = "workspaces", .type = GNN_OPT_CHOICE, .offset = FIELD(workspaces), .def = "right",
     .choices = workspaces_words, .source = "artifact: release",
     .help = "Size of the workspaces. right: what batches need; release: in addition the size of the released code's "
             "records, 168 KB per thread and seed node."},
    {.name = "workspace", .type = GNN_OPT_BYTES, .offset = FIELD(workspace_bytes), .unit = "bytes", .def = "0",
     .help = "Size of each thread's workspace for sampled batches, deduplication and sorting; 0 = enough for the "
             "largest possible batch, or less if the memory limit leaves less.",
     .source = "ours"},
    {.name = "bundle", .type = GNN_OPT_U32, .offset = FIELD(bundle), .unit = "batches", .def = "0",
     .max = RS_BUNDLE_MAX, .source = "ours",
     .help = "Batches that a thread samples in one sweep per hop (io=sorted only); 0 = as many as the workspace "
             "holds."},
    {.name = "cache", .type = GNN_OPT_BYTES, .offset = FIELD(cache_bytes), .unit = "bytes", .def = "0",
     .help = "Size of the cache for blocks of the edge file, shared by all threads (io=sorted only); 0 = no cache.",
     .source = "ours; paper section 4.4 suggests a cache"},
    {.name = "extent", .type = GNN_OPT_BYTES, .offset = FIELD(extent_bytes), .unit = "bytes", .def = "128K",
     .min = 4096, .max = 16777216,
     .help = "Maximum size of a read with io=sorted.",
     .source = "ours"},
    {.name = "gap", .type = GNN_OPT_BYTES, .offset = FIELD(gap_bytes), .unit = "bytes", .def = "16K", .max = 16777216,
     .help = "Maximum number of unneeded bytes between two reads that are joined (io=sorted only). A useful value is "
             "the bandwidth of the device divided by its reads per second.",
     .source = "ours"},
    {.name = "read_buffer", .type = GNN_OPT_BYTES, .offset = FIELD(read_buffer_bytes), .unit = "bytes", .def = "2M",
     .min = 65536, .max = 1073741824,
     .help = "Read buffer of each thread with io=sorted.",
     .source = "ours"},
    {.name = "prefetch", .type = GNN_OPT_U32, .offset = FIELD(prefetch), .unit = "batches", .def = "2",
     .min = 1, .max = 64,
     .help = "Batches that a thread may sample ahead of training.",
     .source = "as PyG+ (PyTorch DataLoader)"},
    {.name = "extract_depth", .type = GNN_OPT_U32, .offset = FIELD(extract_depth), .unit = "reads", .def = "128",
     .min = 1, .max = 4096,
     .help = "Feature reads in flight, with training.",
     .source = "ours"},
    {.name = "feature_io", .type = GNN_OPT_CHOICE, .offset = FIELD(feature_io), .def = "direct",
     .choices = feature_io_words, .source = "as GNNDrive",
     .help = "I/O path for features, with training. direct: whole sectors, bypassing the page cache; buffered: exact "
             "rows through the page cache."},
    {.name = "requests", .type = GNN_OPT_U32, .offset = FIELD(requests), .unit = "requests", .def = "0",
     .max = 2147483647, .source = "paper section 4.4: 1000000",
     .help = "Requests per epoch in on-demand mode. Each request samples one target, and its latency is recorded; 0 = "
             "on-demand mode is off."},
    {.name = "concurrency", .type = GNN_OPT_U32, .offset = FIELD(concurrency), .unit = "requests", .def = "0",
     .max = 128,
     .help = "Requests that are served at a time in on-demand mode, each by its own thread; 0 = one per core, at most "
             "64.",
     .source = "paper section 4.4: 64 threads"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "Copying of mini-batches to a GPU. blocking: the trainer copies from pageable memory and waits; ahead: "
             "batch k + 1 is copied from pinned memory (two buffers) while k trains.",
     .source = "ours: the paper trains elsewhere"},
    {.name = NULL},
};
/* clang-format on */
