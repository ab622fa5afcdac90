/* SPDX-License-Identifier: MIT */
/* One mini-batch's input on its way to the trainer: feature rows that the host gathered, labels of the seeds, blocks.
 * If ops compute in host memory, nothing is copied. With a device there are two ways:
 *
 *   `blocking`  Like PyTorch's default: the trainer copies rows, labels and blocks from pageable memory and waits.
 *   `ahead`     The thread that gathered starts the copies in a lane, from pinned memory: one of the rows, one of all
 *               lists. The trainer's ops start after them; the host does not wait.
 *
 * Rows are staged as the dataset stores them. Those of float16 cross with half the bytes and are widened on the
 * back-end.
 *
 * The order of calls is reserve, gather, stage, use, ops, end, then reserve again. Two inputs make a double buffer: one
 * is gathered and staged while the other trains.
 *
 * Threads  One thread calls reserve, gather and stage; the trainer calls use to end. A queue hands an input over.
 * Memory   Rows on the host, with `ahead` also on the device; labels. The back-end stages lists (see plan). */
#ifndef GNN_SYSTEM_TRAIN_INPUT_H
#define GNN_SYSTEM_TRAIN_INPUT_H

#include "harness/system/plan.h"
#include "harness/system/rows.h"

enum gnn_transfer { GNN_TRANSFER_BLOCKING, GNN_TRANSFER_AHEAD };
_Static_assert(sizeof(enum gnn_transfer) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
extern const char *const gnn_transfer_words[]; /* values of a system's option `transfer` */

struct gnn_train_input {
    const struct gnn_env *env;
    enum gnn_transfer transfer;
    struct gnn_rows rows;   /* on the host; empty if a system gathers on the device */
    struct gnn_rows device; /* copy of the rows on the device, if ops need one */
    int32_t *labels;        /* (batch_size) */
    struct gnn_resident *room;
    struct gnn_event *landed; /* completion of the copies */
    uint64_t wider_ids_bytes; /* of the next stage, see struct gnn_batch_lists; 0 unless the system sets it */
    bool staged, in_use;
    uint64_t epoch, batch; /* the staged batch */
};

/* Opens an input. name: of the rows, a string literal. To be closed also after an error. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_open(const struct gnn_env *env, const char *name,
                                                    enum gnn_transfer transfer, struct gnn_train_input *out,
                                                    struct gnn_err *err);
/* Waits for copies in progress and closes the input; accepts a zeroed struct. */
void gnn_train_input_close(struct gnn_train_input *input);

/* Waits until the previous rows have been copied, and makes room for `count` rows on the host. Errors as
 * gnn_rows_reserve. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_reserve(struct gnn_train_input *input, uint64_t count,
                                                       struct gnn_err *err);
/* Starts the copies of the rows (if any were reserved) and of the lists. Does nothing without `ahead` and a device.
 * `row_numbers` (node_count; may be NULL) is one of the lists. The batch must not change until end. GNN_EFORMAT: a seed
 * has no label. GNN_EGPU, GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_stage(struct gnn_train_input *input, uint32_t lane,
                                                     const struct gnn_batch_view *batch, const uint32_t *row_numbers,
                                                     struct gnn_err *err);
/* Makes `batch` the current batch of the back-end. `batch` must be the one last staged. *x: its rows where ops read
 * them, as the dataset stores them (gnn_rows_widen). Without staging, copies now. Errors as gnn_train_input_stage. */
GNN_MUST_CHECK enum gnn_status gnn_train_input_use(struct gnn_train_input *input, const struct gnn_batch_view *batch,
                                                   const gnn_real **x, struct gnn_err *err);
void gnn_train_input_end(struct gnn_train_input *input);

/* Adds to the plan what staging in `lanes` lanes holds on the host, and what `inputs` inputs hold on the device. */
void gnn_train_input_plan(struct gnn_memory_plan *plan, enum gnn_transfer transfer, uint32_t lanes, uint32_t inputs);

#endif
