/* SPDX-License-Identifier: MIT */
/* Ginex's options. Artifact: github.com/SNU-ARC/Ginex; "paper": Ginex, PVLDB 15(11), 2022; "GNNDrive": ICPP 2024. */
#include "systems/ginex/ginex.h"

static const char *const io_words[] = {[GINEX_IO_DIRECT] = "direct", [GINEX_IO_BUFFERED] = "buffered", NULL};
static const char *const list_words[] = {[GINEX_LIST_ARTIFACT] = "artifact", [GINEX_LIST_COVER] = "cover", NULL};
static const char *const fill_words[] = {[GINEX_FILL_MAPPED] = "mapped", [GINEX_FILL_DIRECT] = "direct", NULL};
static const char *const replacement_words[] = {
    [GINEX_REPLACE_BELADY] = "belady", [GINEX_REPLACE_LRU] = "lru", [GINEX_REPLACE_STATIC] = "static", NULL};
static const char *const initial_words[] = {[GINEX_INITIAL_ACCESS] = "access", [GINEX_INITIAL_SCORE] = "score", NULL};
static const char *const floyd_words[] = {[GINEX_FLOYD_EXACT] = "exact", [GINEX_FLOYD_BIASED] = "biased", NULL};

/* A GNN_OPT_CHOICE writes a uint32_t into its field. */
_Static_assert(sizeof(enum ginex_io) == sizeof(uint32_t), "io");
_Static_assert(sizeof(enum ginex_list_read) == sizeof(uint32_t), "list_read");
_Static_assert(sizeof(enum ginex_fill) == sizeof(uint32_t), "fill");
_Static_assert(sizeof(enum ginex_replacement) == sizeof(uint32_t), "replacement");
_Static_assert(sizeof(enum ginex_initial) == sizeof(uint32_t), "initial");
_Static_assert(sizeof(enum ginex_floyd) == sizeof(uint32_t), "floyd");

