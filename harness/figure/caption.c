/* SPDX-License-Identifier: MIT */
/* The conditions of a figure's values. */
#include "harness/base/units.h"
#include "harness/base/words.h"
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
    const struct gnn_paper_figure *figure;
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

/* Returns what a run has under a name of its record, environment or configuration; NULL or "": nothing. */
static const char *text_of(const struct gnn_run_record *run, const char *name)
{
    const struct {
        const char *name, *text;
    } columns[] = {{"world", run->world},
                   {"profile", run->profile},
                   {"compute", run->compute},
                   {"cap_enforcement", run->cap_enforcement},
                   {"cold_observed", run->cold_observed == 1   ? "cold"
                                     : run->cold_observed == 0 ? "warm"
                                                               : ""}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].name, name) == 0)
            return columns[i].text;
    char part[GNN_PART_BYTES];
    const char *const text = gnn_kv_get(&run->environment, name);
    const bool cuts = strcmp(name, "batches") == 0 || strcmp(name, "max-batches") == 0;
    const char *const option = gnn_kv_get(&run->config, name);
    if ((cuts && gnn_run_part(run, part)[0] == '\0') || (strcmp(name, "costs") == 0 && run->profile[0] == '\0') ||
        (strcmp(name, GNN_ENVIRONMENT_INHERITED) == 0 && gnn_run_inherited_bytes(run) == GNN_UNKNOWN))
        return NULL;
    return text != NULL ? text : option != NULL && strcmp(option, "0") != 0 ? option : NULL;
}

/* Says the different texts that the recorded runs have under a name, behind `lead`: "compute a and b". Returns whether
 * there are any. */
static bool say_all(struct caption *c, const char *lead, const char *name)
{
    struct gnn_words told = {.count = 0};
    char bytes[32];
    const bool of_bytes = strstr(name, "_bytes") != NULL;
    for (uint32_t i = 0; i < c->figure->job->count; i++)
        for (uint32_t r = 0; r < c->figure->cells[i].run_count && told.count < WORDS_MAX; r++) {
            const char *const text = text_of(&c->figure->cells[i].runs[r], name);
            if (text == NULL || text[0] == '\0' || gnn_words_has(&told, text))
                continue;
            say(c, "%s%s", told.count == 0 ? lead : " and ",
                of_bytes ? gnn_format_bytes(strtoull(text, NULL, 10), bytes, sizeof bytes) : text);
            gnn_words_add(&told, text);
        }
    return told.count > 0;
}

/* What all recorded runs are together. */
struct overview {
    const struct gnn_run_record *first;
    uint32_t most;                   /* runs of a configuration */
    bool ends[GNN_RUN_STATUS_COUNT]; /* of the newest run of one */
    bool unsettled;                  /* the newest run of one is */
    uint32_t training_divisor;       /* scale of the first real training that has another one; 0: none has */
    struct gnn_trust trust;
};

static void look_at(const struct gnn_paper_figure *figure, uint32_t number, struct overview *out)
{
    const struct gnn_figure_cell *const cell = &figure->cells[number];
    const struct gnn_run_record *runs[GNN_REPETITIONS_MAX];
    const uint32_t divisor = figure->job->cells[number].config.scale_divisor;
    if (cell->trains && divisor != figure->scale_divisor && out->training_divisor == 0)
        out->training_divisor = divisor;
    if (cell->run_count == 0)
        return;
    const struct gnn_run_record *const newest = &cell->runs[cell->run_count - 1];
    out->first = out->first == NULL ? &cell->runs[0] : out->first;
    out->most = gnn_max_u32(out->most, cell->run_count);
    out->ends[newest->status] = true;
    out->unsettled = out->unsettled || gnn_run_is_unsettled(newest);
    assert(cell->run_count <= GNN_REPETITIONS_MAX);
    for (uint32_t r = 0; r < cell->run_count; r++) {
        runs[r] = &cell->runs[r];
        gnn_trust_add(&out->trust, runs[r]);
    }
    gnn_trust_add_spread(&out->trust, runs, cell->run_count);
}

