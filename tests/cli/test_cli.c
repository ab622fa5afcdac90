/* SPDX-License-Identifier: MIT */
/* The command line: what bad input gets. Each case ends with one clear message that names the remedy, and the exit
 * status that `oocgnn --help` promises; nothing is written to stdout. */
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARGUMENTS_MAX = 24 };

struct wrong {
    const char *arguments; /* cut at blanks */
    int exit_status;
    const char *message; /* part of stderr */
};

static const struct wrong wrongs[] = {
    {"", 2, "usage: oocgnn COMMAND"},
    {"rum", 2, "did you mean \"run\""},
    {"stats", 2, "name a dataset, or a recipe"},
    {"stats papers100m --recipe a.ini", 2, "name a dataset, or a recipe"},
    {"stats papers100m mag240m", 2, "one dataset at a time"},
    {"stats nosuch", 2, "no built-in dataset \"nosuch\""},
    {"stats ./nosuch", 2, "no dataset there"},
    {"stats --recipe nosuch.ini", 2,
     "--recipe nosuch.ini: No such file or directory; `oocgnn stats DATASET --recipe-from nosuch.ini` writes one"},
    {"stats --recipe /proc", 2, "oocgnn: --recipe /proc: is a directory, a file was expected; `oocgnn stats"},
    {"stats papers100m --generate reach", 2, "expected NAME=VALUE"},
    {"stats papers100m --generate rich=1", 2, "did you mean \"reach\""},
    {"stats papers100m --no-lists --recipe-from a.ini", 2, "leave --no-lists out"},
    {"prepare friendster --scale 1/10000 --empty 0.1 --out /proc/none", 2, "add --reach"},
    {"stats papers100m --recipe-from /proc/no.ini", 2, "--recipe-from /proc/no.ini: No such file or directory. Name a"},
    {"stats papers100m --recipe-from README.md", 2, "--recipe-from README.md: File exists. Name a new file"},
    {"stats papers100m --plot /proc/nope", 2, "--plot: /proc/nope: cannot be made a directory"},
    {"prepare twin --recipe nosuch.ini --out /proc/none", 2,
     "--recipe nosuch.ini: No such file or directory; `oocgnn stats DATASET --recipe-from nosuch.ini` writes one"},
    {"prepare twin --recipe /proc --data /nonexistent/a/b", 2, "--recipe /proc: is a directory, a file was expected"},
    {"run --system null --dataset papers100m --generate reach=0.1", 2, "for a graph that is computed"},
    {"run --system null --dataset papers100m --world simulated --profile gnndrive-paper --generate reach", 2,
     "expected NAME=VALUE"},
    {"run --system null --dataset papers100m --world simulated --profile gnndrive-paper --generate dim=3", 2,
     "give --dim"},
    {"run --system", 2, "--system needs a value"},
    {"run --dataset cora", 2,
     "--system is missing; this build has: null, pygplus, ginex, gnndrive, ringsampler, agnes, diskgnn, mariusgnn, "
     "presort, graphbolt"},
    {"run --system gnndive --dataset cora", 2, "unknown system \"gnndive\"; did you mean \"gnndrive\"?"},
    {"run --system pygplus", 2, "--dataset is missing"},
    {"run --system pygplus --dataset nosuch", 2, "no built-in dataset \"nosuch\""},
    {"run --system pygplus --dataset ./nosuch", 2, "no dataset there"},
    {"run --system pygplus --dataset cora --dataset nosuch", 2, "no built-in dataset \"nosuch\""},
    {"run --system gnndive --system pygplus --dataset nosuch", 2, "no built-in dataset \"nosuch\""},
    {"run --system pygplus --dataset cora --memory 16GB!", 2, "option memory"},
    {"run --system pygplus --dataset cora --memry 16M", 2, "did you mean \"memory\""},
    {"run --system pygplus --dataset cora --fanout 10,,10", 2, "option fanout"},
    {"run --system pygplus --dataset cora --fanout 1,1,1,1,1,1,1,1,1", 2, "option fanout"},
    {"run --system pygplus --dataset cora --fanout 65", 2, "a whole number from 1 to 64"},
    {"run --system pygplus --dataset cora --fanout all", 2, "a whole number from 1 to 64"},
    {"run --system pygplus --dataset cora --batch 0", 2, "option batch"},
    {"run --system pygplus --dataset cora --model mlp", 2, "none of sage, gcn, gat"},
    {"run --system pygplus --dataset cora --set extractors=2", 2, "expected SYSTEM.NAME=VALUE"},
    {"run --system gnndrive --dataset cora --set gnndrive.extracters=2", 2, "did you mean \"extractors\""},
    {"run --system gnndrive --dataset cora --set gnndrive.extractors=many", 2, "extractors"},
    {"run --system gnndrive --dataset cora --set gnndrve.extractors=2", 2, "unknown system \"gnndrve\""},
    {"run --system pygplus --dataset cora --preset nopaper", 2, "no preset \"nopaper\"; there are agnes"},
    {"run --system pygplus --dataset cora --world simulated", 2, "--profile"},
    {"run --system pygplus --dataset cora --compute cuda", 4, "use --compute cpu"},
    {"run --system pygplus --dataset cora --compute cuda:one", 2, "cuda[:N]"},
    {"run --system pygplus --dataset cora --precision bf16", 2, "add --compute cuda"},
    {"run --system pygplus --dataset cora --no-step-graphs", 2, "add --compute cuda"},
    {"run --system pygplus --dataset cora --compute fpga", 2, "unknown back-end"},
    {"run --system pygplus --dataset cora --hidden 30 --heads 4 --gat-width-total", 2, "choose a multiple"},
    {"run extra --system pygplus", 2, "unexpected argument \"extra\""},
    {"run --system null --dataset cora --profile nvme", 2, "--world simulated"},
    {"run --system null --dataset cora --swap 1G", 2, "--memory"},
    {"run --system null --dataset cora --interval 1ms", 2, "--interval: 1.00 ms is too short: at least 10ms"},
    {"run --system null --dataset cora --set gnndrive.extracters=2", 2, "did you mean \"extractors\""},
    {"run --system null --dataset cora --device-iops 99999999999", 2, "option device-iops"},
    {"run --system null --dataset cora --seed -1", 2, "option seed"},
    {"run --system null --dataset cora --seed 18446744073709551616", 2, "option seed"},
    {"run --system null --dataset cora --lr nan", 2, "option lr"},
    {"run --system null --dataset cora --memory 99999999999999999999", 2, "option memory"},
    {"run --system null --dataset cora --time-limit 999999999h", 2, "option time-limit"},
    {"run --system null --dataset cora --no-cold=yes", 2, "takes no value"},
    {"prepare papers100m --quick", 2, "--check"},
    {"prepare papers100m --add-reverse", 2, "--from"},
    {"prepare papers100m --format snap", 2, "--from"},
    {"prepare mine --from /dev --scale 1/3", 2, "generated datasets"},
    {"prepare papers100m --data /nonexistent/a/b", 2, "--data /nonexistent/a/b"},
    {"list", 2, "usage: oocgnn list"},
    {"list params", 2, "which system? `oocgnn list systems`"},
    {"run --", 2, "unexpected argument \"--\""},
    {"run --=3", 2, "unexpected argument \"--=3\""},
    {"list system", 2, "did you mean \"systems\"?"},
    {"list systems null pygplus", 2, "unexpected argument \"pygplus\""},
    {"list systems nosuch", 2, "unknown system \"nosuch\"; this build"},
    {"list systems ./nosuch.so", 2, "--system ./nosuch.so: No such file"},
    {"list params nosuch.so", 2, "a file is given with a '/': ./nosuch.so"},
    {"check-system", 2, "which system? oocgnn check-system ./mine.so"},
    {"check-system null pygplus", 2, "one system at a time"},
    {"check-system null --set nonsense", 2, "--set nonsense"},
    {"check-system null --profile nosuch", 2, "nosuch"},
    {"check-system null --dir /no/such", 4, "--dir /no/such: No such file or directory; name a directory"},
    {"help rnu", 2, "did you mean \"run\"?"},
    {"help run sweep", 2, "got \"run\" and \"sweep\""},
    {"list params nosuch", 2, "unknown system \"nosuch\"; this build"},
    {"prepare", 2, "which dataset?"},
    {"prepare papers10m", 2, "papers100m"},
    {"prepare papers100m --scale 3", 2, "option scale"},
    {"prepare papers100m --scal 1/100", 2, "did you mean \"scale\""},
    {"prepare cora --from /nonexistent --format ogb", 2, "/nonexistent"},
    {"prepare mine --from /proc/version --out /proc/none", 2,
     "oocgnn: --from /proc/version: --format ogb takes a directory with edge_index.npy (maybe .gz), indptr.npy and "
     "indices.npy, OGB's edge.csv, or a .npz archive of arrays, and this is a file; say --format snap"},
    {"prepare kron --from /nonexistent --format ogb", 2, "`--dataset kron` means the dataset that is generated"},
    {"prepare ./nosuch --check", 2, "nosuch"},
    {"report --db /nonexistent/x.db", 2, "/nonexistent/x.db"},
    {"report --last many", 2, "option last"},
    {"report seven", 2, "no such database; name another"},
    {"sweep", 2, "which job file?"},
    {"sweep /nonexistent.ini", 2,
     "oocgnn: job file /nonexistent.ini: No such file or directory; name one that is there: workloads/smoke.ini is "
     "one"},
    {"sweep /proc", 2, "oocgnn: job file /proc: is a directory, a file was expected; name one that is there"},
    {"merge all.db", 2, "which databases?"},
    {"figure", 2, "name some, or --all"},
    {"figure gnndrive-fig20", 2, "no figure \"gnndrive-fig20\""},
    {"figure agnes-fig7", 4, "not available"},
    {"figure --list --scale 3", 2, "--scale: \"3\" is not a scale"},
    {"figure agnes-fig4 --all", 2, "figure: agnes-fig4 and --all: the one or the other"},
    {"figure agnes-fig4 --list", 2, "agnes-fig4 and --list"},
    {"doctor --jsn", 2, "did you mean \"json\""},
};

