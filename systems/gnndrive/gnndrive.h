/* SPDX-License-Identifier: MIT */
/* GNNDrive's state. system.c opens it, sizes.c chooses its sizes, extract.c fills the buffer and epoch.c runs an
 * epoch. */
#ifndef GNNDRIVE_H
#define GNNDRIVE_H

#include "harness/storage/reader.h"
#include "harness/system/plan.h"
#include "harness/system/staging.h"
#include "harness/system/system.h"
#include "harness/system/training.h"
#include "systems/gnndrive/feature_buffer.h"
#include "systems/gnndrive/staging.h"

enum gnndrive_io { GNNDRIVE_IO_DIRECT, GNNDRIVE_IO_BUFFERED };
enum gnndrive_valid { GNNDRIVE_VALID_COMPLETION, GNNDRIVE_VALID_BATCH };
enum gnndrive_meta { GNNDRIVE_META_ARTIFACT, GNNDRIVE_META_COMPACT };
enum gnndrive_batch_rule { GNNDRIVE_BATCH_BOUND, GNNDRIVE_BATCH_PRODUCT };
enum gnndrive_rank_buffers { GNNDRIVE_RANK_BUFFERS_SHARED, GNNDRIVE_RANK_BUFFERS_OWN };
enum gnndrive_order { GNNDRIVE_ORDER_GLOBAL, GNNDRIVE_ORDER_SEGMENTS };
enum gnndrive_transfer { GNNDRIVE_TRANSFER_COPIES, GNNDRIVE_TRANSFER_GATHER };
/* The calls that the locked section at the beginning of an extraction spans. extract.c has the table. */
enum gnndrive_lock_reach {
    GNNDRIVE_LOCK_LOOKUP,     /* lookup and allocation: the paper's description */
    GNNDRIVE_LOCK_SUBMIT,     /* all submissions too: lock_submit */
    GNNDRIVE_LOCK_EXTRACTION, /* until the batch is published: serial_extract */
};
_Static_assert(sizeof(enum gnndrive_io) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");

enum { GNNDRIVE_DEPTH_MAX = 4096 };

struct gnndrive_config {
    uint32_t samplers;            /* Ns */
    uint32_t extractors;          /* Ne */
    uint32_t extract_queue;       /* Q_e, 0 = Ns + 2 */
    uint32_t train_queue;         /* Q_t, 0 = Ne */
    uint32_t batch_nodes;         /* Mb, 0 = automatic */
    uint32_t calibration_batches; /* batches sampled at open for the automatic Mb */
    enum gnndrive_batch_rule batch_rule;
    uint32_t buffer_mult;
    uint32_t buffer_share; /* percent of what the memory limit leaves, 0 = set by slots */
    uint32_t slots;        /* S, 0 = (Q_t + 1) Mb buffer_mult */
    uint32_t depth;        /* reads in flight per extractor; 0: unbounded */
    bool coalesce;         /* copies to the GPU */
    enum gnndrive_io io;
    bool joint, in_order, serial_extract, lock_submit;
    enum gnndrive_valid valid;
    enum gnndrive_order order;
    enum gnndrive_meta meta;
    enum gnn_map_advice readahead; /* of the topology mapping */
    enum gnndrive_rank_buffers rank_buffers;
    uint32_t staging;                /* loads in an extractor's staging buffer before a GPU, 0 = Mb */
    enum gnndrive_transfer transfer; /* of staged loads */
};

extern const struct gnn_option gnndrive_options[]; /* options.c */

/* Every size that follows from the configuration, the data and Mb. */
struct gnndrive_sizes {
    uint32_t extract_queue, train_queue;
    uint32_t batch_nodes; /* Mb */
    uint32_t slots;       /* S, of all ranks that share the buffer */
    uint32_t sharing;     /* ranks that share a feature buffer: all if it is in host memory; 1: each has its own */
    uint32_t node_limit;  /* most nodes of a batch: a rank's part of S / Ne, or N if everything fits */
    uint32_t items;       /* mini-batches in flight */
    uint32_t staging;     /* loads of an extractor's staging buffer; 0 on the CPU: reads go to slots */
    uint32_t portion;     /* slots of a rank in the shared staging buffer; 0: each extractor has its own */
    bool holds_all;       /* every group has a slot: no extractor ever waits for one */
    enum gnndrive_lock_reach lock_reach;
    struct gnn_row_layout layout; /* rows on sectors; rows_per_load = G */
    struct gnndrive_buffer_config buffer;
    struct gnn_reader_config reader; /* of one extractor; open adds the file */
};

/* Returns the number of lists of node_limit entries. An item has its aliases. An extractor has its loads, their slots,
 * and its wait and pending lists. If ranks share staging slots, it also has those of its loads. */
static inline uint64_t gnndrive_list_count(const struct gnndrive_config *config, const struct gnndrive_sizes *sizes)
{
    return sizes->items + (sizes->portion > 0 ? UINT64_C(5) : UINT64_C(4)) * config->extractors;
}

/* A mini-batch between its stages. */
struct gnndrive_item {
    struct gnn_batch *batch;
    uint32_t k;
    uint32_t *alias; /* (node_limit) rows of the feature buffer */
    bool held;       /* published and not yet released */
    /* With a GPU: its lists in transfer, and the event after the kernel that reads its rows. Trainer and releaser both
     * hold the item; the last one to release it frees it. */
    struct gnn_train_input input;
    struct gnn_event *rows_read;
    atomic_uint holders;
};

/* State of one extractor. */
struct gnndrive_extractor {
    struct gnn_reader *reader;
    char *staging;               /* (sizes.staging, load_bytes) of this extractor; NULL on the CPU, or if shared */
    uint32_t *stage;             /* (node_limit) if shared: the staging slot of each load (extract.c) */
    struct gnndrive_claim claim; /* of its current batch; load_key, load_slot, wait and pending: (node_limit) each */
    uint64_t sample_ns;          /* of an epoch: it waited for sampled mini-batches */
};

/* Batches between two stages: by ticket if training is in order, else in order of arrival. */
struct gnndrive_channel {
    struct gnn_queue *queue;
    struct gnn_reorder *reorder; /* in_order */
};

/* State that several ranks share. It is opened before they start (open_shared). */
struct gnndrive_shared {
    const struct gnn_env *env;
    uint32_t batch_nodes, align_bytes; /* measured once: Mb, and alignment of the feature file */
    uint32_t sharing;                  /* as in gnndrive_sizes; the next two are NULL unless it is above 1 */
    struct gnndrive_buffer *fb;
    void *slots;
    struct gnndrive_staging *staging; /* with GPUs, if ranks share one; else NULL */
};

struct gnndrive {
    const struct gnn_env *env;
    const struct gnndrive_config *config;
    struct gnndrive_sizes sizes;
    struct gnndrive_shared *shared; /* NULL: one rank */
    struct gnn_sampling *sampling;
    struct gnndrive_item *items; /* (sizes.items) */

    /* not opened with --sample-only */
    struct gnn_file *features;
    struct gnndrive_buffer *fb;
    void *slots;     /* shared or own: (S, load_bytes), each G rows of dim floats, in host or GPU memory */
    void *staging;   /* (Ne, sizes.staging, load_bytes) pinned, with a GPU only */
    void *pinned;    /* the shared staging buffer, registered with this rank's GPU; or NULL */
    uint32_t *lists; /* memory of the aliases and of the extractors' lists */
    struct gnndrive_extractor *extractors; /* (Ne) */
    struct gnn_training training;
    struct gnn_rows dense;        /* input of the batch in training, on the tensor back-end */
    struct gnn_train_input input; /* labels of the batch in training, on the CPU */

    /* of one epoch */
    struct gnn_queue *free_items, *releasing;
    struct gnndrive_channel extracting, training_queue;
    atomic_uint *next_batch; /* (Ns, or 1 with the global order) */
    uint64_t trained_rows, overtaken;
    uint32_t trained_last; /* highest batch trained so far, plus 1 */
    atomic_uint_fast64_t batch_nodes_peak;
};

/* sizes.c: chooses every size, without side effects. Returns GNN_EUSAGE if options contradict each other or the slots
 * can deadlock. */
GNN_MUST_CHECK enum gnn_status gnndrive_size(const struct gnn_env *env, const struct gnndrive_config *config,
                                             uint32_t batch_nodes, uint32_t align_bytes, struct gnndrive_sizes *out,
                                             struct gnn_err *err);
/* Returns Mb if an option gives it, batch_rule=product defines it or its bound is small. Returns 0 if it must be
 * measured. */
uint32_t gnndrive_batch_nodes(const struct gnn_env *env, const struct gnndrive_config *config);
/* Returns Mb from the largest batch of the calibration. */
uint32_t gnndrive_measured_batch_nodes(const struct gnn_env *env, uint32_t largest);
/* Returns the configuration of the staging buffer that ranks share. */
struct gnndrive_staging_config gnndrive_staging_of(const struct gnn_env *env, const struct gnndrive_sizes *sizes);
/* Adds the system's parts to a plan. */
void gnndrive_plan_parts(const struct gnndrive_config *config, const struct gnndrive_sizes *sizes,
                         struct gnn_memory_plan *plan);

/* extract.c: brings the item's rows into the buffer. After a failure nothing is in flight and nothing is pinned.
 * Returns GNN_ECAP if the batch has more nodes than node_limit. */
GNN_MUST_CHECK enum gnn_status gnndrive_extract(struct gnndrive *s, uint32_t extractor, struct gnndrive_item *item,
                                                struct gnn_err *err);

/* epoch.c: trains an epoch: the train_epoch hook. state is a struct gnndrive. */
GNN_MUST_CHECK enum gnn_status gnndrive_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                                    struct gnn_err *err);

#endif
