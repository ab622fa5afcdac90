/* SPDX-License-Identifier: MIT */
#include "harness/cli/dry_run.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/plan_fit.h"
#include "harness/run/identity.h"
#include "harness/run/machine.h"
#include "harness/run/preset.h"
#include "harness/run/record_fill.h"
#include "harness/run/sweep/dataset.h"
#include "harness/run/worker/worker.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 16384, HELD_BYTES = GNN_TEXT_MAX * 4 };

struct dry {
    const struct gnn_run_config *typed; /* with the preset, not resolved */
    const struct gnn_run_request *request;
    struct gnn_run_config config; /* resolved */
    struct gnn_kv_list all;       /* options and parameters of config */
    char held[HELD_BYTES];        /* options and parameters of the preset */
    char identity[GNN_CHECKSUM_TEXT];
    struct gnn_run_need need;
    char no_plan[GNN_ERR_MAX]; /* why there is no memory plan; "": there is one */
    char command[COMMAND_BYTES];
};

/* ---- sources ---- */

/* Returns whether a list with commas has the word. */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Returns whether the last set of the parameter "system.name" was typed; false if there is none. */
static bool is_typed_set(const struct dry *d, const char *key)
{
    const size_t length = strlen(key);
    for (uint32_t i = d->typed->set_count; i-- > d->request->preset_sets;)
        if (strncmp(d->typed->sets[i], key, length) == 0 && d->typed->sets[i][length] == '=')
            return true;
    return false;
}

/* Returns where the value of an option comes from. resolved: a word such as `auto`, or 0, was replaced. */
static const char *source_of_option(const struct dry *d, uint32_t i)
{
    const struct gnn_option *const o = &gnn_run_options[i];
    char now[GNN_TEXT_MAX], typed[GNN_TEXT_MAX];
    gnn_option_format(o, &d->config, now, sizeof now);
    gnn_option_format(o, d->typed, typed, sizeof typed);
    if (strcmp(now, typed) != 0)
        return "resolved";
    if (d->request->given[i])
        return "command line";
    return is_listed(d->held, o->name) ? "preset" : "default";
}

static const char *source_of(const struct dry *d, const char *key)
{
    for (uint32_t i = 0; gnn_run_options[i].name != NULL; i++)
        if (strcmp(gnn_run_options[i].name, key) == 0)
            return source_of_option(d, i);
    return is_typed_set(d, key) ? "command line" : is_listed(d->held, key) ? "preset" : "default";
}

/* ---- the command ---- */

static void add_word(struct dry *d, const char *format, const char *name, const char *value)
{
    char word[GNN_TEXT_MAX * 2 + 64], quoted[GNN_TEXT_MAX * 4 + 128];
    (void)snprintf(word, sizeof word, format, name, value);
    const size_t used = strlen(d->command);
    (void)snprintf(d->command + used, sizeof d->command - used, " %s", gnn_shell_word(word, quoted, sizeof quoted));
}

/* What was typed makes the same configuration again: the last value of each option, and every set. */
static void make_command(struct dry *d)
{
    char value[GNN_TEXT_MAX];
    (void)snprintf(d->command, sizeof d->command, "oocgnn run");
    for (uint32_t i = 0; gnn_run_options[i].name != NULL; i++) {
        gnn_option_format(&gnn_run_options[i], d->typed, value, sizeof value);
        if (d->request->given[i] && strcmp(gnn_run_options[i].name, "json") != 0)
            add_word(d, "--%s=%s", gnn_run_options[i].name, value);
    }
    for (uint32_t i = d->request->preset_sets; i < d->typed->set_count; i++)
        add_word(d, "--%s=%s", "set", d->typed->sets[i]);
}

/* ---- the plan ---- */

/* Plans the run where that takes a moment. */
static void make_plan(struct dry *d)
{
    struct gnn_err cause = {0};
    char nodes[32];
    const uint64_t count = gnn_plan_nodes(&d->config, d->config.scale_divisor);
    if (!gnn_plan_is_quick(count))
        (void)snprintf(d->no_plan, sizeof d->no_plan,
                       "a graph of %s nodes takes long to compute; a smaller --scale shows the parts",
                       gnn_format_count((double)count, nodes, sizeof nodes));
    else if (gnn_run_need(&d->config, d->config.memory_bytes, &d->need, &cause) != GNN_OK)
        (void)snprintf(d->no_plan, sizeof d->no_plan, "%s", cause.message);
}

static bool is_planned(const struct dry *d)
{
    return d->no_plan[0] == '\0' && d->need.part_count > 0;
}

/* ---- text ---- */

