/* oocgnn sweep: every cell of a job file. A job file is INI: [global] first, one section per case, keys are
 * the long options of `oocgnn run` or system.key; `a | b` makes a grid of a case. */
#include "harness/base/grow.h"
#include "harness/base/ini.h"
#include "harness/base/log.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_args.h"
#include "harness/run/machine.h"
#include "harness/run/preset.h"
#include "harness/run/record_fill.h"
#include "harness/run/supervisor/supervisor.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 1024, KEYS_MAX = 64, ALTERNATIVES_MAX = 32 };

struct sweep_config {
    char db[GNN_TEXT_MAX], data_dir[GNN_TEXT_MAX];
    bool dry_run, resume, json, keep_going;
    uint32_t repeat;
};

/* What stands for "not given": an empty name is one that was given. */
#define IN_JOB_FILE "as in the job file"

#define OPTION(...) GNN_OPTION(sweep_config, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option sweep_table[] = {
    OPTION("db", TEXT, db, IN_JOB_FILE, .unit = "FILE", .help = "database for every cell; wins over the job file"),
    OPTION("data", TEXT, data_dir, IN_JOB_FILE, .unit = "DIR",
           .help = "directory of the datasets for every cell; wins over the job file"),
    OPTION("dry-run", BOOL, dry_run, "no", .help = "check every cell and print the expanded plan"),
    OPTION("resume", BOOL, resume, "no", .help = "skip cells that the database already holds as ok, oom or oot"),
    OPTION("json", BOOL, json, "no", .help = "one JSON object per cell"),
    OPTION("keep-going", BOOL, keep_going, "no", .help = "go on after a cell that failed"),
    OPTION("repeat", U32, repeat, "1", .min = 1, .max = 1000, .unit = "TIMES",
           .help = "run every cell so often, round by round"),
    {.name = NULL},
};
/* clang-format on */

struct cell {
    char section[GNN_NAME_MAX];
    struct gnn_run_config config;
};

struct sweep {
    struct sweep_config config;
    const char *job_file;
    struct gnn_ini *ini;
    struct cell *cells;
    uint32_t count, room;
};

/* ---- from the file to cells ---- */

/* A key of a case with its alternatives, cut at '|'. */
struct key {
    const char *name;
    uint32_t line;
    uint32_t count;
    char alternatives[ALTERNATIVES_MAX][GNN_SET_MAX];
};

static enum gnn_status add_alternative(struct key *key, const char *text, size_t length, struct gnn_err *err)
{
    while (length > 0 && isspace((unsigned char)text[0])) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    if (key->count == ALTERNATIVES_MAX || length >= GNN_SET_MAX)
        return gnn_fail(err, GNN_EUSAGE, "line %u: %s has too many or too long alternatives", key->line, key->name);
    assert(key->count < ALTERNATIVES_MAX);
    assert(length < GNN_SET_MAX);
    memcpy(key->alternatives[key->count], text, length);
    key->alternatives[key->count++][length] = '\0';
    return GNN_OK;
}

static enum gnn_status split_entry(const struct gnn_ini_entry *entry, struct key *key, struct gnn_err *err)
{
    key->name = entry->key;
    key->line = entry->line;
    key->count = 0;
    for (const char *at = entry->value; at != NULL;) {
        const char *const bar = strchr(at, '|');
        GNN_TRY(add_alternative(key, at, bar == NULL ? strlen(at) : (size_t)(bar - at), err));
        at = bar == NULL ? NULL : bar + 1;
    }
    return GNN_OK;
}

/* [global]'s entries first, then the section's; a later one of the same name replaces the earlier. */
static enum gnn_status collect(const struct gnn_ini_section *section, struct key *keys, uint32_t *count,
                               struct gnn_err *err)
{
    for (uint32_t i = 0; section != NULL && i < section->entry_count; i++) {
        uint32_t at = 0;
        while (at < *count && strcmp(keys[at].name, section->entries[i].key) != 0)
            at++;
        if (at == KEYS_MAX)
            return gnn_fail(err, GNN_EUSAGE, "[%s] has more than %d keys", section->name, KEYS_MAX);
        GNN_TRY(split_entry(&section->entries[i], &keys[at], err));
        *count += at == *count ? 1 : 0;
    }
    return GNN_OK;
}

