/* SPDX-License-Identifier: MIT */
/* Presets: what a paper trains and how it sets its systems, read from workloads/presets/NAME.ini (its README has the
 * keys), divided by the scale of the dataset. Explicit options win: apply the preset first. */
#ifndef GNN_RUN_PRESET_H
#define GNN_RUN_PRESET_H

#include "harness/run/config.h"

/* Sets the options that the preset's file names, for config->scale_divisor, and appends the parameters of its systems
 * to config->sets; keeps the name in config->preset. memory and batch are divided by the scale. The learning rate goes
 * down with the square root of the batch (the usual rule for Adam): at the paper's rate a batch of 10 seeds of 172
 * classes is mostly noise and nothing is learned.
 * GNN_EUSAGE: no such preset (the message lists those there are), or "file:line: what is wrong in it". */
GNN_MUST_CHECK enum gnn_status gnn_preset_apply(const char *name, struct gnn_run_config *config, struct gnn_err *err);

/* Lists in text what of config->preset still holds, after what was typed, for the run's system: "memory,batch,…,
 * gnndrive.samplers"; cut off where text ends. GNN_EUSAGE as gnn_preset_apply. */
GNN_MUST_CHECK enum gnn_status gnn_preset_held(const struct gnn_run_config *config, char *text, size_t text_bytes,
                                               struct gnn_err *err);

struct gnn_preset {
    const char *name, *path, *title, *source;
    char options[GNN_TEXT_MAX];        /* "memory 32G, batch 1000, …", at scale 1 */
    char parameters[GNN_TEXT_MAX * 4]; /* "gnndrive.samplers 4, …" */
};

/* Calls fn with every preset there is, the user's own first; then fails if a file could not be read. */
typedef void gnn_preset_fn(void *ctx, const struct gnn_preset *preset);
GNN_MUST_CHECK enum gnn_status gnn_preset_each(gnn_preset_fn *fn, void *ctx, struct gnn_err *err);

#endif
