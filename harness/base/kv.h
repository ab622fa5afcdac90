/* SPDX-License-Identifier: MIT */
/* Ordered key-value text: a run's configuration and environment. A value of NULL is unknown, which is not "". */
#ifndef GNN_BASE_KV_H
#define GNN_BASE_KV_H

#include "harness/oocgnn.h"

struct gnn_kv {
    char *key;
    char *value; /* NULL: unknown */
};

/* Zeroed is empty. Owns its strings. */
struct gnn_kv_list {
    struct gnn_kv *items;
    uint32_t count;
    uint32_t room;
};

/* Copies key and value (which may be NULL: unknown). A key that is already there gets the new value in its old place.
 * GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_kv_set(struct gnn_kv_list *list, const char *key, const char *value,
                                          struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_kv_setf(struct gnn_kv_list *list, struct gnn_err *err, const char *key,
                                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* NULL when the key is missing or its value unknown. */
const char *gnn_kv_get(const struct gnn_kv_list *list, const char *key);

/* Frees everything and leaves an empty list; accepts NULL. */
void gnn_kv_clear(struct gnn_kv_list *list);

#endif
