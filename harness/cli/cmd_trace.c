/* SPDX-License-Identifier: MIT */
/* oocgnn trace: an I/O trace as a workload for storage, and as a job of fio. */
#include "harness/base/plain_text.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/outputs.h"
#include "harness/fio/fio.h"
#include "harness/stats/io_replay.h"
#include "harness/world/measured/measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct trace_config {
    char replay_dir[GNN_TEXT_MAX];
    uint64_t epoch;
    bool json;
};

#define OPTION(...) GNN_OPTION(trace_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option trace_table[] = {
    OPTION("epoch", U64, epoch, "0", .max = UINT32_MAX,
           .help = "Only the requests of this epoch, counted from 1; 0 = all requests, also those before the first "
                   "epoch and of evaluation"),
    OPTION("replay", TEXT, replay_dir, "", .unit = "DIR",
           .help = "Write jobs of fio into this directory, which replay the requests on files there"),
    OPTION("json", BOOL, json, "no", .help = "Print one JSON object"),
    {.name = NULL},
};
/* clang-format on */

struct request {
    struct trace_config config;
    const char *file;
};

static enum gnn_status take_file(void *ctx, const char *word, struct gnn_err *err)
{
    struct request *const r = ctx;
    if (r->file != NULL)
        return gnn_fail(err, GNN_EUSAGE, "trace: one trace at a time, got \"%s\" and \"%s\"", r->file, word);
    r->file = word;
    return GNN_OK;
}

/* Makes the directory, and writes its absolute path, which fio can read from anywhere. */
static enum gnn_status find_dir(const char *dir, char **out, struct gnn_err *err)
{
    *out = NULL;
    GNN_TRY(gnn_cli_check_out_dir("--replay", dir, err));
    char *const path = realpath(dir, NULL);
    if (path == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "--replay %s: %s", dir, strerror(errno));
    const enum gnn_status status = gnn_fio_check_path("--replay", path, err);
    if (status == GNN_OK)
        *out = path;
    else
        free(path);
    return status;
}

static enum gnn_status write_replay(const struct request *r, const struct gnn_io_workload *workload,
                                    struct gnn_err *err)
{
    char word[GNN_TEXT_MAX * 2], *dir;
    if (r->config.replay_dir[0] == '\0')
        return GNN_OK;
    GNN_TRY(find_dir(r->config.replay_dir, &dir, err));
    const enum gnn_status status = gnn_io_replay_write(workload, r->file, dir, err);
    if (status == GNN_OK && !r->config.json)
        (void)printf("\nReplay: fio %s/fill.fio && fio %s/replay.fio\n", gnn_shell_word(dir, word, sizeof word), word);
    free(dir);
    return status;
}

static enum gnn_status run(const struct request *r, struct gnn_err *err)
{
    struct gnn_world *world = NULL;
    struct gnn_io_workload workload = {.count = 0};
    const struct gnn_measured_config measured = {.memory_limit_bytes = 0};
    if (r->file == NULL)
        return gnn_fail(err, GNN_EUSAGE, "trace: which trace? `oocgnn run --trace-io FILE` writes one");
    GNN_TRY(gnn_world_measured_open(&measured, &world, err));
    enum gnn_status status = gnn_io_workload_open(world, r->file, r->config.epoch, &workload, err);
    if (status == GNN_OK && r->config.json)
        status = gnn_io_workload_json(&workload, stdout, err);
    else if (status == GNN_OK)
        gnn_io_workload_text(&workload, stdout);
    GNN_NEXT(status, write_replay(r, &workload, err));
    gnn_io_workload_close(&workload);
    gnn_world_measured_close(world);
    return status;
}

int gnn_cmd_trace(int argc, char **argv)
{
    static const struct gnn_command_line command_line = {
        .usage = "usage: oocgnn trace FILE [--epoch N] [--replay DIR] [--json]\n\n"
                 "Analyses an I/O trace of `oocgnn run --trace-io FILE`, or another trace in fio's iolog format 3:\n"
                 "sizes, queue depth, sequential and repeated accesses of each file.\n\n",
        .notes = "\nThe columns are described in docs/traces.md.\n",
        .table = trace_table,
        .word = take_file};
    struct gnn_err err = {0};
    struct request r = {.file = NULL};
    int exit_status;
    if (!gnn_args_parse(&command_line, argc, argv, &r.config, &r, &exit_status))
        return exit_status;
    return run(&r, &err) == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
