/* SPDX-License-Identifier: MIT */
/* Imported datasets of a figure. */
#include "harness/base/plain_text.h"
#include "harness/figure/figure.h"
#include "harness/run/config.h"

#include <stdio.h>
#include <unistd.h>

/* Returns the first configuration whose imported dataset is missing, or NULL if there is none. */
static const struct gnn_job_cell *find_missing(const struct gnn_paper_figure *figure)
{
    char dir[2 * GNN_TEXT_MAX], meta[2 * GNN_TEXT_MAX + 8];
    if (figure->about.import[0] == '\0' || figure->job == NULL)
        return NULL;
    for (uint32_t i = 0; i < figure->job->count; i++) {
        gnn_run_dataset_dir(&figure->job->cells[i].config, dir, sizeof dir);
        (void)snprintf(meta, sizeof meta, "%s/meta", dir);
        if (access(meta, F_OK) != 0)
            return &figure->job->cells[i];
    }
    return NULL;
}

static const char *write_command(const struct gnn_paper_figure *figure, const struct gnn_job_cell *missing, char *text,
                                 size_t text_bytes)
{
    char name[GNN_TEXT_MAX], data[GNN_TEXT_MAX];
    const char *const own = gnn_kv_get(&missing->choices, "import");
    (void)snprintf(text, text_bytes, "oocgnn prepare %s --from DIR %s --data %s",
                   gnn_shell_word(missing->config.dataset, name, sizeof name), own != NULL ? own : figure->about.import,
                   gnn_shell_word(missing->config.data_dir, data, sizeof data));
    return text;
}

const char *gnn_figure_import_command(const struct gnn_paper_figure *figure, char *text, size_t text_bytes)
{
    const struct gnn_job_cell *const missing = find_missing(figure);
    return missing == NULL ? NULL : write_command(figure, missing, text, text_bytes);
}

enum gnn_status gnn_figure_check_import(const struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char text[3 * GNN_TEXT_MAX];
    const struct gnn_job_cell *const missing = find_missing(figure);
    if (missing == NULL)
        return GNN_OK;
    return gnn_fail(err, GNN_ENOTSUP,
                    "%s needs the graph %s, which is not in %s; download it to a directory DIR, and `%s` imports it",
                    figure->id, missing->config.dataset, missing->config.data_dir,
                    write_command(figure, missing, text, sizeof text));
}
