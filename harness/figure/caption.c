/* SPDX-License-Identifier: MIT */
/* The conditions of a figure's values. */
#include "harness/base/units.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "harness/record/notes.h"
#include "harness/record/summary.h"
#include "harness/run/parameter.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ASSUMED_MAX = 6, WORDS_MAX = 4 };

struct caption {
    char *text;
    size_t bytes, used;
};

static void say(struct caption *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct caption *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (c->used < c->bytes) {
        const int wrote = vsnprintf(c->text + c->used, c->bytes - c->used, format, args);
        c->used += wrote > 0 ? (size_t)wrote : 0;
    }
    va_end(args);
}

/* Names the profile's figures that are assumed, those that its file marks so. */
static void say_assumed(struct caption *c, const char *profile)
{
    struct gnn_ini *const ini = gnn_run_profile_file(profile);
    uint32_t count = 0;
    for (uint32_t s = 0; ini != NULL && s < gnn_ini_section_count(ini); s++)
        for (uint32_t i = 0; i < gnn_ini_section(ini, s)->entry_count; i++) {
            const struct gnn_ini_entry *const entry = &gnn_ini_section(ini, s)->entries[i];
            if (strstr(entry->value, " assumed") == NULL)
                continue;
            if (count < ASSUMED_MAX)
                say(c, "%s%s.%s", count == 0 ? " (assumed there: " : ", ", gnn_ini_section(ini, s)->name, entry->key);
            count++;
        }
    if (count > ASSUMED_MAX)
        say(c, " and %u more", count - ASSUMED_MAX);
    if (count > 0)
        say(c, ")");
    gnn_ini_close(ini);
}

/* What the runs of a figure say. */
enum fact {
    BUILD,
    CAP,
    CHANGES,
    COMPUTE,
    COSTS,
    EXTRAPOLATED,
    FIO,
    INHERITED,
    PART,
    PROFILE,
    READAHEAD,
    READ_SIZE,
    SCALE,
    START,
    WORLD
};

/* Returns the number of an option that cuts epochs, where it did. */
static const char *cut_by(const struct gnn_run_record *run, const char *option)
{
    char part[GNN_PART_BYTES];
    const char *const number = gnn_kv_get(&run->config, option);
    return number != NULL && strcmp(number, "0") != 0 && gnn_run_part(run, part)[0] != '\0' ? number : NULL;
}

/* Returns a run's text; NULL or "": it has none. */
static const char *text_of(const struct gnn_run_record *run, enum fact fact)
{
    switch (fact) {
    case BUILD:
        return gnn_kv_get(&run->environment, "build.revision");
    case CAP:
        return run->cap_enforcement;
    case CHANGES:
        return gnn_kv_get(&run->config, "profile-set");
    case COMPUTE:
        return run->compute;
    case COSTS:
        return run->profile[0] != '\0' ? gnn_kv_get(&run->config, "costs") : NULL;
    case EXTRAPOLATED:
        return cut_by(run, "batches");
    case FIO:
        return gnn_kv_get(&run->environment, "fio.version");
    case INHERITED:
        return gnn_run_inherited_bytes(run) == GNN_UNKNOWN ? NULL
                                                           : gnn_kv_get(&run->environment, GNN_ENVIRONMENT_INHERITED);
    case PART:
        return cut_by(run, "max-batches");
    case PROFILE:
        return run->profile;
    case READAHEAD:
        return gnn_kv_get(&run->environment, "device.readahead_bytes");
    case READ_SIZE:
        return text_of(run, FIO) != NULL ? gnn_kv_get(&run->config, "bs") : NULL;
    case SCALE:
        return gnn_kv_get(&run->config, "scale");
    case START:
        return run->cold_observed == 1 ? "cold" : run->cold_observed == 0 ? "warm" : "";
    case WORLD:
        return run->world;
    }
    return NULL;
}

