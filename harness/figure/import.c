/* SPDX-License-Identifier: MIT */
/* Imported datasets of a figure. */
#include "harness/base/plain_text.h"
#include "harness/figure/figure.h"
#include "harness/run/config.h"

#include <stdio.h>
#include <unistd.h>

enum gnn_status gnn_figure_check_import(const struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char dir[2 * GNN_TEXT_MAX], meta[2 * GNN_TEXT_MAX + 8], name[GNN_TEXT_MAX], data[GNN_TEXT_MAX];
    for (uint32_t i = 0; i < figure->job->count && figure->about.import[0] != '\0'; i++) {
        const struct gnn_run_config *const config = &figure->job->cells[i].config;
        const char *const own = gnn_kv_get(&figure->job->cells[i].choices, "import");
        gnn_run_dataset_dir(config, dir, sizeof dir);
        (void)snprintf(meta, sizeof meta, "%s/meta", dir);
        if (access(meta, F_OK) != 0)
            return gnn_fail(
                err, GNN_ENOTSUP,
                "%s needs the graph %s, which is not in %s; download it to a directory DIR, and `oocgnn "
                "prepare %s --from DIR %s --data %s` imports it",
                figure->id, config->dataset, config->data_dir, gnn_shell_word(config->dataset, name, sizeof name),
                own != NULL ? own : figure->about.import, gnn_shell_word(config->data_dir, data, sizeof data));
    }
    return GNN_OK;
}
