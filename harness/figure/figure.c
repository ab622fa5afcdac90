/* SPDX-License-Identifier: MIT */
#include "harness/figure/figure.h"

#include "harness/base/ini.h"
#include "harness/base/near_miss.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/base/words.h"
#include "harness/figure/expression.h"
#include "harness/figure/fio_cells.h"
#include "harness/figure/metric.h"
#include "harness/figure/order.h"
#include "harness/figure/values.h"
#include "harness/record/styles.h"
#include "harness/run/machine.h"
#include "harness/run/sweep/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const other_sections[] = {"figure", "metrics", "holds", "says", "reasons", "measured reasons", NULL};
static const char *const other_keys[] = {GNN_FIGURE_OWN_KEYS, NULL};

/* ---- series, metrics, axes ---- */

typedef enum gnn_status word_fn(struct gnn_paper_figure *figure, const char *word, struct gnn_err *err);

/* Calls fn with each of a list's words. */
static enum gnn_status each_word(const char *list, word_fn *fn, struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char word[GNN_FIGURE_LINE];
    while (gnn_next_word(&list, word, sizeof word))
        GNN_TRY(fn(figure, word, err));
    return GNN_OK;
}

/* Appends a name to the metrics, or to their names in the published values. */
static enum gnn_status add_name_of(const char *id, const char *key, const char *name, char (*names)[GNN_NAME_MAX],
                                   uint32_t *count, struct gnn_err *err)
{
    if (*count == GNN_FIGURE_METRICS_MAX || strlen(name) >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: %s: more than %d metrics", id, key, GNN_FIGURE_METRICS_MAX);
    (void)snprintf(names[(*count)++], GNN_NAME_MAX, "%s", name);
    return GNN_OK;
}

static enum gnn_status add_metric(struct gnn_paper_figure *figure, const char *name, struct gnn_err *err)
{
    if (!gnn_figure_metric_known(figure, name))
        return gnn_fail(err, GNN_EUSAGE, "figure %s: y: no metric \"%s\"", figure->id, name);
    return add_name_of(figure->id, "y", name, figure->metrics, &figure->metric_count, err);
}

static enum gnn_status add_published(struct gnn_paper_figure *figure, const char *name, struct gnn_err *err)
{
    return add_name_of(figure->id, "published", name, figure->published_names, &figure->published_count, err);
}

static enum gnn_status add_axis(struct gnn_paper_figure *figure, const char *key, struct gnn_err *err)
{
    if (figure->axis_count == GNN_AXES_MAX || strlen(key) >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: more than %d axes", figure->id, GNN_AXES_MAX);
    (void)snprintf(figure->axes[figure->axis_count++].key, GNN_NAME_MAX, "%s", key);
    return GNN_OK;
}

/* Adds a key of `rows`, which becomes an axis. */
static enum gnn_status add_row_key(struct gnn_paper_figure *figure, const char *name, struct gnn_err *err)
{
    if (gnn_figure_key(figure, name) == GNN_KEYS_MAX) {
        if (!figure->by_fio && gnn_grid_option(name) == NULL)
            return gnn_fail(err, GNN_EUSAGE, "figure %s: rows: \"%s\" is neither series nor an option", figure->id,
                            name);
        GNN_TRY(add_axis(figure, name, err));
    }
    for (uint32_t i = 0; i < figure->row_key_count; i++)
        if (figure->row_keys[i] == gnn_figure_key(figure, name))
            return gnn_fail(err, GNN_EUSAGE, "figure %s: rows: \"%s\" appears twice", figure->id, name);
    figure->row_keys[figure->row_key_count++] = gnn_figure_key(figure, name);
    return GNN_OK;
}

/* Appends the file's name without folder and ending. */
static void add_name(char name[GNN_NAME_MAX], const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const base = slash != NULL ? slash + 1 : path;
    const char *const dot = strrchr(base, '.');
    const size_t at = strlen(name);
    (void)snprintf(name + at, GNN_NAME_MAX - at, "%.*s", (int)(dot != NULL ? dot - base : (ptrdiff_t)strlen(base)),
                   base);
}

/* The last axis, and output files of their own: "ID-NAME". */
static enum gnn_status add_variants(struct gnn_paper_figure *figure, const char *path, struct gnn_err *err)
{
    const size_t at = strlen(figure->file);
    (void)snprintf(figure->file + at, sizeof figure->file - at, "-");
    add_name(figure->file, path);
    return add_axis(figure, GNN_JOB_VARIANT, err);
}

/* A section's name up to a comma. */
static enum gnn_status add_series(struct gnn_paper_figure *figure, const char *section, const char *published,
                                  uint32_t *out, struct gnn_err *err)
{
    char name[GNN_NAME_MAX];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(section, ","), section);
    for (uint32_t i = 0; i < figure->series_count; i++)
        if (strcmp(figure->series[i].name, name) == 0) {
            *out = i;
            return GNN_OK;
        }
    if (figure->series_count == GNN_FIGURE_SERIES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: more than %d series", figure->id, GNN_FIGURE_SERIES_MAX);
    *out = figure->series_count;
    struct gnn_figure_series *const series = &figure->series[figure->series_count];
    (void)snprintf(series->name, sizeof series->name, "%s", name);
    (void)snprintf(series->published, sizeof series->published, "%s", published);
    figure->series_names[figure->series_count++] = series->name;
    return GNN_OK;
}

/* Every section that is none of the figure's own is a series, in the order of the file. */
static enum gnn_status read_series(struct gnn_paper_figure *figure, const struct gnn_ini *ini, struct gnn_err *err)
{
    uint32_t number;
    for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++) {
        const struct gnn_ini_section *const section = gnn_ini_section(ini, i);
        const struct gnn_ini_entry *const published = gnn_ini_find(section, "published");
        if (!gnn_list_has(other_sections, section->name))
            GNN_TRY(add_series(figure, section->name, published != NULL ? published->value : "", &number, err));
    }
    return GNN_OK;
}

/* What a cell has on an axis: the first of the keys that its case sets, as the file writes it; else the run's option of
 * the first key's name, as it stands after defaults and preset. */
static void value_on_axis(const struct gnn_job_cell *cell, const char *keys, char *text, size_t text_bytes)
{
    char key[GNN_FIGURE_LINE];
    const char *chosen = NULL;
    for (const char *rest = keys; chosen == NULL && gnn_next_word(&rest, key, sizeof key);)
        chosen = gnn_kv_get(&cell->choices, key);
    (void)snprintf(text, text_bytes, "%s", chosen != NULL ? chosen : "");
    (void)gnn_next_word(&keys, key, sizeof key);
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL && chosen == NULL; o++)
        if (strcmp(o->name, key) == 0)
            gnn_option_format(o, &cell->config, text, text_bytes);
}

