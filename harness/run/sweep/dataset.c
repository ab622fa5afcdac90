/* SPDX-License-Identifier: MIT */
#include "harness/run/sweep/dataset.h"

#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The registry's entry of a dataset that is generated on a disk for this run; NULL: there is none to make. */
static const struct gnn_registry_entry *generated(const struct gnn_run_config *config)
{
    const struct gnn_registry_entry *entry = NULL;
    if (gnn_run_dataset_is_computed(config) || strchr(config->dataset, '/') != NULL ||
        gnn_registry_find(config->dataset, &entry, NULL) != GNN_OK)
        return NULL;
    return entry;
}

/* What the dataset lacks of the widths that the run reads. */
static uint64_t lacking(const struct gnn_run_config *config, const struct gnn_meta *meta)
{
    const uint32_t dim = gnn_run_dim(config);
    const uint32_t id_bytes = gnn_id_width_bytes(config->id_width);
    char features[32];
    uint64_t bytes = 0;
    if (strncmp(meta->origin, "generated", strlen("generated")) != 0)
        return 0;
    gnn_meta_features_name(dim, config->feature_type, features, sizeof features);
    if (dim != 0 && meta->relation_count == 0 && gnn_meta_find_file(meta, features) == NULL)
        bytes += (uint64_t)meta->node_count * dim * gnn_feature_type_bytes(config->feature_type);
    if (gnn_meta_find_file(meta, gnn_meta_indices_name(id_bytes)) == NULL)
        bytes += gnn_mul_bytes(meta->edge_count, id_bytes);
    return bytes;
}

enum gnn_status gnn_sweep_dataset_missing(const struct gnn_run_config *config, uint64_t *bytes, struct gnn_err *err)
{
    const struct gnn_registry_entry *const entry = generated(config);
    char dir[GNN_TEXT_MAX * 2];
    struct gnn_registry_counts counts;
    struct gnn_meta *meta;
    struct gnn_err cause = {0};
    *bytes = 0;
    if (entry == NULL)
        return GNN_OK;
    gnn_run_dataset_dir(config, dir, sizeof dir);
    GNN_NEW(meta, 1, err, "meta of %s", dir);
    const enum gnn_status status = gnn_read_meta(dir, meta, &cause);
    if (status == GNN_OK)
        *bytes = lacking(config, meta);
    free(meta);
    if (status == GNN_OK)
        return GNN_OK;
    if (status != GNN_ENOENT)
        return gnn_fail(err, status, "%s", cause.message);
    const uint32_t dim = gnn_run_dim(config) != 0 ? gnn_run_dim(config) : entry->dim;
    GNN_TRY(gnn_registry_scale(entry, config->scale_divisor, dim, &counts, err));
    *bytes = counts.dataset_bytes -
             (uint64_t)counts.nodes * dim * (sizeof(float) - gnn_feature_type_bytes(config->feature_type));
    return GNN_OK;
}

enum gnn_status gnn_sweep_dataset_check(const struct gnn_run_config *config, bool prepare, struct gnn_err *err)
{
    char dir[GNN_TEXT_MAX * 2];
    struct gnn_meta *meta;
    struct gnn_err cause = {0};
    uint64_t bytes;
    if (gnn_run_dataset_is_computed(config))
        return GNN_OK;
    const struct gnn_registry_entry *const entry = prepare ? generated(config) : NULL;
    const bool has_size = entry == NULL || entry->kind != GNN_REGISTRY_KRON || config->scale_divisor == 1;
    if (entry != NULL && has_size)
        return gnn_sweep_dataset_missing(config, &bytes, err);
    gnn_run_dataset_dir(config, dir, sizeof dir);
    GNN_NEW(meta, 1, err, "meta of %s", dir);
    const enum gnn_status status = gnn_read_meta(dir, meta, &cause);
    free(meta);
    if (status == GNN_ENOENT)
        return gnn_run_dataset_missing(config, dir, err);
    return status == GNN_OK ? status : gnn_fail(err, status, "%s", cause.message);
}

enum gnn_status gnn_sweep_dataset_prepare(const struct gnn_run_config *config, const atomic_bool *stop,
                                          struct gnn_err *err)
{
    uint64_t bytes;
    GNN_TRY(gnn_sweep_dataset_missing(config, &bytes, err));
    if (bytes == 0)
        return GNN_OK;
    const struct gnn_registry_entry *const entry = generated(config);
    char dir[GNN_TEXT_MAX * 2];
    struct gnn_generate_options options = {0};
    assert(entry != NULL);
    gnn_run_dataset_dir(config, dir, sizeof dir);
    gnn_log_info("%s is needed: preparing it", dir);
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = gnn_run_dim(config);
    options.id_width = config->id_width;
    options.feature_type = config->feature_type;
    GNN_TRY(gnn_make_dirs(config->data_dir, err));
    const struct gnn_prepare_job job = {
        .out_dir = dir, .progress = gnn_progress_terminal, .progress_ctx = stderr, .stop = stop};
    struct gnn_err cause = {0};
    char command[GNN_TEXT_MAX * 2];
    const enum gnn_status status = gnn_prepare_generate(entry, config->scale_divisor, &options, &job, &cause);
    if (status == GNN_OK || status == GNN_ECANCELLED)
        return status == GNN_OK ? status : gnn_fail(err, status, "%s", cause.message);
    return gnn_fail(err, status, "%s; `%s` prepares it", cause.message,
                    gnn_run_dataset_command(config, command, sizeof command));
}
