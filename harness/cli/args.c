/* SPDX-License-Identifier: MIT */
#include "harness/cli/args.h"

#include "harness/base/data_dirs.h"
#include "harness/base/near_miss.h"
#include "harness/base/plain_text.h"
#include "harness/cli/help.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gnn_args_next(struct gnn_args *args)
{
    assert(args->at >= 1);
    if (args->at >= args->argc)
        return false;
    const char *const text = args->argv[args->at++];
    args->name[0] = '\0';
    args->value = text;
    if (strcmp(text, "-h") == 0) {
        (void)snprintf(args->name, sizeof args->name, "help");
        args->value = NULL;
    }
    if (strncmp(text, "--", 2) != 0 || text[2] == '\0' || text[2] == '=')
        return true; /* a word; "--" alone names nothing either */
    const char *const equals = strchr(text, '=');
    const size_t length = equals == NULL ? strlen(text + 2) : (size_t)(equals - text - 2);
    (void)snprintf(args->name, sizeof args->name, "%.*s", (int)length, text + 2);
    args->value = equals == NULL ? NULL : equals + 1;
    return true;
}

enum gnn_status gnn_args_value(struct gnn_args *args, const char **value, struct gnn_err *err)
{
    assert(args->name[0] != '\0');
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
    assert(args->name[0] != '\0');
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

bool gnn_args_names(const struct gnn_args *args, const struct gnn_option *option)
{
    return same_name(option->name, args->name) || (strncmp(args->name, "no-", 3) == 0 && option->type == GNN_OPT_BOOL &&
                                                   same_name(option->name, args->name + 3));
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
        return gnn_fail(err, GNN_EUSAGE, "%s: unexpected argument \"%s\"; see `oocgnn %s --help`", command, args->value,
                        command);
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, args->name);
    for (; *tables != NULL; tables++)
        for (const struct gnn_option *o = *tables; o->name != NULL; o++)
            gnn_near_miss_offer(&near, o->name);
    return gnn_fail(err, GNN_EUSAGE, "%s: no option --%s; `oocgnn %s --help` lists them%s", command, args->name,
                    command, gnn_near_miss_text(&near));
}

/* ---- signals and errors ---- */

/* What a signal handler can reach: that it came, and the number of the first one. */
static atomic_bool stop_requested;
static atomic_int stop_signal;

void gnn_cli_note_signal(int number)
{
    int none = 0;
    if (number == 0)
        return;
    (void)atomic_compare_exchange_strong(&stop_signal, &none, number);
    atomic_store(&stop_requested, true);
}

int gnn_cli_exit_interrupted(void)
{
    const int number = atomic_load(&stop_signal);
    return number == 0 ? GNN_EXIT_FAILED : GNN_EXIT_SIGNAL + number;
}

const atomic_bool *gnn_cli_stop_on_signals(void)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = gnn_cli_note_signal};
    struct sigaction now;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (taken[i] != SIGHUP || (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN))
            (void)sigaction(taken[i], &action, NULL);
    return &stop_requested;
}

/* An error's exit status (0: GNN_EXIT_FAILED), and its kind in plain words where messages do not say it. */
static const struct {
    int end;
    const char *words;
} kinds[GNN_STATUS_COUNT] = {
    [GNN_EUSAGE] = {GNN_EXIT_USAGE, NULL},
    [GNN_ENOENT] = {GNN_EXIT_USAGE, NULL},
    [GNN_EIO] = {GNN_EXIT_FAILED, "input/output error: "},
    [GNN_EFORMAT] = {GNN_EXIT_FAILED, "bad data: "},
    [GNN_ESHORT] = {GNN_EXIT_FAILED, "file too short: "},
    [GNN_EPERM] = {GNN_EXIT_UNFIT, "not permitted: "},
    [GNN_EFILES] = {GNN_EXIT_UNFIT, NULL},
    [GNN_ETHREADS] = {GNN_EXIT_UNFIT, NULL},
    [GNN_ENOTSUP] = {GNN_EXIT_UNFIT, "not possible here: "},
    [GNN_EBUG] = {GNN_EXIT_FAILED, "internal error: "},
};

