#include "harness/run/preset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GIB (UINT64_C(1) << 30)

const struct gnn_preset gnn_presets[] = {
    {"gnndrive", "GNNDrive (ICPP 2024), section 5", 32 * GIB, 1000, "10,10,10", "256", 0.003,
     "gnndrive.md 6, models.md 6"},
    {"ginex", "Ginex (PVLDB 2022), released script", 8 * GIB, 1000, "10,10,10", "256", 0.003,
     "pygplus.md 6, models.md 6"},
    {"agnes", "AGNES (KDD 2026), 32 GB setting", 32 * GIB, 1000, "10,10,10", "256", 0.003, "models.md 6, hardware.csv"},
    {.name = NULL},
};

static const struct gnn_preset *find(const char *name)
{
    for (const struct gnn_preset *p = gnn_presets; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

enum gnn_status gnn_preset_apply(const char *name, struct gnn_run_config *config, struct gnn_err *err)
{
    const struct gnn_preset *const preset = find(name);
    if (preset == NULL)
        return gnn_fail(err, GNN_EUSAGE, "--preset %s: there are gnndrive, ginex and agnes", name);
    const uint32_t k = config->scale_divisor;
    const uint32_t batch = (preset->batch_size + k / 2) / k;
    config->batch_size = batch > 0 ? batch : 1;
    config->lr = preset->lr * sqrt((double)config->batch_size / preset->batch_size);
    const uint64_t memory_bytes = gnn_round_down(preset->memory_bytes / k, GNN_PAGE_BYTES);
    config->memory_bytes = memory_bytes > 0 ? memory_bytes : GNN_PAGE_BYTES; /* 0 would be no cap at all */
    GNN_TRY(gnn_option_set(gnn_run_options, config, "preset", name, err));
    GNN_TRY(gnn_option_set(gnn_run_options, config, "model", "sage", err));
    GNN_TRY(gnn_option_set(gnn_run_options, config, "hidden", preset->hidden, err));
    return gnn_option_set(gnn_run_options, config, "fanout", preset->fanout, err);
}
