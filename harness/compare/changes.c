/* SPDX-License-Identifier: MIT */
#include "harness/compare/changes.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static enum gnn_status add(struct gnn_changes *out, const struct gnn_change *change, struct gnn_err *err)
{
    struct gnn_change *const of = gnn_grow(out->of, out->count, &out->room, sizeof *of);
    if (of == NULL)
        return gnn_fail(err, GNN_ENOMEM, "change %u", out->count + 1);
    out->of = of;
    assert(out->count < out->room);
    out->of[out->count++] = *change;
    return GNN_OK;
}

void gnn_changes_clear(struct gnn_changes *changes)
{
    free(changes->of);
    *changes = (struct gnn_changes){.count = 0};
}

uint32_t gnn_changes_red(const struct gnn_changes *changes)
{
    uint32_t red = 0;
    for (uint32_t i = 0; i < changes->count; i++)
        red += changes->of[i].judgement == GNN_JUDGED_RED ? 1 : 0;
    return red;
}

#define SET_TEXT(field, text) (void)snprintf((field), sizeof(field), "%.*s", (int)sizeof(field) - 1, (text))

/* Whether text is a whole number, and which. */
static bool number_of(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && strspn(text, "-0123456789") == strlen(text);
}

static void tell_ratio(const char *base, const char *head, char *text, size_t text_bytes)
{
    double before, after;
    text[0] = '\0';
    if (strlen(base) == 16 || !number_of(base, &before) || !number_of(head, &after)) /* 16 digits: a digest */
        return;
    if (before != 0)
        (void)snprintf(text, text_bytes, "%+.3g %%", 100 * (after - before) / before);
    else
        (void)snprintf(text, text_bytes, "%+.0f", after);
}

/* ---- exact ---- */

static enum gnn_status add_exact(struct gnn_changes *out, const char *cell, const struct gnn_kv *value,
                                 const char *head, struct gnn_err *err)
{
    struct gnn_change change = {.kind = GNN_CHANGE_EXACT, .judgement = GNN_JUDGED_RED};
    SET_TEXT(change.cell, cell);
    SET_TEXT(change.name, value->key);
    SET_TEXT(change.base, value->value);
    SET_TEXT(change.head, head == NULL ? "gone" : head);
    tell_ratio(change.base, change.head, change.text, sizeof change.text);
    return add(out, &change, err);
}

/* Adds the options that both have with different values. The system's own ones go without its name. */
static enum gnn_status add_config(struct gnn_changes *out, const struct gnn_cell *base, const struct gnn_cell *head,
                                  struct gnn_err *err)
{
    const char *const system = gnn_kv_get(&base->config, "system");
    const size_t own = system == NULL ? 0 : strlen(system);
    for (uint32_t i = 0; i < base->config.count; i++) {
        const struct gnn_kv *const option = &base->config.items[i];
        const char *const now = gnn_kv_get(&head->config, option->key);
        struct gnn_change change = {.kind = GNN_CHANGE_CONFIG, .judgement = GNN_JUDGED_NOTE};
        if (now == NULL || option->value == NULL || strcmp(now, option->value) == 0)
            continue;
        SET_TEXT(change.cell, base->label);
        const bool is_own = own > 0 && strncmp(option->key, system, own) == 0 && option->key[own] == '.';
        SET_TEXT(change.name, option->key + (is_own ? own + 1 : 0));
        SET_TEXT(change.base, option->value);
        SET_TEXT(change.head, now);
        GNN_TRY(add(out, &change, err));
    }
    return GNN_OK;
}

/* Returns whether the value is a digest, or its version. */
static bool is_digest(const char *name)
{
    static const char suffix[] = " batch_digest";
    const size_t length = strlen(name), end = sizeof suffix - 1;
    return strcmp(name, GNN_FACT_DIGEST_VERSION) == 0 || (length >= end && strcmp(name + length - end, suffix) == 0);
}

/* Notes that digests of two versions were not compared. */
static enum gnn_status note_versions(const struct gnn_cell *base, const char *before, const char *now,
                                     struct gnn_changes *out, struct gnn_err *err)
{
    struct gnn_change change = {.kind = GNN_CHANGE_EXACT, .judgement = GNN_JUDGED_NOTE};
    SET_TEXT(change.cell, base->label);
    SET_TEXT(change.name, GNN_FACT_DIGEST_VERSION);
    SET_TEXT(change.base, before);
    SET_TEXT(change.head, now);
    SET_TEXT(change.text, "digests of two versions cannot be compared; nodes and edges of the mini-batches were");
    return add(out, &change, err);
}