static struct process_result run_words(const char *arguments)
{
    char words[1024];
    const char *argv[ARGUMENTS_MAX] = {process_program()};
    int count = 1;
    (void)snprintf(words, sizeof words, "%s", arguments);
    char *rest = words;
    for (char *word = strsep(&rest, " "); word != NULL && count < ARGUMENTS_MAX - 1; word = strsep(&rest, " "))
        if (word[0] != '\0')
            argv[count++] = word;
    return process_run(argv);
}

static void bad_input_gets_a_message(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct process_result r = run_words(wrongs[i].arguments);
        if (r.exit_status != wrongs[i].exit_status || strstr(r.err, wrongs[i].message) == NULL || r.out[0] != '\0') {
            bad++;
            print_error("oocgnn %s\n  exit %d, expected %d; expected \"%s\" in:\n%s%s\n", wrongs[i].arguments,
                        r.exit_status, wrongs[i].exit_status, wrongs[i].message, r.err, r.out);
        }
        process_free(&r);
    }
    assert_int_equal(bad, 0);
}

static void help_and_lists(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *part;
    } cases[] = {
        {"--help", "doctor"},
        {"-h", "doctor"},
        {"run -h", "--memory"},
        {"--version", " (commit "},
        {"run --help", "--memory"},
        {"run --help", "--batch seeds                   Seed nodes in a mini-batch [1000; 1 to 1048576]"},
        {"run --help", "--[no-]cold "},
        {"help run", "--io uring|pool "},
        {"help", "doctor"},
        {"help", "If an option is given twice, the last value wins"},
        {"manual", "If an option is given twice, the last value wins"},
        {"list --help", "--markdown"},
        {"list params gnndrive --markdown", "| parameter | meaning | default | range | source |"},
        {"list profiles", "gnndrive-paper"},
        {"prepare --help", "--drop-duplicates"},
        {"report --help", "--plot"},
        {"sweep --help", "--resume"},
        {"merge --help", "INTO FROM"},
        {"page --help", "--write"},
        {"figure --help", "--check"},
        {"doctor --help", "--json"},
        {"list systems", "gnndrive     cpu, gpu, sampling only, workers            GNNDrive"},
        {"list systems", "mariusgnn    cpu, gpu, sampling only, links, own samples MariusGNN"},
        {"prepare --help", "--format ogb|snap|triples [OPTION...] import"},
        {"list datasets", "papers100m"},
        {"list models", "gat"},
        {"list presets", "gnndrive"},
        {"list params gnndrive", "extractors="},
        {"list params pygplus", "source:"},
        {"sweep workloads/smoke.ini --dry-run", "10 configurations, 10 runs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct process_result r = run_words(cases[i].arguments);
        if (r.exit_status != 0 || strstr(r.out, cases[i].part) == NULL)
            fail_msg("oocgnn %s: exit %d, expected \"%s\" in:\n%s%s", cases[i].arguments, r.exit_status, cases[i].part,
                     r.out, r.err);
        process_free(&r);
    }
}

