/* SPDX-License-Identifier: MIT */
/* What `oocgnn figure` works with: its options, and the files of figures by their names. */
#ifndef GNN_CLI_FIGURE_FILES_H
#define GNN_CLI_FIGURE_FILES_H

#include "harness/base/data_dirs.h"
#include "harness/cli/args.h"
#include "harness/cli/figure_left.h"
#include "harness/cli/figure_summary.h"
#include "harness/figure/figure.h"
#include "harness/figure/values.h"

enum { GNN_FIGURE_IDS_MAX = 128, GNN_FIGURE_PATH_BYTES = GNN_DATA_DIR_BYTES + GNN_TEXT_MAX };

struct gnn_figure_config {
    bool list, all, papers, check, run, any_build, sensitivity;
    enum gnn_world_kind world;
    uint32_t repeat, jobs;
    char scale[GNN_TEXT_MAX], fix[GNN_TEXT_MAX], variants[GNN_TEXT_MAX], db[GNN_TEXT_MAX], data_dir[GNN_TEXT_MAX],
        out_dir[GNN_TEXT_MAX], ratios[GNN_TEXT_MAX], findings[GNN_TEXT_MAX], method[GNN_TEXT_MAX];
};

/* A figure's file. */
struct gnn_figure_file {
    char id[GNN_NAME_MAX], path[GNN_FIGURE_PATH_BYTES];
    struct gnn_figure_about about;
    struct gnn_figure_left left, own; /* all that is left, and without what a figure before it has left too */
    char trouble[GNN_ERR_MAX];        /* why it is incomplete; "" */
    char needs[4 * GNN_TEXT_MAX];     /* dataset that must be imported, with the command; "" */
};

struct gnn_figures {
    struct gnn_figure_config config;
    struct gnn_command_words words;
    const char *wanted[GNN_FIGURE_IDS_MAX];
    uint32_t wanted_count;
    struct gnn_figure_file *found; /* (GNN_FIGURE_IDS_MAX) */
    uint32_t found_count;
    struct gnn_papers papers;
    struct gnn_ini *variants;            /* of --variants; NULL: none */
    const char *change, *change_profile; /* of --sensitivity while a figure is made with it; NULL: none */
    struct gnn_tolerances tolerances;
    struct gnn_figure_met met;
    struct gnn_kv_list fix;            /* every --fix */
    uint32_t scale_divisor;            /* 0: each figure's own */
    const char *own_db, *own_data_dir; /* NULL: not given */
    struct gnn_err err;                /* of a file that was looked at */
};

/* Finds all figures of gnn_figure_dirs() and reads the tolerances. Allocates f->found. Returns GNN_ENOENT if there are
 * none, GNN_ENOMEM, or errors of gnn_figure_about(). */
GNN_MUST_CHECK enum gnn_status gnn_figure_files_find(struct gnn_figures *f, struct gnn_err *err);

/* Sets *out to the figure of that name, or of that path with a '/' or ".ini". GNN_EUSAGE: there is none, with a similar
 * name. */
GNN_MUST_CHECK enum gnn_status gnn_figure_file_find(struct gnn_figures *f, const char *id, struct gnn_figure_file **out,
                                                    struct gnn_err *err);

/* Opens a figure at scale 1/scale_divisor, or at its own if that is 0. Returns errors as gnn_figure_open() does. */
GNN_MUST_CHECK enum gnn_status gnn_figure_file_open(const struct gnn_figures *f, const struct gnn_figure_file *found,
                                                    uint32_t scale_divisor, struct gnn_paper_figure **out,
                                                    struct gnn_err *err);

#endif
