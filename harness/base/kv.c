/* SPDX-License-Identifier: MIT */
#include "harness/base/kv.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gnn_kv *find(const struct gnn_kv_list *list, const char *key)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].key, key) == 0)
            return &list->items[i];
    return NULL;
}

enum gnn_status gnn_kv_set(struct gnn_kv_list *list, const char *key, const char *value, struct gnn_err *err)
{
    assert(key != NULL);
    assert(key[0] != '\0');
    char *copy = value == NULL ? NULL : strdup(value);
    if (value != NULL && copy == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s", key);
    struct gnn_kv *old = find(list, key);
    if (old != NULL) {
        free(old->value);
        old->value = copy;
        return GNN_OK;
    }
    char *name = strdup(key);
    struct gnn_kv *const items = gnn_grow(list->items, list->count, &list->room, sizeof *items);
    if (items != NULL)
        list->items = items;
    if (name == NULL || items == NULL) {
        free(name);
        free(copy);
        return gnn_fail(err, GNN_ENOMEM, "%s", key);
    }
    assert(list->count < list->room);
    list->items[list->count++] = (struct gnn_kv){.key = name, .value = copy};
    return GNN_OK;
}

enum gnn_status gnn_kv_vary(struct gnn_kv_list *seen, struct gnn_kv_list *varied, const char *key, const char *value,
                            struct gnn_err *err)
{
    const char *const first = gnn_kv_get(seen, key);
    if (value == NULL)
        return GNN_OK;
    if (first == NULL)
        return gnn_kv_set(seen, key, value, err);
    return strcmp(first, value) == 0 ? GNN_OK : gnn_kv_set(varied, key, "", err);
}

enum gnn_status gnn_kv_setf(struct gnn_kv_list *list, struct gnn_err *err, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return gnn_fail(err, GNN_ENOMEM, "%s", key);
    const enum gnn_status status = gnn_kv_set(list, key, text, err);
    free(text);
    return status;
}

const char *gnn_kv_get(const struct gnn_kv_list *list, const char *key)
{
    const struct gnn_kv *kv = find(list, key);
    return kv == NULL ? NULL : kv->value;
}

void gnn_kv_clear(struct gnn_kv_list *list)
{
    if (list == NULL)
        return;
    for (uint32_t i = 0; i < list->count; i++) {
        free(list->items[i].key);
        free(list->items[i].value);
    }
    free(list->items);
    *list = (struct gnn_kv_list){0};
}