static void doctor_names_every_library(void **state)
{
    (void)state;
    process_expect(
        process_shell("set -o pipefail; p=%s; line=$($p doctor | grep '^ok  *libraries ') || exit 1\n"
                      "for file in $(ldd \"$p\" | sed -n 's/.*=> \\(\\/[^ ]*\\).*/\\1/p'); do\n"
                      "    file=$(basename \"$(readlink -f \"$file\")\"); libraries+=$file\n"
                      "    [[ \"$line \" = *\" $file \"* ]] || { echo \"$file is not in: $line\" >&2; exit 1; }\n"
                      "done; [[ $libraries = *sqlite3*blas* ]] || { echo \"ldd: $libraries\" >&2; exit 1; }",
                      process_program()),
        0, "", "doctor's list against ldd's");
}

/* A processor with AVX2 that OpenBLAS does not know must not train with the kernels of 2004; what the user names
 * stands, and is told. */
static void kernels_are_those_of_the_processor(void **state)
{
    (void)state;
    process_expect(process_shell("unset OPENBLAS_CORETYPE; line=$(%s doctor | grep ' BLAS ')\n"
                                 "[[ $line = ok*OpenBLAS* ]] || ! grep -q avx2 /proc/cpuinfo",
                                 process_program()),
                   0, "", "doctor about OpenBLAS");
    process_expect(process_shell("grep -q avx2 /proc/cpuinfo || exit 0\n"
                                 "line=$(OPENBLAS_CORETYPE=Prescott %s doctor | grep -A1 ' BLAS ')\n"
                                 "[[ $line = *'Prescott, by OPENBLAS_CORETYPE=Prescott'*'unset OPENBLAS_CORETYPE'* ]]",
                                 process_program()),
                   0, "", "doctor about kernels that the user named");
}

