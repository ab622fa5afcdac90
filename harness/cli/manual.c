/* SPDX-License-Identifier: MIT */
#include "harness/cli/manual.h"

#include "harness/cli/help.h"
#include "harness/run/config.h"

#include <assert.h>
#include <stdio.h>

/* Lets every command print its part. */
static void ask_all(const struct gnn_command *commands, uint32_t count, const char *kind)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[GNN_NAME_MAX], flag[GNN_NAME_MAX];
        (void)snprintf(name, sizeof name, "%s", commands[i].name);
        (void)snprintf(flag, sizeof flag, "--help=%s", kind);
        char *argv[] = {name, flag, NULL};
        const int exit_status = commands[i].run(2, argv);
        assert(exit_status == 0); /* a command that does not know --help is a bug */
        (void)exit_status;
    }
}

/* ---- the manual page ---- */

static void print_parameter(const struct gnn_option *o)
{
    char range[GNN_RANGE_BYTES];
    (void)gnn_option_range(o, range, sizeof range);
    (void)fputs(".TP\n\\fB", stdout);
    gnn_help_roff(o->name, stdout);
    (void)fputs("\\fR=\\fI", stdout);
    gnn_help_roff(o->def[0] == '\0' ? "\"\"" : o->def, stdout);
    (void)fputs("\\fR\n", stdout);
    gnn_help_roff(o->help, stdout);
    if (range[0] != '\0') {
        (void)fputs(" [", stdout);
        gnn_help_roff(range, stdout);
        (void)fputs("]", stdout);
    }
    if (o->source != NULL) {
        (void)fputs(" Source: ", stdout);
        gnn_help_roff(o->source, stdout);
        (void)fputs(".", stdout);
    }
    (void)fputs("\n", stdout);
}

static void print_systems(void)
{
    (void)fputs(".SH PARAMETERS OF THE SYSTEMS\nSet with \\fB\\-\\-set\\fR \\fISYSTEM.NAME=VALUE\\fR; shown with their "
                "defaults.\n",
                stdout);
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++) {
        (void)fputs(".SS \"", stdout);
        gnn_help_roff((*s)->name, stdout);
        (void)fputs(": ", stdout);
        gnn_help_roff((*s)->title, stdout);
        (void)fputs("\"\n", stdout);
        for (const struct gnn_option *o = (*s)->options; o != NULL && o->name != NULL; o++)
            print_parameter(o);
    }
}

static void print_ends(void)
{
    static const char *const rest =
        ".SH EXIT STATUS\n"
        ".TP\n0\nsuccess; out of memory and timeout are results, too\n"
        ".TP\n1\nthe command or the run failed\n"
        ".TP\n2\nwrong usage\n"
        ".TP\n3\n\\fBoocgnn compare\\fR found a regression\n"
        ".TP\n4\na required feature is not available on this machine\n"
        ".TP\n128+N\nsignal N interrupted the command: 130 after Ctrl-C (SIGINT), 143 after SIGTERM, 129 after "
        "SIGHUP; a run that was stopped is recorded as interrupted\n"
        ".SH ENVIRONMENT\n"
        ".TP\n\\fBXDG_DATA_HOME\\fR, \\fBHOME\\fR\nlocation of a user's own hardware profiles, presets, figures and "
        "gate jobs: oocgnn/, oocgnn/presets/, oocgnn/figures/ and oocgnn/gate/ in the first, or "
        ".local/share/oocgnn/ in the second\n"
        ".TP\n\\fBOPENBLAS_CORETYPE\\fR\nkernels of OpenBLAS; if it is not set and the library does not "
        "recognise the processor, the program sets it from the processor's features, also for its workers\n"
        ".TP\n\\fBTMPDIR\\fR\nlocation of the temporary databases of \\fBoocgnn compare\\fR and of the dataset of "
        "\\fBoocgnn check-system\\fR\n"
        ".SH FILES\n"
        ".TP\n\\fIoocgnn.db\\fR\nSQLite database of the recorded runs; its columns have the names of "
        "\\fB\\-\\-json\\fR\n"
        ".TP\n\\fIdata/\\fR\nprepared datasets\n"
        ".SH SEE ALSO\n"
        "\\fBfio\\fR(1), \\fBsqlite3\\fR(1), \\fBvalgrind\\fR(1), \\fBcgroups\\fR(7)\n";
    (void)fputs(rest, stdout);
}

