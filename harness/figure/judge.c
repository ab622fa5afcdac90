/* SPDX-License-Identifier: MIT */
/* Predicates of a figure, one after another, and their tolerances. */
#include "harness/base/ini.h"
#include "harness/base/text_file.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 8, PATH_BYTES = 1024 };

enum gnn_status gnn_tolerances_open(const char *path, struct gnn_tolerances *out, struct gnn_err *err)
{
    struct gnn_ini *ini;
    const struct {
        const char *key;
        double *value;
    } wanted[] = {{"about", &out->about}, {"flat", &out->flat}, {"noise", &out->noise}};
    GNN_TRY(gnn_ini_open(path, &ini, err));
    enum gnn_status status = GNN_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == GNN_OK; i++) {
        const struct gnn_ini_entry *const entry = gnn_ini_find(gnn_ini_find_section(ini, "tolerances"), wanted[i].key);
        *wanted[i].value = entry != NULL ? strtod(entry->value, NULL) : 0;
        if (!(*wanted[i].value >= 1))
            status =
                gnn_fail(err, GNN_EUSAGE, "%s: [tolerances] needs %s, a factor of at least 1", path, wanted[i].key);
    }
    gnn_ini_close(ini);
    return status;
}

struct telling {
    const struct gnn_paper_figure *figure;
    struct gnn_figure_predicate *predicate;
    FILE *out;
    struct gnn_figure_verdicts *sum;
    bool is_ratio;
    struct gnn_ratio_kind kind;
    uint32_t told, left_out;
    bool has_decided; /* predicate->found.ours has the values of a combination that decides the verdict */
    bool out_of_memory;
};

static void add_ratio(struct telling *t, const struct gnn_judged *judged)
{
    struct gnn_figure_ratio *const ratio = gnn_figure_ratios_add(&t->sum->ratios);
    if (ratio == NULL) {
        t->out_of_memory = true;
        return;
    }
    *ratio = (struct gnn_figure_ratio){.ours = judged->values[0],
                                       .published = judged->values[1],
                                       .holds = judged->holds,
                                       .is_quotient = t->kind.is_quotient,
                                       .is_each = t->kind.is_each};
    (void)snprintf(ratio->figure, sizeof ratio->figure, "%s", t->figure->id);
    (void)snprintf(ratio->predicate, sizeof ratio->predicate, "%s", t->predicate->name);
    (void)snprintf(ratio->where, sizeof ratio->where, "%s", judged->where);
    (void)snprintf(ratio->reason, sizeof ratio->reason, "%s", t->predicate->reason);
}

/* Writes the values of a combination: the operands with the signs between them. */
static void put_values(const struct gnn_predicate *predicate, const struct gnn_judged *judged, FILE *out)
{
    (void)fprintf(out, "%s%s", judged->where, judged->where[0] != '\0' ? ": " : "");
    if (predicate->operand_count == 1 && judged->count == 2)
        (void)fprintf(out, "worst step %.4g, last over first %.4g", judged->values[0], judged->values[1]);
    else
        (void)fprintf(out, "%.4g", judged->values[0]);
    for (uint32_t i = 1; i < predicate->operand_count; i++)
        (void)fprintf(out, " %s %.4g", predicate->between[i - 1], judged->values[i]);
}

/* Keeps the values of the first combination that decides the verdict: one that does not hold, or any if all hold. */
static void keep_values(struct telling *t, const struct gnn_judged *judged)
{
    struct gnn_finding *const found = &t->predicate->found;
    if (t->has_decided || judged->holds != (found->verdict != GNN_HOLDS_NOT))
        return;
    FILE *const out = fmemopen(found->ours, sizeof found->ours, "w");
    t->has_decided = true;
    t->out_of_memory = t->out_of_memory || out == NULL;
    if (out == NULL)
        return;
    put_values(&t->predicate->parsed, judged, out);
    (void)fclose(out);
    found->ours[sizeof found->ours - 1] = '\0';
}

/* One combination. The first few are told, and all that do not hold. */
static void tell(void *ctx, const struct gnn_judged *judged)
{
    struct telling *const t = ctx;
    const bool ratio = t->is_ratio && judged->values[1] > 0;
    if (ratio)
        add_ratio(t, judged);
    keep_values(t, judged);
    if (judged->holds && t->told >= LINES_MAX) {
        t->left_out++;
        return;
    }
    t->told++;
    (void)fputs("      ", t->out);
    put_values(&t->predicate->parsed, judged, t->out);
    if (ratio)
        (void)fprintf(t->out, " (log2 %+.2f)", gnn_figure_ratio_error(judged->values[0], judged->values[1]));
    (void)fputs(judged->holds ? "\n" : ", does not hold\n", t->out);
}

/* Over how many combinations the verdict was reached. */
static void tell_extent(const struct gnn_outcome *outcome, FILE *out)
{
    (void)fprintf(out, "      judged: %u", outcome->with_number);
    if (outcome->words > 0)
        (void)fprintf(out, "; without a number: %u (out of memory, timeout, not possible)", outcome->words);
    if (outcome->missing > 0)
        (void)fprintf(out, "; not run: %u", outcome->missing);
    (void)fputc('\n', out);
}