static enum gnn_status compare_cells(const struct gnn_cell *base, const struct gnn_cell *head, struct gnn_changes *out,
                                     struct gnn_err *err)
{
    const char *const before = gnn_kv_get(&base->exact, GNN_FACT_DIGEST_VERSION);
    const char *const after = gnn_kv_get(&head->exact, GNN_FACT_DIGEST_VERSION);
    uint32_t common = 0;
    assert(before != NULL);
    assert(after != NULL);
    const bool two_versions = strcmp(before, after) != 0;
    out->cells++;
    GNN_TRY(add_config(out, base, head, err));
    if (two_versions)
        GNN_TRY(note_versions(base, before, after, out, err));
    for (uint32_t i = 0; i < base->exact.count; i++) {
        const struct gnn_kv *const value = &base->exact.items[i];
        const char *const now = gnn_kv_get(&head->exact, value->key);
        common += now != NULL ? 1 : 0;
        if (gnn_kv_get(&base->unsteady, value->key) != NULL || gnn_kv_get(&head->unsteady, value->key) != NULL)
            continue; /* told below, or already red when BASE was HEAD */
        if (two_versions && is_digest(value->key))
            continue;
        out->values++;
        if (now == NULL || strcmp(now, value->value) != 0)
            GNN_TRY(add_exact(out, base->label, value, now, err));
    }
    out->new_values += head->exact.count - common;
    for (uint32_t i = 0; i < head->unsteady.count; i++) {
        struct gnn_change change = {.kind = GNN_CHANGE_UNSTEADY, .judgement = GNN_JUDGED_RED};
        SET_TEXT(change.cell, base->label);
        SET_TEXT(change.name, head->unsteady.items[i].key);
        SET_TEXT(change.head, head->unsteady.items[i].value);
        SET_TEXT(change.text, "two runs of one build and one seed disagree");
        GNN_TRY(add(out, &change, err));
    }
    return GNN_OK;
}

static enum gnn_status add_missing(struct gnn_changes *out, const struct gnn_cell *cell, struct gnn_err *err)
{
    struct gnn_change change = {.kind = GNN_CHANGE_MISSING, .judgement = GNN_JUDGED_RED};
    SET_TEXT(change.cell, cell->label);
    SET_TEXT(change.text, "HEAD has no such run");
    return add(out, &change, err);
}

/* Writes to of[i] HEAD's index of BASE's configuration i, or head->count. The closest matches come first. */
static void match_all(const struct gnn_facts *base, const struct gnn_facts *head, uint32_t *of, bool *taken)
{
    for (uint32_t i = 0; i < base->count; i++)
        of[i] = head->count;
    for (int match = 0; match < GNN_MATCHES; match++)
        for (uint32_t i = 0; i < base->count; i++) {
            if (of[i] < head->count)
                continue;
            of[i] = gnn_facts_find(head, &base->cells[i], (enum gnn_match)match, taken);
            if (of[i] < head->count)
                taken[of[i]] = true;
        }
}

enum gnn_status gnn_compare_exact(const struct gnn_facts *base, const struct gnn_facts *head, struct gnn_changes *out,
                                  struct gnn_err *err)
{
    uint32_t *const of = calloc(base->count + UINT32_C(1), sizeof *of);
    bool *const taken = calloc(head->count + UINT32_C(1), sizeof *taken);
    const uint32_t before = out->cells;
    enum gnn_status status = GNN_OK;
    if (of == NULL || taken == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "marks of %u configurations", base->count + head->count);
    else
        match_all(base, head, of, taken);
    for (uint32_t i = 0; i < base->count && status == GNN_OK; i++)
        status = of[i] == head->count ? add_missing(out, &base->cells[i], err)
                                      : compare_cells(&base->cells[i], &head->cells[of[i]], out, err);
    free(of);
    free(taken);
    const uint32_t both = out->cells - before;
    out->new_cells += head->count - both;
    if (status == GNN_OK && both == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s has %u configurations and %s has %u, and none is the other's: nothing to compare",
                        base->name, base->count, head->name, head->count);
    return status;
}

/* ---- instructions ---- */

static enum gnn_status add_instructions(struct gnn_changes *out, enum gnn_judgement judgement,
                                        const struct gnn_kv *base, const char *head, struct gnn_err *err)
{
    struct gnn_change change = {.kind = GNN_CHANGE_INSTRUCTIONS, .judgement = judgement};
    const char *const function = strstr(base->key, ": ");
    (void)snprintf(change.cell, sizeof change.cell, "%.*s", (int)strcspn(base->key, ":"), base->key);
    SET_TEXT(change.name, function == NULL ? base->key : function + 2);
    SET_TEXT(change.base, base->value);
    SET_TEXT(change.head, head == NULL ? "gone" : head);
    tell_ratio(change.base, change.head, change.text, sizeof change.text);
    return add(out, &change, err);
}

