/* SPDX-License-Identifier: MIT */
/* Arguments of a sub-command, one at a time: "--name value", "--name=value", "--flag", "--no-flag", or a word. */
#ifndef GNN_CLI_ARGS_H
#define GNN_CLI_ARGS_H

#include "harness/base/option.h"
#include "harness/cli/cli.h"

#include <stdatomic.h>
#include <stdio.h>

struct gnn_args {
    int argc;
    char **argv;
    int at;                  /* next to look at */
    char name[GNN_NAME_MAX]; /* of the option just taken, without dashes ("help" for -h); "" for a word */
    const char *value;       /* inline value, the word itself, or NULL */
};

/* Takes the next argument; false at the end. */
GNN_MUST_CHECK bool gnn_args_next(struct gnn_args *args);

/* The value of the option just taken: inline, or the next argument. GNN_EUSAGE when there is none. */
GNN_MUST_CHECK enum gnn_status gnn_args_value(struct gnn_args *args, const char **value, struct gnn_err *err);

/* Checks that the option just taken carries no value: GNN_EUSAGE. */
GNN_MUST_CHECK enum gnn_status gnn_args_flag(const struct gnn_args *args, struct gnn_err *err);

/* Sets the option just taken if the table has it; *known tells. */
GNN_MUST_CHECK enum gnn_status gnn_args_set(struct gnn_args *args, const struct gnn_option *table, void *config,
                                            bool *known, struct gnn_err *err);

/* Fails with GNN_EUSAGE for an argument that nothing took: names the command's --help and the nearest option of the
 * tables (NULL ends). */
enum gnn_status gnn_args_unknown(const struct gnn_args *args, const char *command,
                                 const struct gnn_option *const *tables, struct gnn_err *err);

/* Takes a word of the command line; NULL where a command has none. */
typedef enum gnn_status gnn_word_fn(void *ctx, const char *word, struct gnn_err *err);

/* A command with one table of options. */
struct gnn_command_line {
    const char *usage; /* printed before the options' help; `notes` after it, or NULL */
    const char *notes;
    const char *words; /* values of a word for a shell's completion, as in struct gnn_help_page */
    const struct gnn_option *table;
    gnn_word_fn *word;    /* NULL: it takes no words */
    const char *repeated; /* an option of the table that may stand several times, or NULL; each value goes to `value` */
    gnn_word_fn *value;
};

/* Parses all arguments: defaults first. Returns whether the command goes on; if not (--help was answered, wrong usage
 * was told), *exit_status is its end. */
GNN_MUST_CHECK bool gnn_args_parse(const struct gnn_command_line *line, int argc, char **argv, void *config, void *ctx,
                                   int *exit_status);

/* Checks that a file the user named can be opened for reading, before anything is begun with it: else "what path: why;
 * remedy". GNN_ENOENT, GNN_EPERM, GNN_EUSAGE for a directory. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_file(const char *what, const char *path, const char *remedy,
                                                  struct gnn_err *err);

/* The same for what --recipe names. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_recipe(const char *path, struct gnn_err *err);

/* From now on SIGINT, SIGTERM and SIGHUP set the flag that is returned, which work looks at. A SIGHUP that was ignored
 * (nohup) stays ignored. */
const atomic_bool *gnn_cli_stop_on_signals(void);

/* Notes a signal that another part of the program took: as if the handler above had seen it. 0: nothing. The first one
 * that is noted counts. Async-signal-safe. */
void gnn_cli_note_signal(int number);

/* Returns the exit status of an interrupted command: 128 and the signal's number, or GNN_EXIT_FAILED if no signal was
 * noted. */
int gnn_cli_exit_interrupted(void);

/* What a status means to the caller: wrong usage 2, not on this machine 4, anything else 1. */
int gnn_cli_exit_of(enum gnn_status status);

/* A command line as it was given. */
struct gnn_command_words {
    int argc;
    char *const *argv; /* argv[0]: the command's name */
};

/* Prints the program, the command and its words as a line to paste into a shell, `more` (may be NULL) behind it. */
void gnn_cli_print_words(const struct gnn_command_words *words, const char *more, FILE *out);

/* Prints the error, with its kind in plain words where the message alone may not tell; returns the exit status: that
 * of an interruption once a signal was noted. */
int gnn_cli_failed(const struct gnn_err *err);

#endif
