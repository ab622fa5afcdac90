/* Presets: a paper's defaults (specs' section 6, models.md section 6), divided by the dataset's scale (DESIGN
 * section 6). Explicit options win: apply the preset first. */
#ifndef GNN_RUN_PRESET_H
#define GNN_RUN_PRESET_H

#include "harness/run/config.h"

struct gnn_preset {
    const char *name; /* the paper's system: "gnndrive" */
    const char *title;
    uint64_t memory_bytes; /* at scale 1 */
    uint32_t batch_size;   /* at scale 1 */
    const char *fanout;
    const char *hidden;
    double lr; /* at scale 1 */
    const char *source;
};

extern const struct gnn_preset gnn_presets[]; /* ends with name NULL */

/* Sets model, fan-out, batch, hidden width, learning rate and cap for config->scale_divisor; keeps the name
 * in config->preset. The learning rate goes down with the square root of the batch (Adam's usual rule): at
 * the paper's rate a batch of 10 seeds of 172 classes is mostly noise and nothing is learned. */
GNN_MUST_CHECK enum gnn_status gnn_preset_apply(const char *name, struct gnn_run_config *config, struct gnn_err *err);

#endif