/* The different texts that the recorded runs have for something. Returns how many. */
static uint32_t find_all(const struct gnn_paper_figure *figure, enum fact fact, const char *told[WORDS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < figure->job->count; i++)
        for (uint32_t r = 0; r < figure->cells[i].run_count; r++) {
            const char *const text = text_of(&figure->cells[i].runs[r], fact);
            bool known = text == NULL || text[0] == '\0' || count == WORDS_MAX;
            for (uint32_t t = 0; t < count && !known; t++)
                known = strcmp(told[t], text) == 0;
            if (!known)
                told[count++] = text;
        }
    return count;
}

/* Says all of them, behind `lead`: "compute a and b"; nothing where there are none. */
static void say_all(struct caption *c, const struct gnn_paper_figure *figure, const char *lead, enum fact fact)
{
    const char *told[WORDS_MAX];
    char bytes[32];
    const bool of_bytes = fact == READAHEAD || fact == INHERITED;
    const uint32_t count = find_all(figure, fact, told);
    for (uint32_t t = 0; t < count; t++)
        say(c, "%s%s", t == 0 ? lead : " and ",
            of_bytes ? gnn_format_bytes(strtoull(told[t], NULL, 10), bytes, sizeof bytes) : told[t]);
}

static const struct gnn_run_record *any_run(const struct gnn_paper_figure *figure, uint32_t *most)
{
    const struct gnn_run_record *run = NULL;
    *most = 0;
    for (uint32_t i = 0; i < figure->job->count; i++) {
        *most = gnn_max_u32(*most, figure->cells[i].run_count);
        if (run == NULL && figure->cells[i].run_count > 0)
            run = &figure->cells[i].runs[0];
    }
    return run;
}

