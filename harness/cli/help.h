/* SPDX-License-Identifier: MIT */
/* What a command says about itself: help for people, its part of the manual page, its part of a shell's completion. All
 * of them are generated from the option tables, so none can fall behind. A command that is asked `--help=man`,
 * `--help=bash` or `--help=zsh` prints that part; `oocgnn manual` and `oocgnn completion` ask every command. */
#ifndef GNN_CLI_HELP_H
#define GNN_CLI_HELP_H

#include "harness/base/option.h"

#include <stdio.h>

enum gnn_help { GNN_HELP_NONE, GNN_HELP_TEXT, GNN_HELP_MAN, GNN_HELP_BASH, GNN_HELP_ZSH };

enum { GNN_HELP_PARTS_MAX = 4 };

/* A page's words are the figures found when the completion is written. */
#define GNN_HELP_FIGURES "FIGURES"

struct gnn_help_page {
    const char *usage; /* with its blank line behind */
    const char *notes; /* behind the options, or NULL */
    const char *words; /* values of a word, separated by blanks; GNN_HELP_FIGURES; NULL: a file name */
    struct {
        const char *title; /* "generating", or NULL */
        const struct gnn_option *table;
    } parts[GNN_HELP_PARTS_MAX]; /* a part without a table ends them */
    const char *const *groups;   /* headings in order, NULL behind: options of all parts are printed by their group */
};

/* The kind that --help=value asks for; value NULL: text for people. GNN_EUSAGE names the kinds. */
GNN_MUST_CHECK enum gnn_status gnn_help_kind(const char *value, enum gnn_help *out, struct gnn_err *err);

void gnn_help_print(const char *command, const struct gnn_help_page *page, enum gnn_help help, FILE *out);

/* A text as roff shows it: every '-' is one that can be copied, and no line begins with a request. */
void gnn_help_roff(const char *text, FILE *out);

/* The list of an option's or a parameter's values that a shell offers, separated by blanks; false: it knows none. */
bool gnn_help_values(const struct gnn_option *option, FILE *out);

/* "system.parameter=" of every system, separated by blanks. */
void gnn_help_parameters(FILE *out);

#endif
