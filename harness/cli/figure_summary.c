/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_summary.h"
#include "harness/cli/merit.h"

#include <string.h>

struct gnn_paper *gnn_papers_find(struct gnn_papers *papers, const char *name)
{
    name = name[0] != '\0' ? name : "own";
    for (uint32_t i = 0; i < papers->count; i++)
        if (strcmp(papers->of[i].name, name) == 0)
            return &papers->of[i];
    struct gnn_paper *const paper = &papers->of[papers->count < GNN_PAPERS_MAX ? papers->count++ : GNN_PAPERS_MAX - 1];
    (void)snprintf(paper->name, sizeof paper->name, "%s", name);
    return paper;
}

static uint32_t variant_count(const struct gnn_papers *papers)
{
    return papers->variants != NULL ? gnn_ini_section_count(papers->variants) : 1;
}

/* ", 128K released"; "" without variants. */
static void print_variant(const struct gnn_papers *papers, const char *before, uint32_t variant)
{
    if (papers->variants != NULL)
        (void)printf("%s%s", before, gnn_ini_section(papers->variants, variant)->name);
}

/* Numbers of ratios, and how far they are off. */
static enum gnn_status print_merit(const struct gnn_figure_ratios *ratios, double about, struct gnn_err *err)
{
    struct gnn_ratio_merit merit;
    GNN_TRY(gnn_figure_ratios_merit(ratios, about, &merit, err));
    if (merit.worst == NULL) {
        (void)printf(" | 0 | | | | | | | | |\n");
        return GNN_OK;
    }
    const struct gnn_figure_ratio *const worst = merit.worst;
    (void)printf(" | %u | %.2f | %u | %u | %s %s: %.3g for %.4g (%+.2f) | %u", ratios->count, merit.median, merit.near,
                 merit.within_2, worst->figure, worst->predicate, worst->ours, worst->published,
                 gnn_figure_ratio_error(worst->ours, worst->published), merit.quotients);
    if (merit.quotients > 0)
        (void)printf(" | %u | %.2f | %.2f |\n", merit.beyond_1, merit.quotient_median, merit.null_median);
    else
        (void)printf(" | | | |\n");
    return GNN_OK;
}

/* Every ratio of a paper under a variant. */
static void print_ratios(const struct gnn_papers *papers, const struct gnn_paper *paper, uint32_t variant)
{
    const struct gnn_figure_ratios *const ratios = &paper->verdicts[variant].ratios;
    for (uint32_t r = 0; r < ratios->count; r++) {
        const struct gnn_figure_ratio *const ratio = &ratios->rows[r];
        (void)printf("| %s | %s | %s", ratio->figure, ratio->predicate, ratio->where);
        print_variant(papers, " | ", variant);
        (void)printf(" | %.3g | %.4g | %+.2f | %s | %s |\n", ratio->ours, ratio->published,
                     gnn_figure_ratio_error(ratio->ours, ratio->published), ratio->holds ? "yes" : "no",
                     ratio->holds ? "" : ratio->reason);
    }
}

static enum gnn_status print_paper(const struct gnn_papers *papers, const struct gnn_paper *paper, uint32_t variant,
                                   double about, struct gnn_err *err)
{
    const struct gnn_figure_verdicts *const verdicts = &paper->verdicts[variant];
    (void)printf("| %s", paper->name);
    print_variant(papers, ", ", variant);
    (void)printf(" | %u | %u | %u | %u | %u", paper->figures, paper->missing, verdicts->held, verdicts->failed,
                 verdicts->unmeasured);
    return print_merit(&verdicts->ratios, about, err);
}

/* All papers together, as one with the name "all". */
static enum gnn_status print_all(const struct gnn_papers *papers, uint32_t variant, double about, struct gnn_err *err)
{
    struct gnn_paper all = {.name = "all"};
    struct gnn_figure_verdicts *const sum = &all.verdicts[variant];
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < papers->count; i++) {
        const struct gnn_figure_verdicts *const verdicts = &papers->of[i].verdicts[variant];
        all.figures += papers->of[i].figures;
        all.missing += papers->of[i].missing;
        sum->held += verdicts->held;
        sum->failed += verdicts->failed;
        sum->unmeasured += verdicts->unmeasured;
        for (uint32_t r = 0; r < verdicts->ratios.count && status == GNN_OK; r++) {
            struct gnn_figure_ratio *const ratio = gnn_figure_ratios_add(&sum->ratios);
            if (ratio != NULL)
                *ratio = verdicts->ratios.rows[r];
            else
                status = gnn_fail(err, GNN_ENOMEM, "the ratios of all papers");
        }
    }
    GNN_NEXT(status, print_paper(papers, &all, variant, about, err));
    gnn_figure_verdicts_close(sum);
    return status;
}

enum gnn_status gnn_papers_print(const struct gnn_papers *papers, const struct gnn_tolerances *tolerances,
                                 struct gnn_err *err)
{
    const bool varied = papers->variants != NULL;
    (void)printf("\n| figure | ratio | where%s | ours | published | log2 | holds | likely cause where not |\n"
                 "|---|---|---%s|---|---|---|---|---|\n",
                 varied ? " | variant" : "", varied ? "|---" : "");
    for (uint32_t i = 0; i < papers->count; i++)
        for (uint32_t v = 0; v < variant_count(papers); v++)
            print_ratios(papers, &papers->of[i], v);
    (void)printf("\n| paper | figures | not available | hold | do not hold | not measurable | ratios | median of abs "
                 "log2(ours / published) | within %.4g | within 2 | worst | quotients | at or beyond 1 | their median "
                 "| the same if all were 1 |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                 tolerances->about);
    for (uint32_t i = 0; i < papers->count; i++)
        for (uint32_t v = 0; v < variant_count(papers); v++)
            GNN_TRY(print_paper(papers, &papers->of[i], v, tolerances->about, err));
    for (uint32_t v = 0; varied && v < variant_count(papers); v++)
        GNN_TRY(print_all(papers, v, tolerances->about, err));
    (void)printf("\nRatios: ours over the printed number, one row for each printed number. Quotients: ratios of two "
                 "values, where 1 means no difference. At or beyond 1: quotients that lost the paper's direction.\n");
    return GNN_OK;
}

void gnn_papers_close(struct gnn_papers *papers)
{
    for (uint32_t i = 0; i < papers->count; i++)
        for (uint32_t v = 0; v < GNN_VARIANTS_MAX; v++)
            gnn_figure_verdicts_close(&papers->of[i].verdicts[v]);
    papers->count = 0;
}
