/* SPDX-License-Identifier: MIT */
/* Manual page and completion, generated from the option tables: every option of every command is in them, and the tools
 * that read them have nothing to say. */
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUN_OPTIONS = 71 }; /* of gnn_run_options, --set and --dry-run */

static char *said(const char *arguments)
{
    struct process_result r = process_shell("%s %s", process_program(), arguments);
    if (r.exit_status != 0)
        fail_msg("oocgnn %s: exit %d: %s", arguments, r.exit_status, r.err);
    free(r.err);
    return r.out;
}

/* Calls fn with each "--name" of a command's help, and the command. */
static int each_option(const char *command, void (*fn)(const char *text, const char *command, const char *option),
                       const char *text)
{
    char arguments[128];
    int count = 0;
    (void)snprintf(arguments, sizeof arguments, "%s --help", command);
    char *const help = said(arguments);
    char *rest = help;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        const bool negative = strncmp(line, "  --[no-]", 9) == 0;
        if (strncmp(line, "  --", 4) != 0)
            continue;
        char *const name = line + (negative ? 9 : 4);
        name[strcspn(name, " ")] = '\0';
        fn(text, command, name);
        count++;
    }
    free(help);
    return count;
}

/* The commands that `oocgnn help` lists. */
static int each_command(void (*fn)(const char *text, const char *command, const char *option), const char *text)
{
    char *const help = said("help");
    char *rest = help;
    int options = 0, commands = 0;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (strncmp(line, "  ", 2) != 0)
            continue;
        char command[64];
        (void)snprintf(command, sizeof command, "%.*s", (int)strcspn(line + 2, " "), line + 2);
        options += each_option(command, fn, text);
        commands++;
    }
    free(help);
    assert_true(commands >= 10);
    return options;
}

/* What is typed most stands first; an option that a group lacks would be in no help, so all of run's are counted. */
static void help_of_run_is_grouped(void **state)
{
    static const char *const shown[] = {"\nMost used:\n  --system ",
                                        "\n  --preset ",
                                        "\n  --memory ",
                                        "\n  --set SYSTEM.",
                                        "\nDataset:\n",
                                        "\nModel:\n",
                                        "\nMini-batches:\n",
                                        "\n  --seed ",
                                        "\nLink prediction:\n",
                                        "\nLimits and devices:\n",
                                        "\nSimulation and compute:\n",
                                        "\nOutput:\n",
                                        "\n  --details ",
                                        "\nTesting:\n  --fault ",
                                        "\nexample: "};
    (void)state;
    char *const help = said("run --help");
    const char *at = help;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const char *const found = strstr(at, shown[i]);
        if (found == NULL)
            fail_msg("not in its place: %s", shown[i]);
        at = found + 1;
    }
    int options = 0;
    for (at = help; (at = strstr(at, "\n  --")) != NULL; at++)
        options++;
    assert_int_equal(options, RUN_OPTIONS);
    free(help);
}

static void in_manual(const char *text, const char *command, const char *option)
{
    char wanted[128] = "\\-\\-", *at = wanted + strlen(wanted), negated[140];
    for (const char *c = option; *c != '\0'; c++) {
        if (*c == '-')
            *at++ = '\\';
        *at++ = *c;
    }
    *at = '\0';
    (void)snprintf(negated, sizeof negated, "\\-\\-[no\\-]%s", wanted + 4);
    if (strstr(text, wanted) == NULL && strstr(text, negated) == NULL)
        fail_msg("oocgnn %s --%s is not in the manual", command, option);
}

static void in_script(const char *text, const char *command, const char *option)
{
    char wanted[128];
    (void)snprintf(wanted, sizeof wanted, "--%s", option);
    if (strstr(text, wanted) == NULL)
        fail_msg("oocgnn %s --%s is not in the completion", command, option);
}

