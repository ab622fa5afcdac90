/* SPDX-License-Identifier: MIT */
/* What an open system will do in every epoch of its run, and which files it reads. The run's checks compare with this
 * rather than with the workload, because parameters of a system may change it. For example, order=segments makes more
 * mini-batches. A loop that drops its last step trains fewer seeds. A stream of requests has no epoch.
 *
 * gnn_intent_begin fills in what most systems do; the system's hook `intend` changes what differs. No memory is
 * allocated. One thread. */
#ifndef GNN_SYSTEM_INTENT_H
#define GNN_SYSTEM_INTENT_H

#include "harness/system/system.h"

enum { GNN_INTENT_FILES_MAX = 6, GNN_INTENT_PATH_BYTES = 768 };

/* How a file is read; several may apply. */
enum gnn_file_use {
    GNN_READS_DIRECT = 1,   /* past the page cache */
    GNN_READS_BUFFERED = 2, /* by explicit reads through it */
    GNN_READS_MAPPED = 4,   /* by page faults of a mapping */
    GNN_READS_MADE = 8,     /* written by open, so pages may be in the page cache before the first epoch */
};

struct gnn_used_file {
    char path[GNN_INTENT_PATH_BYTES]; /* "": a scratch file without a name */
    uint32_t how;                     /* bits of enum gnn_file_use */
};

struct gnn_intent {
    uint64_t batches;       /* mini-batches sampled in an epoch of this run; GNN_UNKNOWN: epochs differ */
    uint64_t seeds;         /* training nodes trained in an epoch; 0 with sample_only; GNN_UNKNOWN: epochs differ */
    uint64_t whole_batches; /* upper bound on mini-batches of a whole epoch, without max_batches */
    /* Phases of an epoch: mini-batches that are prepared together and trained one after the other; 0 or 1: none. A part
     * of such an epoch represents the whole only if it has whole phases. phase_option names the option that shortens
     * them. */
    uint32_t phase_batches;
    char phase_option[GNN_NAME_MAX];
    /* Each epoch but the last prepares a part of the next one. In a run of several epochs, the first then does more
     * than the work of one epoch, and the last does less. */
    bool prepares_next;
    uint32_t file_count;
    struct gnn_used_file files[GNN_INTENT_FILES_MAX];
};

/* Fills in an epoch of gnn_epoch_batches mini-batches in which every seed is trained once, without files. */
void gnn_intent_begin(const struct gnn_env *env, struct gnn_intent *out);

/* Sets the number of mini-batches of a phase. option: the option that shortens phases, such as "ginex.superbatch". */
void gnn_intent_phases(struct gnn_intent *intent, uint32_t batches, const char *option);

/* Returns whether epoch number `epoch` of `epochs` does exactly the work of one epoch. */
bool gnn_intent_epoch_is_complete(const struct gnn_intent *intent, uint64_t epoch, uint64_t epochs);

/* Adds a file. path NULL: a scratch file without a name. how: bits of enum gnn_file_use. */
void gnn_intent_reads(struct gnn_intent *intent, const char *path, uint32_t how);

/* Returns whether all explicit reads of the system bypass the page cache. The device must then have delivered all
 * requested bytes. False if the system makes no explicit reads. */
bool gnn_intent_all_direct(const struct gnn_intent *intent);

#endif
