/* SPDX-License-Identifier: MIT */
/* What an open system means to do in every epoch of its run, and what it reads. The run's checks compare with this and
 * with nothing guessed from the workload, because a system's parameter may change any of it: order=segments makes more
 * mini-batches, a loop that drops its last step trains fewer seeds, a stream of requests has no epoch at all.
 *
 * Life     gnn_intent_begin fills what most systems do, the system's hook `intend` changes what it does otherwise.
 * Memory   none. One thread. */
#ifndef GNN_SYSTEM_INTENT_H
#define GNN_SYSTEM_INTENT_H

#include "harness/system/system.h"

enum { GNN_INTENT_FILES_MAX = 6, GNN_INTENT_PATH_BYTES = 768 };

/* How a file is read; several may apply. */
enum gnn_file_use {
    GNN_READS_DIRECT = 1,   /* past the page cache */
    GNN_READS_BUFFERED = 2, /* by explicit reads through it */
    GNN_READS_MAPPED = 4,   /* by page faults */
    GNN_READS_MADE = 8,     /* open wrote the file, so its pages may be in the page cache before the first epoch */
};

struct gnn_used_file {
    char path[GNN_INTENT_PATH_BYTES]; /* "": a scratch file without a name */
    uint32_t how;                     /* of enum gnn_file_use */
};

struct gnn_intent {
    uint64_t batches;       /* mini-batches sampled in an epoch of this run; GNN_UNKNOWN: epochs differ */
    uint64_t seeds;         /* training nodes trained in it; 0 with sample_only; GNN_UNKNOWN: epochs differ */
    uint64_t whole_batches; /* at most, trained in a whole epoch, max_batches left out */
    /* An epoch in phases: mini-batches that are prepared together and trained one after the other; 0 or 1: none. A part
     * of such an epoch stands for the whole only in whole phases. phase_option makes them shorter. */
    uint32_t phase_batches;
    char phase_option[GNN_NAME_MAX];
    uint32_t file_count;
    struct gnn_used_file files[GNN_INTENT_FILES_MAX];
};

/* Fills in an epoch of gnn_epoch_batches with every seed trained once, and no file. */
void gnn_intent_begin(const struct gnn_env *env, struct gnn_intent *out);

/* Says that an epoch has phases of so many mini-batches. option: "ginex.superbatch". */
void gnn_intent_phases(struct gnn_intent *intent, uint32_t batches, const char *option);

/* Adds a file; path NULL: a scratch file without a name. */
void gnn_intent_reads(struct gnn_intent *intent, const char *path, uint32_t how);

/* Whether every explicit read of the system goes past the page cache, so that the device must have delivered what was
 * asked for. False where there is none. */
bool gnn_intent_all_direct(const struct gnn_intent *intent);

#endif