static enum gnn_status find_on_axis(struct gnn_paper_figure *figure, struct gnn_axis *axis, const char *value,
                                    uint32_t *out, struct gnn_err *err)
{
    const size_t length = strlen(value);
    *out = gnn_axis_find(axis, value);
    if (*out < axis->count)
        return GNN_OK;
    if (axis->count == GNN_AXIS_VALUES_MAX || length >= GNN_AXIS_VALUE_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: %s: too many or too long values", figure->id, axis->key);
    memcpy(axis->values[axis->count++], value, length + 1);
    return GNN_OK;
}

/* Whether the file sets the key for the cell: to that value, or to any if it is NULL. */
static bool has_choice(const struct gnn_job_cell *cell, const char *key, const char *value)
{
    const char *const text = gnn_kv_get(&cell->choices, key);
    return text != NULL && (value == NULL || strcmp(text, value) == 0);
}

static bool trains(const struct gnn_job_cell *cell)
{
    return has_choice(cell, "trains", "yes");
}

/* Returns the series of a configuration of a figure of no paper: its section, or its system if that has several. */
static const char *own_series(const struct gnn_job *job, uint32_t cell)
{
    const struct gnn_job_cell *const own = &job->cells[cell];
    for (uint32_t i = 0; i < job->count; i++)
        if (strcmp(job->cells[i].section, own->section) == 0 &&
            strcmp(job->cells[i].config.system, own->config.system) != 0)
            return gnn_run_system_name(&own->config);
    return own->section;
}

static enum gnn_status place_cell(struct gnn_paper_figure *figure, uint32_t number, struct gnn_err *err)
{
    char value[GNN_TEXT_MAX];
    struct gnn_figure_cell *const cell = &figure->cells[number];
    const struct gnn_job_cell *const job_cell = &figure->job->cells[number];
    GNN_TRY(
        add_series(figure, figure->own ? own_series(figure->job, number) : job_cell->section, "", &cell->series, err));
    figure->series[cell->series].has_cells = true;
    cell->trains = trains(job_cell);
    for (uint32_t a = 0; a < figure->axis_count; a++) {
        const bool own_keys = a == 0 && figure->about.x_keys[0] != '\0';
        value_on_axis(job_cell, own_keys ? figure->about.x_keys : figure->axes[a].key, value, sizeof value);
        GNN_TRY(find_on_axis(figure, &figure->axes[a], value, &cell->at[a], err));
    }
    return GNN_OK;
}

/* ---- scale and world ---- */

/* Divides the parameters of systems that the figure names, by the root of the divisor or by all of it; a size of 0
 * means another thing and stays. */
static enum gnn_status scale_parameters(struct gnn_job_cell *cell, const char *scaled, uint32_t divisor, bool by_root,
                                        bool of_fio, struct gnn_err *err)
{
    char name[GNN_FIGURE_LINE], text[GNN_TEXT_MAX];
    while (gnn_next_word(&scaled, name, sizeof name)) {
        uint64_t value;
        if (strcmp(name, cell->search.option) == 0)
            cell->search.divisor = divisor;
        if (!has_choice(cell, name, NULL))
            continue;
        GNN_TRY(gnn_parse_bytes(gnn_kv_get(&cell->choices, name), &value, err));
        if (value == 0)
            continue;
        value = gnn_max_u64(by_root ? (uint64_t)llround((double)value / sqrt(divisor)) : value / divisor, 1);
        (void)snprintf(text, sizeof text, "%s=%" PRIu64, name, value);
        GNN_TRY(of_fio ? gnn_kv_setf(&cell->choices, err, name, "%" PRIu64, value)
                       : gnn_run_config_set(&cell->config, text, err));
    }
    return GNN_OK;
}

/* A part of an epoch is what scale 1 leaves time for; elsewhere whole epochs are run, of which the second counts. */
static void run_whole_epochs(struct gnn_run_config *c)
{
    if (c->batches == 0)
        return;
    c->batches = c->warmup = 0;
    c->epochs = gnn_max_u32(c->epochs, 2);
}

/* Divides what the file gives for scale 1, as a preset's are; never to 0, which would be no cap at all. */
static void scale_down(struct gnn_job_cell *cell, uint32_t divisor)
{
    struct gnn_run_config *const c = &cell->config;
    if (has_choice(cell, "batch", NULL))
        c->batch_size = gnn_max_u32((uint32_t)(((uint64_t)c->batch_size + divisor / 2) / divisor), 1);
    if (has_choice(cell, "memory", NULL) && c->memory_bytes != 0)
        c->memory_bytes = gnn_max_u64(gnn_round_down(c->memory_bytes / divisor, GNN_PAGE_BYTES), GNN_PAGE_BYTES);
    if (strcmp(cell->search.option, "memory") == 0 || strcmp(cell->search.option, "batch") == 0)
        gnn_search_divide(&cell->search, divisor);
    if (has_choice(cell, "swap", NULL))
        c->swap_bytes = gnn_round_down(c->swap_bytes / divisor, GNN_PAGE_BYTES);
    run_whole_epochs(c);
}

/* Puts the cell on this machine: real storage, and training waits as long as the profile's compute would take. Whole
 * epochs, of which the second counts. */
static void measure(struct gnn_job_cell *cell)
{
    struct gnn_run_config *const c = &cell->config;
    c->world = GNN_WORLD_MEASURED;
    c->profile[0] = '\0';
    memcpy(c->costs, "ideal", sizeof "ideal"); /* those of a machine that is modelled */
    run_whole_epochs(c);
    c->epochs = gnn_max_u32(c->epochs, 2);
}

/* Whether the run has the changed parameter: its profile's own, or one of the costs that it has. */
static bool is_changed(const struct gnn_run_config *config, const struct gnn_figure_setup *setup)
{
    return setup->change != NULL && strcmp(config->profile, setup->change_profile) == 0 &&
           !(gnn_run_costs_are_ideal(config) && strncmp(setup->change, "released.", strlen("released.")) == 0);
}

/* A size that the machine lacks at scale 1 may be there at this one, so a refusal of the file's case does not count. */
static enum gnn_status set_up_cell(const struct gnn_paper_figure *figure, struct gnn_job_cell *cell,
                                   const struct gnn_figure_setup *setup, struct gnn_err *err)
{
    const struct gnn_figure_about *const about = &figure->about;
    const uint32_t divisor = figure->own ? 1 : cell->config.scale_divisor;
    enum gnn_status status = GNN_OK;
    if (divisor > 1) {
        scale_down(cell, divisor);
        status = scale_parameters(cell, about->scaled, divisor, false, false, err);
        GNN_NEXT(status, scale_parameters(cell, about->scaled_root, divisor, true, false, err));
    }
    const bool measured = setup->world == GNN_WORLD_MEASURED && gnn_figure_key(figure, "world") == GNN_KEYS_MAX;
    GNN_NEXT(status, gnn_machine_resolve(&cell->config, err));
    if (measured || trains(cell))
        measure(cell);
    if (trains(cell)) {
        memcpy(cell->config.compute, "cpu", sizeof "cpu");
        cell->config.device_readahead[0] = cell->config.profile_set[0] = '\0'; /* of the machine that is modelled */
    }
    if (is_changed(&cell->config, setup))
        GNN_NEXT(status, gnn_run_config_change(&cell->config, setup->change, err));
    GNN_NEXT(status, gnn_machine_resolve(&cell->config, err));
    return status;
}

static enum gnn_status set_up_fio_cell(const struct gnn_paper_figure *figure, struct gnn_job_cell *cell,
                                       const struct gnn_figure_setup *setup, struct gnn_err *err)
{
    (void)snprintf(cell->config.db, sizeof cell->config.db, "%s", setup->db);
    (void)snprintf(cell->config.data_dir, sizeof cell->config.data_dir, "%s", setup->data_dir);
    GNN_TRY(scale_parameters(cell, figure->about.scaled, figure->scale_divisor, false, true, err));
    return gnn_fio_cell_settle(cell, &figure->cells[cell - figure->job->cells].identity, err);
}

/* ---- what is fixed ---- */

/* Whether any cell has the key, with that value unless it is NULL. */
static bool is_of(const struct gnn_job *job, const char *key, const char *value)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (has_choice(&job->cells[i], key, value))
            return true;
    return false;
}