#define FIELD(name) offsetof(struct ginex_config, name)
/* clang-format off */
const struct gnn_option ginex_options[] = {
    {.name = "superbatch", .type = GNN_OPT_U32, .offset = FIELD(superbatch), .unit = "batches", .def = "1500", .min = 1,
     .max = GINEX_BATCHES_MAX,
     .help = "Mini-batches sampled ahead and inspected together (SB); at most those of one epoch.",
     .source = "GNNDrive section 3: 1500; artifact run_ginex.py: 1000"},
    {.name = "feature_cache", .type = GNN_OPT_BYTES, .offset = FIELD(feature_cache), .def = "0",
     .help = "Size of the feature cache with its address table (Z_f); 0 = 75 % of the memory limit, or less if this "
             "does not fit. Without a memory limit, 0 = a tenth of the feature rows.",
     .source = "GNNDrive section 5: 24 GB of 32 GB; artifact README.md: 6 GB of 8 GB"},
    {.name = "neighbour_cache", .type = GNN_OPT_BYTES, .offset = FIELD(neighbour_cache), .def = "0",
     .help = "Size of the neighbour cache with its table (Z_n); 0 = 19 % of the memory limit, or less if this does "
             "not fit. Without a memory limit, 0 = a tenth of the neighbour lists.",
     .source = "GNNDrive section 5: 6 GB of 32 GB"},
    {.name = "cache_share", .type = GNN_OPT_U32, .offset = FIELD(cache_share), .unit = "percent", .def = "0",
     .max = 100, .source = "ours: AGNES's Figure 6 gives half to each",
     .help = "Size of each cache whose own option is 0, as a share of the memory that all other needs leave free "
             "under the memory limit. For the feature cache, this is the memory left in Execute; for the neighbour "
             "cache, in Inspect. With cache_share=0, the defaults of feature_cache and neighbour_cache apply."},
    {.name = "cache_neighbours", .type = GNN_OPT_BOOL, .offset = FIELD(cache_neighbours), .def = "true",
     .help = "Use a neighbour cache; false: every neighbour list is read."},
    {.name = "skip_isolated", .type = GNN_OPT_BOOL, .offset = FIELD(skip_isolated), .def = "false",
     .help = "Leave nodes without in-edges out of the neighbour cache. Such nodes have the highest scores, but are "
             "never looked up.",
     .source = "artifact lib/cache.py: false"},
    {.name = "samplers", .type = GNN_OPT_U32, .offset = FIELD(samplers), .unit = "threads", .def = "0",
     .max = 128,
     .help = "Sampler threads of a superbatch (V), each with one list read in flight; 0 = 2 per core.",
     .source = "artifact run_ginex.py: 2x logical cores"},
    {.name = "gather_threads", .type = GNN_OPT_U32, .offset = FIELD(gather_threads), .unit = "threads", .def = "0",
     .max = 128,
     .help = "Threads of the gather (G), each with one synchronous read in flight; 0 = 8 per core, at most 128. The "
             "same threads fill and update the feature cache.",
     .source = "artifact run_ginex.py: 8x logical cores; GNNDrive section 5: more than 2x physical cores"},
    {.name = "trace_loaders", .type = GNN_OPT_U32, .offset = FIELD(trace_loaders), .unit = "threads", .def = "4",
     .min = 1, .max = 64,
     .help = "Threads that read mini-batches back from the trace (L_t).",
     .source = "artifact run_ginex.py"},
    {.name = "trace_queue", .type = GNN_OPT_U32, .offset = FIELD(trace_queue), .unit = "batches", .def = "2", .min = 1,
     .max = 64,
     .help = "Mini-batches that each trace loader reads ahead.",
     .source = "artifact run_ginex.py"},
    {.name = "trace_depth", .type = GNN_OPT_U32, .offset = FIELD(trace_depth), .unit = "reads", .def = "8", .min = 1,
     .max = 256,
     .help = "Reads in flight per trace loader."},
    {.name = "trace_block", .type = GNN_OPT_BYTES, .offset = FIELD(trace_block), .def = "256K", .min = 4096,
     .max = 1 << 26,
     .help = "Size of one write to the trace, and maximum size of one read from it."},
    {.name = "trace_io", .type = GNN_OPT_CHOICE, .offset = FIELD(trace_io), .def = "buffered", .choices = io_words,
     .help = "I/O path for the trace. direct: bypasses the page cache; buffered: uses it.",
     .source = "artifact: whole small files, through the page cache"},
    {.name = "trace_dir", .type = GNN_OPT_TEXT, .offset = FIELD(trace_dir), .def = "",
     .help = "Directory for the scratch files (trace, neighbour cache); empty = the dataset's directory."},
    {.name = "id_readers", .type = GNN_OPT_U32, .offset = FIELD(id_readers), .unit = "reads", .def = "16", .min = 1,
     .max = 128,
     .help = "Node lists that are read at the same time while a superbatch is inspected.",
     .source = "artifact lib/cache.py: 16 threads"},
    {.name = "hold_ids", .type = GNN_OPT_BOOL, .offset = FIELD(hold_ids), .def = "true",
     .help = "Keep the node lists of a superbatch in memory between passes 1 and 2; false: read them again.",
     .source = "artifact lib/cache.py"},
    {.name = "neighbour_block", .type = GNN_OPT_BYTES, .offset = FIELD(neighbour_block), .def = "4K", .min = 4096,
     .max = 1 << 26,
     .help = "Size of one read while the neighbour cache is loaded; gather_threads such reads are in flight.",
     .source = "artifact lib/cpp_extension/mt_load.cpp"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = io_words,
     .help = "I/O path for neighbour lists, feature rows and the neighbour cache file. direct: bypasses the page "
             "cache; buffered: uses it.",
     .source = "paper; artifact lib/cpp_extension/gather.cpp"},
    {.name = "io_unit", .type = GNN_OPT_BYTES, .offset = FIELD(io_unit), .def = "4K", .min = 512, .max = 1 << 24,
     .help = "Size and alignment of feature reads; a power of two.",
     .source = "artifact lib/cpp_extension/gather.cpp: 4 KiB; varied by AGNES"},
    {.name = "list_read", .type = GNN_OPT_CHOICE, .offset = FIELD(list_read), .def = "artifact", .choices = list_words,
     .help = "Bytes read for a neighbour list. artifact: by the rule of the released code, which reads up to one "
             "page too many; cover: only the pages that contain the list.",
     .source = "artifact lib/cpp_extension/sample.cpp"},
    {.name = "fill", .type = GNN_OPT_CHOICE, .offset = FIELD(fill), .def = "mapped", .choices = fill_words,
     .help = "Initial filling of the feature cache. mapped: by page faults of gather_threads threads; direct: by "
             "direct reads of adjacent rows.",
     .source = "artifact lib/cache.py: mapped"},
    {.name = "readahead", .type = GNN_OPT_CHOICE, .offset = FIELD(readahead), .def = "kernel",
     .choices = gnn_map_advice_words,
     .help = "Advice for a mapped fill. kernel: no advice, so a page fault reads the device's readahead; off: a page "
             "fault reads one page.",
     .source = "artifact lib/cache.py: no advice; its instructions set the device's readahead to 0"},
    {.name = "replacement", .type = GNN_OPT_CHOICE, .offset = FIELD(replacement), .def = "belady",
     .choices = replacement_words,
     .help = "Replacement policy of the feature cache. belady: optimal; lru: least recently used; static: none.",
     .source = "paper: Belady's"},
    {.name = "initial", .type = GNN_OPT_CHOICE, .offset = FIELD(initial), .def = "access", .choices = initial_words,
     .help = "Initial content of the feature cache. access: the first distinct nodes of the superbatch; score: the "
             "nodes with the highest scores.",
     .source = "paper: first accesses"},
    {.name = "overlap", .type = GNN_OPT_BOOL, .offset = FIELD(overlap), .def = "true",
     .help = "Run pass 3 during sampling, and gathering during training; false: one after the other.",
     .source = "paper"},
    {.name = "overlap_caches", .type = GNN_OPT_BOOL, .offset = FIELD(overlap_caches), .def = "false",
     .help = "Keep the feature cache until the next Inspect has ended, so that both caches are resident.",
     .source = "artifact run_ginex.py: true; paper: false"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "blocking",
     .choices = gnn_transfer_words,
     .help = "Copying of mini-batches to a GPU. blocking: the trainer copies from pageable memory and waits; ahead: "
             "batch k + 1 is copied from pinned memory (two buffers) while k trains.",
     .source = "artifact run_ginex.py: blocking; ahead: ours"},
    {.name = "floyd", .type = GNN_OPT_CHOICE, .offset = FIELD(floyd), .def = "exact", .choices = floyd_words,
     .help = "Sampling algorithm. exact: uniform; biased: as the released sampler, whose off-by-one error draws the "
             "last neighbours less often.",
     .source = "artifact lib/cpp_extension/sample.cpp: biased; paper: uniform"},
    {.name = NULL},
};
/* clang-format on */