/* Reads a file of the source tree; the test runs in its root. NULL if it is not there. */
static char *read_page(const char *path)
{
    FILE *const file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    if (file == NULL)
        return NULL;
    const ssize_t length = getdelim(&text, &room, '\0', file);
    assert_int_equal(fclose(file), 0);
    assert_true(length > 0);
    return text;
}

/* Compares the table in systems/NAME/README.md, which scripts/parameters.sh writes, with the option table. */
static void check_page(const char *system)
{
    static const char begin[] = "<!-- parameters: begin -->\n", end[] = "<!-- parameters: end -->\n";
    char path[128], words[128];
    (void)snprintf(path, sizeof path, "systems/%s/README.md", system);
    (void)snprintf(words, sizeof words, "list params %s --markdown", system);
    struct process_result r = run_words(words);
    assert_int_equal(r.exit_status, 0);
    char *const page = read_page(path);
    assert_non_null(page);
    const char *const from = strstr(page, begin), *const to = strstr(page, end);
    if (from == NULL || to == NULL)
        fail_msg("%s: no lines <!-- parameters: begin --> and <!-- parameters: end -->", path);
    const char *const table = from + strlen(begin);
    if (to < table || (size_t)(to - table) != strlen(r.out) || memcmp(table, r.out, strlen(r.out)) != 0)
        fail_msg("%s: not the table of this build; run scripts/parameters.sh", path);
    free(page);
    process_free(&r);
}

