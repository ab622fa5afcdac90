/* SPDX-License-Identifier: MIT */
/* The options of MariusGNN (--set mariusgnn.NAME=VALUE). Where paper and released code differ, the paper is the
 * default, but for `replace`, on which its published mini-batch sizes rest. */
#include "systems/mariusgnn/mariusgnn.h"

_Static_assert(sizeof(enum marius_policy) == sizeof(uint32_t), "GNN_OPT_CHOICE writes a uint32_t into an enum's field");

#define FIELD(name) offsetof(struct marius_config, name)
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* clang-format off */
const struct gnn_option marius_options[] = {
    {.name = "policy", .type = GNN_OPT_CHOICE, .offset = FIELD(policy), .def = "auto",
     .choices = WORDS("auto", "training-first", "replace", "memory", "comet", "beta"),
     .help = "Policy for resident partitions. With memory, all are resident. With training-first (nodes), those with "
             "training nodes are resident, and others chosen at random in each epoch. With replace (nodes), one group "
             "of partitions after another is replaced until each partition has been resident. With comet (links), "
             "groups are swapped one at a time until every pair of partitions has been resident together; an edge "
             "bucket is trained in any state that holds it. With beta (links), single partitions are swapped, and an "
             "edge bucket is trained in the first state that holds it. With auto, nodes use training-first if it "
             "leaves room for another partition, otherwise replace; links use memory if all fits, otherwise comet.",
     .source = "paper sections 5.1 and 5.2; memory: its in-memory runs; released code: chosen by hand"},
    {.name = "partitions", .type = GNN_OPT_U32, .offset = FIELD(partitions), .unit = "partitions", .def = "0",
     .max = 1 << 15,
     .help = "Physical partitions (p); 0 = min(NO / D, sqrt(EO / D)) as a power of two, where NO is the size of all "
             "rows and EO the size of all edges on disk.",
     .source = "paper section 6; released code: 8192 for papers100m, 16 by default"},
    {.name = "disk_block", .type = GNN_OPT_BYTES, .offset = FIELD(block_bytes), .unit = "bytes", .def = "4096",
     .min = 1, .max = 1 << 30,
     .help = "Size of a disk block (D) in the rule that computes p.",
     .source = "paper section 6; its configurations match 4096"},
    {.name = "capacity", .type = GNN_OPT_U32, .offset = FIELD(capacity), .unit = "partitions", .def = "0",
     .max = 1 << 15,
     .help = "Resident partitions (c); 0 = as many as the memory limit leaves room for; without a limit, all.",
     .source = "paper section 6: maximal; released code: 3584 of 8192 for papers100m"},
    {.name = "logical", .type = GNN_OPT_U32, .offset = FIELD(logical), .unit = "groups", .def = "2", .min = 1,
     .max = 1024,
     .help = "Groups of partitions in memory (c_l) with policy=replace or comet, one of which is replaced at a time. "
             "All partitions form l = p c_l / c groups.",
     .source = "paper section 6: 2"},
    {.name = "edges", .type = GNN_OPT_CHOICE, .offset = FIELD(edges), .def = "both", .choices = WORDS("both", "in"),
     .help = "Edges for sampling. both: each fan-out is drawn from incoming edges and again from outgoing edges; in: "
             "only from incoming edges, as in the other systems.",
     .source = "paper section 7.1 and released code: both"},
    {.name = "replace", .type = GNN_OPT_BOOL, .offset = FIELD(replace), .def = "true",
     .help = "Draw with replacement for nodes with more neighbours than the fan-out; false: draw distinct edges.",
     .source = "released code: true; paper section 4.1: up to f neighbours"},
    {.name = "hash_hops", .type = GNN_OPT_U32, .offset = FIELD(hash_hops), .unit = "hops", .def = "1",
     .max = GNN_LAYERS_MAX,
     .help = "Number of hops, from the first, whose new nodes are found by a hash set; later hops use a bitmap over "
             "all resident nodes.",
     .source = "released code: 1 for papers100m"},
    {.name = "loaders", .type = GNN_OPT_U32, .offset = FIELD(loaders), .unit = "threads", .def = "0", .max = 64,
     .help = "Threads that sample and gather mini-batches; 0 = 4, at most one per core.",
     .source = "released code: 4 (papers100m: 8 on 8 cores, 64 in memory)"},
    {.name = "sampling", .type = GNN_OPT_CHOICE, .offset = FIELD(sampling), .def = "single",
     .choices = WORDS("single", "team"),
     .help = "Threads that sample a mini-batch. single: each loader samples its own mini-batch. team: all cores sample "
             "one mini-batch, so loaders take turns. Simulated runs divide the time by the number of cores. Measured "
             "runs sample with one thread in both cases.",
     .source = "paper section 4.1 and released code: team; single: ours", .added = true},
    {.name = "staleness", .type = GNN_OPT_U32, .offset = FIELD(staleness), .unit = "batches", .def = "0", .max = 1024,
     .help = "Maximum number of mini-batches in flight; 0 = loaders + 5, at most 16. The 5 are 4 mini-batches in a "
             "queue and 1 in training.",
     .source = "released code: 16, queues of 4"},
    {.name = "prefetch", .type = GNN_OPT_BOOL, .offset = FIELD(prefetch), .def = "true",
     .help = "Read the partitions and edges of the next state, and write the partitions that left memory, while a "
             "state trains; uses additional memory (policy=replace, comet or beta).",
     .source = "paper section 3: overlapped; released code: off in the papers100m runs"},
    {.name = "keep", .type = GNN_OPT_BOOL, .offset = FIELD(keep), .def = "true",
     .help = "Keep partitions that stay resident from one epoch to the next; false: read all resident partitions "
             "again.",
     .source = "paper section 5.2: cached; released code: all are read again"},
    {.name = "always_write", .type = GNN_OPT_BOOL, .offset = FIELD(always_write), .def = "false",
     .help = "Write partitions back when they leave memory, even if unchanged (policy=replace).",
     .source = "released code: true"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = WORDS("direct", "buffered"),
     .help = "I/O path for partitions and edge buckets. direct: bypasses the page cache; buffered: uses it.",
     .source = "released code: buffered; not given in the paper"},
    {.name = "bucket_reads", .type = GNN_OPT_CHOICE, .offset = FIELD(bucket_reads), .def = "coalesced",
     .choices = WORDS("coalesced", "single"),
     .help = "Reading of edge buckets. coalesced: buckets adjacent on disk and in memory are read together; single: "
             "one request per bucket.",
     .source = "released code: single; coalesced: ours"},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "16", .min = 1, .max = 1024,
     .help = "Reads in flight, separately for partitions and for buckets; 1 = one read after the other.",
     .source = "released code: 1 for partitions, one thread per core for buckets"},
    {.name = "edge_memory", .type = GNN_OPT_CHOICE, .offset = FIELD(edge_memory), .def = "compact",
     .choices = WORDS("compact", "released"),
     .help = "Memory per resident edge. compact: 16 bytes (section 6); released: 64 bytes, as in the released code, "
             "whose copies of the edges have IDs of 8 bytes.",
     .source = "paper section 6: its rule for c counts resident buckets twice; released code: released"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "Copying of mini-batches to a GPU. ahead: while another mini-batch trains; blocking: the trainer copies "
             "and waits.",
     .source = "paper section 3 and released code: ahead"},
    {.name = "copied_ids", .type = GNN_OPT_CHOICE, .offset = FIELD(copied_ids), .def = "compact",
     .choices = WORDS("compact", "released"),
     .help = "IDs of a mini-batch that are copied to a modelled GPU with transfer=ahead. compact: 4 bytes per edge. "
             "released: in addition, 12 bytes per edge and 8 per node.",
     .source = "released code: both ends of an edge and the nodes, in 8 bytes each; compact: ours", .added = true},
    {.name = "vectors", .type = GNN_OPT_CHOICE, .offset = FIELD(vectors), .def = "scratch",
     .choices = WORDS("scratch", "kept"),
     .help = "Storage of learned vectors (links). scratch: deleted when the run ends; kept: stored with the "
             "partitions after each epoch, at twice the disk space. A later run with the same seed, model and "
             "partitions continues from them.",
     .source = "released code: files that are written over in place; kept: ours"},
    {.name = NULL},
};
/* clang-format on */
