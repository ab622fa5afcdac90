/* SPDX-License-Identifier: MIT */
/* GraphBolt's parameters. "example" in a source is examples/graphbolt/disk_based_feature/node_classification.py. */
#include "systems/graphbolt/graphbolt.h"

static const char *const io_words[] = {"direct", "buffered", NULL};

#define FIELD(name) offsetof(struct graphbolt_config, name)

/* clang-format off */
const struct gnn_option graphbolt_options[] = {
    {.name = "samplers", .type = GNN_OPT_U32, .offset = FIELD(samplers), .unit = "threads", .def = "0", .max = 128,
     .help = "Sampler threads; thread k mod samplers samples mini-batch k. 0 = one per core.",
     .source = "ours: the example samples on the GPU, from pinned memory"},
    {.name = "policy", .type = GNN_OPT_CHOICE, .offset = FIELD(policy), .def = "sieve",
     .choices = graphbolt_policy_words,
     .help = "Eviction policy of the row cache in host memory.",
     .source = "impl/cpu_feature_cache.py; earlier versions: s3-fifo"},
    {.name = "cache", .type = GNN_OPT_BYTES, .offset = FIELD(cache_bytes), .unit = "bytes", .def = "0",
     .help = "Rows in the row cache in host memory, in bytes. 0 = what the memory limit leaves, minus a sixteenth of "
             "the limit; without a limit, a tenth of the features.",
     .source = "example: 10 GB"},
    {.name = "gpu_cache", .type = GNN_OPT_BYTES, .offset = FIELD(gpu_cache_bytes), .unit = "bytes", .def = "0",
     .help = "Rows in an LRU cache in GPU memory, in bytes, which is searched first; 0 = no such cache. Requires a "
             "GPU.",
     .source = "example: 0"},
    {.name = "parts", .type = GNN_OPT_U32, .offset = FIELD(parts), .unit = "threads", .def = "0",
     .max = GRAPHBOLT_PARTS_MAX,
     .help = "Partitions of the row cache, each with a lookup thread; at most one per 10 rows. 0 = one per core.",
     .source = "impl/cpu_feature_cache.py: torch.get_num_threads()"},
    {.name = "rings", .type = GNN_OPT_U32, .offset = FIELD(rings), .unit = "threads", .def = "0", .max = 128,
     .help = "Reading threads, each with its own ring; 0 = one per core.",
     .source = "src/cnumpy.cc: torch's inter-operation threads"},
    {.name = "group", .type = GNN_OPT_U32, .offset = FIELD(group), .unit = "reads", .def = "256", .min = 1,
     .max = GRAPHBOLT_GROUP_MAX,
     .help = "Reads that a ring submits together. It waits for all of them before the next group.",
     .source = "src/cnumpy.h: kGroupSize"},
    {.name = "block", .type = GNN_OPT_BYTES, .offset = FIELD(block_bytes), .unit = "bytes", .def = "4096",
     .min = 512, .max = 1 << 20,
     .help = "Block size of direct reads, a power of two. A missed row is read with the blocks in which it is stored.",
     .source = "src/cnumpy.cc: block size of the file system"},
    {.name = "io", .type = GNN_OPT_CHOICE, .offset = FIELD(io), .def = "direct", .choices = io_words,
     .help = "I/O path. direct: whole blocks, bypassing the page cache; buffered: exact rows through the page cache.",
     .source = "src/cnumpy.cc: O_DIRECT"},
    {.name = "copy_threads", .type = GNN_OPT_U32, .offset = FIELD(copy_threads), .unit = "threads", .def = "0",
     .max = 128,
     .help = "Threads that copy rows between inputs and cache in runs without a GPU; 0 = one per core.",
     .source = "src/index_select.cc, src/feature_cache.cc: all threads"},
    {.name = "in_flight", .type = GNN_OPT_U32, .offset = FIELD(in_flight), .unit = "batches", .def = "4", .min = 1,
     .max = GRAPHBOLT_IN_FLIGHT_MAX,
     .help = "Mini-batches from lookup to training step. Rows that one of them reads are a miss for the others, too.",
     .source = "impl/cpu_cached_feature.py, read_async: lookup, read, replacement and copy overlap"},
    {.name = "dependency", .type = GNN_OPT_U32, .offset = FIELD(dependency), .unit = "batches", .def = "0",
     .max = 1 << 20,
     .help = "Layer-neighbour sampling with random numbers that change gradually over that many mini-batches; 1 = "
             "layer-neighbour sampling with new numbers for each. 0 = independent node-wise sampling, as in all exact "
             "systems. Other values change the mini-batches.",
     .source = "example: --batch-dependency, used with --sample-mode=sample_layer_neighbor only"},
    {.name = NULL},
};
/* clang-format on */
