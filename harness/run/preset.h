/* SPDX-License-Identifier: MIT */
/* Presets: what a paper trains and how it sets its systems, divided by the dataset's scale. They are read from
 * workloads/presets/NAME.ini; the README there lists the keys. Explicit options win: apply the preset first. */
#ifndef GNN_RUN_PRESET_H
#define GNN_RUN_PRESET_H

#include "harness/run/config.h"

/* Sets the options of a preset for config->scale_divisor, appends the parameters of its systems to config->sets, and
 * stores the name in config->preset. GNN_EUSAGE: there is no such preset (the message lists all), or "file:line: what
 * is wrong in it".
 *
 * Memory and batch size are divided by the scale. The learning rate is lowered with the square root of the batch size,
 * the usual rule for Adam. At the paper's rate, a batch of 10 seeds with 172 classes would be mostly noise, and nothing
 * would be learned. */
GNN_MUST_CHECK enum gnn_status gnn_preset_apply(const char *name, struct gnn_run_config *config, struct gnn_err *err);

/* Lists the options and parameters of config->preset that explicit options have not changed, for the run's system:
 * "memory,batch,…,gnndrive.samplers". The list is cut at text_bytes. GNN_EUSAGE as gnn_preset_apply. */
GNN_MUST_CHECK enum gnn_status gnn_preset_held(const struct gnn_run_config *config, char *text, size_t text_bytes,
                                               struct gnn_err *err);

struct gnn_preset {
    const char *name, *path, *title, *source;
    char options[GNN_TEXT_MAX];        /* "memory 32G, batch 1000, …", at scale 1 */
    char parameters[GNN_TEXT_MAX * 4]; /* "gnndrive.samplers 4, …" */
};

/* Calls fn with every preset, the user's own first. Fails at the end if a file could not be read. */
typedef void gnn_preset_fn(void *ctx, const struct gnn_preset *preset);
GNN_MUST_CHECK enum gnn_status gnn_preset_each(gnn_preset_fn *fn, void *ctx, struct gnn_err *err);

#endif