static bool is_total_of_a_part(const char *key)
{
    const char *const name = strstr(key, ": ");
    return name != NULL && strcmp(name + 2, "total") == 0;
}

enum gnn_status gnn_compare_instructions(const struct gnn_facts *base, const struct gnn_facts *head, double tolerance,
                                         struct gnn_changes *out, struct gnn_err *err)
{
    assert(tolerance >= 0);
    for (uint32_t i = 0; i < base->instructions.count; i++) {
        const struct gnn_kv *const value = &base->instructions.items[i];
        const char *const now = gnn_kv_get(&head->instructions, value->key);
        double before, after;
        if (now == NULL && head->instructions.count > 0 && is_total_of_a_part(value->key))
            GNN_TRY(add_instructions(out, GNN_JUDGED_RED, value, NULL, err));
        if (now == NULL || !gnn_facts_is_hot(base, value) || !number_of(value->value, &before) ||
            !number_of(now, &after))
            continue;
        out->functions++;
        const double allowed = tolerance * before + 0.5; /* counts are whole */
        const bool more = after - before > allowed;
        if (more || before - after > allowed)
            GNN_TRY(add_instructions(out, more ? GNN_JUDGED_RED : GNN_JUDGED_NOTE, value, now, err));
    }
    return GNN_OK;
}

/* ---- times ---- */

/* Writes in how many pairs the metric is missing, "" if it is in all. */
static void tell_missing(const struct gnn_ab_series *s, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (s->missing[0] + s->missing[1] > 0)
        (void)snprintf(text, text_bytes, "no value in %u (base) and %u (head) of %u pairs", s->missing[0],
                       s->missing[1], s->tried);
}

/* The verdict, the estimates with their intervals, and what another measurement would take. */
static void tell_time(const struct gnn_ab_plan *plan, const struct gnn_ab_series *s, char *text, size_t text_bytes)
{
    static const char *const words[] = {
        [GNN_AB_OPEN] = "not judged", [GNN_AB_FINE] = "fine",     [GNN_AB_FASTER] = "faster",
        [GNN_AB_SLOWER] = "slower",   [GNN_AB_UNSURE] = "unsure", [GNN_AB_ABSENT] = "new in head",
        [GNN_AB_GONE] = "gone"};
    char more[128] = "", missing[96];
    tell_missing(s, missing, sizeof missing);
    if (s->count < GNN_AB_PAIRS_LEAST) {
        (void)snprintf(text, text_bytes, "%s: %s", words[s->verdict], missing);
        return;
    }
    if (s->confirmed)
        (void)snprintf(more, sizeof more, ", p %.2g", s->p);
    else if (s->verdict == GNN_AB_UNSURE)
        (void)snprintf(more, sizeof more, "; pairs spread by %.1f %%: a change of %.1f %% needs about %u pairs",
                       100 * s->spread, 100 * plan->limit, gnn_pairs_needed(s->spread, plan->limit));
    (void)snprintf(
        text, text_bytes,
        "%s%s%s: %+.2f %%, 95 %% interval %+.2f to %+.2f %%, mean %+.2f %% (%+.2f to %+.2f %%), %u pairs%s%s%s",
        words[s->verdict], s->mean_alone ? " on average" : "",
        s->confirmed ? ", and again in a second set of pairs" : "", 100 * (s->median.ratio - 1),
        100 * (s->median.low - 1), 100 * (s->median.high - 1), 100 * (s->mean.ratio - 1), 100 * (s->mean.low - 1),
        100 * (s->mean.high - 1), s->count, more, missing[0] != '\0' ? "; " : "", missing);
}

/* Writes the median of times (count) in seconds, or "" if there are none. */
static void tell_median(const double *times, uint32_t count, char *text, size_t text_bytes)
{
    double sorted[GNN_PAIRS_MAX];
    text[0] = '\0';
    if (count == 0)
        return;
    memcpy(sorted, times, count * sizeof *sorted);
    gnn_sort_doubles(sorted, count);
    (void)snprintf(text, text_bytes, "%.5g s", 1e-9 * gnn_quantile(sorted, count, 0.5));
}