/* Scale before preset before the rest: the order that the command line gives them too. */
static enum gnn_status fill_config(const struct gnn_ini *ini, const struct key *keys, uint32_t count,
                                   const uint32_t *choice, struct gnn_run_config *config, struct gnn_err *err)
{
    assert(count <= KEYS_MAX);
    gnn_run_config_defaults(config);
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < count; i++) {
            const char *const value = keys[i].alternatives[choice[i]];
            const int turn = strcmp(keys[i].name, "scale") == 0 ? 0 : strcmp(keys[i].name, "preset") == 0 ? 1 : 2;
            struct gnn_err cause = {0};
            enum gnn_status status = GNN_OK;
            if (turn == pass)
                status = pass == 1 ? gnn_preset_apply(value, config, &cause)
                                   : gnn_run_pair(config, keys[i].name, value, &cause);
            if (status != GNN_OK)
                return gnn_fail(err, status, "%s:%u: %s", gnn_ini_name(ini), keys[i].line, cause.message);
        }
    return GNN_OK;
}

static enum gnn_status add_cell(struct sweep *s, const char *section, const struct key *keys, uint32_t count,
                                const uint32_t *choice, struct gnn_err *err)
{
    if (s->count == CELLS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s: more than %d cells", s->job_file, CELLS_MAX);
    struct cell *const cells = gnn_grow(s->cells, s->count, &s->room, sizeof *cells);
    if (cells == NULL)
        return gnn_fail(err, GNN_ENOMEM, "cell %u", s->count + 1);
    s->cells = cells;
    assert(s->count < s->room);
    struct cell *const cell = &s->cells[s->count];
    (void)snprintf(cell->section, sizeof cell->section, "%s", section);
    GNN_TRY(fill_config(s->ini, keys, count, choice, &cell->config, err));
    if (strcmp(s->config.db, IN_JOB_FILE) != 0)
        GNN_TRY(gnn_option_set(gnn_run_options, &cell->config, "db", s->config.db, err));
    if (strcmp(s->config.data_dir, IN_JOB_FILE) != 0)
        GNN_TRY(gnn_option_set(gnn_run_options, &cell->config, "data", s->config.data_dir, err));
    struct gnn_err cause = {0};
    enum gnn_status status = gnn_run_config_check(&cell->config, &cause);
    GNN_NEXT(status, gnn_machine_resolve(&cell->config, &cause));
    if (status != GNN_OK)
        return gnn_fail(err, status, "%s: [%s]: %s", s->job_file, section, cause.message);
    s->count++;
    return GNN_OK;
}

/* Every combination of the alternatives; the last key turns fastest. */
static enum gnn_status expand_section(struct sweep *s, const struct gnn_ini_section *section, struct key *keys,
                                      struct gnn_err *err)
{
    uint32_t count = 0;
    uint32_t choice[KEYS_MAX] = {0};
    GNN_TRY(collect(gnn_ini_global(s->ini), keys, &count, err));
    GNN_TRY(collect(section, keys, &count, err));
    for (bool more = true; more;) {
        GNN_TRY(add_cell(s, section->name, keys, count, choice, err));
        more = false;
        for (uint32_t i = count; i-- > 0 && !more;) {
            assert(keys[i].count > 0);
            choice[i] = (choice[i] + 1) % keys[i].count;
            more = choice[i] != 0;
        }
    }
    return GNN_OK;
}

static enum gnn_status expand(struct sweep *s, struct gnn_err *err)
{
    assert(s->job_file != NULL);
    GNN_TRY(gnn_ini_open(s->job_file, &s->ini, err));
    if (gnn_ini_section_count(s->ini) == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s: no section besides [global], so nothing to run", s->job_file);
    struct key *keys;
    GNN_NEW(keys, KEYS_MAX, err, "keys of %s", s->job_file);
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < gnn_ini_section_count(s->ini) && status == GNN_OK; i++)
        status = expand_section(s, gnn_ini_section(s->ini, i), keys, err);
    free(keys);
    return status;
}

/* ---- running ---- */

/* Options that say where a run is told, not what it is. */
static bool is_identity(const char *key)
{
    static const char *const others[] = {"db", "json", "quiet", "trace-loss", NULL};
    for (const char *const *o = others; *o != NULL; o++)
        if (strcmp(*o, key) == 0)
            return false;
    return true;
}

/* Lists every option and every parameter of the system, set or default, that makes a run what it is. */
static enum gnn_status list_identity(const struct gnn_run_config *config, struct gnn_kv_list *out, struct gnn_err *err)
{
    struct gnn_kv_list all = {0};
    enum gnn_status status = gnn_record_list_config(config, &all, err);
    for (uint32_t i = 0; i < all.count && status == GNN_OK; i++)
        if (is_identity(all.items[i].key))
            status = gnn_kv_set(out, all.items[i].key, all.items[i].value, err);
    gnn_kv_clear(&all);
    return status;
}

/* How many finished runs of exactly this configuration the database holds. */
static enum gnn_status count_done(const struct gnn_run_config *config, uint32_t *done, struct gnn_err *err)
{
    struct gnn_db *db;
    struct gnn_err trouble = {0};
    *done = 0;
    const enum gnn_status opened = gnn_db_open(config->db, GNN_DB_READ, &db, &trouble);
    if (opened == GNN_ENOENT)
        return GNN_OK;
    if (opened != GNN_OK)
        return gnn_fail(err, opened, "--resume: %s", trouble.message);
    struct gnn_kv_list wanted = {0};
    enum gnn_status status = list_identity(config, &wanted, err);
    GNN_NEXT(status, gnn_db_count_done(db, &wanted, done, err));
    gnn_kv_clear(&wanted);
    gnn_db_close(db);
    return status;
}

static void print_plan(const struct sweep *s)
{
    char value[GNN_TEXT_MAX];
    for (uint32_t i = 0; i < s->count; i++) {
        const struct gnn_run_config *const c = &s->cells[i].config;
        (void)printf("cell %u [%s]: oocgnn run", i + 1, s->cells[i].section);
        struct gnn_run_config plain;
        gnn_run_config_defaults(&plain);
        for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
            char def[GNN_TEXT_MAX];
            gnn_option_format(o, c, value, sizeof value);
            gnn_option_format(o, &plain, def, sizeof def);
            if (strcmp(value, def) != 0)
                (void)printf(" --%s=%s", o->name, value);
        }
        for (uint32_t k = 0; k < c->set_count; k++)
            (void)printf(" --set %s", c->sets[k]);
        (void)putchar('\n');
    }
    (void)printf("%u cells, %u runs\n", s->count, s->count * s->config.repeat);
}

