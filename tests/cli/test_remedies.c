/* SPDX-License-Identifier: MIT */
/* Remedies in error messages: the command between backquotes is pasted into a shell and works, and an option that a
 * message names repairs the command that failed. */
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMAND_MAX = 2000, CASES_MIN = 30, OPTION_CASES_MIN = 8 };

#define SMALL " --batch 32 --hidden 16 --fanout 5,5 --evaluate never --quiet"
#define SIMULATED " --world simulated --profile gnndrive-paper"
#define PAPERS "papers100m --scale 1/4000"
#define FREEBASE "freebase86m --scale 1/40000"
#define PREPARE "oocgnn prepare " PAPERS " --dim 16 --quiet"
#define PREPARE_LINKS "oocgnn prepare " FREEBASE " --quiet"
#define RUN "oocgnn run --system null --no-cold" SMALL
#define RUN_SIMULATED " --dataset " PAPERS SIMULATED SMALL
#define RECORD "oocgnn run --system null" RUN_SIMULATED

/* ---- a shell in a folder of its own ---- */

static bool in_memory(const char *dir)
{
    struct statfs info;
    return statfs(dir, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

/* Runs a command of bash in `dir`, with the program's folder first on PATH and no profile of this user. A program in
 * dir/bin, which a case may put there, precedes it. */
static struct process_result in_shell(const char *dir, const char *command)
{
    char *const program = realpath(process_program(), NULL);
    assert_non_null(program);
    *strrchr(program, '/') = '\0';
    struct process_result r = process_shell("cd %s && export PATH=%s/bin:%s:\"$PATH\" XDG_DATA_HOME=%s/none && { %s\n}",
                                            dir, dir, program, dir, command);
    free(program);
    return r;
}

static void succeeds(const char *dir, const char *command, const char *what)
{
    struct process_result r = in_shell(dir, command);
    if (r.exit_status != 0)
        fail_msg("%s: `%s` ends with %d:\n%s%s", what, command, r.exit_status, r.err, r.out);
    process_free(&r);
}

/* Returns the message of a command that fails; the caller frees it. */
static char *message_of(const char *dir, const char *command)
{
    struct process_result r = in_shell(dir, command);
    if (r.exit_status == 0)
        fail_msg("`%s` should fail", command);
    free(r.out);
    return r.err;
}

/* Takes the first command of oocgnn between backquotes. */
static void take_command(const char *message, const char *failed, char taken[COMMAND_MAX])
{
    const char *const from = strstr(message, "`oocgnn "), *const end = from != NULL ? strchr(from + 1, '`') : NULL;
    if (end == NULL || end - from > COMMAND_MAX)
        fail_msg("`%s`: no command in: %s", failed, message);
    else
        (void)snprintf(taken, COMMAND_MAX, "%.*s", (int)(end - from - 1), from + 1);
}

/* ---- commands ---- */

enum { TELLS, REPAIRS };

static const struct {
    const char *before, *failing;
    int repairs; /* the first command succeeds after the remedy */
} commands[] = {
    /* A dataset that is missing. */
    {NULL, RUN " --dataset " PAPERS, REPAIRS},
    {NULL, RUN " --dataset " PAPERS " --dim 24", REPAIRS},
    {NULL, RUN " --dataset " PAPERS " --id-bytes 8", REPAIRS},
    {NULL, RUN " --dataset " PAPERS " --data 'my data'", REPAIRS},
    {NULL, RUN " --dataset " PAPERS " --data \"it's here\" --id-bytes 8 --dim 8", REPAIRS},
    {NULL, RUN " --dataset ./data/papers100m-1_4000", REPAIRS},
    {NULL, RUN " --dataset './my data/papers100m-1_4000'", REPAIRS},
    {NULL, "oocgnn run --system pygplus --task link --dim 8 --dataset " FREEBASE SIMULATED SMALL, REPAIRS},
    {NULL, "oocgnn stats " FREEBASE " --epochs 0", REPAIRS},
    {NULL, "oocgnn stats './a b/papers100m-1_4000' --epochs 0", REPAIRS},
    {NULL, "oocgnn bound --dataset " FREEBASE " --batch 100", REPAIRS},
    {NULL, "oocgnn bound --dataset ./d/papers100m-1_4000 --batch 100", REPAIRS},
    {NULL, "oocgnn prepare ./d/papers100m-1_4000 --dim 4 --quiet", REPAIRS},
    {"printf '[x]\\nsystem = null\\ndataset = papers100m\\nscale = 1/4000\\ncold = no\\nevaluate = never\\n' >job",
     "oocgnn sweep job --no-prepare", REPAIRS},

    /* A width that is missing. */
    {PREPARE, RUN " --dataset " PAPERS " --dim 32", REPAIRS},
    {PREPARE, RUN " --dataset " PAPERS " --id-bytes 8", REPAIRS},
    {PREPARE " --id-bytes 8", RUN " --dataset " PAPERS, REPAIRS},
    {PREPARE " --seed 7 --reach 0 --homophily 0.4", RUN " --dataset " PAPERS " --dim 32", REPAIRS},
    {PREPARE " --out 'my set'", RUN " --dataset './my set' --dim 32", REPAIRS},
    {PREPARE_LINKS, "oocgnn run --system pygplus --task link --id-bytes 8 --dim 8 --dataset " FREEBASE SIMULATED SMALL,
     REPAIRS},
    {"printf '0 1\\n1 2\\n2 0\\n' >edges && oocgnn prepare mine --from edges --format snap --dim 4 --classes 2 "
     "--train-fraction 1 --valid-fraction 0 --test-fraction 0 --quiet && rm edges",
     RUN " --dataset mine --id-bytes 8", REPAIRS},

    /* The wrong kind of graph or system. */
    {NULL, "oocgnn run --system pygplus --task link" RUN_SIMULATED, TELLS},
    {PREPARE, "oocgnn run --system pygplus --task link --no-cold --dataset " PAPERS SMALL, TELLS},
    {NULL, "oocgnn run --system null --task link" RUN_SIMULATED, TELLS},
    {NULL, "oocgnn run --system null --workers 2" RUN_SIMULATED, TELLS},

    /* Names. */
    {NULL, "oocgnn run --system null --dataset papers10m", TELLS},
    {NULL, "oocgnn run --system null", TELLS},
    {NULL, "oocgnn prepare", TELLS},
    {NULL, "oocgnn prepare papers10m", TELLS},
    {NULL, "oocgnn prepare ./mine", TELLS},
    {NULL, "oocgnn list params", TELLS},
    {NULL, "oocgnn list systms", TELLS},
    {NULL, "oocgnn run --system null --world simulated --dataset papers100m", TELLS},
    {NULL, "oocgnn run --system null --dataset papers100m --world simulated --profile nosuch", TELLS},
    {NULL, "oocgnn run --system gnndrive --dataset papers100m --set gnndrive.extractors", TELLS},
    {NULL, "oocgnn run --system ginex --dataset papers100m --set samplers=2", TELLS},
    {NULL, "oocgnn run --dataset papers100m --set samplers=2", TELLS},
    {"mkdir -p bin none/oocgnn/figures && cp \"$(command -v oocgnn)\" bin && "
     "cp \"$OLDPWD\"/experiments/papers/tolerances.ini none/oocgnn/figures", /* few figures are listed faster */
     "oocgnn figure nosuch", TELLS},
    {NULL, "oocgnn figure oocgnn-demo --check --fix nosuch=1", TELLS},

    /* Words and options. */
    {NULL, "oocgnn rnu", TELLS},
    {NULL, "oocgnn run --nosuch", TELLS},
    {NULL, "oocgnn report --nosuch", TELLS},
    {NULL, "oocgnn sweep --nosuch", TELLS},
    {NULL, "oocgnn compare a", TELLS},
    {NULL, "oocgnn compare a b c", TELLS},
    {NULL, "oocgnn baseline a", TELLS},
    {NULL, "oocgnn doctor word", TELLS},
    {NULL, "oocgnn list a b", TELLS},

    /* Records. */
    {NULL, "oocgnn report", TELLS},
    {": >empty.db", "oocgnn report --db empty.db", TELLS},
    {RECORD " --db 'my runs.db'", "oocgnn report 99 --db 'my runs.db'", TELLS},
    {RECORD " --db 'my runs.db'", "oocgnn report first --db 'my runs.db'", TELLS},
    {RECORD " --db 'my runs.db'", "oocgnn report --db 'my runs.db' --where hidden=7", TELLS},
    {RECORD " --db 'my runs.db'", "oocgnn report --db 'my runs.db' --where nosuch=7", TELLS},
    {RECORD " --db 'my runs.db'", "oocgnn bound first --db 'my runs.db'", TELLS},
    {NULL, "oocgnn bound", TELLS},
    {"head -c 100 /dev/zero >not", "oocgnn compare not not", TELLS},
};
_Static_assert(sizeof commands / sizeof *commands >= CASES_MIN, "the table is not cut short");

static void commands_can_be_pasted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char taken[COMMAND_MAX], *const dir = process_temp_dir();
        if (commands[i].before != NULL)
            succeeds(dir, commands[i].before, "before");
        char *const message = message_of(dir, commands[i].failing);
        take_command(message, commands[i].failing, taken);
        succeeds(dir, taken, message);
        if (commands[i].repairs == REPAIRS)
            succeeds(dir, commands[i].failing, taken);
        free(message);
        process_remove_tree(dir);
        free(dir);
    }
}

