/* SPDX-License-Identifier: MIT */
#include "harness/cli/plot_runs.h"
#include "harness/record/series.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = GNN_FIGURE_LINE - 1 /* characters of two lines of one panel, wherever the first one breaks */ };

static const char differing[] = ". Places also differ in ";

/* Appends a part if all of it fits. */
static bool add(char *text, size_t room, const char *before, const char *part, const char *behind)
{
    const size_t used = strlen(text);
    if (used + strlen(before) + strlen(part) + strlen(behind) > room)
        return false;
    (void)snprintf(text + used, room + 1 - used, "%s%s%s", before, part, behind);
    return true;
}

/* Returns where the picture shows an option, or NULL. */
static const char *place_of(const struct gnn_paper_figure *figure, const struct gnn_runs_request *request,
                            const char *key)
{
    for (uint32_t a = 0; a < figure->axis_count; a++)
        if (strcmp(figure->axes[a].key, key) == 0)
            return a == 0 ? "x axis" : "panels";
    return strstr(request->series, key) != NULL ? "legend" : NULL;
}

/* Adds repetitions and the meaning of words. The newest run of a place decides whether it has a time or a word. */
static void add_runs(const struct gnn_paper_figure *figure, char *text)
{
    static const char *const words[GNN_RUN_STATUS_COUNT] = {[GNN_RUN_OOM] = "OOM: out of memory",
                                                            [GNN_RUN_GPU_OOM] = "GPU OOM: out of GPU memory",
                                                            [GNN_RUN_OOT] = "OOT: timeout"};
    char counts[128], meanings[GNN_FIGURE_LINE] = "";
    uint32_t least = UINT32_MAX, most = 0, mixed = 0;
    for (uint32_t c = 0; c < figure->job->count; c++) {
        const struct gnn_figure_cell *const cell = &figure->cells[c];
        const char *const word = words[cell->runs[cell->run_count - 1].status];
        uint32_t same = 0;
        while (same < cell->run_count && cell->runs[same].status == cell->runs[0].status)
            same++;
        mixed += same < cell->run_count ? 1 : 0;
        most = gnn_max_u32(most, cell->run_count);
        least = gnn_min_u32(least, cell->run_count);
        if (word != NULL && strstr(meanings, word) == NULL)
            (void)add(meanings, ROOM, ". ", word, "");
    }
    (void)snprintf(counts, sizeof counts, most == 1 ? ". One run each" : ". Median and range of %s%u runs",
                   least < most ? "up to " : "", most);
    (void)add(text, ROOM, counts, "", "");
    (void)snprintf(counts, sizeof counts, ", which ended differently at %u place%s", mixed, mixed == 1 ? "" : "s");
    (void)add(text, ROOM, mixed > 0 ? counts : "", meanings, "");
}

/* Takes one more run: notes the first value of each condition, and names those that differ between places and that the
 * picture does not show. Digests follow from options. */
static enum gnn_status add_run(const struct gnn_paper_figure *figure, const struct gnn_runs_request *request,
                               const struct gnn_run_record *run, struct gnn_kv_list *shared, char *text,
                               struct gnn_err *err)
{
    struct gnn_kv_list own = {0};
    enum gnn_status status = gnn_run_conditions(run, &own, err);
    GNN_NEXT(status, gnn_kv_set(&own, "system", run->system, err));
    for (uint32_t i = 0; i < own.count && status == GNN_OK; i++) {
        const char *const key = own.items[i].key, *const value = own.items[i].value;
        const char *const before = gnn_kv_get(shared, key);
        if (value == NULL || strstr(key, ".digest") != NULL || place_of(figure, request, key) != NULL ||
            (before != NULL && (before[0] == '\0' || strcmp(before, value) == 0)))
            continue;
        if (before != NULL)
            (void)add(text, ROOM, strstr(text, differing) != NULL ? ", " : differing, key, "");
        status = gnn_kv_set(shared, key, before == NULL ? value : "", err); /* "": it differs */
    }
    gnn_kv_clear(&own);
    return status;
}

enum gnn_status gnn_run_caption_write(struct gnn_paper_figure *figure, const struct gnn_runs_request *request,
                                      struct gnn_err *err)
{
    static const char *const parts[][3] = {
        {"world", "", " world"},    {"profile", "profile ", ""},
        {"costs", "costs ", ""},    {"compute", "compute ", ""},
        {"dataset", "", ""},        {"scale", "scale ", ""},
        {"system", "", ""},         {"memory", "memory limit ", ""},
        {"dim", "dim ", ""},        {"feature-type", "features ", ""},
        {"model", "", ""},          {"batch", "batch ", ""},
        {"fanout", "fan-out ", ""}, {"cold", "cold start: ", ""},
        {"hidden", "hidden ", ""},
    };
    char tail[GNN_FIGURE_LINE] = "", *const text = figure->caption;
    const char *const memory = place_of(figure, request, "memory");
    struct gnn_kv_list shared = {0};
    enum gnn_status status = GNN_OK;
    if (memory != NULL)
        (void)add(tail, ROOM, "; memory limits: see ", memory, "");
    add_runs(figure, tail);
    for (uint32_t c = 0; c < figure->job->count; c++)
        for (uint32_t r = 0; r < figure->cells[c].run_count; r++)
            GNN_NEXT(status, add_run(figure, request, &figure->cells[c].runs[r], &shared, tail, err));
    const char *const build = gnn_kv_get(&shared, "build.revision");
    (void)add(tail, ROOM - 1, build != NULL && build[0] != '\0' ? ". Build " : "", build != NULL ? build : "", "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *const value = gnn_kv_get(&shared, parts[i][0]);
        const bool is_usual = strcmp(parts[i][0], "feature-type") == 0 && value != NULL && strcmp(value, "f32") == 0;
        if (value != NULL && value[0] != '\0' && !is_usual &&
            add(text, ROOM - 3 - strlen(tail), parts[i][1], value, parts[i][2]))
            (void)add(text, ROOM, ", ", "", "");
    }
    text[strlen(text) > 2 ? strlen(text) - 2 : 0] = '\0';
    text[0] = (char)toupper((unsigned char)text[0]);
    (void)add(text, ROOM, tail, ".", "");
    gnn_kv_clear(&shared);
    return status;
}
