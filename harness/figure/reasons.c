/* SPDX-License-Identifier: MIT */
/* Why configurations of a figure ran out of memory. */
#include "harness/base/plain_text.h"
#include "harness/figure/order.h"
#include "harness/figure/show.h"

#include <assert.h>
#include <string.h>

/* Returns the reasons of the newest run of a configuration if it ran out of memory, of the host or of the GPU; "" if it
 * has none. NULL: it did not run out of memory. */
static const char *reasons_of(const struct gnn_paper_figure *figure, uint32_t number)
{
    const struct gnn_figure_cell *const cell = &figure->cells[number];
    const struct gnn_run_record *const run = cell->run_count > 0 ? &cell->runs[cell->run_count - 1] : NULL;
    return run != NULL && (run->status == GNN_RUN_OOM || run->status == GNN_RUN_GPU_OOM) ? run->reasons : NULL;
}

/* Whether two texts differ at most in their numbers. */
static bool same_words(const char *a, const char *b)
{
    static const char digits[] = "0123456789.";
    a += strspn(a, digits);
    b += strspn(b, digits);
    while (*a != '\0' && *a == *b) {
        a += 1 + strspn(a + 1, digits);
        b += 1 + strspn(b + 1, digits);
    }
    return *a == *b;
}

/* Whether a configuration ran out of memory for the same reason as another one that did. */
static bool same_reason(const struct gnn_paper_figure *figure, uint32_t number, uint32_t other)
{
    const char *const reasons = reasons_of(figure, other);
    return reasons != NULL && same_words(reasons_of(figure, number), reasons);
}

/* Prints the values of the axes of one configuration: "memory=8.00 MiB, dataset=twitter". */
static void put_place(const struct gnn_paper_figure *figure, uint32_t number, FILE *out)
{
    char text[GNN_AXIS_LABEL];
    for (uint32_t a = 0; a < figure->axis_count; a++)
        if (figure->axes[a].key[0] != '\0')
            (void)fprintf(out, ", %s=%s", figure->axes[a].key,
                          gnn_axis_label(figure, a, figure->cells[number].at[a], text));
}

/* Prints the series that have this reason, and where: one configuration by its place, several by their number. */
static void put_who(const struct gnn_paper_figure *figure, uint32_t number, FILE *out)
{
    bool named[GNN_FIGURE_SERIES_MAX] = {false};
    uint32_t count = 0, names = 0;
    bool equal = true;
    for (uint32_t i = number; i < figure->job->count; i++) {
        const uint32_t series = figure->cells[i].series;
        if (!same_reason(figure, number, i))
            continue;
        assert(series < GNN_FIGURE_SERIES_MAX);
        count++;
        equal = equal && strcmp(reasons_of(figure, number), reasons_of(figure, i)) == 0;
        if (!named[series])
            (void)fprintf(out, "%s%s", names++ > 0 ? ", " : "", figure->series[series].name);
        named[series] = true;
    }
    if (count == 1)
        put_place(figure, number, out);
    else
        (void)fprintf(out, " (%u configurations%s)", count, equal ? "" : "; numbers of the first");
}

void gnn_figure_reasons(const struct gnn_paper_figure *figure, FILE *out)
{
    bool any = false;
    for (uint32_t i = 0; figure->job != NULL && i < figure->job->count; i++) {
        char reasons[GNN_RECORD_REASONS_MAX];
        uint32_t first = 0;
        if (reasons_of(figure, i) == NULL)
            continue;
        while (!same_reason(figure, i, first))
            first++;
        if (first < i)
            continue;
        (void)fputs(any ? "* " : "\nOut of memory:\n\n* ", out);
        any = true;
        put_who(figure, i, out);
        (void)snprintf(reasons, sizeof reasons, "%s", reasons_of(figure, i));
        for (char *line = reasons; (line = strchr(line, '\n')) != NULL;)
            *line = ';';
        gnn_text_make_plain(reasons);
        (void)fprintf(out, ": %s\n", reasons[0] != '\0' ? reasons : "no reason is recorded");
    }
}