/* Whether the file has cells of every value: what is fixed is a part of the figure then. */
static bool are_of(const struct gnn_job *job, const char *key, const struct gnn_grid_values *values)
{
    uint32_t v = 0;
    while (v < values->count && is_of(job, key, values->of[v]))
        v++;
    return v == values->count;
}

static enum gnn_status refuse_key(const struct gnn_paper_figure *figure, const struct gnn_kv *fix, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, fix->key);
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL && !figure->by_fio; o++)
        gnn_near_miss_offer(&near, o->name);
    return gnn_fail(err, GNN_EUSAGE, "--fix %s=%s: %s has no key \"%s\"%s; %s", fix->key, fix->value, figure->id,
                    fix->key, gnn_near_miss_text(&near),
                    figure->by_fio ? "those in its file can be fixed"
                                   : "`oocgnn run --help` has the options, `oocgnn list params SYSTEM` the parameters");
}

/* Before the cases are read, puts what is fixed among the overrides, but for values that cells of the file have; after
 * that, drops the cells of other values than these. A key that nothing reads is refused. */
static enum gnn_status fix_keys(struct gnn_paper_figure *figure, const struct gnn_job *as_it_is,
                                const struct gnn_kv_list *fix, struct gnn_kv_list *overrides, struct gnn_err *err)
{
    for (uint32_t i = 0; fix != NULL && i < fix->count; i++) {
        const char *const key = fix->items[i].key;
        const struct gnn_option *const option = figure->by_fio ? NULL : gnn_grid_option(key);
        struct gnn_grid_values values;
        if (figure->by_fio ? !is_of(as_it_is, key, NULL) : option == NULL)
            return refuse_key(figure, &fix->items[i], err);
        GNN_TRY(gnn_grid_values(option, fix->items[i].value, &values, err));
        const bool is_part = are_of(as_it_is, key, &values);
        if (is_part && figure->job != NULL)
            gnn_job_keep(figure->job, key, &values);
        if (is_part || figure->job != NULL)
            continue;
        gnn_text_list(figure->put_over, sizeof figure->put_over, "%s=%s", key, fix->items[i].value);
        GNN_TRY(gnn_kv_set(overrides, key, fix->items[i].value, err));
    }
    if (figure->job == NULL || figure->job->count > 0 || as_it_is->count == 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "%s: no configuration has all values of --fix; remove one", figure->id);
}