void gnn_manual_print(const struct gnn_command *commands, uint32_t count, const char *version)
{
    (void)fputs(".TH OOCGNN 1 \"\" \"oocgnn ", stdout);
    gnn_help_roff(version, stdout);
    (void)fputs(
        "\" \"User Commands\"\n"
        ".SH NAME\noocgnn \\- out\\-of\\-core training of graph neural networks, measured\n"
        ".SH SYNOPSIS\n\\fBoocgnn\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
        ".SH DESCRIPTION\n"
        "Trains graph neural networks whose graph and features do not fit in memory, with published systems "
        "that are implemented in C on shared primitives. Runs have a memory limit, on a real disk or on a simulated "
        "machine. Every number is recorded with its conditions. Results go to standard output, everything else to "
        "standard error.\n"
        ".PP\n",
        stdout);
    for (uint32_t i = 0; i < count; i++) {
        (void)fprintf(stdout, ".TP\n\\fB%s\\fR\n", commands[i].name);
        gnn_help_roff(commands[i].summary, stdout);
        (void)fputs("\n", stdout);
    }
    (void)fputs(".SH OPTIONS OF THE COMMANDS\n", stdout);
    gnn_help_roff(GNN_OPTION_TWICE, stdout);
    ask_all(commands, count, "man");
    print_systems();
    print_ends();
}

/* ---- completion ---- */

static void print_names(const struct gnn_command *commands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(stdout, "%s ", commands[i].name);
}

static void print_bash(const struct gnn_command *commands, uint32_t count)
{
    (void)fputs("# bash completion for oocgnn, written by `oocgnn completion bash`\n"
                "_oocgnn() {\n"
                "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} values='' options='' "
                "words=''\n"
                "    COMPREPLY=()\n"
                "    # --name=value comes as three words\n"
                "    if [ \"$previous\" = = ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                "    if [ \"$current\" = = ]; then current=''; fi\n"
                "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W 'help ",
                stdout);
    print_names(commands, count);
    (void)fputs("--version' -- \"$current\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n    help) words='",
                stdout);
    print_names(commands, count);
    (void)fputs("' ;;\n", stdout);
    ask_all(commands, count, "bash");
    (void)fputs("    esac\n    if [ \"${COMP_WORDS[1]} $previous\" = 'list params' ]; then words='", stdout);
    for (const struct gnn_system *const *system = gnn_systems; *system != NULL; system++)
        (void)fprintf(stdout, "%s ", (*system)->name);
    (void)fputs("'; fi\n"
                "    case $values in\n"
                "    PATH) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
                "    NONE) ;;\n"
                "    ?*)\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
                "        case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac\n"
                "        ;;\n"
                "    *)\n"
                "        case $current in\n"
                "        -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\") ;;\n"
                "        *)\n"
                "            if [ -z \"$words\" ]; then mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                "            else mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"); fi\n"
                "            ;;\n"
                "        esac\n"
                "        ;;\n"
                "    esac\n"
                "}\n"
                "complete -o filenames -F _oocgnn oocgnn\n",
                stdout);
}

static void print_zsh(const struct gnn_command *commands, uint32_t count)
{
    (void)fputs("#compdef oocgnn\n# zsh completion for oocgnn, written by `oocgnn completion zsh`\n_oocgnn() {\n"
                "    local -a commands\n    commands=(\n",
                stdout);
    for (uint32_t i = 0; i < count; i++) {
        (void)fprintf(stdout, "        '%s:", commands[i].name);
        for (const char *c = commands[i].summary; *c != '\0'; c++)
            if (*c == '\'')
                (void)fputs("'\\''", stdout);
            else
                (void)fprintf(stdout, "%s%c", *c == ':' ? "\\" : "", *c);
        (void)fputs("'\n", stdout);
    }
    (void)fputs("        'help:describe a command'\n    )\n"
                "    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
                "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in\n"
                "    (help) _describe command commands ;;\n"
                "    esac\n"
                "    if [[ $command == list && ${words[2]} == params ]] && ((CURRENT == 3)); then\n"
                "        compadd -- ",
                stdout);
    for (const struct gnn_system *const *system = gnn_systems; *system != NULL; system++)
        (void)fprintf(stdout, "%s ", (*system)->name);
    (void)fputs("\n        return\n    fi\n    case $command in\n", stdout);
    ask_all(commands, count, "zsh");
    (void)fputs("    esac\n}\n_oocgnn \"$@\"\n", stdout);
}

void gnn_completion_print(const struct gnn_command *commands, uint32_t count, enum gnn_shell shell)
{
    assert(shell != GNN_SHELL_NONE);
    if (shell == GNN_SHELL_ZSH)
        print_zsh(commands, count);
    else
        print_bash(commands, count);
}
