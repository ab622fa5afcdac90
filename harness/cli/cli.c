/* SPDX-License-Identifier: MIT */
#include "harness/cli/cli.h"

#include "harness/base/near_miss.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/cli/manual.h"
#include "harness/measure/environment.h"
#include "harness/run/supervisor/spawn.h"
#include "harness/run/worker/worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int run_manual(int argc, char **argv);
static int run_completion(int argc, char **argv);

static const struct gnn_command commands[] = {
    {"doctor", "check this machine and print the remedy for what is missing", gnn_cmd_doctor},
    {"list", "list systems, datasets, models, presets, profiles, or params SYSTEM", gnn_cmd_list},
    {"prepare", "generate, import or check a dataset", gnn_cmd_prepare},
    {"export", "write a dataset or its mini-batches as NumPy arrays", gnn_cmd_export},
    {"stats", "analyse a graph: degrees, reachable set, rows of a mini-batch, cache hit ratios", gnn_cmd_stats},
    {"bound", "compute the minimum reads of a workload or of recorded runs", gnn_cmd_bound},
    {"trace", "analyse or replay the reads and writes of a run", gnn_cmd_trace},
    {"run", "train one system on one dataset and record it", gnn_cmd_run},
    {"rerun", "repeat a recorded run and compare the results", gnn_cmd_rerun},
    {"sweep", "run every configuration of a job file", gnn_cmd_sweep},
    {"figure", "reproduce a figure of a paper: run, draw and check it", gnn_cmd_figure},
    {"page", "fill the tables of Markdown pages from the data of figures", gnn_cmd_page},
    {"merge", "join databases of runs", gnn_cmd_merge},
    {"plot", "draw a metric of recorded runs over one of their options", gnn_cmd_plot},
    {"report", "show recorded runs as tables, plots or a page", gnn_cmd_report},
    {"baseline", "store the counters of a build or a database for later comparisons", gnn_cmd_baseline},
    {"compare", "compare two builds, databases or baselines (regression gate)", gnn_cmd_compare},
    {"calibrate", "measure this machine and write a profile for the simulated world", gnn_cmd_calibrate},
    {"new-system", "write the directory of a system of your own", gnn_cmd_new_system},
    {"check-system", "check a system of your own, or one of this build", gnn_cmd_check_system},
    {"manual", "print the manual page, for `man -l`", run_manual},
    {"completion", "print the completion script for bash or zsh", run_completion},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out)
{
    (void)fputs("oocgnn: out-of-core training of graph neural networks, measured\n\n"
                "usage: oocgnn COMMAND [OPTION...]\n\n",
                out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    (void)fputs("\n`oocgnn help COMMAND` describes a command. Results go to stdout, everything else to "
                "stderr.\n" GNN_OPTION_TWICE
                "Exit status: 0 success (oom and timeout are results), 1 failure, 2 wrong usage, 3 regression found,\n"
                "4 not available on this machine, 128+N interrupted by signal N (130: Ctrl-C).\n",
                out);
}

static const struct gnn_option no_options[] = {{.name = NULL}};

/* `oocgnn manual`: every command says its part. */
static int run_manual(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn manual | man -l -\n", .words = "", .table = no_options};
    char nothing;
    int exit_status;
    if (gnn_args_parse(&line, argc, argv, &nothing, NULL, &exit_status))
        gnn_manual_print(commands, COMMAND_COUNT, gnn_build_version());
    return exit_status;
}

static enum gnn_status take_shell(void *ctx, const char *word, struct gnn_err *err)
{
    enum gnn_shell *const shell = ctx;
    *shell = strcmp(word, "zsh") == 0 ? GNN_SHELL_ZSH : GNN_SHELL_BASH;
    return *shell == GNN_SHELL_ZSH || strcmp(word, "bash") == 0
               ? GNN_OK
               : gnn_fail(err, GNN_EUSAGE, "completion: \"%s\" is neither bash nor zsh", word);
}

static int run_completion(int argc, char **argv)
{
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn completion bash|zsh\n\n"
                 "bash: source <(oocgnn completion bash); zsh: a file _oocgnn in a folder of $fpath.\n",
        .words = "bash zsh",
        .table = no_options,
        .word = take_shell};
    enum gnn_shell shell = GNN_SHELL_NONE;
    struct gnn_err err = {0};
    char nothing;
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &nothing, &shell, &exit_status))
        return exit_status;
    if (shell == GNN_SHELL_NONE) {
        (void)gnn_fail(&err, GNN_EUSAGE, "completion: for which shell? bash or zsh");
        return gnn_cli_failed(&err);
    }
    gnn_completion_print(commands, COMMAND_COUNT, shell);
    return GNN_EXIT_OK;
}