int gnn_cli_exit_of(enum gnn_status status)
{
    assert((unsigned)status < GNN_STATUS_COUNT);
    return kinds[status].end == GNN_EXIT_OK ? GNN_EXIT_FAILED : kinds[status].end;
}

int gnn_cli_failed(const struct gnn_err *err)
{
    assert(err->status != GNN_OK);
    const char *const words = kinds[err->status].words;
    (void)fprintf(stderr, "oocgnn: %s%s\n", words != NULL ? words : "", err->message);
    return atomic_load(&stop_signal) != 0 ? gnn_cli_exit_interrupted() : gnn_cli_exit_of(err->status);
}

enum gnn_status gnn_cli_check_file(const char *what, const char *path, const char *remedy, struct gnn_err *err)
{
    if (gnn_is_dir(path))
        return gnn_fail(err, GNN_EUSAGE, "%s %s: is a directory, a file was expected; %s", what, path, remedy);
    if (access(path, R_OK) == 0)
        return GNN_OK;
    return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_ENOENT, "%s %s: %s; %s", what, path, strerror(errno),
                    remedy);
}

enum gnn_status gnn_cli_check_recipe(const char *path, struct gnn_err *err)
{
    char remedy[2 * GNN_TEXT_MAX], word[GNN_TEXT_MAX];
    (void)snprintf(remedy, sizeof remedy, "`oocgnn stats DATASET --recipe-from %s` writes one",
                   gnn_shell_word(path, word, sizeof word));
    return gnn_cli_check_file("--recipe", path, remedy, err);
}

/* Prints a word that a shell takes for one. */
static void print_word(const char *word, FILE *out)
{
    const size_t bytes = 4 * strlen(word) + 3; /* all quotes, each of which takes four */
    char *const text = malloc(bytes);
    (void)fputs(text != NULL ? gnn_shell_word(word, text, bytes) : word, out);
    free(text);
}

void gnn_cli_print_words(const struct gnn_command_words *words, const char *more, FILE *out)
{
    print_word(program_invocation_name, out);
    for (int i = 0; i < words->argc; i++) {
        (void)fputc(' ', out);
        print_word(words->argv[i], out);
    }
    if (more != NULL)
        (void)fprintf(out, " %s", more);
}

static enum gnn_status parse_all(const struct gnn_command_line *line, struct gnn_args *args, void *config, void *ctx,
                                 enum gnn_help *help, struct gnn_err *err)
{
    const struct gnn_option *const tables[] = {line->table, NULL};
    while (gnn_args_next(args)) {
        bool known = true;
        if (strcmp(args->name, "help") == 0) {
            GNN_TRY(gnn_help_kind(args->value, help, err));
        } else if (line->repeated != NULL && strcmp(args->name, line->repeated) == 0) {
            const char *value;
            GNN_TRY(gnn_args_value(args, &value, err));
            GNN_TRY(line->value(ctx, value, err));
        } else if (args->name[0] != '\0') {
            GNN_TRY(gnn_args_set(args, line->table, config, &known, err));
        } else {
            known = line->word != NULL;
            if (known)
                GNN_TRY(line->word(ctx, args->value, err));
        }
        if (!known)
            return gnn_args_unknown(args, args->argv[0], tables, err);
    }
    return GNN_OK;
}

bool gnn_args_parse(const struct gnn_command_line *line, int argc, char **argv, void *config, void *ctx,
                    int *exit_status)
{
    struct gnn_err err = {0};
    struct gnn_args args = {.argc = argc, .argv = argv, .at = 1};
    enum gnn_help help = GNN_HELP_NONE;
    assert(argc >= 1);
    gnn_option_defaults(line->table, config);
    const enum gnn_status status = parse_all(line, &args, config, ctx, &help, &err);
    *exit_status = status == GNN_OK ? GNN_EXIT_OK : gnn_cli_failed(&err);
    const struct gnn_help_page page = {
        .usage = line->usage, .notes = line->notes, .words = line->words, .parts = {{NULL, line->table}}};
    if (status == GNN_OK && help != GNN_HELP_NONE)
        gnn_help_print(argv[0], &page, help, stdout);
    return status == GNN_OK && help == GNN_HELP_NONE;
}
