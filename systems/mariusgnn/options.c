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
     .help = "Which partitions are resident. memory: all. Nodes: training-first: those of the training nodes and "
             "others at random, anew each epoch; replace: one group of partitions after another until all were. "
             "Links: comet: groups are swapped one at a time until every two met, an edge bucket is trained in any "
             "state that holds it; beta: partitions, and the first state. auto: training-first if it leaves room for "
             "another partition, else replace; of links memory if all fits, else comet.",
     .source = "paper sections 5.1 and 5.2; memory: its in-memory runs; released code: chosen by hand"},
    {.name = "partitions", .type = GNN_OPT_U32, .offset = FIELD(partitions), .unit = "partitions", .def = "0",
     .max = 1 << 15, .help = "Physical partitions (p); 0 = min(NO / D, sqrt(EO / D)) as a power of two.",
     .source = "paper section 6; released code: 8192 for papers100m, 16 by default"},
    {.name = "disk_block", .type = GNN_OPT_BYTES, .offset = FIELD(block_bytes), .unit = "bytes", .def = "4096",
     .min = 1, .max = 1 << 30, .help = "Bytes of a disk block (D) in the rule for `partitions`.",
     .source = "paper section 6; its configurations fit 4096"},
    {.name = "capacity", .type = GNN_OPT_U32, .offset = FIELD(capacity), .unit = "partitions", .def = "0",
     .max = 1 << 15, .help = "Resident partitions (c); 0 = as many as the cap holds beside everything else, all "
                             "without a cap.",
     .source = "paper section 6: maximal; released code: 3584 of 8192 for papers100m"},
    {.name = "logical", .type = GNN_OPT_U32, .offset = FIELD(logical), .unit = "groups", .def = "2", .min = 1,
     .max = 1024, .help = "policy=replace and comet: groups of partitions in memory (c_l); one is replaced at a time. "
                          "There are l = p c_l / c groups.",
     .source = "paper section 6: 2"},
    {.name = "edges", .type = GNN_OPT_CHOICE, .offset = FIELD(edges), .def = "both", .choices = WORDS("both", "in"),
     .help = "both: fan-outs are drawn from incoming and again from outgoing edges; in: from incoming ones alone, as "
             "the other systems do.",
     .source = "paper section 7.1 and released code: both"},
    {.name = "replace", .type = GNN_OPT_BOOL, .offset = FIELD(replace), .def = "true",
     .help = "A node with more neighbours than the fan-out draws with replacement; off: distinct edges.",
     .source = "released code: true; paper section 4.1: up to f neighbours"},
    {.name = "hash_hops", .type = GNN_OPT_U32, .offset = FIELD(hash_hops), .unit = "hops", .def = "1",
     .max = GNN_LAYERS_MAX,
     .help = "First hops whose new nodes are found by a hash set; the others by a bitmap over all resident nodes.",
     .source = "released code: 1 for papers100m"},
    {.name = "loaders", .type = GNN_OPT_U32, .offset = FIELD(loaders), .unit = "threads", .def = "0", .max = 64,
     .help = "Threads that sample and gather mini-batches; 0 = 4, at most a core each.",
     .source = "released code: 4 (papers100m: 8 on 8 cores, 64 in memory)"},
    {.name = "staleness", .type = GNN_OPT_U32, .offset = FIELD(staleness), .unit = "batches", .def = "0", .max = 1024,
     .help = "Mini-batches in flight at most; 0 = loaders + 5 (a queue of 4, and one in training), at most 16.",
     .source = "released code: 16, queues of 4"},
    {.name = "prefetch", .type = GNN_OPT_BOOL, .offset = FIELD(prefetch), .def = "true",
     .help = "policy=replace, comet and beta: the next partitions and edges are read, and those that left written, "
             "while a state trains, in memory of their own.",
     .source = "paper section 3: overlapped; released code: off in the papers100m runs"},
    {.name = "keep", .type = GNN_OPT_BOOL, .offset = FIELD(keep), .def = "true",
     .help = "Partitions that stay resident from one epoch to the next are not read again; off: all are.",
     .source = "paper section 5.2: cached; released code: all are read again"},
    {.name = "always_write", .type = GNN_OPT_BOOL, .offset = FIELD(always_write), .def = "false",
     .help = "policy=replace: partitions that leave are written back although nothing has changed them.",
     .source = "released code: true"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = WORDS("direct", "buffered"),
     .help = "Partitions and edge buckets bypass the page cache, or go through it.",
     .source = "released code: buffered; the paper does not say"},
    {.name = "bucket_reads", .type = GNN_OPT_CHOICE, .offset = FIELD(bucket_reads), .def = "coalesced",
     .choices = WORDS("coalesced", "single"),
     .help = "Edge buckets that follow each other on the disk and in memory are read together; single: one request "
             "each.",
     .source = "released code: single; coalesced: ours"},
    {.name = "depth", .type = GNN_OPT_U32, .offset = FIELD(depth), .unit = "reads", .def = "16", .min = 1, .max = 1024,
     .help = "Reads of partitions, and of buckets, in flight; 1 = one after the other.",
     .source = "released code: 1 for partitions, a thread a core for buckets"},
    {.name = "edge_memory", .type = GNN_OPT_CHOICE, .offset = FIELD(edge_memory), .def = "compact",
     .choices = WORDS("compact", "released"),
     .help = "What an edge in memory holds: 16 bytes (section 6), or 64 as in the released code's 8-byte copies.",
     .source = "paper section 6: 2 c^2 EBO; released code: released"},
    {.name = "transfer", .type = GNN_OPT_CHOICE, .offset = FIELD(transfer), .def = "ahead",
     .choices = gnn_transfer_words,
     .help = "With a GPU. ahead: a mini-batch crosses the bus while another trains; blocking: the trainer copies it "
             "and waits.",
     .source = "paper section 3 and released code: ahead"},
    {.name = "vectors", .type = GNN_OPT_CHOICE, .offset = FIELD(vectors), .def = "scratch",
     .choices = WORDS("scratch", "kept"),
     .help = "Links. scratch: what is learned goes with the run; kept: it stays beside the store as the last completed "
             "epoch left it, however the run ends, and a run with the same seed, model and partitions goes on from it; "
             "twice the disk.",
     .source = "released code: files that are written over in place; kept: ours"},
    {.name = NULL},
};
/* clang-format on */
