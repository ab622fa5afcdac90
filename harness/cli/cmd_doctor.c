/* SPDX-License-Identifier: MIT */
/* oocgnn doctor: what this machine can do, and how to get what is missing. */
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/doctor.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct doctor_config {
    char dir[GNN_TEXT_MAX];
    bool json;
};

#define OPTION(...) GNN_OPTION(doctor_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option doctor_table[] = {
    OPTION("data", TEXT, dir, "", .unit = "DIR",
           .help = "Directory of the prepared datasets; empty = data if it exists, otherwise the current directory"),
    OPTION("json", BOOL, json, "no", .help = "Print one JSON object for each finding"),
    {.name = NULL},
};
/* clang-format on */

static const char *const verdicts[] = {
    [GNN_VERDICT_OK] = "ok", [GNN_VERDICT_NOTE] = "note", [GNN_VERDICT_MISSING] = "missing"};

static void print_text(const struct gnn_finding *f)
{
    (void)printf("%-8s %-16s %s\n", verdicts[f->verdict], f->topic, f->text);
    if (f->remedy[0] != '\0')
        (void)printf("%-25s %s\n", "", f->remedy);
}

static void print_json(const struct gnn_finding *f)
{
    json_t *const object = json_pack("{s:s, s:s, s:b, s:s, s:s}", "topic", f->topic, "verdict", verdicts[f->verdict],
                                     "needed", f->needed, "text", f->text, "remedy", f->remedy);
    if (object != NULL && json_dumpf(object, stdout, JSON_COMPACT) == 0)
        (void)putchar('\n');
    json_decref(object);
}

int gnn_cmd_doctor(int argc, char **argv)
{
    static const struct gnn_command_line line = {.usage = "usage: oocgnn doctor [OPTION...]\n\n",
                                                 .table = doctor_table};
    struct doctor_config config;
    struct gnn_finding findings[GNN_FINDINGS_MAX];
    struct stat info;
    bool fit = true;
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &config, NULL, &exit_status))
        return exit_status;
    const char *const dir = config.dir[0] != '\0' ? config.dir : stat("data", &info) == 0 ? "data" : ".";
    const uint32_t count = gnn_doctor(dir, findings);
    for (uint32_t i = 0; i < count; i++) {
        if (config.json)
            print_json(&findings[i]);
        else
            print_text(&findings[i]);
        fit = fit && !(findings[i].needed && findings[i].verdict == GNN_VERDICT_MISSING);
    }
    return fit ? GNN_EXIT_OK : GNN_EXIT_UNFIT;
}
