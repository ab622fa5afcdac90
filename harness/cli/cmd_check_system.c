/* SPDX-License-Identifier: MIT */
/* oocgnn check-system: what every system must pass, on a small generated dataset in a temporary directory. */
#include "harness/base/data_dirs.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/dataset/prepare.h"
#include "harness/run/check/check.h"
#include "harness/run/machine.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A graph of 11 thousand nodes and 121 training nodes: eight mini-batches of 16 seeds. */
enum { SCALE_DIVISOR = 10000, DIM = 32, PATH_BYTES = 240 };
static const char dataset[] = "papers100m";

struct check_config {
    char profile[GNN_TEXT_MAX], dir[GNN_TEXT_MAX], set[GNN_TEXT_MAX];
    uint32_t seed, limit_s;
};

#define OPTION(...) GNN_OPTION(check_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option table[] = {
    OPTION("set", TEXT, set, "", .unit = "SYSTEM.NAME=VALUE", .help = "Parameter of the system, repeatable"),
    OPTION("profile", TEXT, profile, "", .unit = "NAME",
           .help = "Machine of the simulated runs; empty = the first of `oocgnn list profiles` that is a paper's"),
    OPTION("dir", TEXT, dir, "", .unit = "DIR",
           .help = "Directory for the temporary dataset of 3 MB; empty = $TMPDIR, or /tmp. Direct reads require "
                   "a disk"),
    OPTION("seed", U32, seed, "1", .help = "Seed of the mini-batches"),
    OPTION("timeout", U32, limit_s, "60", .unit = "seconds", .min = 1, .max = 3600,
           .help = "Time limit of one run; a run that takes longer hangs"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct check_config config;
    const char *system;
    char sets[GNN_SETS_MAX][GNN_SET_MAX];
    uint32_t set_count;
    char root[PATH_BYTES], data[PATH_BYTES + 8]; /* the temporary directory, and the dataset in it */
    struct gnn_run_config measured, simulated;
    bool has_profile;
    const atomic_bool *stop;
};

/* ---- the dataset ---- */

