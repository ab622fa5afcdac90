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
    uint32_t row_bytes;
    gnn_real *data;    /* (capacity, row_bytes), not initialised; rows as stored may be float16 */
    uint64_t capacity; /* rows */
};
/* Initialise rows as the dataset stores them, and rows of float32 as models read them. */
void gnn_rows_init(struct gnn_rows *rows, const struct gnn_env *env, const char *name, enum gnn_rows_place place);
void gnn_rows_init_wide(struct gnn_rows *rows, const struct gnn_env *env, const char *name, enum gnn_rows_place place);
/* Returns the number of rows that are reserved if `count` do not fit. */
static inline uint64_t gnn_rows_capacity(uint64_t count)
{
    return gnn_add_bytes(count, count / 8);
}
/* Makes room for `count` rows. If it has to grow, it gets an eighth more, and old contents are lost. GNN_ENOMEM,
 * GNN_ECAP, GNN_EGPU: it is empty afterwards. */
GNN_MUST_CHECK enum gnn_status gnn_rows_reserve(struct gnn_rows *rows, uint64_t count, struct gnn_err *err);
/* Releases the rows; accepts a zeroed struct. */
void gnn_rows_close(struct gnn_rows *rows);

/* Sets *x to `count` rows of float32 for models: `stored`, which is on the back-end, or a copy in `wide` to which rows
 * of float16 are widened. Errors as gnn_rows_reserve. */
GNN_MUST_CHECK enum gnn_status gnn_rows_widen(struct gnn_rows *wide, const gnn_real *stored, uint32_t count,
                                              const gnn_real **x, struct gnn_err *err);

#endif
