#include "harness/cli/args.h"

#include "harness/base/near_miss.h"

#include <stdio.h>
#include <string.h>

bool gnn_args_next(struct gnn_args *args)
{
    if (args->at >= args->argc)
        return false;
    const char *const text = args->argv[args->at++];
    args->name[0] = '\0';
    args->value = text;
    if (strcmp(text, "-h") == 0) {
        (void)snprintf(args->name, sizeof args->name, "help");
        args->value = NULL;
    }
    if (strncmp(text, "--", 2) != 0)
        return true;
    const char *const equals = strchr(text, '=');
    const size_t length = equals == NULL ? strlen(text + 2) : (size_t)(equals - text - 2);
    (void)snprintf(args->name, sizeof args->name, "%.*s", (int)length, text + 2);
    args->value = equals == NULL ? NULL : equals + 1;
    return true;
}

enum gnn_status gnn_args_value(struct gnn_args *args, const char **value, struct gnn_err *err)
{
    if (args->value == NULL) {
        if (args->at >= args->argc)
            return gnn_fail(err, GNN_EUSAGE, "option --%s needs a value", args->name);
        args->value = args->argv[args->at++];
    }
    *value = args->value;
    return GNN_OK;
}

enum gnn_status gnn_args_flag(const struct gnn_args *args, struct gnn_err *err)
{
    if (args->value != NULL)
        return gnn_fail(err, GNN_EUSAGE, "option --%s takes no value, but got \"%s\"", args->name, args->value);
    return GNN_OK;
}

/* Parameters are written with '_' in tables and job files; on the command line '-' means the same. */
static bool same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

static const struct gnn_option *find(const struct gnn_option *table, const char *name)
{
    for (const struct gnn_option *o = table; o->name != NULL; o++)
        if (same_name(o->name, name))
            return o;
    return NULL;
}

enum gnn_status gnn_args_set(struct gnn_args *args, const struct gnn_option *table, void *config, bool *known,
                             struct gnn_err *err)
{
    *known = true;
    const struct gnn_option *option = find(table, args->name);
    if (option != NULL && option->type == GNN_OPT_BOOL) /* a bare flag is yes; a value only with '=' */
        return gnn_option_set(table, config, option->name, args->value == NULL ? "yes" : args->value, err);
    if (option != NULL) {
        const char *value = NULL;
        GNN_TRY(gnn_args_value(args, &value, err));
        return gnn_option_set(table, config, option->name, value, err);
    }
    if (strncmp(args->name, "no-", 3) == 0) {
        option = find(table, args->name + 3);
        if (option != NULL && option->type == GNN_OPT_BOOL) {
            GNN_TRY(gnn_args_flag(args, err));
            return gnn_option_set(table, config, option->name, "no", err);
        }
    }
    *known = false;
    return GNN_OK;
}

enum gnn_status gnn_args_unknown(const struct gnn_args *args, const char *command,
                                 const struct gnn_option *const *tables, struct gnn_err *err)
{
    if (args->name[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s: what is \"%s\"? `oocgnn %s --help` shows the usage", command, args->value,
                        command);
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, args->name);
    for (; *tables != NULL; tables++)
        for (const struct gnn_option *o = *tables; o->name != NULL; o++)
            gnn_near_miss_offer(&near, o->name);
    return gnn_fail(err, GNN_EUSAGE, "%s: no option --%s%s; `oocgnn %s --help` lists them", command, args->name,
                    gnn_near_miss_text(&near), command);
}

void gnn_args_help(const struct gnn_option *table, FILE *out)
{
    for (const struct gnn_option *o = table; o->name != NULL; o++) {
        char left[GNN_TEXT_MAX];
        size_t used = (size_t)snprintf(left, sizeof left, "--%s", o->name);
        for (char *c = left; *c != '\0'; c++)
            *c = *c == '_' ? '-' : *c;
        if (o->type == GNN_OPT_CHOICE) {
            for (uint32_t i = 0; o->choices[i] != NULL && used < sizeof left; i++)
                used += (size_t)snprintf(left + used, sizeof left - used, "%s%s", i == 0 ? " " : "|", o->choices[i]);
        } else if (o->type != GNN_OPT_BOOL) {
            (void)snprintf(left + used, sizeof left - used, " %s",
                           o->unit != NULL && o->unit[0] != '\0' ? o->unit : "VALUE");
        }
        (void)fprintf(out, "  %-32s %s%s%s%s\n", left, o->help, o->def[0] != '\0' ? " [" : "", o->def,
                      o->def[0] != '\0' ? "]" : "");
    }
}

int gnn_cli_exit_of(enum gnn_status status)
{
    switch (status) {
    case GNN_EUSAGE:
    case GNN_ENOENT:
        return GNN_EXIT_USAGE;
    case GNN_ENOTSUP:
    case GNN_EPERM:
        return GNN_EXIT_UNFIT;
    default:
        return GNN_EXIT_FAILED;
    }
}

int gnn_cli_failed(const struct gnn_err *err)
{
    (void)fprintf(stderr, "oocgnn: %s\n", err->message);
    return gnn_cli_exit_of(err->status);
}