static int run_cells(const struct sweep *s)
{
    int worst = GNN_EXIT_OK;
    for (uint32_t round = 0; round < s->config.repeat; round++)
        for (uint32_t i = 0; i < s->count; i++) {
            const struct cell *const cell = &s->cells[i];
            struct gnn_err err = {0};
            uint32_t done = 0;
            if (s->config.resume && count_done(&cell->config, &done, &err) != GNN_OK)
                return gnn_cli_failed(&err);
            if (done > round)
                continue;
            gnn_log_info("cell %u of %u [%s]%s", i + 1, s->count, cell->section, round > 0 ? ", again" : "");
            enum gnn_run_status end;
            const int exit_status = gnn_run_and_show(&cell->config, s->config.json, &end);
            if (end == GNN_RUN_INTERRUPTED)
                return GNN_EXIT_FAILED;
            worst = exit_status > worst ? exit_status : worst;
            if (exit_status != GNN_EXIT_OK && !s->config.keep_going)
                return worst;
        }
    return worst;
}

static enum gnn_status take_job_file(void *ctx, const char *word, struct gnn_err *err)
{
    struct sweep *const s = ctx;
    if (s->job_file != NULL)
        return gnn_fail(err, GNN_EUSAGE, "sweep: one job file at a time, got \"%s\" and \"%s\"", s->job_file, word);
    s->job_file = word;
    return GNN_OK;
}

int gnn_cmd_sweep(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn sweep JOBFILE [OPTION...]\n\n",
        .notes = "\nA job file is INI: [global] first, one section per case; keys are options of `oocgnn run` or\n"
                 "system.key; `a | b` runs both.\n",
        .table = sweep_table,
        .word = take_job_file};
    struct gnn_err err = {0};
    struct sweep s = {.job_file = NULL};
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &s.config, &s, &exit_status))
        return exit_status;
    if (s.job_file == NULL) {
        (void)gnn_fail(&err, GNN_EUSAGE, "sweep: which job file? workloads/smoke.ini is one");
        exit_status = gnn_cli_failed(&err);
    } else if (expand(&s, &err) != GNN_OK) {
        exit_status = gnn_cli_failed(&err);
    } else if (s.config.dry_run) {
        print_plan(&s);
    } else {
        exit_status = run_cells(&s);
    }
    gnn_ini_close(s.ini);
    free(s.cells);
    return exit_status;
}
