/* SPDX-License-Identifier: MIT */
/* What the files of the checks share. */
#ifndef GNN_RUN_CHECK_SESSION_H
#define GNN_RUN_CHECK_SESSION_H

#include "harness/run/check/verdict.h"

enum { GNN_CHECK_TEXT = 600 };

struct gnn_check_session {
    const struct gnn_check_setup *setup;
    uint32_t failed;
    struct gnn_trial_outcome reference, plain, last; /* last: of the trial that was run last */
    struct gnn_run_config config;                    /* of that trial */
    char leak[GNN_CHECK_TEXT];                       /* the first thing that a trial left open; "": nothing */
    char dir[GNN_TEXT_MAX];                          /* of the dataset */
};

/* Report the result of a check. */
void gnn_check_passed(struct gnn_check_session *s, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gnn_check_failed(struct gnn_check_session *s, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gnn_check_left_out(struct gnn_check_session *s, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs a trial of the system with s->config into s->last. `what` describes it for the check of leaks. */
GNN_MUST_CHECK enum gnn_status gnn_check_try(struct gnn_check_session *s, struct gnn_trial_setup trial,
                                             const char *what, struct gnn_err *err);

/* Returns NULL if the trial ended well and trained what the plain run did; else writes the difference to `text` and
 * returns it. What is wrong with the plain run itself is no difference: another check reports it. */
const char *gnn_check_difference(const struct gnn_check_session *s, const struct gnn_trial_outcome *o,
                                 char text[GNN_CHECK_TEXT]);

/* Returns whether the system draws samples of its own, which no other system has. */
bool gnn_check_own_samples(const struct gnn_check_session *s);

/* Returns whether two epochs trained their mini-batches in the same order. */
bool gnn_check_same_order(const struct gnn_trial_epoch *a, const struct gnn_trial_epoch *b);

/* Returns the first step whose loss differs, or the number of steps. */
uint32_t gnn_check_other_loss(const struct gnn_trial_epoch *a, const struct gnn_trial_epoch *b);

/* Returns the first status of a trial that is not GNN_OK, or GNN_OK. */
enum gnn_status gnn_trial_status(const struct gnn_trial_outcome *o);

/* Removes what the system added to the dataset's directory. */
GNN_MUST_CHECK enum gnn_status gnn_check_clear(const struct gnn_check_session *s, struct gnn_err *err);

#endif