static void every_option_is_everywhere(void **state)
{
    (void)state;
    char *const manual = said("manual"), *const bash = said("completion bash"), *const zsh = said("completion zsh");
    assert_true(each_command(in_manual, manual) > 100);
    assert_true(each_command(in_script, bash) > 100);
    assert_true(each_command(in_script, zsh) > 100);
    assert_non_null(strstr(manual, ".SS \"gnndrive: ")); /* parameters of systems */
    assert_non_null(strstr(manual, "\\fBextractors\\fR="));
    assert_non_null(strstr(bash, "gnndrive.extractors="));
    free(manual);
    free(bash);
    free(zsh);
}

static void groff_has_nothing_to_say(void **state)
{
    (void)state;
    struct process_result r = process_shell("command -v groff");
    const bool there = r.exit_status == 0;
    process_free(&r);
    if (!there)
        skip_test("no groff here");
    r = process_shell("%s manual | groff -man -Tascii -P-c -P-b -P-o -P-u -ww -rLL=100n", process_program());
    if (r.exit_status != 0 || r.err[0] != '\0')
        fail_msg("groff: %s", r.err);
    assert_non_null(strstr(r.out, "NAME"));
    assert_non_null(strstr(r.out, "EXIT STATUS"));
    process_free(&r);
}

/* What bash would offer, with the cursor behind the last word. */
static char *offered(const char *words)
{
    struct process_result r = process_shell(
        "source <(%s completion bash); COMP_WORDS=(%s); [ \"${COMP_WORDS[-1]}\" != _ ] || COMP_WORDS[-1]=''; "
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _oocgnn; printf '%%s\\n' \"${COMPREPLY[@]}\"",
        process_program(), words);
    if (r.exit_status != 0 || r.err[0] != '\0')
        fail_msg("%s: exit %d: %s", words, r.exit_status, r.err);
    free(r.err);
    return r.out;
}

