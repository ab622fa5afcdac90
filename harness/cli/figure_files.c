/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_files.h"

#include "harness/base/near_miss.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: there are no published values of this paper. */
static const char *find_published(const char *paper, char *path, size_t path_bytes)
{
    struct gnn_data_dirs dirs;
    gnn_published_dirs(&dirs);
    return paper[0] != '\0' ? gnn_data_file_find(dirs.dirs, paper, ".csv", path, path_bytes) : NULL;
}

/* Returns whether the figure has the name of one of a paper with published values: "PAPER-fig8". */
static bool is_of_paper(const struct gnn_figure_file *found)
{
    char path[GNN_FIGURE_PATH_BYTES];
    const char *const paper = found->about.paper;
    const size_t length = strlen(paper);
    return strncmp(found->id, paper, length) == 0 && found->id[length] == '-' &&
           find_published(paper, path, sizeof path) != NULL;
}

static void note_file(void *ctx, const char *path, const char *name)
{
    struct gnn_figures *const f = ctx;
    if (strcmp(name, "tolerances") == 0 || f->found_count == GNN_FIGURE_IDS_MAX || f->err.status != GNN_OK)
        return;
    for (uint32_t i = 0; i < f->found_count; i++)
        if (strcmp(f->found[i].id, name) == 0)
            return; /* the user's own replaces ours */
    struct gnn_figure_file *const found = &f->found[f->found_count];
    (void)snprintf(found->id, sizeof found->id, "%s", name);
    (void)snprintf(found->path, sizeof found->path, "%s", path);
    if (gnn_figure_about(path, &found->about, &f->err) == GNN_OK && (!f->config.papers || is_of_paper(found)))
        f->found_count++;
}

enum gnn_status gnn_figure_files_find(struct gnn_figures *f, struct gnn_err *err)
{
    struct gnn_data_dirs dirs;
    char path[GNN_FIGURE_PATH_BYTES];
    gnn_figure_dirs(&dirs);
    GNN_NEW(f->found, GNN_FIGURE_IDS_MAX, err, "the list of figures");
    GNN_TRY(gnn_data_files(dirs.dirs, note_file, f, err));
    if (f->err.status != GNN_OK)
        return gnn_fail(err, f->err.status, "%s", f->err.message);
    if (gnn_data_file_find(dirs.dirs, "tolerances", ".ini", path, sizeof path) != NULL)
        return gnn_tolerances_open(path, &f->tolerances, err);
    return gnn_fail(err, GNN_ENOENT, "no figures found: they are in experiments/papers of the source tree");
}

/* Takes a file that is named by its path: with a '/', or the ending of a figure. */
static enum gnn_status add_path(struct gnn_figures *f, const char *path, struct gnn_figure_file **out,
                                struct gnn_err *err)
{
    const char *const slash = strrchr(path, '/'), *const name = slash != NULL ? slash + 1 : path;
    const char *const dot = strrchr(name, '.');
    GNN_TRY(gnn_cli_check_file("figure", path, "`oocgnn figure --list` has the names of the supplied figures", err));
    if (f->found_count == GNN_FIGURE_IDS_MAX || strlen(path) >= GNN_FIGURE_PATH_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: more than %d figures, or too long a path", path,
                        GNN_FIGURE_IDS_MAX);
    struct gnn_figure_file *const found = &f->found[f->found_count++];
    (void)snprintf(found->id, sizeof found->id, "%.*s", (int)(dot != NULL ? dot - name : (ptrdiff_t)strlen(name)),
                   name);
    (void)snprintf(found->path, sizeof found->path, "%s", path);
    *out = found;
    return gnn_figure_about(path, &found->about, err);
}

static bool is_path(const char *id)
{
    const size_t length = strlen(id);
    return strchr(id, '/') != NULL || (length > 4 && strcmp(id + length - 4, ".ini") == 0);
}

enum gnn_status gnn_figure_file_find(struct gnn_figures *f, const char *id, struct gnn_figure_file **out,
                                     struct gnn_err *err)
{
    struct gnn_near_miss near;
    if (is_path(id))
        return add_path(f, id, out, err);
    gnn_near_miss_start(&near, id);
    for (uint32_t i = 0; i < f->found_count; i++) {
        if (strcmp(f->found[i].id, id) == 0) {
            *out = &f->found[i];
            return GNN_OK;
        }
        gnn_near_miss_offer(&near, f->found[i].id);
    }
    return gnn_fail(err, GNN_EUSAGE, "no figure \"%s\"; `oocgnn figure --list` has them, ./%s.ini names a file%s", id,
                    id, gnn_near_miss_text(&near));
}

enum gnn_status gnn_figure_file_open(const struct gnn_figures *f, const struct gnn_figure_file *found,
                                     uint32_t scale_divisor, struct gnn_paper_figure **out, struct gnn_err *err)
{
    char published[GNN_FIGURE_PATH_BYTES];
    const struct gnn_figure_setup setup = {.world = f->config.world,
                                           .scale_divisor = scale_divisor,
                                           .db = f->config.db,
                                           .data_dir = f->config.data_dir,
                                           .own_db = f->own_db,
                                           .own_data_dir = f->own_data_dir,
                                           .fix = &f->fix,
                                           .variants = f->variants,
                                           .change = f->change,
                                           .change_profile = f->change_profile,
                                           .published_path =
                                               find_published(found->about.paper, published, sizeof published)};
    return gnn_figure_open(found->path, &setup, out, err);
}