/* Puts where runs go and how large they are over what the file says; over that of an own figure only what is asked. */
static enum gnn_status place_options(const struct gnn_paper_figure *figure, const struct gnn_figure_setup *setup,
                                     struct gnn_kv_list *overrides, struct gnn_err *err)
{
    char scale[32];
    const char *const db = figure->own ? setup->own_db : setup->db;
    const char *const data_dir = figure->own ? setup->own_data_dir : setup->data_dir;
    (void)snprintf(scale, sizeof scale, "1/%u", figure->own ? setup->scale_divisor : figure->scale_divisor);
    if (db != NULL)
        GNN_TRY(gnn_kv_set(overrides, "db", db, err));
    if (data_dir != NULL)
        GNN_TRY(gnn_kv_set(overrides, "data", data_dir, err));
    return figure->own && setup->scale_divisor == 0 ? GNN_OK : gnn_kv_set(overrides, "scale", scale, err);
}

/* Reads the cases of the file, and of them those that are a part of what is fixed. */
static enum gnn_status open_job(struct gnn_paper_figure *figure, const char *path, const struct gnn_figure_setup *setup,
                                struct gnn_err *err)
{
    struct gnn_kv_list overrides = {0};
    struct gnn_job *as_it_is = NULL;
    struct gnn_job_options options = {.other_sections = other_sections,
                                      .other_keys = other_keys,
                                      .keep_refused = true,
                                      .foreign_keys = figure->by_fio,
                                      .pass_without_system = !figure->by_fio};
    enum gnn_status status = gnn_job_open(path, &options, &as_it_is, err);
    options.overrides = &overrides;
    options.keeps_scale = setup->scale_divisor == 0 ? "trains" : NULL;
    options.variants = figure->has_variants ? setup->variants : NULL;
    if (!figure->by_fio)
        GNN_NEXT(status, place_options(figure, setup, &overrides, err));
    GNN_NEXT(status, fix_keys(figure, as_it_is, setup->fix, &overrides, err));
    GNN_NEXT(status, gnn_job_open(path, &options, &figure->job, err));
    GNN_NEXT(status, fix_keys(figure, as_it_is, setup->fix, &overrides, err));
    gnn_kv_clear(&overrides);
    gnn_job_close(as_it_is);
    return status;
}

