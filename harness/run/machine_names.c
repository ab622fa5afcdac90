/* SPDX-License-Identifier: MIT */
#include "harness/base/data_dirs.h"
#include "harness/run/machine_state.h"

#include <assert.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* A mini-batch has no work for more (--compute-threads 0). */
enum { COMPUTE_THREADS_BY_RULE = 16 };

_Static_assert((int)GNN_TEXT_MAX <= (int)GNN_PROFILE_CHANGES_MAX, "a profile holds the changes of a run");

/* Opens a profile from where data files are found, with the run's changes. `option` ("--profile") begins messages about
 * the name. */
static enum gnn_status open_profile(const struct gnn_run_config *config, const char *option, const char *name,
                                    struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct gnn_err cause = {0};
    if (name[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s: no profile named; `oocgnn list profiles` has them", option);
    gnn_data_dirs(&found);
    enum gnn_status status = gnn_profile_open(name, found.dirs, out, &cause);
    if (status == GNN_OK && config->profile_set[0] != '\0') { /* again, so that its messages are about the changes */
        gnn_profile_close(*out);
        option = "--profile-set";
        status = gnn_profile_open_changed(name, config->profile_set, found.dirs, out, &cause);
    }
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s: %s", option, cause.message);
}

enum gnn_status gnn_machine_open_profile(const struct gnn_run_config *config, const char *option, const char *name,
                                         struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct gnn_err cause = {0};
    GNN_TRY(open_profile(config, option, name, out, err));
    if (gnn_run_costs_are_ideal(config))
        return GNN_OK;
    gnn_data_dirs(&found);
    const enum gnn_status status = gnn_profile_add_costs(*out, config->costs, found.dirs, &cause);
    if (status == GNN_OK) {
        gnn_profile_divide_costs(*out, config->scale_divisor);
        return GNN_OK;
    }
    gnn_profile_close(*out);
    *out = NULL;
    return gnn_fail(err, status, "--costs: %s", cause.message);
}

void gnn_machine_split_compute(const char *compute, char *profile, size_t profile_bytes, bool *gpu, bool *named)
{
    const char *const text = compute + strlen("model:");
    const size_t length = strlen(text);
    const bool cpu = length > 4 && strcmp(text + length - 4, "/cpu") == 0;
    *named = cpu || (length > 4 && strcmp(text + length - 4, "/gpu") == 0);
    assert(!*named || length > 4);
    *gpu = !cpu;
    (void)snprintf(profile, profile_bytes, "%.*s", (int)(*named ? length - 4 : length), text);
}

static enum gnn_status set_compute(struct gnn_run_config *config, const char *profile, bool gpu, struct gnn_err *err)
{
    char text[sizeof config->compute * 2];
    const int length = snprintf(text, sizeof text, "model:%s/%s", profile, gpu ? "gpu" : "cpu");
    if ((size_t)length >= sizeof config->compute)
        return gnn_fail(err, GNN_EUSAGE, "--compute %.40s...: too long", text);
    memcpy(config->compute, text, (size_t)length + 1);
    return GNN_OK;
}

/* Which half of which profile computes: checked here, so that a mistake is said before anything is opened. */
static enum gnn_status resolve_model(struct gnn_run_config *config, const char *profile, bool gpu, bool named,
                                     struct gnn_err *err)
{
    struct gnn_profile *opened;
    GNN_TRY(open_profile(config, "--compute model", profile, &opened, err));
    const bool has_gpu = opened->gpu.present;
    gnn_profile_close(opened);
    if (gpu && named && !has_gpu)
        return gnn_fail(err, GNN_EUSAGE, "profile %s has no GPU; use --compute cpu", profile);
    return set_compute(config, profile, gpu && has_gpu, err);
}

/* The profile of a simulated world, and a cap that its machine could hold. */
static enum gnn_status check_machine(const struct gnn_run_config *config, struct gnn_err *err)
{
    if (config->profile[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE,
                        "--world simulated needs --profile NAME; `oocgnn list profiles` prints the names, and `oocgnn "
                        "calibrate` makes a profile of this machine");
    struct gnn_profile *opened;
    GNN_TRY(gnn_machine_open_profile(config, "--profile", config->profile, &opened, err));
    const uint64_t memory_bytes = opened->memory_bytes;
    gnn_profile_close(opened);
    if (config->memory_bytes > memory_bytes)
        return gnn_fail(err, GNN_EUSAGE,
                        "--memory %" PRIu64 ": the machine of profile %s has %" PRIu64
                        " B; lower it, or leave it out for no limit",
                        config->memory_bytes, config->profile, memory_bytes);
    return GNN_OK;
}

static enum gnn_status resolve_compute(struct gnn_run_config *config, struct gnn_err *err)
{
    const bool simulated = config->world == GNN_WORLD_SIMULATED;
    const bool is_auto = strcmp(config->compute, "auto") == 0;
    if (simulated)
        GNN_TRY(check_machine(config, err));
    if (gnn_compute_is_modelled(config)) {
        char profile[sizeof config->compute];
        bool gpu, named;
        gnn_machine_split_compute(config->compute, profile, sizeof profile, &gpu, &named);
        return resolve_model(config, profile, gpu, named, err);
    }
    if (!simulated) {
        if (is_auto)
            memcpy(config->compute, "cpu", sizeof "cpu");
        return GNN_OK;
    }
    if (strcmp(config->compute, "ref") == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--compute ref computes values, but the simulated world has none; use --compute cpu, cuda, "
                        "auto or model:PROFILE");
    const bool cpu = strcmp(config->compute, "cpu") == 0;
    return resolve_model(config, config->profile, !cpu, strncmp(config->compute, "cuda", 4) == 0, err);
}

uint32_t gnn_machine_own_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* All cores where values are computed: a thread takes its share of a loop or a product when it gets a core, so those
 * that the system's own threads keep busy do none of it. */
static void resolve_threads(struct gnn_run_config *config)
{
    const bool computes = strcmp(config->compute, "cpu") == 0 && !config->sample_only;
    const uint32_t share = gnn_machine_own_cores() / gnn_max_u32(config->workers, 1);
    if (config->compute_threads == 0)
        config->compute_threads = computes ? gnn_min_u32(gnn_max_u32(share, 1), COMPUTE_THREADS_BY_RULE) : 1;
}

enum gnn_status gnn_machine_resolve(struct gnn_run_config *config, struct gnn_err *err)
{
    GNN_TRY(gnn_run_config_check(config, err));
    GNN_TRY(resolve_compute(config, err));
    resolve_threads(config);
    if (!gnn_compute_is_modelled(config))
        return GNN_OK;
    char profile[sizeof config->compute];
    bool gpu, named;
    gnn_machine_split_compute(config->compute, profile, sizeof profile, &gpu, &named);
    return gnn_run_check_device(config, gpu, err);
}
