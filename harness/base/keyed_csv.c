/* SPDX-License-Identifier: MIT */
#include "harness/base/keyed_csv.h"

#include "harness/base/text_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A row of a file, and its place among all. */
struct row {
    const struct gnn_csv_form *form;
    char *const *fields;
    uint32_t at;
};

void gnn_keyed_csv_heading(const struct gnn_csv_form *form, FILE *out)
{
    for (uint32_t i = 0; i < form->columns; i++)
        gnn_csv_put(form->names[i], i + 1 < form->columns ? ',' : '\n', out);
}

enum gnn_status gnn_keyed_csv_open(const char *path, const struct gnn_csv_form *form, struct gnn_csv *out,
                                   struct gnn_err *err)
{
    GNN_TRY(gnn_csv_open(path, out, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < form->columns && status == GNN_OK; i++)
        if (out->columns != form->columns || strcmp(out->fields[i], form->names[i]) != 0)
            status = gnn_fail(err, GNN_EFORMAT, "%s:1: %s has %u columns, and column %u is \"%s\"", path, form->what,
                              form->columns, i + 1, form->names[i]);
    if (status != GNN_OK)
        gnn_csv_close(out);
    return status;
}

/* Compares the first `count` keys. */
static int compare(const struct row *a, const struct row *b, uint32_t count)
{
    int order = 0;
    for (uint32_t i = 0; i < count && order == 0; i++)
        order = strverscmp(a->fields[a->form->keys[i]], b->fields[a->form->keys[i]]);
    return order;
}

static int by_keys(const void *a, const void *b)
{
    const struct row *const left = a, *const right = b;
    const int order = compare(left, right, left->form->sort_count);
    return order != 0 ? order : (left->at > right->at) - (left->at < right->at);
}

/* Adds the rows, or puts each in the place of that with its key. */
static void put_rows(const struct gnn_csv_form *form, const struct gnn_csv *csv, struct row *rows, uint32_t *count)
{
    for (uint32_t r = 0; r < csv->rows; r++) {
        struct row row = {.form = form, .fields = &csv->fields[(size_t)(r + 1) * csv->columns]};
        while (row.at < *count && compare(&rows[row.at], &row, form->key_count) != 0)
            row.at++;
        rows[row.at] = row;
        *count += row.at == *count ? 1 : 0;
    }
}

static enum gnn_status write_rows(const char *path, const struct gnn_csv_form *form, const struct row *rows,
                                  uint32_t count, const char *remedy, struct gnn_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the text of %s", path);
    gnn_keyed_csv_heading(form, out);
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t i = 0; i < form->columns; i++)
            gnn_csv_put(rows[r].fields[i], i + 1 < form->columns ? ',' : '\n', out);
    enum gnn_status status = GNN_OK;
    if (fclose(out) != 0)
        status = gnn_fail(err, GNN_ENOMEM, "the text of %s", path);
    GNN_NEXT(status, gnn_text_file_replace(path, text, remedy, err));
    free(text);
    return status;
}

/* Puts the rows of `new` into the file that `old` is, which may have no rows. */
static enum gnn_status update(const char *path, const struct gnn_csv_form *form, const struct gnn_csv *old,
                              const struct gnn_csv *new, const char *remedy, struct gnn_err *err)
{
    struct row *rows;
    uint32_t count = 0;
    GNN_NEW(rows, (size_t)old->rows + new->rows, err, "rows of %s", path);
    put_rows(form, old, rows, &count);
    put_rows(form, new, rows, &count);
    qsort(rows, count, sizeof *rows, by_keys);
    const enum gnn_status status = write_rows(path, form, rows, count, remedy, err);
    free(rows);
    return status;
}

enum gnn_status gnn_keyed_csv_update(const char *path, const struct gnn_csv_form *form, char *text, const char *remedy,
                                     struct gnn_err *err)
{
    struct gnn_csv old = {.rows = 0}, new;
    struct gnn_err cause = {0};
    assert(form->sort_count <= form->key_count);
    GNN_TRY(gnn_csv_parse(path, text, &new, err));
    assert(new.columns == form->columns);
    enum gnn_status status = new.rows > 0 ? gnn_keyed_csv_open(path, form, &old, &cause) : GNN_OK;
    if (status != GNN_OK && status != GNN_ENOENT)
        status = gnn_fail(err, status, "%s; %s", cause.message, remedy);
    else if (new.rows > 0)
        status = update(path, form, &old, &new, remedy, err);
    gnn_csv_close(&old);
    gnn_csv_close(&new);
    return status;
}
