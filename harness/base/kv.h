/* SPDX-License-Identifier: MIT */
/* Ordered key-value text: a run's configuration and environment. A value of NULL is unknown, which differs from "". */
#ifndef GNN_BASE_KV_H
#define GNN_BASE_KV_H

#include "harness/oocgnn.h"

struct gnn_kv {
    char *key;
    char *value; /* NULL: unknown */
};

/* A list, which owns its strings. An empty list is zeroed. */
struct gnn_kv_list {
    struct gnn_kv *items;
    uint32_t count;
    uint32_t room;
};

/* Copies key and value into the list; a value of NULL is unknown. An existing key keeps its place and gets the new
 * value. Returns GNN_ENOMEM if memory runs out. */
GNN_MUST_CHECK enum gnn_status gnn_kv_set(struct gnn_kv_list *list, const char *key, const char *value,
                                          struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_kv_setf(struct gnn_kv_list *list, struct gnn_err *err, const char *key,
                                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Finds the keys that have several values in some lists: call it for every pair of every list. `seen` keeps the first
 * value of each key, `varied` the keys of which another one came. Both begin empty. Unknown values do not count. */
GNN_MUST_CHECK enum gnn_status gnn_kv_vary(struct gnn_kv_list *seen, struct gnn_kv_list *varied, const char *key,
                                           const char *value, struct gnn_err *err);

/* Returns the value, or NULL if the key is missing or its value is unknown. */
const char *gnn_kv_get(const struct gnn_kv_list *list, const char *key);

/* Frees all items and leaves an empty list. Accepts NULL. */
void gnn_kv_clear(struct gnn_kv_list *list);

#endif
