/* SPDX-License-Identifier: MIT */
/* Memory for feature rows that grows during warm-up and never shrinks. One thread at a time. */
#ifndef GNN_SYSTEM_ROWS_H
#define GNN_SYSTEM_ROWS_H

#include "harness/system/system.h"

enum gnn_rows_place {
    GNN_ROWS_TENSOR, /* on the tensor back-end, for its ops */
    GNN_ROWS_HOST,   /* the world's feature memory */
    GNN_ROWS_PINNED, /* the same, and a device can read it (staging.h) */
};

struct gnn_rows {
    const struct gnn_env *env;
    const char *name; /* a string literal */
    enum gnn_rows_place place;
    gnn_real *data;    /* (capacity, dim), not initialised */
    uint64_t capacity; /* rows */
};
void gnn_rows_init(struct gnn_rows *rows, const struct gnn_env *env, const char *name, enum gnn_rows_place place);
/* Returns the number of rows that are reserved if `count` do not fit. */
static inline uint64_t gnn_rows_capacity(uint64_t count)
{
    return gnn_add_bytes(count, count / 8);
}
/* Makes room for `count` rows. If it has to grow, it gets an eighth more, and old contents are lost. GNN_ENOMEM,
 * GNN_ECAP, GNN_EGPU: it is empty afterwards. */
GNN_MUST_CHECK enum gnn_status gnn_rows_reserve(struct gnn_rows *rows, uint64_t count, struct gnn_err *err);
void gnn_rows_close(struct gnn_rows *rows);

#endif
