/* SPDX-License-Identifier: MIT */
/* One mini-batch's input on its way to the trainer: feature rows that the host gathered, labels of the seeds, blocks.
 * Where ops compute in host memory nothing moves. Where they have a device:
 *
 *   blocking   as PyTorch's default: the trainer copies rows, labels and blocks out of pageable memory and waits
 *   ahead      whoever gathered starts the copies in a lane, out of pinned memory: one of the rows, one of all lists;
 *              the trainer's ops start after them without the host waiting
 *
 *   reserve -> gather -> stage -> use -> ops -> end -> reserve ...
 *
 * Two inputs make a double buffer: one is gathered and staged while the other trains.
 *
 * Threads  reserve, gather and stage by one thread, use to end by the trainer; a queue hands an input over.
 * Memory   rows on the host, with `ahead` the same on the device; labels. Lists are staged by the back-end (plan). */
#ifndef GNN_SYSTEM_TRAIN_INPUT_H
#define GNN_SYSTEM_TRAIN_INPUT_H

#include "harness/system/plan.h"
#include "harness/system/rows.h"

enum gnn_transfer { GNN_TRANSFER_BLOCKING, GNN_TRANSFER_AHEAD };
_Static_assert(sizeof(enum gnn_transfer) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
extern const char *const gnn_transfer_words[]; /* of a system's option `transfer` */

struct gnn_train_input {
    const struct gnn_env *env;
    enum gnn_transfer transfer;
    struct gnn_rows rows;   /* where the host gathers; empty where a system gathers on the device */
    struct gnn_rows device; /* their copy, where ops need one */
    int32_t *labels;        /* (batch_size) */
    struct gnn_resident *room;
    struct gnn_event *landed; /* the copies */
    bool staged, in_use;
    uint64_t epoch, batch; /* that was staged */
};

/* name: of the rows, a string literal. Close also after an error. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_open(const struct gnn_env *env, const char *name,
                                                    enum gnn_transfer transfer, struct gnn_train_input *out,
                                                    struct gnn_err *err);
/* Waits for copies under way. Accepts a zeroed one. */
void gnn_train_input_close(struct gnn_train_input *input);

/* Waits until the rows before have landed and makes room for `count` on the host. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_reserve(struct gnn_train_input *input, uint64_t count,
                                                       struct gnn_err *err);
/* With `ahead` and a device: starts the copies of the rows (if any were reserved) and of the lists, row_numbers among
 * them (node_count; may be NULL). The batch stays as it is until end. GNN_EFORMAT when a seed has no label; GNN_EGPU,
 * GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_stage(struct gnn_train_input *input, uint32_t lane,
                                                     const struct gnn_batch_view *batch, const uint32_t *row_numbers,
                                                     struct gnn_err *err);
/* Makes the batch, which must be the one that was staged, what ops are about. *x: its rows where ops read them. Without
 * staging, copies now. Errors as above. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_use(struct gnn_train_input *input, const struct gnn_batch_view *batch,
                                                   const gnn_real **x, struct gnn_err *err);
void gnn_train_input_end(struct gnn_train_input *input);

/* Adds what staging ahead in `lanes` lanes holds on the host, and what `inputs` of such inputs hold on the device. */
void gnn_train_input_plan(struct gnn_memory_plan *plan, enum gnn_transfer transfer, uint32_t lanes, uint32_t inputs);

#endif