static const char *const words[] = {
    [GNN_HOLDS] = "holds", [GNN_HOLDS_NOT] = "DOES NOT HOLD", [GNN_NOT_MEASURABLE] = "not measurable"};

const char *gnn_verdict_name(enum gnn_verdict_of_predicate verdict)
{
    static const char *const names[] = {
        [GNN_HOLDS] = "holds", [GNN_HOLDS_NOT] = "does not hold", [GNN_NOT_MEASURABLE] = "not measurable"};
    return names[verdict];
}

/* Keeps our value of the only ratio, and the number that it is compared with, or how many numbers there are. */
static void keep_ratio(const struct gnn_figure_ratios *ratios, uint32_t first, struct gnn_finding *found)
{
    assert(first <= ratios->count);
    if (ratios->count > first + 1)
        (void)snprintf(found->published, sizeof found->published, "%u numbers", ratios->count - first);
    if (ratios->count != first + 1)
        return;
    (void)snprintf(found->published, sizeof found->published, "%.6g", ratios->rows[first].published);
    (void)snprintf(found->ours, sizeof found->ours, "%.6g", ratios->rows[first].ours);
}

static void judge_one(const struct gnn_value_source *source, const struct gnn_tolerances *tolerances, struct telling *t)
{
    struct gnn_figure_predicate *const predicate = t->predicate;
    struct gnn_outcome outcome;
    /* Once without a word, since the verdict stands before the values. */
    gnn_predicate_judge(&predicate->parsed, source, tolerances, NULL, NULL, &outcome);
    predicate->found = (struct gnn_finding){.verdict = outcome.verdict};
    (void)fprintf(t->out, "  %-15s %s: %s\n", words[outcome.verdict], predicate->name, predicate->text);
    if (predicate->says[0] != '\0')
        (void)fprintf(t->out, "      %s\n", predicate->says);
    tell_extent(&outcome, t->out);
    const uint32_t first = t->sum->ratios.count;
    gnn_predicate_judge(&predicate->parsed, source, tolerances, tell, t, &outcome);
    if (!t->kind.is_each)
        gnn_figure_ratios_merge(&t->sum->ratios, first);
    keep_ratio(&t->sum->ratios, first, &predicate->found);
    if (t->left_out > 0)
        (void)fprintf(t->out, "      and %u more that hold\n", t->left_out);
    if (outcome.verdict == GNN_HOLDS_NOT && predicate->reason[0] != '\0')
        (void)fprintf(t->out, "      likely cause: %s\n", predicate->reason);
    t->sum->held += outcome.verdict == GNN_HOLDS ? 1 : 0;
    t->sum->failed += outcome.verdict == GNN_HOLDS_NOT ? 1 : 0;
    t->sum->unmeasured += outcome.verdict == GNN_NOT_MEASURABLE ? 1 : 0;
}

enum gnn_status gnn_figure_judge(struct gnn_paper_figure *figure, const struct gnn_tolerances *tolerances, FILE *out,
                                 struct gnn_figure_verdicts *sum, struct gnn_err *err)
{
    struct gnn_value_source source;
    gnn_figure_values(figure, &source);
    for (uint32_t i = 0; i < figure->predicate_count; i++) {
        struct telling t = {.figure = figure, .predicate = &figure->predicates[i], .out = out, .sum = sum};
        t.is_ratio = gnn_figure_ratio_kind(figure, &figure->predicates[i].parsed, &t.kind);
        judge_one(&source, tolerances, &t);
        if (t.out_of_memory)
            return gnn_fail(err, GNN_ENOMEM, "the findings of figure %s", figure->id);
    }
    return GNN_OK;
}

enum gnn_status gnn_figure_verdicts(const struct gnn_paper_figure *figure, const char *dir, struct gnn_err *err)
{
    char path[PATH_BYTES], *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the verdicts of %s", figure->id);
    for (uint32_t i = 0; i < figure->predicate_count; i++) {
        const struct gnn_figure_predicate *const p = &figure->predicates[i];
        (void)fprintf(out, p->says[0] != '\0' ? "* **%s**: %s." : "* **%s**: `%s`.", words[p->found.verdict],
                      p->says[0] != '\0' ? p->says : p->text);
        if (p->found.verdict == GNN_HOLDS_NOT && p->reason[0] != '\0')
            (void)fprintf(out, " Likely cause: %s.", p->reason);
        (void)fputc('\n', out);
    }
    enum gnn_status status = GNN_OK;
    if (fclose(out) != 0)
        status = gnn_fail(err, GNN_ENOMEM, "the verdicts of %s", figure->id);
    (void)snprintf(path, sizeof path, "%s/%s.verdicts.md", dir, figure->file);
    GNN_NEXT(status, gnn_text_file_replace(path, text, "name another folder with --out", err));
    free(text);
    return status;
}

void gnn_figure_verdicts_close(struct gnn_figure_verdicts *verdicts)
{
    gnn_figure_ratios_close(&verdicts->ratios);
    *verdicts = (struct gnn_figure_verdicts){.held = 0};
}
