/* SPDX-License-Identifier: MIT */
#include "harness/figure/expression.h"

#include "harness/figure/metric.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static bool is_name(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return isalpha((unsigned char)text[0]) && text[length] == '\0';
}

static enum gnn_status read_metric(struct gnn_paper_figure *figure, const char *name, const char *text,
                                   const struct gnn_value_source *source, struct gnn_err *err)
{
    struct gnn_figure_expression *const expression = &figure->expressions[figure->expression_count];
    if (!is_name(name))
        return gnn_fail(err, GNN_EUSAGE, "\"%s\": the name of a metric has letters, digits and _ only", name);
    if (gnn_metric_known(name))
        return gnn_fail(err, GNN_EUSAGE, "every run has a metric \"%s\"; use another name", name);
    GNN_TRY(gnn_expression_parse(text, source, &expression->parsed, err));
    (void)snprintf(expression->name, sizeof expression->name, "%s", name);
    figure->expression_count++;
    return GNN_OK;
}

enum gnn_status gnn_figure_read_metrics(struct gnn_paper_figure *figure, const struct gnn_ini *ini,
                                        const struct gnn_ini_section *section, const struct gnn_value_source *source,
                                        struct gnn_err *err)
{
    const uint32_t count = section != NULL ? section->entry_count : 0;
    GNN_NEW(figure->expressions, count + UINT32_C(1), err, "the metrics of %s", gnn_ini_name(ini));
    for (uint32_t i = 0; i < count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        struct gnn_err cause = {0};
        if (read_metric(figure, entry->key, entry->value, source, &cause) != GNN_OK)
            return gnn_fail(err, GNN_EUSAGE, "%s:%u: [metrics]: %s", gnn_ini_name(ini), entry->line, cause.message);
    }
    return GNN_OK;
}

/* ---- by name ---- */

/* Finds the expression of NAME or NAME@EPOCH; NULL: there is none. */
static const struct gnn_figure_expression *find(const struct gnn_paper_figure *figure, const char *name, int32_t *epoch)
{
    char base[GNN_NAME_MAX];
    const bool is_split = gnn_metric_split(name, base, epoch);
    for (uint32_t i = 0; i < figure->expression_count && is_split; i++)
        if (strcmp(figure->expressions[i].name, base) == 0)
            return &figure->expressions[i];
    return NULL;
}

bool gnn_figure_metric_known(const struct gnn_paper_figure *figure, const char *name)
{
    int32_t ignored;
    return find(figure, name, &ignored) != NULL || gnn_metric_known(name);
}

struct leaves {
    const struct gnn_paper_figure *figure;
    bool (*is)(const char *name);
    bool any, all;
};

static void look_at_leaf(void *ctx, const char *metric, double number)
{
    struct leaves *const leaves = ctx;
    (void)number;
    if (metric[0] == '\0')
        return;
    leaves->any = true;
    leaves->all = leaves->all && gnn_figure_metric_is(leaves->figure, metric, leaves->is);
}

bool gnn_figure_metric_is(const struct gnn_paper_figure *figure, const char *name, bool (*is)(const char *name))
{
    int32_t ignored;
    struct leaves leaves = {.figure = figure, .is = is, .all = true};
    const struct gnn_figure_expression *const expression = find(figure, name, &ignored);
    if (expression == NULL)
        return is(name);
    gnn_predicate_leaves(&expression->parsed, 0, look_at_leaf, &leaves);
    return leaves.any && leaves.all;
}

/* ---- of a run ---- */

struct evaluation {
    const struct gnn_paper_figure *figure;
    const struct gnn_run_record *run;
    const uint32_t *at;
    const struct gnn_value_source *others;
    int32_t epoch;
};

static enum gnn_value_state evaluate(const struct evaluation *e, const char *name, double *out);

/* The value of another series, of the epoch that is evaluated if the metric has epochs. */
static enum gnn_value_state of_series(const struct evaluation *e, const char *name, uint32_t series, const uint32_t *at,
                                      double *out)
{
    char of_epoch[GNN_NAME_MAX + 16];
    (void)snprintf(of_epoch, sizeof of_epoch, e->epoch == GNN_EPOCH_LAST ? "%s@last" : "%s@%d", name, (int)e->epoch);
    const bool selected =
        e->epoch != GNN_EPOCHS_COUNTED && strchr(name, '@') == NULL && gnn_figure_metric_known(e->figure, of_epoch);
    return e->others->value(e->others->ctx, selected ? of_epoch : name, series, at, out);
}

static enum gnn_value_state value(const void *ctx, const char *name, uint32_t series, const uint32_t *at, double *out)
{
    const struct evaluation *const e = ctx;
    return series == GNN_SERIES_OWN ? evaluate(e, name, out) : of_series(e, name, series, at, out);
}

static enum gnn_value_state evaluate(const struct evaluation *e, const char *name, double *out)
{
    struct evaluation inner = *e;
    int32_t epoch;
    const struct gnn_figure_expression *const expression = find(e->figure, name, &epoch);
    if (expression == NULL) {
        const double found = gnn_metric_at(e->run, name, e->epoch);
        if (!isfinite(found))
            return GNN_VALUE_MISSING;
        *out = found;
        return GNN_VALUE_KNOWN;
    }
    inner.epoch = epoch != GNN_EPOCHS_COUNTED ? epoch : e->epoch;
    struct gnn_value_source source = *e->others;
    source.value = value;
    source.ctx = &inner;
    return gnn_expression_value(&expression->parsed, &source, e->at, out);
}

enum gnn_value_state gnn_figure_metric_of(const struct gnn_paper_figure *figure, const struct gnn_run_record *run,
                                          const char *name, const uint32_t *at, const struct gnn_value_source *others,
                                          double *value)
{
    const struct evaluation e = {.figure = figure, .run = run, .at = at, .others = others, .epoch = GNN_EPOCHS_COUNTED};
    assert(gnn_figure_metric_known(figure, name));
    return evaluate(&e, name, value);
}