/* Runs the process that the supervisor starts; not for people. */
static int run_worker(int argc, char **argv)
{
    struct gnn_err err = {0};
    struct gnn_run_config config;
    if (gnn_spawn_parse(argc, argv, &config, &err) != GNN_OK)
        return gnn_cli_failed(&err);
    return gnn_worker_main(&config);
}

/* Holds the numbers of closed standard streams, so that no database or pipe gets one; what is written there fails. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDONLY);
}

/* The limits of the shell below which nothing can be done but to say so: threads take their stacks from the first, and
 * libraries that are refused memory may ask for ever. */
static bool limits_suffice(void)
{
    static const struct {
        int resource;
        uint64_t least_bytes;
        const char *what, *remedy;
    } limits[] = {{RLIMIT_STACK, 1 << 20, "the stack", "ulimit -s"},
                  {RLIMIT_AS, 256 << 20, "the address space", "ulimit -v"},
                  {RLIMIT_DATA, 128 << 20, "the data segment", "ulimit -d"}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
            limit.rlim_cur >= limits[i].least_bytes)
            continue;
        (void)fprintf(stderr, "oocgnn: not possible here: %s is limited to %llu KiB; at least %llu are needed: %s\n",
                      limits[i].what, (unsigned long long)limit.rlim_cur >> 10,
                      (unsigned long long)limits[i].least_bytes >> 10, limits[i].remedy);
        return false;
    }
    return true;
}

/* Fails a command whose results could not be written. */
static int finish_output(int exit_status)
{
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return exit_status;
    (void)fprintf(stderr, "oocgnn: writing to standard output: %s\n",
                  errno != 0 ? strerror(errno) : "an earlier write failed");
    return exit_status == GNN_EXIT_OK ? GNN_EXIT_FAILED : exit_status;
}

/* NULL: there is none of that name, which was said. */
static const struct gnn_command *find_command(const char *name)
{
    struct gnn_err err = {0};
    struct gnn_near_miss near;
    _Static_assert(COMMAND_COUNT > 0, "there are commands");
    assert(name != NULL);
    gnn_near_miss_start(&near, name);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
        gnn_near_miss_offer(&near, commands[i].name);
    }
    (void)gnn_fail(&err, GNN_EUSAGE, "no command \"%s\"; `oocgnn help` lists them%s", name, gnn_near_miss_text(&near));
    (void)gnn_cli_failed(&err);
    return NULL;
}

/* `oocgnn help COMMAND` is `oocgnn COMMAND --help`. */
static int help(int argc, char **argv)
{
    char flag[] = "--help";
    struct gnn_err err = {0};
    assert(argc >= 2);
    if (argc > 3) {
        (void)gnn_fail(&err, GNN_EUSAGE, "help: one command at a time, got \"%s\" and \"%s\"", argv[2], argv[3]);
        return gnn_cli_failed(&err);
    }
    if (argc < 3 || strcmp(argv[2], "help") == 0) {
        print_help(stdout);
        return GNN_EXIT_OK;
    }
    const struct gnn_command *const command = find_command(argv[2]);
    char *words[] = {argv[2], flag, NULL};
    return command == NULL ? GNN_EXIT_USAGE : command->run(2, words);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return GNN_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        (void)printf("oocgnn %s\n", gnn_build_text());
        return GNN_EXIT_OK;
    }
    if (strcmp(argv[1], "--worker") == 0)
        return run_worker(argc, argv);
    const struct gnn_command *const command = find_command(argv[1]);
    return command == NULL ? GNN_EXIT_USAGE : command->run(argc - 1, argv + 1);
}

int gnn_cli(int argc, char **argv)
{
    hold_standard_streams();
    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond ulimit -f fails then, and is told */
    if (!limits_suffice())
        return GNN_EXIT_UNFIT;
    return finish_output(dispatch(argc, argv));
}
