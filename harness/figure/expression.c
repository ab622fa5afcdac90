/* SPDX-License-Identifier: MIT */
#include "harness/figure/expression.h"

#include "harness/figure/metric.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static enum gnn_status read_metric(struct gnn_paper_figure *figure, const struct gnn_ini_entry *entry,
                                   const struct gnn_value_source *source, struct gnn_err *err)
{
    struct gnn_figure_expression *const expression = &figure->expressions[figure->expression_count];
    const char *end = entry->key;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    if (*end != '\0' || !isalpha((unsigned char)entry->key[0]) || gnn_metric_known(entry->key))
        return gnn_fail(err, GNN_EUSAGE,
                        "\"%s\" is a metric already, or has other characters than letters, digits and _", entry->key);
    GNN_TRY(gnn_expression_parse(entry->value, source, &expression->parsed, err));
    (void)snprintf(expression->name, sizeof expression->name, "%s", entry->key);
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
        struct gnn_err cause = {0};
        if (read_metric(figure, &section->entries[i], source, &cause) != GNN_OK)
            return gnn_fail(err, GNN_EUSAGE, "%s:%u: %s", gnn_ini_name(ini), section->entries[i].line, cause.message);
    }
    return GNN_OK;
}

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

struct evaluation {
    const struct gnn_paper_figure *figure;
    const struct gnn_run_record *run;
    const uint32_t *at;
    const struct gnn_value_source *others;
    int32_t epoch;
};

static enum gnn_value_state value(const void *ctx, const char *name, uint32_t series, const uint32_t *at, double *out)
{
    const struct evaluation *const e = ctx;
    struct evaluation inner = *e;
    if (series != GNN_SERIES_OWN)
        return e->epoch != GNN_EPOCHS_COUNTED && strchr(name, '@') == NULL
                   ? GNN_VALUE_MISSING
                   : e->others->value(e->others->ctx, name, series, at, out);
    const struct gnn_figure_expression *const expression = find(e->figure, name, &inner.epoch);
    if (expression == NULL) {
        const double found = gnn_metric_at(e->run, name, e->epoch);
        *out = isfinite(found) ? found : 0;
        return isfinite(found) ? GNN_VALUE_KNOWN : GNN_VALUE_MISSING;
    }
    if (inner.epoch == GNN_EPOCHS_COUNTED)
        inner.epoch = e->epoch;
    struct gnn_value_source source = *e->others;
    source.value = value;
    source.ctx = &inner;
    return gnn_expression_value(&expression->parsed, &source, e->at, out);
}

enum gnn_value_state gnn_figure_metric_of(const struct gnn_paper_figure *figure, const struct gnn_run_record *run,
                                          const char *name, const uint32_t *at, const struct gnn_value_source *others,
                                          double *out)
{
    const struct evaluation e = {figure, run, at, others, GNN_EPOCHS_COUNTED};
    return value(&e, name, GNN_SERIES_OWN, at, out);
}
