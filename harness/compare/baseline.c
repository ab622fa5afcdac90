/* SPDX-License-Identifier: MIT */
#include "harness/compare/baseline.h"

#include "harness/base/grow.h"
#include "harness/base/plain_text.h"
#include "harness/record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, PATH_BYTES = 1024 };
#define FORMAT "oocgnn-baseline"

/* ---- reading ---- */

static enum gnn_status read_pairs(json_t *object, struct gnn_kv_list *out, struct gnn_err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (json_is_string(value))
            GNN_TRY(gnn_kv_set(out, key, json_string_value(value), err));
    }
    return GNN_OK;
}

static enum gnn_status read_cell(const char *path, const json_t *from, struct gnn_facts *facts, struct gnn_err *err)
{
    struct gnn_cell *const cells = gnn_grow(facts->cells, facts->count, &facts->room, sizeof *cells);
    if (cells == NULL)
        return gnn_fail(err, GNN_ENOMEM, "configuration %u of %s", facts->count + 1, path);
    facts->cells = cells;
    struct gnn_cell *const cell = &facts->cells[facts->count++];
    *cell = (struct gnn_cell){.runs = 1};
    const char *const job = json_string_value(json_object_get(from, "job"));
    (void)snprintf(cell->job, sizeof cell->job, "%s", job == NULL ? "" : job);
    GNN_TRY(read_pairs(json_object_get(from, "config"), &cell->config, err));
    GNN_TRY(read_pairs(json_object_get(from, "exact"), &cell->exact, err));
    if (cell->config.count == 0 || cell->exact.count == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: configuration %u has no config or no exact values", path, facts->count);
    if (gnn_kv_get(&cell->exact, GNN_FACT_DIGEST_VERSION) != NULL)
        return GNN_OK;
    return gnn_kv_set(&cell->exact, GNN_FACT_DIGEST_VERSION, GNN_DIGEST_VERSION_FIRST, err); /* an older file */
}

static enum gnn_status read_facts(const char *path, const json_t *root, struct gnn_facts *facts, struct gnn_err *err)
{
    const char *const revision = json_string_value(json_object_get(root, "revision"));
    const json_t *const cells = json_object_get(root, "cells");
    (void)snprintf(facts->revision, sizeof facts->revision, "%s", revision == NULL ? "" : revision);
    for (size_t i = 0; i < json_array_size(cells); i++)
        GNN_TRY(read_cell(path, json_array_get(cells, i), facts, err));
    gnn_facts_label(facts);
    return read_pairs(json_object_get(root, "instructions"), &facts->instructions, err);
}

static enum gnn_status load(const char *path, json_t **out, struct gnn_err *err)
{
    json_error_t trouble;
    struct stat info;
    char word[GNN_ERR_MAX];
    (void)gnn_shell_word(path, word, sizeof word);
    if (access(path, R_OK) != 0 || stat(path, &info) != 0)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : GNN_EPERM, "%s: %s; `oocgnn baseline BUILD %s` writes one",
                        path, strerror(errno), word);
    if (!S_ISREG(info.st_mode) || info.st_size == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s: %s, and no baseline; `oocgnn baseline BUILD %s` writes one", path,
                        S_ISREG(info.st_mode) ? "an empty file" : "no plain file", word);
    *out = json_load_file(path, JSON_REJECT_DUPLICATES, &trouble);
    if (*out == NULL)
        return gnn_fail(err, GNN_EFORMAT, "%s:%d: %s; name a baseline file, as `oocgnn baseline BUILD %s` writes one",
                        path, trouble.line, trouble.text, word);
    const char *const format = json_string_value(json_object_get(*out, "format"));
    const json_int_t version = json_integer_value(json_object_get(*out, "version"));
    if (format != NULL && strcmp(format, FORMAT) == 0 && version == VERSION)
        return GNN_OK;
    json_decref(*out);
    *out = NULL;
    return gnn_fail(err, GNN_EFORMAT, "%s: no baseline of version %d; `oocgnn baseline BUILD %s` writes one", path,
                    VERSION, word);
}