static void print_plan(const struct dry *d)
{
    char bytes[32], limit[32];
    if (!is_planned(d)) {
        (void)printf("\nmemory plan: none: %s\n", d->no_plan[0] != '\0' ? d->no_plan : "the run has no parts");
        return;
    }
    (void)printf("\nmemory plan: %s%s%s\n", gnn_format_bytes(d->need.bytes, bytes, sizeof bytes),
                 d->config.memory_bytes == 0 ? " without a limit" : " of ",
                 d->config.memory_bytes == 0 ? "" : gnn_format_bytes(d->config.memory_bytes, limit, sizeof limit));
    for (uint32_t i = 0; i < d->need.part_count; i++) {
        const struct gnn_plan_part *const p = &d->need.parts[i];
        (void)printf("  %-44s %12s%s%s%s\n", p->name, gnn_format_bytes(p->bytes, bytes, sizeof bytes),
                     p->on_device ? "  on the device" : "", p->remedy != NULL ? "  smaller by " : "",
                     p->remedy != NULL ? p->remedy : "");
    }
    if (d->need.reason[0] != '\0')
        (void)printf("The run would end with out of memory: %s\n", d->need.reason);
}

static void print_text(const struct dry *d)
{
    char shown[GNN_TEXT_MAX];
    (void)puts("configuration:");
    for (uint32_t i = 0; i < d->all.count; i++)
        (void)printf("  %-28s %-36s %s\n", d->all.items[i].key,
                     gnn_text_plain(d->all.items[i].value, shown, sizeof shown), source_of(d, d->all.items[i].key));
    (void)printf("\nidentity: %s\n", d->identity);
    print_plan(d);
    (void)printf("\ncommand: %s\n", d->command);
}

/* ---- JSON ---- */

static json_t *config_object(const struct dry *d)
{
    json_t *const object = json_object();
    bool complete = object != NULL;
    for (uint32_t i = 0; i < d->all.count && complete; i++)
        complete = json_object_set_new(object, d->all.items[i].key,
                                       json_pack("{s:s, s:s}", "value", d->all.items[i].value, "source",
                                                 source_of(d, d->all.items[i].key))) == 0;
    if (complete)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *plan_object(const struct dry *d)
{
    if (!is_planned(d))
        return json_null();
    json_t *const parts = json_array();
    bool complete = parts != NULL;
    for (uint32_t i = 0; i < d->need.part_count && complete; i++) {
        const struct gnn_plan_part *const p = &d->need.parts[i];
        complete = json_array_append_new(parts, json_pack("{s:s, s:I, s:b, s:s?}", "name", p->name, "bytes",
                                                          (json_int_t)p->bytes, "on_device", p->on_device, "smaller_by",
                                                          p->remedy)) == 0;
    }
    json_t *const plan = complete ? json_pack("{s:I, s:O, s:s?}", "bytes", (json_int_t)d->need.bytes, "parts", parts,
                                              "out_of_memory", d->need.reason[0] != '\0' ? d->need.reason : NULL)
                                  : NULL;
    json_decref(parts);
    return plan;
}

static enum gnn_status print_json(const struct dry *d, struct gnn_err *err)
{
    json_t *const root =
        json_pack("{s:o, s:s, s:o, s:s?, s:s}", "config", config_object(d), "identity", d->identity, "plan",
                  plan_object(d), "no_plan", d->no_plan[0] != '\0' ? d->no_plan : NULL, "command", d->command);
    if (root == NULL)
        return gnn_fail(err, GNN_ENOMEM, "a configuration as JSON");
    const int failed = json_dumpf(root, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    (void)putchar('\n');
    json_decref(root);
    return failed == 0 ? GNN_OK : gnn_fail(err, GNN_EIO, "standard output cannot be written");
}

/* ---- all of it ---- */

static enum gnn_status fill(struct dry *d, struct gnn_err *err)
{
    GNN_TRY(gnn_machine_resolve(&d->config, err));
    GNN_TRY(gnn_sweep_dataset_check(&d->config, false, err));
    if (d->config.preset[0] != '\0')
        GNN_TRY(gnn_preset_held(d->typed, d->held, sizeof d->held, err));
    GNN_TRY(gnn_record_list_config(&d->config, &d->all, err));
    GNN_TRY(gnn_run_identity(&d->config, GNN_IDENTITY_RUN, d->identity, err));
    make_command(d);
    make_plan(d);
    return GNN_OK;
}

int gnn_dry_run(const struct gnn_run_config *config, const struct gnn_run_request *request)
{
    struct gnn_err err = {0};
    struct dry *const d = calloc(1, sizeof *d);
    if (d == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "a configuration");
        return gnn_cli_failed(&err);
    }
    d->typed = config;
    d->request = request;
    d->config = *config;
    enum gnn_status status = fill(d, &err);
    if (status == GNN_OK && config->json)
        status = print_json(d, &err);
    else if (status == GNN_OK)
        print_text(d);
    gnn_kv_clear(&d->all);
    free(d);
    return status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
}