/* Explains the words that stand in place of numbers. */
static void say_words(struct caption *c, const struct gnn_paper_figure *figure)
{
    static const struct {
        enum gnn_run_status status;
        const char *text;
    } words[] = {{GNN_RUN_OOM, "OOM: out of memory"},
                 {GNN_RUN_GPU_OOM, "GPU OOM: out of GPU memory"},
                 {GNN_RUN_OOT, "OOT: over the time limit"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        bool stands = false;
        for (uint32_t i = 0; i < figure->job->count; i++) {
            const struct gnn_figure_cell *const cell = &figure->cells[i];
            stands = stands || (cell->run_count > 0 && cell->runs[cell->run_count - 1].status == words[w].status);
        }
        if (stands)
            say(c, ". %s", words[w].text);
    }
    for (uint32_t i = 0; i < figure->job->count; i++) {
        const struct gnn_figure_cell *const cell = &figure->cells[i];
        if (cell->run_count == 0 || !gnn_run_is_unsettled(&cell->runs[cell->run_count - 1]))
            continue;
        say(c, ". Not settled: in the part of an epoch that ran, mini-batches get faster or slower, or too few are "
               "independent");
        return;
    }
}

/* The state of the machine: page cache, readahead, limit. */
static void say_machine(struct caption *c, const struct gnn_paper_figure *figure)
{
    const char *told[WORDS_MAX];
    if (find_all(figure, START, told) > 0) {
        say_all(c, figure, ". Page cache ", START);
        say(c, " at start");
    }
    say_all(c, figure, find_all(figure, START, told) > 0 ? ", device readahead " : ". Device readahead ", READAHEAD);
    say_all(c, figure, ". Memory limit: ", CAP);
    say_all(c, figure, ". Memory limit inherited from the container or control group: ", INHERITED);
}

static void add_spread(struct gnn_trust *trust, const struct gnn_figure_cell *cell)
{
    const struct gnn_run_record **const runs = calloc(cell->run_count + UINT32_C(1), sizeof(void *));
    for (uint32_t r = 0; r < cell->run_count && runs != NULL; r++)
        runs[r] = &cell->runs[r];
    if (runs != NULL)
        gnn_trust_add_spread(trust, runs, cell->run_count);
    free(runs);
}

/* What is known against the measured times. */
static void say_trust(struct caption *c, const struct gnn_paper_figure *figure)
{
    struct gnn_trust trust;
    char notes[GNN_NOTES_BYTES];
    gnn_trust_init(&trust);
    for (uint32_t i = 0; i < figure->job->count; i++) {
        const struct gnn_figure_cell *const cell = &figure->cells[i];
        for (uint32_t r = 0; r < cell->run_count; r++)
            gnn_trust_add(&trust, &cell->runs[r]);
        add_spread(&trust, cell);
    }
    if (gnn_trust_text(&trust, notes, sizeof notes))
        say(c, ". Note: %s", notes);
}

static void say_published(struct caption *c, const struct gnn_paper_figure *figure)
{
    const uint32_t divisor = gnn_figure_divisor_shown(figure);
    const char *const also = figure->about.published_also;
    if (divisor > 0)
        say(c, ". Published values from the paper: %s%s%s", figure->about.place, also[0] != '\0' ? " and " : "", also);
    if (divisor > 1)
        say(c, ", times and sizes divided by %u", divisor);
}

/* Real training may have a scale of its own. */
static void say_scale(struct caption *c, const struct gnn_paper_figure *figure)
{
    say(c, ", scale 1/%u", figure->scale_divisor);
    for (uint32_t i = 0; i < figure->job->count; i++)
        if (figure->cells[i].trains && figure->job->cells[i].config.scale_divisor != figure->scale_divisor) {
            say(c, ", real training at scale 1/%u", figure->job->cells[i].config.scale_divisor);
            return;
        }
}

void gnn_figure_caption(const struct gnn_paper_figure *figure, char *text, size_t text_bytes)
{
    struct caption c = {.text = text, .bytes = text_bytes};
    uint32_t most;
    const struct gnn_run_record *const run = any_run(figure, &most);
    assert(text_bytes > 0);
    text[0] = '\0';
    if (figure->caption[0] != '\0')
        say(&c, "%s", figure->caption);
    if (run == NULL || figure->caption[0] != '\0')
        return;
    say_all(&c, figure, "", WORLD);
    text[0] = (char)toupper((unsigned char)text[0]);
    say(&c, " world");
    say_all(&c, figure, ", profile ", PROFILE);
    if (run->profile[0] != '\0')
        say_assumed(&c, run->profile);
    say_all(&c, figure, ", profile changed: ", CHANGES);
    if (figure->own)
        say_all(&c, figure, ", scale ", SCALE);
    else
        say_scale(&c, figure);
    say_all(&c, figure, ", ", FIO);
    say_all(&c, figure, ", bytes per read ", READ_SIZE);
    say_all(&c, figure, ", compute ", COMPUTE);
    say_all(&c, figure, ", costs ", COSTS);
    say_machine(&c, figure);
    say_all(&c, figure, ". Parts of epochs, in mini-batches: ", PART);
    say_all(&c, figure, ". Epochs extrapolated from mini-batches: ", EXTRAPOLATED);
    if (figure->put_over[0] != '\0')
        say(&c, ". All runs with %s", figure->put_over);
    const char *const average = strcmp(figure->about.average, "mean") == 0 ? "Mean" : "Median";
    if (gnn_figure_shows_best(&figure->about))
        say(&c, ". The smallest %s over %s", figure->metrics[0], figure->about.over);
    else if (figure->about.over[0] != '\0')
        say(&c, ". %s and range over %s", average, figure->about.over);
    if (figure->has_variants)
        say(&c, ". Variants: %s.ini", figure->file + strlen(figure->id) + 1);
    if (most > 1)
        say(&c, ". %s and range of up to %u runs per configuration", average, most);
    else
        say(&c, ". One run per configuration");
    say_trust(&c, figure);
    say_words(&c, figure);
    say_published(&c, figure);
    say_all(&c, figure, ". Build ", BUILD);
    say(&c, ".%s%s", figure->about.note[0] != '\0' ? " " : "", figure->about.note);
}