/* Returns the first key of which two configurations have different values, or "". */
static const char *difference(const struct gnn_job_cell *a, const struct gnn_job_cell *b)
{
    for (uint32_t i = 0; i < a->choices.count; i++) {
        const char *const other = gnn_kv_get(&b->choices, a->choices.items[i].key);
        if (other == NULL || strcmp(other, a->choices.items[i].value) != 0)
            return a->choices.items[i].key;
    }
    return "";
}

/* Checks that no two configurations of a figure of no paper have the same place. */
static enum gnn_status check_own_places(const struct gnn_paper_figure *figure, struct gnn_err *err)
{
    for (uint32_t b = 0; b < figure->job->count; b++)
        for (uint32_t a = 0; a < b; a++) {
            const struct gnn_figure_cell *const one = &figure->cells[a], *const other = &figure->cells[b];
            const char *const key = difference(&figure->job->cells[a], &figure->job->cells[b]);
            if (one->series == other->series && one->trains == other->trains &&
                memcmp(one->at, other->at, sizeof one->at) == 0)
                return gnn_fail(err, GNN_EUSAGE,
                                "figure %s: configurations %u and %u have the same place, but differ in %s. Make it an "
                                "axis with x or facets, or give each value a section.",
                                figure->id, a + 1, b + 1, key[0] != '\0' ? key : "nothing");
        }
    return GNN_OK;
}