enum gnn_status gnn_baseline_read(const char *path, struct gnn_facts *facts, json_t **accepted, struct gnn_err *err)
{
    json_t *root = NULL;
    *accepted = NULL;
    enum gnn_status status = load(path, &root, err);
    if (status == GNN_OK && facts != NULL)
        status = read_facts(path, root, facts, err);
    if (status == GNN_OK) {
        json_t *const kept = json_object_get(root, "accepted");
        *accepted = json_is_array(kept) ? json_incref(kept) : json_array();
        if (*accepted == NULL)
            status = gnn_fail(err, GNN_ENOMEM, "accepted changes of %s", path);
    }
    json_decref(root);
    return status;
}

/* ---- writing ---- */

static json_t *pairs_object(const struct gnn_kv_list *list)
{
    json_t *const object = json_object();
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].value != NULL)
            (void)json_object_set_new(object, list->items[i].key, json_string(list->items[i].value));
    return object;
}

/* Functions that are no hot loops would fill the file and be compared with nothing. */
static json_t *hot_object(const struct gnn_facts *facts)
{
    json_t *const object = json_object();
    for (uint32_t i = 0; i < facts->instructions.count; i++) {
        const struct gnn_kv *const count = &facts->instructions.items[i];
        if (gnn_facts_is_hot(facts, count))
            (void)json_object_set_new(object, count->key, json_string(count->value));
    }
    return object;
}

/* What two runs of this build do not agree in is no baseline. */
static json_t *exact_object(const struct gnn_cell *cell)
{
    json_t *const object = pairs_object(&cell->exact);
    for (uint32_t i = 0; i < cell->unsteady.count; i++)
        (void)json_object_del(object, cell->unsteady.items[i].key);
    return object;
}

static json_t *cell_object(const struct gnn_cell *cell)
{
    return json_pack("{s:s, s:o, s:o}", "job", cell->job, "config", pairs_object(&cell->config), "exact",
                     exact_object(cell));
}

static json_t *facts_object(const struct gnn_facts *facts, const json_t *accepted)
{
    json_t *const root = json_object(), *const cells = json_array();
    (void)json_object_set_new(root, "format", json_string(FORMAT));
    (void)json_object_set_new(root, "version", json_integer(VERSION));
    for (uint32_t i = 0; facts != NULL && i < facts->count; i++)
        (void)json_array_append_new(cells, cell_object(&facts->cells[i]));
    if (facts != NULL) {
        (void)json_object_set_new(root, "revision", json_string(facts->revision));
        (void)json_object_set(root, "cells", cells);
        (void)json_object_set_new(root, "instructions", hot_object(facts));
    }
    json_decref(cells);
    (void)json_object_set_new(root, "accepted", json_deep_copy(accepted));
    return root;
}

/* Whether everything got in: an allocation that failed left something out. */
static bool is_whole(const json_t *root, const struct gnn_facts *facts, const json_t *accepted)
{
    const json_t *const cells = json_object_get(root, "cells");
    bool whole = json_array_size(json_object_get(root, "accepted")) == json_array_size(accepted) &&
                 json_array_size(cells) == (facts == NULL ? 0 : facts->count);
    for (uint32_t i = 0; facts != NULL && whole && i < facts->count; i++) {
        const struct gnn_cell *const cell = &facts->cells[i];
        whole = json_object_size(json_object_get(json_array_get(cells, i), "exact")) ==
                cell->exact.count - cell->unsteady.count;
    }
    return whole;
}

enum gnn_status gnn_baseline_write(const char *path, const struct gnn_facts *facts, const json_t *accepted,
                                   struct gnn_err *err)
{
    char beside[PATH_BYTES];
    if ((size_t)snprintf(beside, sizeof beside, "%s.new", path) >= sizeof beside)
        return gnn_fail(err, GNN_EUSAGE, "%s: the path is too long", path);
    json_t *const root = facts_object(facts, accepted);
    enum gnn_status status = GNN_OK;
    if (!is_whole(root, facts, accepted))
        status = gnn_fail(err, GNN_ENOMEM, "the baseline %s", path);
    if (status == GNN_OK &&
        (json_dump_file(root, beside, JSON_INDENT(1) | JSON_PRESERVE_ORDER) != 0 || rename(beside, path) != 0)) {
        status = gnn_fail(err, GNN_EIO, "%s: cannot be written: %s; name a file in a folder you may write", path,
                          strerror(errno));
        (void)unlink(beside);
    }
    json_decref(root);
    return status;
}
