/* SPDX-License-Identifier: MIT */
#include "harness/run/sweep/lookup.h"

#include "harness/dataset/read.h"
#include "harness/measure/environment.h"
#include "harness/run/floor.h"
#include "harness/run/identity.h"

#include <stdlib.h>
#include <string.h>

/* Writes the digest of what a run reads of a prepared dataset. Returns it, or NULL if the graph is computed or is not
 * there: then records of any content count, so that they can be shown without their dataset. */
static const char *dataset_digest(const struct gnn_run_config *config, char text[GNN_CHECKSUM_TEXT])
{
    char dir[2 * GNN_TEXT_MAX];
    struct gnn_meta *const meta = gnn_run_dataset_is_computed(config) ? NULL : calloc(1, sizeof *meta);
    gnn_run_dataset_dir(config, dir, sizeof dir);
    const bool found = meta != NULL && gnn_read_meta(dir, meta, NULL) == GNN_OK;
    if (found) {
        const uint32_t dim = gnn_run_dim(config);
        gnn_meta_digest(meta, dim != 0 ? dim : gnn_meta_first_dim(meta, config->feature_type), config->feature_type,
                        gnn_id_width_bytes(config->id_width), text);
    }
    free(meta);
    return found ? text : NULL;
}

/* What the record will say of the run. */
static struct gnn_wanted_run wanted_run(const struct gnn_run_config *config, const char *identity, bool any_build)
{
    const char *const slash = strrchr(config->dataset, '/');
    return (struct gnn_wanted_run){.key = GNN_IDENTITY_KEY,
                                   .value = identity,
                                   .revision = any_build ? NULL : gnn_build_revision(),
                                   .system = gnn_run_system_name(config),
                                   .dataset = slash != NULL && slash[1] != '\0' ? slash + 1 : config->dataset,
                                   .world = config->world == GNN_WORLD_SIMULATED ? "simulated" : "measured",
                                   .scale_divisor = config->scale_divisor,
                                   .epochs = config->epochs};
}

/* *db is NULL where no database is. */
static enum gnn_status open_database(const char *path, struct gnn_db **db, struct gnn_err *err)
{
    struct gnn_err trouble = {0};
    *db = NULL;
    const enum gnn_status status = gnn_db_open(path, GNN_DB_READ, db, &trouble);
    if (status == GNN_OK || status == GNN_ENOENT)
        return GNN_OK;
    return gnn_fail(err, status, "--resume: %s", trouble.message);
}

enum gnn_status gnn_wanted_find(const char *path, const struct gnn_wanted_run *wanted, uint32_t max, int64_t *ids,
                                uint32_t *count, struct gnn_err *err)
{
    struct gnn_db *db;
    *count = 0;
    GNN_TRY(open_database(path, &db, err));
    if (db == NULL)
        return GNN_OK;
    const enum gnn_status status = gnn_db_find_done(db, wanted, max, ids, count, err);
    gnn_db_close(db);
    return status;
}

enum gnn_status gnn_wanted_cost(const char *path, const struct gnn_wanted_run *wanted, struct gnn_run_cost *out,
                                struct gnn_err *err)
{
    struct gnn_db *db;
    *out = (struct gnn_run_cost){.host_ns = GNN_UNKNOWN};
    GNN_TRY(open_database(path, &db, err));
    if (db == NULL)
        return GNN_OK;
    const enum gnn_status status = gnn_db_cost(db, wanted, out, err);
    gnn_db_close(db);
    return status;
}

enum gnn_status gnn_sweep_find(const struct gnn_run_config *config, bool any_build, uint32_t max, int64_t *ids,
                               uint32_t *count, struct gnn_err *err)
{
    char identity[GNN_CHECKSUM_TEXT], digest[GNN_CHECKSUM_TEXT], calibration[GNN_TEXT_MAX];
    *count = 0;
    GNN_TRY(gnn_run_identity(config, GNN_IDENTITY_RUN, identity, err));
    struct gnn_wanted_run wanted = wanted_run(config, identity, any_build);
    wanted.digest = dataset_digest(config, digest);
    if (!any_build && config->world == GNN_WORLD_MEASURED)
        wanted.calibration = gnn_floor_calibration(calibration, sizeof calibration);
    return gnn_wanted_find(config->db, &wanted, max, ids, count, err);
}

enum gnn_status gnn_sweep_cost(const struct gnn_run_config *config, struct gnn_run_cost *out, struct gnn_err *err)
{
    char identity[GNN_CHECKSUM_TEXT];
    *out = (struct gnn_run_cost){.host_ns = GNN_UNKNOWN};
    GNN_TRY(gnn_run_identity(config, GNN_IDENTITY_RUN, identity, err));
    const struct gnn_wanted_run wanted = wanted_run(config, identity, true);
    return gnn_wanted_cost(config->db, &wanted, out, err);
}