static enum gnn_status open_cells(struct gnn_paper_figure *figure, const char *path,
                                  const struct gnn_figure_setup *setup, struct gnn_err *err)
{
    GNN_TRY(open_job(figure, path, setup, err));
    GNN_NEW(figure->cells, (size_t)figure->job->count + 1, err, "configurations of %s", path);
    for (uint32_t i = 0; i < figure->job->count; i++) {
        struct gnn_job_cell *const cell = &figure->job->cells[i];
        struct gnn_err cause = {0}; /* no message: it is possible */
        (void)!(figure->by_fio ? set_up_fio_cell : set_up_cell)(figure, cell, setup, &cause);
        memcpy(cell->refusal, cause.message, sizeof cell->refusal);
        GNN_TRY(place_cell(figure, i, err));
    }
    return figure->own ? check_own_places(figure, err) : GNN_OK;
}

/* ---- predicates ---- */

/* Every entry of `[says]` is the sentence of a predicate. */
static enum gnn_status check_says(const struct gnn_ini *ini, const struct gnn_ini_section *holds, struct gnn_err *err)
{
    const struct gnn_ini_section *const says = gnn_ini_find_section(ini, "says");
    for (uint32_t i = 0; says != NULL && i < says->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &says->entries[i];
        struct gnn_near_miss near;
        gnn_near_miss_start(&near, entry->key);
        for (uint32_t h = 0; holds != NULL && h < holds->entry_count; h++)
            gnn_near_miss_offer(&near, holds->entries[h].key);
        if (gnn_ini_find(holds, entry->key) == NULL)
            return gnn_fail(err, GNN_EUSAGE, "%s:%u: [holds] has no predicate \"%s\"%s", gnn_ini_name(ini), entry->line,
                            entry->key, gnn_near_miss_text(&near));
    }
    return GNN_OK;
}

static enum gnn_status read_predicates(struct gnn_paper_figure *figure, const struct gnn_ini *ini,
                                       const struct gnn_figure_setup *setup, struct gnn_err *err)
{
    const bool fixed = setup->fix != NULL && setup->fix->count > 0;
    const bool measured = setup->world == GNN_WORLD_MEASURED && !figure->by_fio;
    const struct gnn_ini_section *const holds = gnn_ini_find_section(ini, "holds");
    const struct gnn_ini_section *const reasons = gnn_ini_find_section(ini, measured ? "measured reasons" : "reasons");
    const struct gnn_ini_section *const sentences = gnn_ini_find_section(ini, "says");
    struct gnn_value_source source;
    GNN_TRY(check_says(ini, holds, err));
    gnn_figure_values(figure, &source);
    for (uint32_t i = 0; holds != NULL && i < holds->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &holds->entries[i];
        const struct gnn_ini_entry *const reason = gnn_ini_find(reasons, entry->key);
        const struct gnn_ini_entry *const says = gnn_ini_find(sentences, entry->key);
        struct gnn_err cause = {0};
        if (figure->predicate_count == GNN_FIGURE_PREDICATES_MAX)
            return gnn_fail(err, GNN_EUSAGE, "%s: more than %d predicates", gnn_ini_name(ini),
                            GNN_FIGURE_PREDICATES_MAX);
        struct gnn_figure_predicate *const predicate = &figure->predicates[figure->predicate_count++];
        (void)snprintf(predicate->name, sizeof predicate->name, "%s", entry->key);
        (void)snprintf(predicate->text, sizeof predicate->text, "%s", entry->value);
        (void)snprintf(predicate->reason, sizeof predicate->reason, "%s", reason != NULL ? reason->value : "");
        (void)snprintf(predicate->says, sizeof predicate->says, "%s", says != NULL ? says->value : "");
        const enum gnn_status status = gnn_predicate_parse(predicate->text, &source, &predicate->parsed, &cause);
        if (status == GNN_ENOENT && fixed) /* it is about cells that are left out */
            figure->predicate_count--;
        else if (status != GNN_OK)
            return gnn_fail(err, GNN_EUSAGE, "%s:%u: %s", gnn_ini_name(ini), entry->line, cause.message);
    }
    return GNN_OK;
}

/* ---- all ---- */