static int remove_any(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static enum gnn_status make_dataset(struct request *r, struct gnn_err *err)
{
    struct gnn_generate_options options;
    const struct gnn_registry_entry *entry;
    const char *const temporary = getenv("TMPDIR");
    const char *const dir = r->config.dir[0] != '\0' ? r->config.dir : temporary != NULL ? temporary : P_tmpdir;
    if (snprintf(r->root, sizeof r->root, "%s/oocgnn-check-XXXXXX", dir) >= (int)sizeof r->root)
        return gnn_fail(err, GNN_EUSAGE, "--dir %s: more than %d characters; use a shorter path", dir, PATH_BYTES - 24);
    if (mkdtemp(r->root) == NULL) {
        const int cause = errno;
        r->root[0] = '\0';
        return gnn_fail(err, GNN_EPERM, "--dir %s: %s; name a directory you may write to", dir, strerror(cause));
    }
    (void)snprintf(r->data, sizeof r->data, "%s/data", r->root);
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = DIM;
    options.threads = 1;
    GNN_TRY(gnn_registry_find(dataset, &entry, err));
    const struct gnn_prepare_job job = {.out_dir = r->data, .stop = r->stop};
    return gnn_prepare_generate(entry, SCALE_DIVISOR, &options, &job, err);
}

/* ---- the runs ---- */

/* Keeps the first profile that is a paper's machine. */
static void take_profile(void *ctx, const char *path, const struct gnn_profile *profile)
{
    struct request *const r = ctx;
    (void)path;
    if (r->config.profile[0] == '\0' && strcmp(profile->machine_id, "this") != 0)
        (void)snprintf(r->config.profile, sizeof r->config.profile, "%s", profile->name);
}

static enum gnn_status set_all(struct gnn_run_config *config, const char *const (*pairs)[2], struct gnn_err *err)
{
    for (; (*pairs)[0] != NULL; pairs++)
        GNN_TRY(gnn_option_set(gnn_run_options, config, (*pairs)[0], (*pairs)[1], err));
    return GNN_OK;
}

static enum gnn_status make_config(const struct request *r, const char *world, const char *profile, const char *compute,
                                   struct gnn_run_config *out, struct gnn_err *err)
{
    const char *const pairs[][2] = {{"system", r->system}, {"dataset", r->data}, {"world", world},
                                    {"profile", profile},  {"compute", compute}, {"batch", "16"},
                                    {"fanout", "4,3"},     {"hidden", "16"},     {"epochs", "2"},
                                    {"evaluate", "never"}, {NULL, NULL}};
    gnn_run_config_defaults(out);
    GNN_TRY(set_all(out, pairs, err));
    out->seed = r->config.seed;
    for (uint32_t i = 0; i < r->set_count; i++)
        GNN_TRY(gnn_run_config_set(out, r->sets[i], err));
    return gnn_machine_resolve(out, err);
}

static enum gnn_status make_configs(struct request *r, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    gnn_data_dirs(&found);
    if (r->config.profile[0] == '\0')
        GNN_TRY(gnn_profile_scan(found.dirs, take_profile, r, err));
    GNN_TRY(make_config(r, "measured", "", "ref", &r->measured, err));
    r->has_profile = r->config.profile[0] != '\0';
    return r->has_profile ? make_config(r, "simulated", r->config.profile, "cpu", &r->simulated, err) : GNN_OK;
}

/* ---- the command ---- */

static void print_verdict(void *ctx, const char *check, enum gnn_verdict verdict, const char *text)
{
    (void)ctx;
    (void)printf("%-14s  %-18s  %s\n", gnn_verdict_words[verdict], check, text);
    (void)fflush(stdout);
}

static enum gnn_status check(struct request *r, uint32_t *failed, struct gnn_err *err)
{
    struct gnn_check_setup setup = {
        .measured = &r->measured, .time_limit_s = r->config.limit_s, .stop = r->stop, .report = print_verdict};
    if (r->system == NULL)
        return gnn_fail(err, GNN_EUSAGE, "check-system: which system? oocgnn check-system ./mine.so");
    GNN_TRY(gnn_system_find(r->system, &setup.system, err));
    if ((setup.system->variants & GNN_VARIANT_CPU) == 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "check-system %s: the checks train on the CPU; declare GNN_VARIANT_CPU in `variants`",
                        r->system);
    GNN_TRY(make_dataset(r, err));
    GNN_TRY(make_configs(r, err));
    setup.simulated = r->has_profile ? &r->simulated : NULL;
    return gnn_check_system(&setup, failed, err);
}

static enum gnn_status take_system(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->system != NULL)
        return gnn_fail(err, GNN_EUSAGE, "check-system: one system at a time, got \"%s\" and \"%s\"", r->system, word);
    r->system = word;
    return GNN_OK;
}

static enum gnn_status take_set(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->set_count == GNN_SETS_MAX || strlen(word) >= GNN_SET_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--set %.40s: at most %d times, each of at most %d characters", word,
                        GNN_SETS_MAX, GNN_SET_MAX - 1);
    (void)snprintf(r->sets[r->set_count++], GNN_SET_MAX, "%s", word);
    return GNN_OK;
}

int gnn_cmd_check_system(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn check-system SYSTEM|FILE.so [OPTION...]\n\n"
                 "Runs what every system must pass: mini-batches, losses, rows, threads, faults, memory, both worlds.\n"
                 "Prints one line per check. Exit status: 0 if no check failed, else 1.\n\n",
        .table = table,
        .word = take_system,
        .repeated = "set",
        .value = take_set};
    struct gnn_err err = {0};
    struct request *const r = calloc(1, sizeof *r);
    uint32_t failed = 0;
    int exit_status;
    if (r == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "check-system");
        return gnn_cli_failed(&err);
    }
    if (gnn_args_parse(&line, argc, argv, &r->config, r, &exit_status)) {
        r->stop = gnn_cli_stop_on_signals();
        const enum gnn_status status = check(r, &failed, &err);
        if (r->root[0] != '\0')
            (void)nftw(r->root, remove_any, 8, FTW_DEPTH | FTW_PHYS);
        exit_status = status != GNN_OK ? gnn_cli_failed(&err) : failed == 0 ? GNN_EXIT_OK : GNN_EXIT_FAILED;
    }
    free(r);
    return exit_status;
}
