/* SPDX-License-Identifier: MIT */
/* The help of a command: text for people, its part of the manual page, its part of a shell's completion. All three are
 * generated from the option tables, so they always agree. `--help=man`, `--help=bash` and `--help=zsh` print the latter
 * two. `oocgnn manual` and `oocgnn completion` collect them from every command. */
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

/* Sets *out to the kind of help that --help=value requests; value NULL: text for people. Returns GNN_EUSAGE, which
 * names the kinds, for any other value. */
GNN_MUST_CHECK enum gnn_status gnn_help_kind(const char *value, enum gnn_help *out, struct gnn_err *err);

void gnn_help_print(const char *command, const struct gnn_help_page *page, enum gnn_help help, FILE *out);

/* Prints text for roff: every '-' can be copied from the page, and no line begins with a request. */
void gnn_help_roff(const char *text, FILE *out);

/* Prints the values of an option or a parameter that a shell offers, separated by blanks. Returns false if there are
 * none. */
bool gnn_help_values(const struct gnn_option *option, FILE *out);

/* Prints "system.parameter=" for every parameter of every system, separated by blanks. */
void gnn_help_parameters(FILE *out);

#endif
