/* SPDX-License-Identifier: MIT */
/* oocgnn calibrate: measures this machine into the profile `this`, or checks the simulated device against a profile's
 * own grid. */
#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/base/text_file.h"
#include "harness/calibrate/calibrate.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/outputs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = GNN_DATA_DIR_BYTES + GNN_NAME_MAX };
static const double tolerance = 0.10;

struct calibrate_options {
    char device[GNN_TEXT_MAX], out[GNN_TEXT_MAX], verify[GNN_TEXT_MAX];
    uint64_t size_bytes;
    bool quick, quiet;
};

#define OPTION(...) GNN_OPTION(calibrate_options, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option calibrate_table[] = {
    OPTION("device", TEXT, device, "", .unit = "PATH",
           .help = "Directory on the device to measure, or a large file to read there; empty = data if it exists, "
                   "otherwise the current directory"),
    OPTION("size", BYTES, size_bytes, "2G", .unit = "BYTES", .min = 16777216, .max = 1099511627776.0,
           .help = "Size of the file that is written into the directory; must be larger than the device's cache"),
    OPTION("out", TEXT, out, "", .unit = "FILE",
           .help = "Write the profile to this file; empty = this.ini where `--profile this` finds it, or "
                   "this-quick.ini with --quick"),
    OPTION("verify", TEXT, verify, "", .unit = "PROFILE",
           .help = "Measure nothing: compare the simulated device with the read grid of this profile"),
    OPTION("quick", BOOL, quick, "no",
           .help = "Take seconds instead of five minutes, with a file of 64M. The profile is for trying the command "
                   "and is not accurate."),
    OPTION("quiet", BOOL, quiet, "no", .help = "Print no progress"),
    {.name = NULL},
};
/* clang-format on */

static const struct gnn_command_line command_line = {
    .usage = "usage: oocgnn calibrate [--device PATH] [--out FILE] [OPTION...]     measure this machine\n"
             "       oocgnn calibrate --verify PROFILE                             check the simulated device\n\n"
             "Requires fio, an otherwise idle machine and about five minutes.\n\n",
    .table = calibrate_table};

/* ---- the check ---- */

/* fio's figure, the simulated device's, and their ratio, one row a size and depth. */
static void print_check(const struct gnn_grid_check *check, FILE *out)
{
    (void)fprintf(out, "%10s %6s %14s %14s %8s\n", "bytes", "depth", "profile IOPS", "simulated", "ratio");
    for (uint32_t i = 0; i < check->count; i++) {
        const struct gnn_grid_point *const point = &check->points[i];
        (void)fprintf(out, "%10" PRIu64 " %6u %14.0f %14.0f %8.3f%s\n", point->size_bytes, point->depth,
                      point->profile_iops, point->simulated_iops, point->simulated_iops / point->profile_iops,
                      point->scattered ? " into single pages" : "");
    }
    (void)fprintf(out, "%u points, the worst is off by %.1f %% (limit %.0f %%)\n", check->count, 100 * check->worst,
                  100 * tolerance);
}

static enum gnn_status verify(const struct gnn_profile *profile, FILE *out, struct gnn_err *err)
{
    struct gnn_grid_check check;
    GNN_TRY(gnn_grid_check(&profile->storage, &check, err));
    assert(check.count > 0);
    print_check(&check, out);
    if (check.worst <= tolerance)
        return GNN_OK;
    return gnn_fail(err, GNN_EBUG, "the simulated device misses the grid of profile %s by %.1f %%", profile->name,
                    100 * check.worst);
}

static enum gnn_status verify_named(const char *name, struct gnn_err *err)
{
    struct gnn_data_dirs dirs;
    struct gnn_profile *profile = NULL;
    gnn_data_dirs(&dirs);
    GNN_TRY(gnn_profile_open(name, dirs.dirs, &profile, err));
    const enum gnn_status status = verify(profile, stdout, err);
    gnn_profile_close(profile);
    return status;
}

/* ---- writing ---- */

static enum gnn_status choose_out(const struct calibrate_options *o, char *path, size_t path_bytes, struct gnn_err *err)
{
    char dir[GNN_DATA_DIR_BYTES];
    if (o->out[0] != '\0') {
        (void)snprintf(path, path_bytes, "%s", o->out);
        return GNN_OK;
    }
    GNN_TRY(gnn_data_dir_of_user(dir, sizeof dir, err));
    GNN_TRY(gnn_make_dirs(dir, err));
    /* A try never takes the place of a measurement. */
    (void)snprintf(path, path_bytes, o->quick ? "%s/this-quick.ini" : "%s/this.ini", dir);
    return GNN_OK;
}

static enum gnn_status measure(const struct calibrate_options *o, const char *out, const atomic_bool *stop,
                               struct gnn_err *err)
{
    const char *const device = o->device[0] != '\0' ? o->device : gnn_is_dir("data") ? "data" : ".";
    const struct gnn_calibrate_config config = {.device = device,
                                                .file_bytes = o->quick ? UINT64_C(64) << 20 : o->size_bytes,
                                                .quick = o->quick,
                                                .stop = stop,
                                                .progress = o->quiet ? NULL : stderr};
    char *text = NULL;
    struct gnn_profile *profile = NULL;
    struct gnn_calibration *calibration;
    GNN_NEW(calibration, 1, err, "calibration");
    enum gnn_status status = gnn_calibrate(&config, calibration, err);
    GNN_NEXT(status, gnn_calibration_text(calibration, &text, err));
    GNN_NEXT(status, gnn_profile_parse(out, text, &profile, err));
    GNN_NEXT(status, gnn_text_file_replace(out, text, "name another file with --out", err));
    if (status == GNN_OK) {
        (void)printf("%s\n", out);
        status = verify(profile, stderr, err);
    }
    gnn_profile_close(profile);
    free(text);
    free(calibration);
    return status;
}

static enum gnn_status calibrate(const struct calibrate_options *o, struct gnn_err *err)
{
    char out[PATH_BYTES];
    if (o->verify[0] != '\0')
        return verify_named(o->verify, err);
    const atomic_bool *const stop = gnn_cli_stop_on_signals();
    GNN_TRY(choose_out(o, out, sizeof out, err));
    GNN_TRY(gnn_cli_check_out_file("--out", out, err)); /* before five minutes of measuring */
    return measure(o, out, stop, err);
}

int gnn_cmd_calibrate(int argc, char **argv)
{
    struct gnn_err err = {0};
    struct calibrate_options options;
    int exit_status;
    if (!gnn_args_parse(&command_line, argc, argv, &options, NULL, &exit_status))
        return exit_status;
    return calibrate(&options, &err) == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
