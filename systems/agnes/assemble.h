/* Assembly of the input of one mini-batch, one mini-batch ahead of training (AGNES, KDD 2026, section 3.4 (2): "moved
 * to a contiguous memory space"): its blocks come back from the spool and its spilled rows from the spill file; cached,
 * staged and reloaded rows become one matrix. One thread at a time.
 *
 * Memory   AGNES_INPUTS inputs (blocks, node IDs and rows of a mini-batch); the spilled rows of one mini-batch */
#ifndef AGNES_ASSEMBLE_H
#define AGNES_ASSEMBLE_H

#include "harness/system/buffer.h"
#include "harness/system/training.h"
#include "systems/agnes/agnes.h"
#include "systems/agnes/hyperbatch.h"

/* A mini-batch on its way from assembly to training. */
struct agnes_input {
    struct gnn_batch_view view;
    struct gnn_buffer blocks; /* its records */
    struct gnn_buffer nodes;  /* gnn_node: V_j in the dataset's IDs */
    struct gnn_rows rows;
    bool last; /* of its hyperbatch */
};

struct agnes_assembly_counters {
    uint64_t spool_reads, spool_read_bytes;
    uint64_t spill_reads, spill_read_bytes;
};

struct agnes_assembly {
    const struct agnes_setup *setup;
    struct agnes_input inputs[AGNES_INPUTS];
    struct gnn_buffer reloaded; /* spilled blocks of one mini-batch */
    uint64_t epoch;
    struct agnes_assembly_counters counters; /* since begin */
};

/* setup outlives it. Allocates nothing yet. */
void agnes_assembly_open(const struct agnes_setup *setup, struct agnes_assembly *out);
void agnes_assembly_close(struct agnes_assembly *assembly); /* accepts a zeroed one */
void agnes_assembly_begin(struct agnes_assembly *assembly, uint64_t epoch);

/* Makes the input of mini-batch j of a gathered hyperbatch. spool: a reader of the hyperbatch's spool. GNN_EIO,
 * GNN_ESHORT, GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status agnes_assemble(struct agnes_assembly *assembly,
                                              const struct agnes_hyperbatch *hyperbatch,
                                              const struct agnes_row_set *rows, uint32_t j, struct gnn_reader *spool,
                                              struct agnes_input *input, struct gnn_err *err);

#endif