static void pages_have_the_tables_of_the_program(void **state)
{
    (void)state;
    struct process_result r = run_words("list systems");
    int count = 0;
    char *rest = r.out;
    for (char *line = strsep(&rest, "\n"); line != NULL && line[0] != '\0'; line = strsep(&rest, "\n")) {
        line[strcspn(line, " ")] = '\0';
        check_page(line);
        count++;
    }
    assert_true(count >= 6);
    process_free(&r);
}

/* A name that is a directory here, and nothing in --data: how to say it. */
static void a_directory_is_named_with_a_slash(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    char path[600], here[600], words[1200];
    (void)snprintf(path, sizeof path, "%s/mine", dir);
    assert_int_equal(mkdir(path, 0777), 0);
    (void)snprintf(path, sizeof path, "%s/mine/meta", dir);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_non_null(getcwd(here, sizeof here));
    char *const program = realpath(process_program(), NULL);
    assert_non_null(program);
    (void)setenv("OOCGNN", program, 1); /* the same from another folder */
    free(program);
    assert_int_equal(chdir(dir), 0);
    (void)snprintf(words, sizeof words, "run --system null --dataset mine --db %s/x.db", dir);
    struct process_result r = run_words(words);
    assert_int_equal(chdir(here), 0);
    if (r.exit_status != 2 || strstr(r.err, "use `./mine`") == NULL)
        fail_msg("exit %d: %s", r.exit_status, r.err);
    process_free(&r);
    process_remove_tree(dir);
    free(dir);
}

/* A job file's mistakes are named with file and line, and nothing runs. */
static void job_file_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"[global]\nsystem = null\n", "nothing to run"},
        {"[a]\nsystem = nul\ndataset = cora\n", "unknown system \"nul\"; did you mean \"null\"?"},
        {"[a]\nsystem = null\nmemry = 3M\n", "job.ini:3"},
        {"[a]\nsystem = null\nmemory = 3 parsecs\n", "job.ini:3"},
        {"[a]\nsystem = null\nsystem = null\n", "job.ini:3"},
        {"system = null\n", "job.ini:1"},
    };
    char *const dir = process_temp_dir();
    char path[600], command[700];
    (void)snprintf(path, sizeof path, "%s/job.ini", dir);
    (void)snprintf(command, sizeof command, "sweep %s", path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FILE *const file = fopen(path, "w");
        assert_non_null(file);
        (void)fputs(cases[i].text, file);
        (void)fclose(file);
        struct process_result r = run_words(command);
        if (r.exit_status != 2 || strstr(r.err, cases[i].part) == NULL)
            fail_msg("case %zu: exit %d, expected \"%s\" in:\n%s", i, r.exit_status, cases[i].part, r.err);
        process_free(&r);
    }
    process_remove_tree(dir);
    free(dir);
}

int main(void)
{
    (void)setenv("OOCGNN_CUDA_PLUGIN", "/nonexistent/plugin.so", 1); /* also where one was built */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_gets_a_message),
        cmocka_unit_test(help_and_lists),
        cmocka_unit_test(doctor_names_every_library),
        cmocka_unit_test(kernels_are_those_of_the_processor),
        cmocka_unit_test(job_file_mistakes),
        cmocka_unit_test(pages_have_the_tables_of_the_program),
        cmocka_unit_test(a_directory_is_named_with_a_slash),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