enum gnn_status gnn_compare_time(const char *cell, const char *metric, const struct gnn_ab_plan *plan,
                                 const struct gnn_ab_series *s, struct gnn_changes *out, struct gnn_err *err)
{
    if (s->verdict == GNN_AB_ABSENT && s->missing[1] == s->tried)
        return GNN_OK;
    struct gnn_change change = {.kind = GNN_CHANGE_TIME, .judgement = GNN_JUDGED_NOTE};
    if (s->verdict == GNN_AB_SLOWER || s->verdict == GNN_AB_GONE)
        change.judgement = GNN_JUDGED_RED;
    SET_TEXT(change.cell, cell);
    SET_TEXT(change.name, metric);
    tell_median(s->base, s->count, change.base, sizeof change.base);
    tell_median(s->head, s->count, change.head, sizeof change.head);
    if (s->verdict == GNN_AB_GONE)
        SET_TEXT(change.head, "gone");
    tell_time(plan, s, change.text, sizeof change.text);
    out->series += s->verdict != GNN_AB_ABSENT ? 1 : 0;
    out->unsure += s->verdict == GNN_AB_UNSURE ? 1 : 0;
    return add(out, &change, err);
}

/* ---- accepting ---- */

static const char *word(const json_t *array, size_t at)
{
    const char *const text = json_string_value(json_array_get(array, at));
    return text == NULL ? "" : text;
}

static bool is_near(const char *a, const char *b, double tolerance)
{
    double x, y;
    return number_of(a, &x) && number_of(b, &y) && fabs(x - y) <= tolerance * fabs(y);
}

static bool covers(const json_t *entry, const struct gnn_change *change, double tolerance)
{
    if (strcmp(word(entry, 0), change->cell) != 0 || strcmp(word(entry, 1), change->name) != 0)
        return false;
    if (change->kind == GNN_CHANGE_INSTRUCTIONS && is_near(change->base, word(entry, 2), tolerance) &&
        is_near(change->head, word(entry, 3), tolerance))
        return true;
    return strcmp(word(entry, 2), change->base) == 0 && strcmp(word(entry, 3), change->head) == 0;
}

/* The reason under which the change was accepted; NULL: it was not. */
static const char *reason_of(const json_t *accepted, const struct gnn_change *change, double tolerance)
{
    for (size_t i = json_array_size(accepted); i-- > 0;) {
        const json_t *const acceptance = json_array_get(accepted, i);
        const json_t *const entries = json_object_get(acceptance, "changes");
        for (size_t k = 0; k < json_array_size(entries); k++)
            if (covers(json_array_get(entries, k), change, tolerance))
                return json_string_value(json_object_get(acceptance, "reason"));
    }
    return NULL;
}

static void accept_one(struct gnn_change *change, const char *reason)
{
    const size_t used = strlen(change->text);
    change->judgement = GNN_JUDGED_ACCEPTED;
    (void)snprintf(change->text + used, sizeof change->text - used, "%saccepted: %s", used > 0 ? ", " : "", reason);
}

void gnn_changes_accept_known(struct gnn_changes *changes, const json_t *accepted, double tolerance)
{
    for (uint32_t i = 0; i < changes->count; i++) {
        struct gnn_change *const change = &changes->of[i];
        if (change->judgement != GNN_JUDGED_RED || change->kind == GNN_CHANGE_TIME)
            continue;
        const char *const reason = reason_of(accepted, change, tolerance);
        if (reason != NULL)
            accept_one(change, reason);
    }
}

enum gnn_status gnn_changes_accept(struct gnn_changes *changes, json_t *accepted, const char *reason,
                                   const char *base_revision, const char *head_revision, struct gnn_err *err)
{
    json_t *const entries = json_array();
    bool whole = true;
    assert(reason[0] != '\0');
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct gnn_change *const c = &changes->of[i];
        if (c->judgement != GNN_JUDGED_RED)
            continue;
        if (c->kind == GNN_CHANGE_TIME || c->kind == GNN_CHANGE_UNSTEADY) {
            json_decref(entries);
            return gnn_fail(err, GNN_EUSAGE,
                            "--accept: %s %s: %s; a reason can be kept for values and instruction counts alone",
                            c->cell, c->name, c->text);
        }
        whole =
            whole && json_array_append_new(entries, json_pack("[s, s, s, s]", c->cell, c->name, c->base, c->head)) == 0;
    }
    if (json_array_size(entries) == 0) {
        json_decref(entries);
        return GNN_OK;
    }
    whole = whole &&
            json_array_append_new(accepted, json_pack("{s:s, s:s, s:s, s:O}", "reason", reason, "base", base_revision,
                                                      "head", head_revision, "changes", entries)) == 0;
    json_decref(entries);
    if (!whole)
        return gnn_fail(err, GNN_ENOMEM, "the accepted changes");
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->of[i].judgement == GNN_JUDGED_RED)
            accept_one(&changes->of[i], reason);
    return GNN_OK;
}