static void bash_completes(void **state)
{
    (void)state;
    static const struct {
        const char *words; /* '_' stands for an empty one */
        const char *offered;
    } cases[] = {
        {"oocgnn comp", "compare\ncompletion\n"},
        {"oocgnn help dre", ""},
        {"oocgnn help doc", "doctor\n"},
        {"oocgnn run --model _", "sage\ngcn\ngat\n"},
        {"oocgnn run --model = g", "gcn\ngat\n"},
        {"oocgnn run --memo", "--memory\n"},
        {"oocgnn run --no-co", "--no-cold\n"},
        {"oocgnn run --system gnnd", "gnndrive\n"},
        {"oocgnn run --dataset twi", "twitter\n"},
        {"oocgnn run --preset equal", "equal-memory\n"},
        {"oocgnn run --set gnndrive.extractor", "gnndrive.extractors=\n"},
        {"oocgnn run --batch _", "\n"},
        {"oocgnn list prof", "profiles\n"},
        {"oocgnn list params gnnd", "gnndrive\n"},
        {"oocgnn figure gnndrive-fig1",
         "gnndrive-fig10\ngnndrive-fig11\ngnndrive-fig12\ngnndrive-fig13\ngnndrive-fig14\n"},
        {"oocgnn figure toler", ""},
        {"oocgnn report --series memo", "memory\n"},
        {"oocgnn plot --facet memo", "memory\n"},
        {"oocgnn plot --y epoch_m", "epoch_min\n"},
        {"oocgnn plot --chart h", "heat\n"},
        {"oocgnn report --series compute-t", "compute-threads\n"},
        {"oocgnn sweep workloads/smo", "workloads/smoke.ini\n"},
        {"oocgnn report --db workloads/smo", "workloads/smoke.ini\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *const got = offered(cases[i].words);
        const char *const wanted = cases[i].offered[0] == '\0' ? "\n" : cases[i].offered;
        if (strcmp(got, wanted) != 0)
            fail_msg("%s: offered \"%s\", expected \"%s\"", cases[i].words, got, wanted);
        free(got);
    }
}

static void need_zsh(void)
{
    struct process_result r = process_shell("command -v zsh");
    const bool there = r.exit_status == 0;
    process_free(&r);
    if (!there)
        skip_test("no zsh here");
}

static void zsh_reads_it(void **state)
{
    (void)state;
    need_zsh();
    struct process_result r = process_shell("%s completion zsh | zsh -n", process_program());
    if (r.exit_status != 0)
        fail_msg("%s", r.err);
    process_free(&r);
}

/* Types at a zsh in a terminal: words, a tab, and around what then stands there a command that writes it to a file. */
static const char typist[] = "zmodload zsh/zpty; : >$1/out\n"
                             "zpty shell zsh -f -i\n"
                             "wait_for() { while (( $(wc -l <$1/out) < $2 )); do sleep 0.05; done; sleep 0.1 }\n"
                             "zpty -w shell \"fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -d $1/dump; "
                             "bindkey -e; print ready >>$1/out\"\n"
                             "wait_for $1 1\n"
                             "for (( i = 2; i <= $#; i++ )); do\n"
                             "    zpty -n -w shell \"${@[i]}\"$'\\t'; sleep 0.2\n"
                             "    zpty -w shell $'\\x01print -r -- \"\\x05\" >>'$1/out; wait_for $1 $i\n"
                             "done\n";

static void zsh_completes(void **state)
{
    (void)state;
    need_zsh();
    char *const dir = process_temp_dir();
    process_write_file(dir, "typist.zsh", 0644, "%s", typist);
    struct process_result r = process_shell(
        "%s completion zsh >%s/_oocgnn; " HANG_TIMEOUT " zsh -f %s/typist.zsh %s 'oocgnn compa' 'oocgnn run --memo' "
        "'oocgnn run --system gnnd' 'oocgnn list prof' 'oocgnn report --ht' "
        "'oocgnn list params gnnd' 'oocgnn figure agnes-tab' >%s/typed 2>&1; cat %s/out",
        process_program(), dir, dir, dir, dir, dir);
    process_remove_tree(dir);
    free(dir);
    assert_string_equal(r.out, "ready\noocgnn compare\noocgnn run --memory\noocgnn run --system gnndrive\n"
                               "oocgnn list profiles\noocgnn report --html\n"
                               "oocgnn list params gnndrive\noocgnn figure agnes-table2\n");
    process_free(&r);
}

static void wrong_usage(void **state)
{
    (void)state;
    process_expect(process_shell("%s completion", process_program()), 2, "bash or zsh", "no shell");
    process_expect(process_shell("%s completion fish", process_program()), 2, "neither bash nor zsh", "another shell");
    process_expect(process_shell("%s run --help=html", process_program()), 2, "--help=man", "another help");
    process_expect(process_shell("%s manual page", process_program()), 2, "unexpected argument", "a word");
}

static void installed(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    char build[600];
    (void)snprintf(build, sizeof build, "%s", process_program());
    *strrchr(build, '/') = '\0';
    struct process_result r = process_shell(
        "unset MAKEFLAGS MAKELEVEL MFLAGS; make -s -o all install NVCC= BUILD=%s DESTDIR=%s PREFIX=/usr", build, dir);
    if (r.exit_status != 0)
        fail_msg("make install: %s%s", r.out, r.err);
    process_free(&r);
    r = process_shell("cd %s/usr/share && ls man/man1/oocgnn.1 bash-completion/completions/oocgnn "
                      "zsh/site-functions/_oocgnn oocgnn/gate/exact.ini doc/oocgnn/LICENSE doc/oocgnn/CITATION.cff && "
                      "head -1 man/man1/oocgnn.1 && %s/usr/bin/oocgnn "
                      "compare x y; true",
                      dir, dir);
    assert_non_null(strstr(r.out, ".TH OOCGNN 1 "));
    if (strstr(r.err, "No such file") == NULL || strstr(r.err, "cannot access") != NULL)
        fail_msg("%s", r.err);
    process_free(&r);
    process_remove_tree(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_of_run_is_grouped),
        cmocka_unit_test(every_option_is_everywhere),
        cmocka_unit_test(groff_has_nothing_to_say),
        cmocka_unit_test(bash_completes),
        cmocka_unit_test(zsh_reads_it),
        cmocka_unit_test(zsh_completes),
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(installed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