/* Explains the words in place of numbers, after what speaks against measured times. */
static void say_notes(struct caption *c, const struct overview *all)
{
    static const char *const words[GNN_RUN_STATUS_COUNT] = {[GNN_RUN_OOM] = "OOM: out of memory",
                                                            [GNN_RUN_GPU_OOM] = "GPU OOM: out of GPU memory",
                                                            [GNN_RUN_OOT] = "OOT: over the time limit"};
    char notes[GNN_NOTES_BYTES];
    if (gnn_trust_text(&all->trust, notes, sizeof notes))
        say(c, ". Note: %s", notes);
    for (int i = 0; i < GNN_RUN_STATUS_COUNT; i++)
        if (all->ends[i] && words[i] != NULL)
            say(c, ". %s", words[i]);
    if (all->unsettled)
        say(c, ". Not settled: in the part of an epoch that ran, mini-batches get faster or slower, or too few are "
               "independent");
}

static void say_published(struct caption *c)
{
    const uint32_t divisor = gnn_figure_divisor_shown(c->figure);
    const char *const also = c->figure->about.published_also;
    if (divisor > 0)
        say(c, ". Published values from the paper: %s%s%s", c->figure->about.place, also[0] != '\0' ? " and " : "",
            also);
    if (divisor > 1)
        say(c, ", times and sizes divided by %u", divisor);
}

/* World, machine and costs of the runs, and the state of the machine. */
static void say_conditions(struct caption *c, const struct overview *all)
{
    say_all(c, "", "world");
    c->text[0] = (char)toupper((unsigned char)c->text[0]);
    say(c, " world");
    say_all(c, ", profile ", "profile");
    if (all->first->profile[0] != '\0')
        say_assumed(c, all->first->profile);
    say_all(c, ", profile changed: ", "profile-set");
    if (c->figure->own)
        say_all(c, ", scale ", "scale");
    else
        say(c, ", scale 1/%u", c->figure->scale_divisor);
    if (!c->figure->own && all->training_divisor != 0)
        say(c, ", real training at scale 1/%u", all->training_divisor);
    say_all(c, ", ", "fio.version");
    say_all(c, ", bytes per read ", "bs");
    say_all(c, ", compute ", "compute");
    say_all(c, ", costs ", "costs");
    const bool has_start = say_all(c, ". Page cache ", "cold_observed");
    say(c, "%s", has_start ? " at start" : "");
    say_all(c, has_start ? ", device readahead " : ". Device readahead ", "device.readahead_bytes");
    say_all(c, ". Memory limit: ", "cap_enforcement");
    say_all(c, ". Memory limit inherited from the container or control group: ", GNN_ENVIRONMENT_INHERITED);
    say_all(c, ". Parts of epochs, in mini-batches: ", "max-batches");
    say_all(c, ". Epochs extrapolated from mini-batches: ", "batches");
}

void gnn_figure_caption(const struct gnn_paper_figure *figure, char *text, size_t text_bytes)
{
    struct caption c = {.figure = figure, .text = text, .bytes = text_bytes};
    struct overview all = {.first = NULL};
    assert(text_bytes > 0);
    text[0] = '\0';
    say(&c, "%s", figure->caption);
    if (figure->caption[0] != '\0')
        return;
    gnn_trust_init(&all.trust);
    for (uint32_t i = 0; i < figure->job->count; i++)
        look_at(figure, i, &all);
    if (all.first == NULL)
        return;
    say_conditions(&c, &all);
    if (figure->put_over[0] != '\0')
        say(&c, ". All runs with %s", figure->put_over);
    const char *const average = strcmp(figure->about.average, "mean") == 0 ? "Mean" : "Median";
    if (gnn_figure_shows_best(&figure->about))
        say(&c, ". The smallest %s over %s", figure->metrics[0], figure->about.over);
    else if (figure->about.over[0] != '\0')
        say(&c, ". %s and range over %s", average, figure->about.over);
    if (figure->has_variants)
        say(&c, ". Variants: %s.ini", figure->file + strlen(figure->id) + 1);
    if (all.most > 1)
        say(&c, ". %s and range of up to %u runs per configuration", average, all.most);
    else
        say(&c, ". One run per configuration");
    say_notes(&c, &all);
    say_published(&c);
    say_all(&c, ". Build ", "build.revision");
    say(&c, ".%s%s", figure->about.note[0] != '\0' ? " " : "", figure->about.note);
}
