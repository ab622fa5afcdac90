/* SPDX-License-Identifier: MIT */
/* GraphBolt's state. system.c opens it, sizes.c chooses its sizes, epoch.c runs the pipeline, and lookup.c, read.c and
 * copy.c are its stages. */
#ifndef GRAPHBOLT_H
#define GRAPHBOLT_H

#include "harness/pipeline/team.h"
#include "harness/storage/ring_reads.h"
#include "harness/system/buffer.h"
#include "harness/system/plan.h"
#include "harness/system/staging.h"
#include "harness/system/training.h"
#include "systems/graphbolt/cache.h"
#include "systems/graphbolt/topology.h"

enum { GRAPHBOLT_IN_FLIGHT_MAX = 64, GRAPHBOLT_GROUP_MAX = 4096, GRAPHBOLT_BATCHES_PER_SAMPLER = 2 };
_Static_assert((int)GRAPHBOLT_IN_FLIGHT_MAX <= (int)GRAPHBOLT_READERS_MAX, "each mini-batch reads a row once");

enum graphbolt_io { GRAPHBOLT_IO_DIRECT, GRAPHBOLT_IO_BUFFERED };
_Static_assert(sizeof(enum graphbolt_io) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");

struct graphbolt_config {
    uint32_t samplers;
    enum graphbolt_policy_kind policy;
    uint64_t cache_bytes;     /* rows in host memory; 0 = what the memory limit leaves */
    uint64_t gpu_cache_bytes; /* rows in GPU memory; 0 = none */
    uint32_t parts;           /* partitions of a cache, each with a lookup thread */
    uint32_t rings;           /* reading threads, each with a ring */
    uint32_t group;           /* reads that a ring has in flight */
    uint64_t block_bytes;     /* direct reads are whole blocks */
    enum graphbolt_io io;
    uint32_t copy_threads;
    uint32_t in_flight;  /* mini-batches between lookup and training */
    uint32_t dependency; /* 0 = independent mini-batches, node by node */
};
extern const struct gnn_option graphbolt_options[]; /* options.c */

/* Every size that follows from the configuration, the data and the memory limit. */
struct graphbolt_sizes {
    uint32_t parts;
    uint32_t gpu_rows;                    /* 0: no cache on the GPU */
    struct graphbolt_cache_config cache;  /* in host memory */
    struct graphbolt_cache_config device; /* on the GPU */
    uint32_t window_bytes;                /* blocks of the widest read */
};

/* A mini-batch between its lookup and its training step. Lists are by position in the mini-batch (node_count), but
 * `missed` (miss_count) holds positions. */
struct graphbolt_item {
    struct gnn_batch *batch;
    struct gnn_buffer lists;      /* memory of the lists */
    uint32_t nodes;               /* entries of the lists that are taken; 0: nothing is in use */
    uint32_t *taken, *missed;     /* results of the cache in host memory; positions of the rows to read */
    uint32_t *on_gpu, *gather;    /* results of the GPU's cache, and its rows as the gather takes them; NULL: none */
    uint32_t miss_count;          /* rows to read */
    struct gnn_train_input input; /* without a GPU with the rows */
    struct gnn_rows read;         /* with a GPU: (miss_count) the rows that were read */
    struct gnn_rows x;            /* with a GPU: its input */
};

struct graphbolt_ring {
    struct gnn_ring_reads reads;
    struct gnn_read *wanted; /* (group) */
    uint64_t *tags;          /* (group) */
    char *windows;           /* (group, window_bytes) */
};

struct graphbolt_epoch_counts {
    uint64_t rows, gpu_hits, misses, repeated; /* repeated: misses of rows that another mini-batch was reading */
    uint64_t sample_ns;
};

struct graphbolt {
    const struct gnn_env *env;
    const struct graphbolt_config *config;
    struct graphbolt_sizes sizes;
    struct graphbolt_topology *topology;
    struct gnn_sampling *sampling;
    struct gnn_batch **batches; /* (batch_count) the first in_flight are the items' at the start of an epoch */
    uint32_t batch_count;

    /* not opened with --sample-only */
    struct gnn_file *features;
    struct graphbolt_cache *cache, *device; /* device: NULL unless there is a cache on the GPU */
    void *rows;                             /* (cache rows) pinned if there is a GPU */
    void *gpu_rows;                         /* (gpu_rows) on the GPU */
    void *place;                            /* (gpu_rows + 1) on the GPU: numbers of its rows, then GNN_PLACE_NONE */
    struct gnn_team *lookups, *readers, *copiers;
    struct graphbolt_ring *ring;  /* (rings) */
    struct graphbolt_item *items; /* (in_flight) */
    struct gnn_buffer uploads;    /* scratch: lists of the rows of an upload */
    struct gnn_training training;
    uint64_t looked_up, missed; /* since open: rows, and misses of the cache in host memory */

    /* of one epoch */
    uint64_t epoch;
    struct gnn_queue **tokens; /* (samplers) mini-batches that sampler w may fill */
    struct gnn_reorder *delivery;
    struct gnn_queue *idle, *reading, *copying, *training_queue; /* of items */
    struct graphbolt_item *in_lookup, *in_read, *in_copy;        /* whose rows the teams work on */
    atomic_uint next_group;
    struct graphbolt_epoch_counts counts;
    struct graphbolt_cache_counts before; /* of the caches at the beginning of the epoch */
};

/* Returns the block size of reads: 1 with buffered reads, which have exactly a row. */
static inline uint64_t graphbolt_block(const struct graphbolt_config *config)
{
    return config->io == GRAPHBOLT_IO_DIRECT ? config->block_bytes : 1;
}

static inline bool graphbolt_on_device(const struct graphbolt *s)
{
    return gnn_env_on_device(s->env);
}

/* sizes.c: chooses every size and adds the parts to a plan. GNN_EUSAGE: options contradict each other. */
GNN_MUST_CHECK enum gnn_status graphbolt_size(const struct graphbolt_config *config, struct graphbolt_sizes *out,
                                              struct gnn_memory_plan *plan, struct gnn_err *err);

/* lookup.c: ends the uses of the item's last mini-batch. Then looks up the rows of its current one, and lists the
 * misses. The driver of the lookup team calls both. GNN_ENOMEM, GNN_ECAP; GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status graphbolt_complete(struct graphbolt *s, struct graphbolt_item *item);
GNN_MUST_CHECK enum gnn_status graphbolt_lookup(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err);
/* The same as graphbolt_complete, on the calling thread, after an epoch. */
void graphbolt_complete_alone(struct graphbolt *s, struct graphbolt_item *item);

/* read.c: opens the rings; reads the missed rows. */
GNN_MUST_CHECK enum gnn_status graphbolt_rings_open(struct graphbolt *s, struct gnn_err *err);
void graphbolt_rings_close(struct graphbolt *s);
uint64_t graphbolt_rings_bytes(const struct graphbolt_config *config, uint32_t window_bytes);
GNN_MUST_CHECK enum gnn_status graphbolt_read(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err);
void graphbolt_read_counters(const struct graphbolt *s, struct gnn_counters *out, bool clear);

/* copy.c: copies rows between the input and the cache. With a GPU it starts the copies to the GPU instead. */
GNN_MUST_CHECK enum gnn_status graphbolt_copy(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err);
/* Waits for the copies to the GPU that a failed epoch left. */
void graphbolt_stop_copies(struct graphbolt *s);
/* Trains one step: the trainer calls it. */
GNN_MUST_CHECK enum gnn_status graphbolt_train(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err);

/* epoch.c: trains an epoch: the train_epoch hook. state is a struct graphbolt. */
GNN_MUST_CHECK enum gnn_status graphbolt_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                                     struct gnn_err *err);

#endif