/* Turns the dataset $D into one of a program that knew no checksums of blocks. */
#define WITHOUT_BLOCKS "sed -i /blocks/d $D/meta && rm $D/blocks-*"

/* The check of a damaged dataset fails, and names the file. With checksums of blocks no run would begin. */
static void a_check_names_the_damaged_file(void **state)
{
    (void)state;
    static const struct {
        const char *damage, *failing, *file;
    } cases[] = {
        {"N=$(od -An -tu4 -N4 $D/train | tr -d ' ') && printf '\\xff\\xff\\xff\\xff' | dd of=$D/features-d16 bs=4 "
         "seek=$((16 * N)) conv=notrunc status=none",
         "oocgnn run --system pygplus --no-cold --dataset './my set'" SMALL, "features-d16"},
        {"head -c $(stat -c %s $D/indices) /dev/zero | tr '\\0' '\\376' >$D/new && mv $D/new $D/indices",
         "oocgnn run --system pygplus --no-cold --dataset './my set'" SMALL, "indices"},
        {"head -c $(stat -c %s $D/indices) /dev/zero | tr '\\0' '\\376' >$D/new && mv $D/new $D/indices",
         "oocgnn run --system ringsampler --sample-only --no-cold --dataset './my set'" SMALL, "indices"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char taken[COMMAND_MAX], *const dir = process_temp_dir();
        (void)snprintf(taken, sizeof taken, PREPARE " --out d && D=d && " WITHOUT_BLOCKS " && %s && mv d 'my set'",
                       cases[i].damage);
        succeeds(dir, taken, "damage");
        char *const message = message_of(dir, cases[i].failing);
        take_command(message, cases[i].failing, taken);
        process_expect(in_shell(dir, taken), 1, cases[i].file, taken);
        free(message);
        process_remove_tree(dir);
        free(dir);
    }
}

/* A run on such a dataset succeeds, and says how to add the checksums. */
static void a_note_can_be_pasted(void **state)
{
    (void)state;
    static const char run[] = "oocgnn run --system null --no-cold --evaluate never --batch 32 --dataset './my set'";
    char taken[COMMAND_MAX], *const dir = process_temp_dir();
    succeeds(dir, PREPARE " --out d && D=d && " WITHOUT_BLOCKS " && mv d 'my set'", "before");
    struct process_result r = in_shell(dir, run);
    assert_int_equal(r.exit_status, 0);
    take_command(r.err, run, taken);
    process_free(&r);
    succeeds(dir, taken, run);
    r = in_shell(dir, run);
    assert_null(strstr(r.err, "`oocgnn "));
    process_expect(r, 0, "", run);
    process_remove_tree(dir);
    free(dir);
}

/* A run on a graph of an earlier version succeeds, and its warning has the command that generates the present one. */
static void an_earlier_graph_is_named(void **state)
{
    (void)state;
    static const char run[] = "oocgnn run --system null --no-cold --evaluate never --batch 32 --dataset ";
    char taken[COMMAND_MAX], command[COMMAND_MAX], *const dir = process_temp_dir();
    succeeds(dir, PREPARE " --order even --train-share 0 --out './my set'", "before");
    (void)snprintf(command, sizeof command, "%s'./my set'", run);
    struct process_result r = in_shell(dir, command);
    assert_int_equal(r.exit_status, 0);
    assert_non_null(strstr(r.err, "warning: ./my set has the graph papers100m of an earlier version"));
    take_command(r.err, command, taken);
    process_free(&r);
    succeeds(dir, taken, command);
    (void)snprintf(command, sizeof command, "%s'./my set-new'", run);
    r = in_shell(dir, command);
    assert_null(strstr(r.err, "earlier version"));
    process_expect(r, 0, "", command);
    process_remove_tree(dir);
    free(dir);
}

/* ---- options ---- */

#define LINKS "oocgnn run --system pygplus --dim 8 --dataset " FREEBASE SIMULATED SMALL
#define RINGSAMPLER "oocgnn run --system ringsampler" RUN_SIMULATED

static const struct {
    const char *before, *failing;
    const char *lead;   /* of the option in the message */
    int words;          /* that are taken */
    const char *prefix; /* of what is appended to the command */
} options[] = {
    {PREPARE_LINKS, LINKS, "; add ", 2, ""},
    {PREPARE_LINKS, LINKS " --decoder complex", ": add ", 2, ""},
    {PREPARE_LINKS,
     "oocgnn run --system mariusgnn --dim 8 --set mariusgnn.policy=comet --dataset " FREEBASE SIMULATED SMALL, "; add ",
     2, ""},
    {PREPARE, "oocgnn run --system pygplus --profile gnndrive-paper --dataset " PAPERS SMALL, "requires ", 2, ""},
    {NULL, "oocgnn run --system pygplus --compute ref" RUN_SIMULATED, "; use ", 2, ""},
    {NULL, "oocgnn run --system agnes --set agnes.hyperbatch=2 --batches 4 --batch 8" RUN_SIMULATED " --batch 8",
     ". Use ", 4, ""},
    {NULL, "oocgnn run --system gnndrive --workers 2 --set gnndrive.order=segments" RUN_SIMULATED, ": set ", 1,
     "--set "},
    {NULL, RINGSAMPLER " --set ringsampler.requests=50", ": add ", 1, ""},
    {NULL, RINGSAMPLER " --set ringsampler.replace=true", " or add ", 1, ""},
    {NULL, RINGSAMPLER " --set ringsampler.replace=true", ": set ", 1, "--set "},
    {NULL, RINGSAMPLER " --set ringsampler.split=release", " or add ", 1, ""},
    {NULL, RINGSAMPLER " --sample-only --io pool --set ringsampler.sqpoll=true", "; use ", 2, ""},
    {"printf '1 2\\n2 3\\n3 4000000000\\n' >edges",
     "oocgnn prepare far --from edges --format snap --dim 4 --classes 3 --train-fraction 0.5 --quiet", ": add ", 1, ""},
    {"printf '1 2\\n2 3\\n' >edges",
     "oocgnn prepare mine --from edges --dim 4 --classes 3 --train-fraction 0.5 --quiet", "; say ", 2, ""},
    {"mkdir in && for f in train valid test; do printf 'a\\tr\\tb\\n' >in/$f.txt; done",
     "oocgnn prepare mine --from in --quiet", "; say ", 2, ""},
    {PREPARE, "oocgnn prepare " PAPERS " --quick --quiet", "with ", 1, ""},
};
_Static_assert(sizeof options / sizeof *options >= OPTION_CASES_MIN, "the table is not cut short");

/* Takes so many words behind `lead`, where the first is an option or a setting, without what ends a sentence. */
static void take_option(const char *message, const char *lead, int words, char taken[COMMAND_MAX])
{
    const char *at = strstr(message, lead);
    size_t length = 0;
    if (at == NULL)
        fail_msg("no \"%s\" in: %s", lead, message);
    at += strlen(lead);
    for (int i = 0; i < words; i++)
        length += strspn(at + length, " ") + strcspn(at + length + strspn(at + length, " "), " \n");
    while (length > 0 && strchr(",.;:", at[length - 1]) != NULL)
        length--;
    assert_true(length < COMMAND_MAX);
    (void)snprintf(taken, COMMAND_MAX, "%.*s", (int)length, at);
}

static void repair(const char *dir, const char *failing, const char *lead, int words, const char *prefix)
{
    char taken[COMMAND_MAX], repaired[2 * COMMAND_MAX];
    char *const message = message_of(dir, failing);
    take_option(message, lead, words, taken);
    (void)snprintf(repaired, sizeof repaired, "%s %s%s", failing, prefix, taken);
    succeeds(dir, repaired, message);
    free(message);
}

static void options_repair_the_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char *const dir = process_temp_dir();
        if (options[i].before != NULL)
            succeeds(dir, options[i].before, "before");
        repair(dir, options[i].failing, options[i].lead, options[i].words, options[i].prefix);
        process_remove_tree(dir);
        free(dir);
    }
}

