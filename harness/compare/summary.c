/* SPDX-License-Identifier: MIT */
/* A comparison in words: for the terminal, or as Markdown for the page of a CI. */
#include "harness/compare/changes.h"

#include <assert.h>
#include <string.h>

static const char *const kind_titles[GNN_CHANGE_KINDS] = {
    [GNN_CHANGE_CONFIG] = "Configuration changed",
    [GNN_CHANGE_EXACT] = "Exact values",
    [GNN_CHANGE_MISSING] = "Runs that are gone",
    [GNN_CHANGE_UNSTEADY] = "Values that do not repeat",
    [GNN_CHANGE_INSTRUCTIONS] = "Instructions of the hot loops",
    [GNN_CHANGE_TIME] = "Measured time",
};
static const char *const judgements[] = {
    [GNN_JUDGED_RED] = "red", [GNN_JUDGED_ACCEPTED] = "accepted", [GNN_JUDGED_NOTE] = "note"};

static const char *or_dash(const char *text)
{
    return text[0] == '\0' ? "-" : text;
}

/* A cell of a Markdown table: what would end it is escaped. */
static void print_cell(const char *text, FILE *out)
{
    (void)fputs(" ", out);
    for (const char *c = or_dash(text); *c != '\0'; c++) {
        if (strchr("|\\`*_<>[]", *c) != NULL)
            (void)fputc('\\', out);
        (void)fputc(*c == '\n' ? ' ' : *c, out);
    }
    (void)fputs(" |", out);
}

static void print_change(const struct gnn_change *c, bool markdown, FILE *out)
{
    if (!markdown) {
        (void)fprintf(out, "  %-8s %s%s%s: %s -> %s%s%s\n", judgements[c->judgement], c->cell,
                      c->name[0] != '\0' ? " " : "", c->name, or_dash(c->base), or_dash(c->head),
                      c->text[0] != '\0' ? "  " : "", c->text);
        return;
    }
    (void)fputs("|", out);
    print_cell(judgements[c->judgement], out);
    print_cell(c->cell, out);
    print_cell(c->name, out);
    print_cell(c->base, out);
    print_cell(c->head, out);
    print_cell(c->text, out);
    (void)fputs("\n", out);
}

static void print_kind(const struct gnn_changes *changes, enum gnn_change_kind kind, bool markdown, uint32_t rows,
                       FILE *out)
{
    uint32_t shown = 0, all = 0;
    for (int judgement = GNN_JUDGED_RED; judgement <= GNN_JUDGED_NOTE; judgement++)
        for (uint32_t i = 0; i < changes->count; i++) {
            const struct gnn_change *const c = &changes->of[i];
            if (c->kind != kind || (int)c->judgement != judgement)
                continue;
            if (all++ == 0)
                (void)fprintf(out,
                              markdown ? "\n### %s\n\n| | run | value | base | head | |\n|---|---|---|--:|--:|---|\n"
                                       : "\n%s\n",
                              kind_titles[kind]);
            if (shown == rows)
                continue;
            print_change(c, markdown, out);
            shown++;
        }
    if (all > shown)
        (void)fprintf(out, "%s%u more\n", markdown ? "\n" : "  and ", all - shown);
}

static const char *revision_of(const struct gnn_facts *facts)
{
    return facts->revision[0] == '\0' ? "revision unknown" : facts->revision;
}

/* What was looked at, and what was not: a green line about nothing would be worth nothing. */
static void print_scope(const struct gnn_changes *c, const struct gnn_facts *base, const struct gnn_facts *head,
                        FILE *out)
{
    (void)fprintf(out, "base: %s (%s); head: %s (%s)\n", base->name, revision_of(base), head->name, revision_of(head));
    if (c->cells > 0)
        (void)fprintf(out, "\n%u exact values of %u runs were compared", c->values, c->cells);
    if (c->cells > 0 && c->new_cells + c->new_values > 0)
        (void)fprintf(out, "; %u runs and %u values are new in head and have nothing to be compared with", c->new_cells,
                      c->new_values);
    (void)fputs(c->cells > 0 ? ".\n" : "", out);
    if (c->functions > 0)
        (void)fprintf(out, "\nInstruction counts of %u functions were compared.\n", c->functions);
    const char *const reasons[] = {base->no_instructions, head->no_instructions};
    for (int i = 0; i < 2 && c->functions == 0; i++)
        if (reasons[i][0] != '\0' && (i == 0 || strcmp(reasons[0], reasons[1]) != 0))
            (void)fprintf(out, "\nLeft out: instruction counts: %s\n", reasons[i]);
    if (c->series > 0)
        (void)fprintf(out, "\n%u times were measured in interleaved pairs; %u without a verdict.\n", c->series,
                      c->unsure);
    if (base->other_builds + head->other_builds > 0)
        (void)fprintf(out, "\n%u runs of other builds in the databases were left out.\n",
                      base->other_builds + head->other_builds);
}

void gnn_changes_print(const struct gnn_changes *changes, const struct gnn_facts *base, const struct gnn_facts *head,
                       bool markdown, uint32_t rows, FILE *out)
{
    uint32_t of[3] = {0};
    for (uint32_t i = 0; i < changes->count; i++) {
        assert((unsigned)changes->of[i].judgement < 3);
        of[changes->of[i].judgement]++;
    }
    const bool red = of[GNN_JUDGED_RED] > 0;
    (void)fprintf(out, "%s%s: %u red, %u accepted, %u noted\n%s", markdown ? "## " : "",
                  red ? "Regression" : "No regression", of[GNN_JUDGED_RED], of[GNN_JUDGED_ACCEPTED],
                  of[GNN_JUDGED_NOTE], markdown ? "\n" : "");
    print_scope(changes, base, head, out);
    for (int kind = 0; kind < GNN_CHANGE_KINDS; kind++)
        print_kind(changes, (enum gnn_change_kind)kind, markdown, rows, out);
}
