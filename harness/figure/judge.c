/* SPDX-License-Identifier: MIT */
/* Predicates of a figure, one after another. */
#include "harness/base/grow.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"

#include <assert.h>
#include <math.h>

enum { LINES_MAX = 8 };

struct telling {
    const struct gnn_paper_figure *figure;
    const struct gnn_figure_predicate *predicate;
    FILE *out;
    struct gnn_figure_verdicts *sum;
    uint32_t told, left_out;
    bool out_of_memory;
};

static void add_ratio(struct telling *t, const struct gnn_judged *judged, double published)
{
    struct gnn_figure_ratio *const ratios =
        gnn_grow(t->sum->ratios, t->sum->ratio_count, &t->sum->room, sizeof *ratios);
    if (ratios == NULL) {
        t->out_of_memory = true;
        return;
    }
    t->sum->ratios = ratios;
    assert(t->sum->ratio_count < t->sum->room);
    struct gnn_figure_ratio *const ratio = &ratios[t->sum->ratio_count++];
    *ratio = (struct gnn_figure_ratio){.ours = judged->values[0], .published = published, .holds = judged->holds};
    (void)snprintf(ratio->figure, sizeof ratio->figure, "%s", t->figure->id);
    (void)snprintf(ratio->predicate, sizeof ratio->predicate, "%s", t->predicate->name);
    (void)snprintf(ratio->where, sizeof ratio->where, "%s", judged->where);
    (void)snprintf(ratio->reason, sizeof ratio->reason, "%s", t->predicate->reason);
}

/* One combination: its operands with the signs between them. The first few are told, and all that do not hold. */
static void tell(void *ctx, const struct gnn_judged *judged)
{
    struct telling *const t = ctx;
    double published;
    const bool ratio = gnn_predicate_is_ratio(&t->predicate->parsed, &published) && judged->values[0] > 0;
    if (ratio)
        add_ratio(t, judged, published);
    if (judged->holds && t->told >= LINES_MAX) {
        t->left_out++;
        return;
    }
    t->told++;
    (void)fprintf(t->out, "      %s%s", judged->where, judged->where[0] != '\0' ? ": " : "");
    if (t->predicate->parsed.operand_count == 1 && judged->count == 2)
        (void)fprintf(t->out, "worst step %.4g, last over first %.4g", judged->values[0], judged->values[1]);
    else
        (void)fprintf(t->out, "%.4g", judged->values[0]);
    for (uint32_t i = 1; i < t->predicate->parsed.operand_count; i++)
        (void)fprintf(t->out, " %s %.4g", t->predicate->parsed.between[i - 1], judged->values[i]);
    if (ratio)
        (void)fprintf(t->out, " (log2 %+.2f)", log2(judged->values[0] / published));
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

static void judge_one(const struct gnn_figure_predicate *predicate, const struct gnn_value_source *source,
                      const struct gnn_tolerances *tolerances, struct telling *t)
{
    static const char *const words[] = {
        [GNN_HOLDS] = "holds", [GNN_HOLDS_NOT] = "DOES NOT HOLD", [GNN_NOT_MEASURABLE] = "not measurable"};
    struct gnn_outcome outcome;
    /* Once without a word, since the verdict stands before the values. */
    gnn_predicate_judge(&predicate->parsed, source, tolerances, NULL, NULL, &outcome);
    (void)fprintf(t->out, "  %-15s %s: %s\n", words[outcome.verdict], predicate->name, predicate->text);
    tell_extent(&outcome, t->out);
    gnn_predicate_judge(&predicate->parsed, source, tolerances, tell, t, &outcome);
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
        judge_one(&figure->predicates[i], &source, tolerances, &t);
        if (t.out_of_memory)
            return gnn_fail(err, GNN_ENOMEM, "the ratios of figure %s", figure->id);
    }
    return GNN_OK;
}

void gnn_figure_verdicts_close(struct gnn_figure_verdicts *verdicts)
{
    free(verdicts->ratios);
    *verdicts = (struct gnn_figure_verdicts){.held = 0};
}
