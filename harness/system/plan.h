/* SPDX-License-Identifier: MIT */
/* The memory plan: what a run will hold in host memory, and the check whether it fits the memory limit. It consists of
 * named parts, each with the option that makes it smaller.
 *
 * Life     begin adds what every run holds; the system's plan hook adds its parts; then check. A system that sizes a
 *          buffer by the remaining memory calls gnn_plan_left between two parts.
 * Phases   A part is held in some phases of an epoch, by default in all. The plan's size is that of its largest phase.
 *          For example, Ginex frees a buffer before it opens its feature cache, so only the larger of the two counts.
 * Bounds   A part counts what is reserved, as the memory limit does. This is the fan-outs' bound if that is allocated,
 *          else the size of the largest mini-batch. If a run still exceeds its plan, gnn_plan_explain names the part.
 * Memory   None. Sums saturate at UINT64_MAX, which exceeds every limit. One thread. */
#ifndef GNN_SYSTEM_PLAN_H
#define GNN_SYSTEM_PLAN_H

#include "harness/system/sampling.h"

enum { GNN_PLAN_PARTS_MAX = 32, GNN_PLAN_PHASES_MAX = 8, GNN_PLAN_ALL_PHASES = (1 << GNN_PLAN_PHASES_MAX) - 1 };

struct gnn_plan_part {
    const char *name;   /* "feature buffer": a string literal */
    const char *remedy; /* "gnndrive.buffer_mult", "--batch or --fanout"; NULL: no option makes it smaller */
    uint64_t bytes;
    uint32_t phases; /* bit p: held in phase p */
    bool in_flight;  /* grows with the mini-batches in flight; else its size is set at open */
    bool on_device;  /* in the device's memory: in no sum of host memory, checked separately */
};

struct gnn_memory_plan {
    const struct gnn_env *env;
    struct gnn_batch_size batch;         /* expected size of a mini-batch: for sums over many */
    struct gnn_batch_size largest;       /* largest size of a mini-batch: for what one fills */
    uint32_t part_count, run_part_count; /* the first run_part_count are gnn_plan_begin's */
    struct gnn_plan_part parts[GNN_PLAN_PARTS_MAX];
    bool advisory; /* the memory limit is not this system's budget (AGNES: accounting=paper): recorded, never refused */
};

/* Empties the plan and adds what every run holds: offsets, labels and splits, the model, evaluations between epochs.
 * The process itself is added if its size is known. env must outlive the plan. */
void gnn_plan_begin(struct gnn_memory_plan *plan, const struct gnn_env *env);

/* Adds a part whose size is set at open; returns it, so that its phases can be set. bytes: of one rank. With several
 * workers it is multiplied by their number, because the memory limit is for all of them together. */
struct gnn_plan_part *gnn_plan_part(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t bytes);
/* Adds a part that grows with the mini-batches in flight; otherwise as gnn_plan_part. */
struct gnn_plan_part *gnn_plan_in_flight(struct gnn_memory_plan *plan, const char *name, const char *remedy,
                                         uint64_t bytes);

/* Returns how many nodes `batches` mini-batches hold together after `hops` hops. This is their expectation plus the
 * spread of a sum, which grows with the square root of the number of terms. */
uint64_t gnn_plan_nodes_of(const struct gnn_memory_plan *plan, uint32_t batches, uint32_t hops);
/* Returns the bytes of the largest mini-batch's labels and feature rows, as struct gnn_rows reserves them. */
uint64_t gnn_plan_rows_bytes(const struct gnn_memory_plan *plan);

/* Returns the same with the rows as models read them, in float32. */
uint64_t gnn_plan_wide_rows_bytes(const struct gnn_memory_plan *plan);

/* Adds a part that all ranks of a run share: it counts once. */
struct gnn_plan_part *gnn_plan_shared(struct gnn_memory_plan *plan, const char *name, const char *remedy,
                                      uint64_t bytes);
/* Adds a part in the memory of the tensor back-end's device. bytes: of one rank. */
void gnn_plan_device(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t bytes);
/* Adds what rows of float16 take in addition when they are widened on the back-end: on its device, or on the host in
 * these phases. Nothing for features of float32. */
void gnn_plan_widened(struct gnn_memory_plan *plan, uint32_t phases, uint64_t bytes);

/* Return the bytes of the largest phase: of all parts, of those that gnn_plan_begin added, and of those that grow with
 * the mini-batches in flight. */
uint64_t gnn_plan_bytes(const struct gnn_memory_plan *plan);
uint64_t gnn_plan_run_bytes(const struct gnn_memory_plan *plan);
uint64_t gnn_plan_in_flight_bytes(const struct gnn_memory_plan *plan);
/* Returns the bytes of one phase. */
uint64_t gnn_plan_phase_bytes(const struct gnn_memory_plan *plan, uint32_t phase);
/* Returns the memory limit minus the bytes of one phase, at least 0; UINT64_MAX without a limit. */
uint64_t gnn_plan_left(const struct gnn_memory_plan *plan, uint32_t phase);
/* Returns the largest part of the largest phase that an option makes smaller, or NULL if there is none. */
const struct gnn_plan_part *gnn_plan_largest(const struct gnn_memory_plan *plan);

/* Returns the bytes of all parts on the device. */
uint64_t gnn_plan_device_bytes(const struct gnn_memory_plan *plan);

/* Checks the plan against the memory limit and the device's memory. GNN_ECAP: it exceeds the limit. GNN_EGPU: its parts
 * on the device exceed the device's memory. The message has the bytes needed, the largest part and the option that
 * makes it smaller. `when` is inserted after the bytes: "" or " for the superbatch that was sampled". */
GNN_MUST_CHECK enum gnn_status gnn_plan_check(const struct gnn_memory_plan *plan, const char *when,
                                              struct gnn_err *err);

/* Extends the message of a run that exceeded its memory limit although its plan fits. err holds the refused allocation
 * (GNN_ECAP). Added are the planned bytes, the largest part and the option that makes it smaller. Other errors, and
 * those that name an option already, stay as they are. */
void gnn_plan_explain(const struct gnn_memory_plan *plan, struct gnn_err *err);

#endif
