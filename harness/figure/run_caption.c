/* SPDX-License-Identifier: MIT */
#include "harness/figure/run_caption.h"

#include "harness/base/plain_text.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Characters that fit into two lines of one panel, wherever the first one breaks. */
enum { ROOM = GNN_FIGURE_LINE - 1, DIFFERING_ROOM = 60 };

/* Appends the text if all of it fits. */
static bool add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool add(char *text, size_t room, const char *format, ...)
{
    char part[GNN_CAPTION_BYTES];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(part, sizeof part, format, args);
    va_end(args);
    if (length < 0 || strlen(text) + (size_t)length > room || (size_t)length >= sizeof part)
        return false;
    memcpy(text + strlen(text), part, (size_t)length + 1);
    return true;
}

/* ---- conditions that all runs share ---- */

/* Whether a run's caption has this part, between ", " or its ends. */
static bool has_part(const char *caption, const char *part)
{
    const size_t length = strlen(part);
    for (const char *at = caption; (at = strstr(at, part)) != NULL; at += length)
        if ((at == caption || strncmp(at - 2, ", ", 2) == 0) &&
            (at[length] == '\0' || strncmp(at + length, ", ", 2) == 0))
            return true;
    return false;
}

/* Appends the parts of a caption that `other` has, too. */
static void add_common(char *text, size_t room, char *caption, const char *other)
{
    for (char *part = caption, *next; part != NULL; part = next) {
        next = strstr(part, ", ");
        if (next != NULL) {
            *next = '\0';
            next += 2;
        }
        if (has_part(other, part) && !has_part(text, part))
            (void)add(text, room, "%s%s", text[0] != '\0' ? ", " : "", part);
    }
}

/* Writes the parts of the captions of all runs with a time, or of all runs if none has one. */
static void share(const struct gnn_run_record *runs, uint32_t count, char common[GNN_CAPTION_BYTES])
{
    char caption[GNN_CAPTION_BYTES], before[GNN_CAPTION_BYTES];
    bool timed = false, first = true;
    for (uint32_t r = 0; r < count; r++)
        timed = timed || runs[r].status == GNN_RUN_OK;
    for (uint32_t r = 0; r < count; r++) {
        if (timed && runs[r].status != GNN_RUN_OK)
            continue;
        gnn_run_caption(&runs[r], caption, sizeof caption);
        gnn_text_make_plain(caption);
        memcpy(before, first ? caption : common, sizeof before);
        common[0] = '\0';
        add_common(common, GNN_CAPTION_BYTES - 1, before, caption);
        first = false;
    }
}

/* ---- the picture ---- */

static const char *place_of_memory(const struct gnn_paper_figure *figure, const struct gnn_runs_request *request)
{
    for (uint32_t a = 0; a < figure->axis_count; a++)
        if (strcmp(figure->axes[a].key, "memory") == 0)
            return a == 0 ? "x axis" : "panels";
    return strstr(request->series, "memory") != NULL ? "legend" : NULL;
}

static void add_repetitions(const struct gnn_paper_figure *figure, char *text)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t c = 0; c < figure->job->count; c++) {
        least = gnn_min_u32(least, figure->cells[c].run_count);
        most = gnn_max_u32(most, figure->cells[c].run_count);
    }
    if (most == 1)
        (void)add(text, ROOM, ". One run each");
    else if (least == most)
        (void)add(text, ROOM, ". Median and range of %u runs", most);
    else
        (void)add(text, ROOM, ". Median and range of %u to %u runs", least, most);
}

static void add_words(const struct gnn_run_record *runs, uint32_t count, char *text)
{
    static const char *const words[GNN_RUN_STATUS_COUNT] = {[GNN_RUN_OOM] = "OOM: out of memory",
                                                            [GNN_RUN_GPU_OOM] = "GPU OOM: out of GPU memory",
                                                            [GNN_RUN_OOT] = "OOT: timeout"};
    for (uint32_t r = 0; r < count; r++)
        if (words[runs[r].status] != NULL && strstr(text, words[runs[r].status]) == NULL)
            (void)add(text, ROOM, ". %s", words[runs[r].status]);
}

/* Whether the picture shows this option, or the option that a digest follows from. */
static bool is_shown(const struct gnn_paper_figure *figure, const struct gnn_runs_request *request, const char *key)
{
    bool shown = strstr(request->series, key) != NULL || strstr(key, ".digest") != NULL;
    for (uint32_t a = 0; a < figure->axis_count; a++)
        shown = shown || strcmp(figure->axes[a].key, key) == 0;
    return shown;
}

static bool varies(const struct gnn_kv_list *conditions, uint32_t count, const char *key)
{
    const char *first = NULL;
    for (uint32_t r = 0; r < count; r++) {
        const char *const value = gnn_kv_get(&conditions[r], key);
        if (first != NULL && value != NULL && strcmp(first, value) != 0)
            return true;
        first = value != NULL ? value : first;
    }
    return false;
}

/* Names the options that differ between places of the picture and that it does not show. */
static void add_differing(const struct gnn_paper_figure *figure, const struct gnn_kv_list *conditions, uint32_t count,
                          const struct gnn_runs_request *request, char *text)
{
    struct gnn_kv_list seen = {0};
    char names[GNN_FIGURE_LINE] = "";
    uint32_t more = 0;
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t i = 0; i < conditions[r].count; i++) {
            const char *const key = conditions[r].items[i].key;
            if (gnn_kv_get(&seen, key) != NULL || gnn_kv_set(&seen, key, "", NULL) != GNN_OK)
                continue;
            if (is_shown(figure, request, key) || !varies(conditions, count, key))
                continue;
            more += add(names, DIFFERING_ROOM, "%s%s", names[0] != '\0' ? ", " : "", key) ? 0 : 1;
        }
    gnn_kv_clear(&seen);
    if (more > 0)
        (void)add(names, sizeof names - 1, " and %u more", more);
    if (names[0] != '\0')
        (void)add(text, ROOM, ". Places also differ in %s", names);
}

void gnn_run_caption_write(const struct gnn_paper_figure *figure, const struct gnn_run_record *runs,
                           const struct gnn_kv_list *conditions, uint32_t count, const struct gnn_runs_request *request,
                           char *text)
{
    char common[GNN_CAPTION_BYTES], all[GNN_CAPTION_BYTES], tail[GNN_FIGURE_LINE] = "";
    const char *const memory = place_of_memory(figure, request);
    const char *const build = gnn_kv_get(&conditions[0], "build.revision");
    share(runs, count, common);
    memcpy(all, common, sizeof all);
    if (memory != NULL && strstr(common, "memory limit") == NULL)
        (void)add(tail, ROOM, "; memory limits: see %s", memory);
    add_repetitions(figure, tail);
    add_words(runs, count, tail);
    add_differing(figure, conditions, count, request, tail);
    if (build != NULL && !varies(conditions, count, "build.revision"))
        (void)add(tail, ROOM, ". Build %.24s", build);
    (void)snprintf(text, GNN_FIGURE_LINE, "profile %s", runs[0].profile); /* the machine first */
    if (runs[0].profile[0] == '\0' || !has_part(all, text))
        text[0] = '\0';
    add_common(text, ROOM - 1 - strlen(tail), common, all); /* the full stop */
    text[0] = (char)toupper((unsigned char)text[0]);
    (void)add(text, ROOM, "%s%s", tail, tail[0] != '\0' ? "." : "");
}
