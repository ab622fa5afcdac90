/* SPDX-License-Identifier: MIT */
/* A run is valid or it has no number: the table of checks made on every run that ended. */
#ifndef GNN_RUN_VALIDITY_H
#define GNN_RUN_VALIDITY_H

#include "harness/record/record.h"
#include "harness/run/config.h"

/* Name of the figure of an epoch that counts the seeds trained. */
#define GNN_FIGURE_SEEDS "trained_seeds"

/* What the checks need besides the record. */
struct gnn_validity_facts {
    uint64_t batches_expected, seeds_expected; /* of an epoch, as harness/system/intent.h says; maybe unknown */
    uint64_t peak_bytes;                       /* of memory over the whole run, evaluation included; GNN_UNKNOWN */
    bool trained_otherwise; /* some epoch trained other mini-batches than it sampled; the first of them: */
    uint64_t trained_otherwise_epoch;
    bool direct; /* every explicit read of the system is to go past the page cache */
};

/* Applies every check to a run whose worker ended well; appends a reason per failed check and returns how
 * many. */
uint32_t gnn_validity_check(const struct gnn_run_config *config, const struct gnn_validity_facts *facts,
                            struct gnn_run_record *run);

#endif