/* Runs the system under a limit and returns what was printed; the caller frees it. `ends`: the result. */
static char *result_of(const char *dir, const char *system, const char *limit, const char *ends)
{
    char command[COMMAND_MAX];
    (void)snprintf(command, sizeof command, "oocgnn run --system %s %s" RUN_SIMULATED, system, limit);
    struct process_result r = in_shell(dir, command);
    if (strstr(r.out, ends) == NULL)
        fail_msg("`%s`: no \"%s\" in: %s%s", command, ends, r.out, r.err);
    free(r.err);
    return r.out;
}

/* Out of memory is a result, so the command does not fail; the limit in its message is enough. */
static void a_refused_plan_names_a_limit(void **state)
{
    (void)state;
    static const char *const systems[] = {"pygplus", "ginex",     "gnndrive", "agnes",    "ringsampler",
                                          "diskgnn", "mariusgnn", "presort",  "graphbolt"};
    char taken[COMMAND_MAX], *const dir = process_temp_dir();
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        char *const refused = result_of(dir, systems[i], "--memory 7M", "oom: ");
        take_option(refused, "; ", 2, taken);
        free(refused);
        free(result_of(dir, systems[i], taken, "result          ok"));
    }
    process_remove_tree(dir);
    free(dir);
}

/* A dataset in memory has no cold start. */
static void a_dataset_in_memory_needs_an_option(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    if (!in_memory(dir))
        skip_test("no file system in memory at /dev/shm");
    succeeds(dir, PREPARE, "before");
    repair(dir, "oocgnn run --system null --dataset " PAPERS SMALL, "or give ", 1, "");
    process_remove_tree(dir);
    free(dir);
}

/* Datasets are made in memory if that is possible, so that no test waits for a disk. */
static int set_up(void **state)
{
    (void)state;
    if (in_memory("/dev/shm") && access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_can_be_pasted),
        cmocka_unit_test(a_check_names_the_damaged_file),
        cmocka_unit_test(a_note_can_be_pasted),
        cmocka_unit_test(an_earlier_graph_is_named),
        cmocka_unit_test(options_repair_the_command),
        cmocka_unit_test(a_refused_plan_names_a_limit),
        cmocka_unit_test(a_dataset_in_memory_needs_an_option),
    };
    return cmocka_run_group_tests_name("remedies", tests, set_up, NULL);
}
