/* SPDX-License-Identifier: MIT */
#include "harness/figure/own.h"

#include <string.h>

const char *gnn_own_series(const struct gnn_job *job, uint32_t cell)
{
    const struct gnn_job_cell *const own = &job->cells[cell];
    for (uint32_t i = 0; i < job->count; i++)
        if (strcmp(job->cells[i].section, own->section) == 0 &&
            strcmp(job->cells[i].config.system, own->config.system) != 0)
            return own->config.system;
    return own->section;
}

/* Returns the first key of which two configurations have different values, or "". */
static const char *difference(const struct gnn_job_cell *a, const struct gnn_job_cell *b)
{
    for (uint32_t i = 0; i < a->choices.count; i++) {
        const char *const other = gnn_kv_get(&b->choices, a->choices.items[i].key);
        if (other == NULL || strcmp(other, a->choices.items[i].value) != 0)
            return a->choices.items[i].key;
    }
    return "";
}

enum gnn_status gnn_own_check_places(const struct gnn_paper_figure *figure, struct gnn_err *err)
{
    for (uint32_t b = 0; b < figure->job->count; b++)
        for (uint32_t a = 0; a < b; a++) {
            const struct gnn_figure_cell *const one = &figure->cells[a], *const other = &figure->cells[b];
            const char *const key = difference(&figure->job->cells[a], &figure->job->cells[b]);
            if (one->series == other->series && one->trains == other->trains &&
                memcmp(one->at, other->at, sizeof one->at) == 0)
                return gnn_fail(err, GNN_EUSAGE,
                                "figure %s: configurations %u and %u have the same place, but differ in %s. Make it an "
                                "axis with x or facets, or give each value a section.",
                                figure->id, a + 1, b + 1, key[0] != '\0' ? key : "nothing");
        }
    return GNN_OK;
}