static enum gnn_status choose_scale(struct gnn_paper_figure *figure, const struct gnn_figure_setup *setup,
                                    struct gnn_err *err)
{
    figure->own = figure->about.paper[0] == '\0';
    figure->scale_divisor = setup->scale_divisor != 0 && !figure->own ? setup->scale_divisor : 1;
    figure->by_fio = figure->about.measured_by[0] != '\0';
    figure->own_setup = setup->scale_divisor == 0 && (figure->by_fio || setup->world == GNN_WORLD_SIMULATED);
    if (setup->scale_divisor != 0 || figure->about.scale[0] == '\0')
        return GNN_OK;
    return gnn_parse_scale(figure->about.scale, &figure->scale_divisor, err);
}

static enum gnn_status check_over(struct gnn_paper_figure *figure, const char *key, struct gnn_err *err)
{
    if (is_of(figure->job, key, NULL) && gnn_figure_key(figure, key) == GNN_KEYS_MAX)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "figure %s: over = %s: expected a key of the configurations, but not an axis",
                    figure->id, key);
}

static enum gnn_status read_figure(struct gnn_paper_figure *figure, const char *path, const struct gnn_ini *ini,
                                   const struct gnn_figure_setup *setup, struct gnn_err *err)
{
    struct gnn_value_source source;
    GNN_TRY(gnn_figure_read_about(ini, &figure->about, err));
    if (figure->about.missing[0] != '\0')
        return GNN_OK;
    GNN_TRY(choose_scale(figure, setup, err));
    GNN_TRY(add_axis(figure, figure->about.x, err));
    GNN_TRY(each_word(figure->about.facets, add_axis, figure, err));
    GNN_TRY(each_word(figure->about.rows, add_row_key, figure, err));
    figure->has_variants = setup->variants != NULL && !figure->by_fio;
    if (figure->has_variants)
        GNN_TRY(add_variants(figure, gnn_ini_name(setup->variants), err));
    if (!figure->own)
        GNN_TRY(read_series(figure, ini, err));
    GNN_TRY(open_cells(figure, path, setup, err));
    uint32_t at[GNN_AXES_MAX] = {0}, base[GNN_AXES_MAX];
    if (figure->about.relative[0] != '\0' && !gnn_figure_base(figure, at, base))
        return gnn_fail(err, GNN_EUSAGE, "%s: relative \"%s\": no axis has it", path, figure->about.relative);
    if (figure->job->count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s: no series has a system, so there is nothing to show", path);
    if (strcmp(figure->about.chart, "table") != 0 && figure->series_count > GNN_STYLES)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: %u series in one picture, but a reader can distinguish at most %d; use chart = table, or "
                        "make one of their options a facet",
                        path, figure->series_count, GNN_STYLES);
    if (setup->fix == NULL || setup->fix->count == 0) /* which may leave out all with the key */
        GNN_TRY(each_word(figure->about.over, check_over, figure, err));
    GNN_TRY(gnn_figure_read_order(figure, err));
    gnn_figure_values(figure, &source);
    GNN_TRY(gnn_figure_read_metrics(figure, ini, gnn_ini_find_section(ini, "metrics"), &source, err));
    GNN_TRY(each_word(figure->about.y, add_metric, figure, err));
    GNN_TRY(each_word(figure->about.published, add_published, figure, err));
    if (setup->published_path != NULL)
        GNN_TRY(gnn_published_open(setup->published_path, &figure->published, err));
    return read_predicates(figure, ini, setup, err);
}

enum gnn_status gnn_figure_open(const char *path, const struct gnn_figure_setup *setup, struct gnn_paper_figure **out,
                                struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    struct gnn_ini *ini = NULL;
    GNN_NEW(figure, 1, err, "figure %s", path);
    add_name(figure->id, path);
    memcpy(figure->file, figure->id, sizeof figure->file);
    enum gnn_status status = gnn_ini_open(path, &ini, err);
    GNN_NEXT(status, read_figure(figure, path, ini, setup, err));
    gnn_ini_close(ini);
    return GNN_OPENED(status, figure, out, gnn_figure_close);
}

void gnn_figure_close(struct gnn_paper_figure *figure)
{
    if (figure == NULL)
        return;
    for (uint32_t i = 0; figure->cells != NULL && i < figure->job->count; i++) {
        gnn_run_records_free(figure->cells[i].runs, figure->cells[i].run_count);
        free(figure->cells[i].identity);
    }
    free(figure->cells);
    free(figure->expressions);
    gnn_job_close(figure->job);
    gnn_published_close(&figure->published);
    free(figure);
}
