/* SPDX-License-Identifier: MIT */
/* Reads the arguments of a sub-command one at a time: "--name value", "--name=value", "--flag", "--no-flag", or a
 * word. */
#ifndef GNN_CLI_ARGS_H
#define GNN_CLI_ARGS_H

#include "harness/base/option.h"
#include "harness/cli/cli.h"

#include <stdatomic.h>
#include <stdio.h>

struct gnn_args {
    int argc;
    char **argv;
    int at;                  /* index of the next argument */
    char name[GNN_NAME_MAX]; /* name of the current option, without dashes ("help" for -h); "" for a word */
    const char *value;       /* inline value, the word itself, or NULL */
};

/* Takes the next argument and makes it the current one. Returns false at the end. */
GNN_MUST_CHECK bool gnn_args_next(struct gnn_args *args);

/* Sets *value to the value of the current option: inline, or the next argument. Returns GNN_EUSAGE if there is none. */
GNN_MUST_CHECK enum gnn_status gnn_args_value(struct gnn_args *args, const char **value, struct gnn_err *err);

/* Checks that the current option has no value. Returns GNN_EUSAGE if it has one. */
GNN_MUST_CHECK enum gnn_status gnn_args_flag(const struct gnn_args *args, struct gnn_err *err);

/* Returns whether the current option is this one of a table. */
bool gnn_args_names(const struct gnn_args *args, const struct gnn_option *option);

/* Sets the current option in config if the table has it; *known is whether it has. Returns GNN_EUSAGE for a bad
 * value. */
GNN_MUST_CHECK enum gnn_status gnn_args_set(struct gnn_args *args, const struct gnn_option *table, void *config,
                                            bool *known, struct gnn_err *err);

/* Returns GNN_EUSAGE for an unknown argument. The message names the command's --help and the nearest option of the
 * tables, which are NULL-terminated. */
enum gnn_status gnn_args_unknown(const struct gnn_args *args, const char *command,
                                 const struct gnn_option *const *tables, struct gnn_err *err);

/* Receives a word of the command line. */
typedef enum gnn_status gnn_word_fn(void *ctx, const char *word, struct gnn_err *err);

/* A command with one table of options. */
struct gnn_command_line {
    const char *usage; /* printed before the options' help; `notes` after it, or NULL */
    const char *notes;
    const char *words; /* values of a word for a shell's completion, separated by blanks; NULL: file names */
    const struct gnn_option *table;
    gnn_word_fn *word;    /* NULL: the command takes no words */
    const char *repeated; /* option of the table that may be repeated, or NULL; each value goes to `value` */
    gnn_word_fn *value;
};

/* Sets defaults in config, then parses all arguments. Returns whether the command continues. If not, *exit_status is
 * its exit status: --help was printed, or an error was reported. */
GNN_MUST_CHECK bool gnn_args_parse(const struct gnn_command_line *line, int argc, char **argv, void *config, void *ctx,
                                   int *exit_status);

/* Checks that a file that the user named can be opened for reading, before work begins. Returns GNN_ENOENT, GNN_EPERM,
 * or GNN_EUSAGE for a directory. The message is "what path: why; remedy". */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_file(const char *what, const char *path, const char *remedy,
                                                  struct gnn_err *err);

/* Checks the file of --recipe as gnn_cli_check_file() does. */
GNN_MUST_CHECK enum gnn_status gnn_cli_check_recipe(const char *path, struct gnn_err *err);

/* Makes SIGINT, SIGTERM and SIGHUP set a flag, and returns the flag, which long work checks. A SIGHUP that was ignored
 * (nohup) stays ignored. */
const atomic_bool *gnn_cli_stop_on_signals(void);

/* Records a signal that another part of the program received, as the signal handler does. Only the first signal is
 * kept. 0: does nothing. Async-signal-safe. */
void gnn_cli_note_signal(int number);

/* Returns the exit status of an interrupted command: 128 plus the signal's number, or GNN_EXIT_FAILED if no signal was
 * recorded. */
int gnn_cli_exit_interrupted(void);

/* Returns the exit status for an error: 2 for wrong usage, 4 if this machine does not allow it, 1 for all others. */
int gnn_cli_exit_of(enum gnn_status status);

/* A command line as the user wrote it. */
struct gnn_command_words {
    int argc;
    char *const *argv; /* argv[0]: the command's name */
};

/* Prints the program, the command and its words as a line for a shell. `more` is appended unless it is NULL. */
void gnn_cli_print_words(const struct gnn_command_words *words, const char *more, FILE *out);

/* Prints the error. Its kind precedes the message if the message alone may not show it. Returns the exit status, which
 * is that of an interruption if a signal was recorded. */
int gnn_cli_failed(const struct gnn_err *err);

#endif
