/* SPDX-License-Identifier: MIT */
/* The memory plan: what a run will hold in host memory, as named parts, each with the option that makes it smaller;
 * and the one judgement whether they fit the cap.
 *
 * Life     begin (adds what every run holds) -> the system's plan hook adds its parts -> check. A system that sizes a
 *          buffer from what is left asks gnn_plan_left between two parts.
 * Phases   A part is held in some phases of an epoch, by default in all. The plan's size is that of its largest phase:
 *          what Ginex frees before it opens its feature cache counts once, not twice.
 * Bounds   A part counts what is reserved, which is what the cap counts: at the fan-outs' bound where that is
 *          allocated, else for the largest mini-batch. A run that grows past it all the same ends by name
 *          (gnn_plan_explain).
 * Memory   none; sums saturate at UINT64_MAX, which no cap holds. One thread. */
#ifndef GNN_SYSTEM_PLAN_H
#define GNN_SYSTEM_PLAN_H

#include "harness/system/sampling.h"

enum { GNN_PLAN_PARTS_MAX = 32, GNN_PLAN_PHASES_MAX = 8, GNN_PLAN_ALL_PHASES = (1 << GNN_PLAN_PHASES_MAX) - 1 };

struct gnn_plan_part {
    const char *name;   /* "feature buffer": a string literal */
    const char *remedy; /* "gnndrive.buffer_mult", "--batch or --fanout"; NULL: no option makes it smaller */
    uint64_t bytes;
    uint32_t phases; /* bit p: held in phase p */
    bool in_flight;  /* grows with the mini-batches in flight; else sized once, at open */
    bool on_device;  /* in the device's memory: no part of any sum here, judged by gnn_plan_check alone */
};

struct gnn_memory_plan {
    const struct gnn_env *env;
    struct gnn_batch_size batch;         /* what a mini-batch is expected to hold: of sums over many */
    struct gnn_batch_size largest;       /* what the largest holds: of what one fills */
    uint32_t part_count, run_part_count; /* the first run_part_count are gnn_plan_begin's */
    struct gnn_plan_part parts[GNN_PLAN_PARTS_MAX];
    bool advisory; /* the cap is not this system's budget (AGNES' accounting=paper): recorded, never refused */
};

/* Empties the plan and adds what the run holds whatever the system: offsets, labels and splits, the model, evaluations
 * between epochs, and the process where its size is known. env outlives the plan. */
void gnn_plan_begin(struct gnn_memory_plan *plan, const struct gnn_env *env);

/* Adds a part that is sized at open; returns it, so that its phases can be set. bytes: of one rank; several workers
 * hold as many, and the cap is for all of them together. */
struct gnn_plan_part *gnn_plan_part(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t bytes);
/* Likewise one that grows with the mini-batches in flight. */
struct gnn_plan_part *gnn_plan_in_flight(struct gnn_memory_plan *plan, const char *name, const char *remedy,
                                         uint64_t bytes);

/* Nodes that so many mini-batches hold together after `hops` hops: their expectation, and the spread of a sum, which
 * grows with the root of its terms. */
uint64_t gnn_plan_nodes_of(const struct gnn_memory_plan *plan, uint32_t batches, uint32_t hops);
/* Bytes of the feature rows of the largest mini-batch, as struct gnn_rows makes room for them, and of its labels. */
uint64_t gnn_plan_rows_bytes(const struct gnn_memory_plan *plan);

/* Adds a part that all ranks of a run hold together, once. */
struct gnn_plan_part *gnn_plan_shared(struct gnn_memory_plan *plan, const char *name, const char *remedy,
                                      uint64_t bytes);
/* Adds a part that the tensor back-end's device will hold. */
void gnn_plan_device(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t bytes);

/* Of the largest phase: all parts, those of gnn_plan_begin, and those that grow with the mini-batches in flight. */
uint64_t gnn_plan_bytes(const struct gnn_memory_plan *plan);
uint64_t gnn_plan_run_bytes(const struct gnn_memory_plan *plan);
uint64_t gnn_plan_in_flight_bytes(const struct gnn_memory_plan *plan);
/* Of one phase. */
uint64_t gnn_plan_phase_bytes(const struct gnn_memory_plan *plan, uint32_t phase);
/* The cap less one phase (0 when nothing is left); UINT64_MAX without a cap. */
uint64_t gnn_plan_left(const struct gnn_memory_plan *plan, uint32_t phase);
/* The largest part of the largest phase that an option makes smaller; NULL when there is none. */
const struct gnn_plan_part *gnn_plan_largest(const struct gnn_memory_plan *plan);

/* What the device will hold. */
uint64_t gnn_plan_device_bytes(const struct gnn_memory_plan *plan);

/* GNN_ECAP when the plan passes the cap, GNN_EGPU when its parts on the device pass the device's memory: how much is
 * needed, the largest part and the option that makes it smaller.
 * `when` follows the sum ("" or " for the superbatch that was sampled"). */
GNN_MUST_CHECK enum gnn_status gnn_plan_check(const struct gnn_memory_plan *plan, const char *when,
                                              struct gnn_err *err);

/* A run that passed its cap although the plan fits it (err holds the allocation that was refused, GNN_ECAP): adds what
 * the plan had counted, the largest part and the option that makes it smaller. Other errors, and those that name an
 * option themselves, stay as they are. */
void gnn_plan_explain(const struct gnn_memory_plan *plan, struct gnn_err *err);

#endif
