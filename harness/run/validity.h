/* SPDX-License-Identifier: MIT */
/* Validity checks of a run that ended. An invalid run has no times. */
#ifndef GNN_RUN_VALIDITY_H
#define GNN_RUN_VALIDITY_H

#include "harness/record/record.h"
#include "harness/run/config.h"

/* Name of the figure of an epoch that counts the seeds trained. */
#define GNN_FIGURE_SEEDS "trained_seeds"

/* Facts of the environment: which split of the dataset the accuracies were computed on. */
#define GNN_VALID_SPLIT_KEY "accuracy.valid_split"
#define GNN_TEST_SPLIT_KEY "accuracy.test_split"

/* What the checks need in addition to the record. */
struct gnn_validity_facts {
    uint64_t batches_expected, seeds_expected; /* of an epoch, from harness/system/intent.h; may be unknown */
    uint64_t peak_bytes;    /* peak memory of the whole run, evaluation included; may be GNN_UNKNOWN */
    bool trained_otherwise; /* an epoch trained other mini-batches than it sampled; the first one is: */
    uint64_t trained_otherwise_epoch;
    /* Most bytes of the dataset in the page cache, over the ends of epochs and of the run; 0: nothing was seen. */
    uint64_t resident_most_bytes;
    bool direct; /* every explicit read of the system must bypass the page cache */
};

/* Applies all checks to a run whose worker ended without an error. Appends a reason per failed check and returns their
 * number. */
uint32_t gnn_validity_check(const struct gnn_run_config *config, const struct gnn_validity_facts *facts,
                            struct gnn_run_record *run);

/* Checks that a run with the mini-batches of its seed read no less than the minimum (gnn_run_bound_ratio). If it
 * read less, an `ok` run becomes invalid, with the reason, and false is returned. True also if it has no minimum. */
bool gnn_validity_check_bound(struct gnn_run_record *run);

#endif
