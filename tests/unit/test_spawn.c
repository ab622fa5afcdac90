/* SPDX-License-Identifier: MIT */
/* The hand-over to the worker: every option of a run, at awkward values, arrives bit for bit. The worker is
 * this executable started again, as in the product; here it sends back the configuration it was given. */
#include "harness/run/supervisor/spawn.h"
#include "harness/run/wire.h"
#include "tests/support/must.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int echo_worker(int argc, char **argv)
{
    struct gnn_err err = {0};
    struct gnn_run_config config;
    if (gnn_spawn_parse(argc, argv, &config, &err) != GNN_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const char *bytes = (const char *)&config;
    for (size_t done = 0; done < sizeof config;) {
        const ssize_t sent = write(GNN_WORKER_OUT_FD, bytes + done, sizeof config - done);
        if (sent <= 0)
            return 2;
        done += (size_t)sent;
    }
    char command = 0; /* the end of the control pipe, or one byte of it, becomes the exit status */
    const ssize_t got = read(GNN_WORKER_CONTROL_FD, &command, 1);
    return got == 0 ? 10 : command;
}

/* Starts the worker with the configuration and receives what it understood; command 0 closes the pipe. */
static int hand_over(const struct gnn_run_config *sent, struct gnn_run_config *got, char command)
{
    struct gnn_child child;
    struct gnn_err err = {0};
    must(gnn_spawn_worker(sent, NULL, &child, &err), &err);
    size_t done = 0;
    for (ssize_t n = 1; done < sizeof *got && n > 0; done += n > 0 ? (size_t)n : 0)
        n = read(child.from_fd, (char *)got + done, sizeof *got - done);
    if (command != 0)
        assert_int_equal(write(child.control_fd, &command, 1), 1);
    (void)close(child.control_fd);
    (void)close(child.from_fd);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_true(WIFEXITED(status));
    assert_int_equal(done, sizeof *got);
    return WEXITSTATUS(status);
}

static size_t field_bytes(const struct gnn_option *o, const void *config)
{
    switch (o->type) {
    case GNN_OPT_BOOL:
        return sizeof(bool);
    case GNN_OPT_U32:
    case GNN_OPT_CHOICE:
    case GNN_OPT_SCALE:
        return sizeof(uint32_t);
    case GNN_OPT_TEXT:
        return strlen((const char *)config + o->offset) + 1;
    case GNN_OPT_U32_LIST:
        return sizeof(struct gnn_u32_list);
    default:
        return sizeof(uint64_t);
    }
}

static bool same_field(const struct gnn_option *o, const void *a, const void *b)
{
    return memcmp((const char *)a + o->offset, (const char *)b + o->offset, field_bytes(o, a)) == 0;
}

/* The worst value of its type that the option's limits allow; `turn` picks among several. */
static void set_awkward(const struct gnn_option *o, void *config, int turn)
{
    static const char *const texts[] = {"a=b --c 'd' \"e\"\t$(f)\n;|", "", "\xc3\xa4/../ =", "-", "no-quiet"};
    static const double reals[] = {0.1, 1.0 / 3, 1e-9, 0.12345678901234567, 0.99};
    static const uint64_t numbers[] = {335544321, 1, UINT64_MAX - 1, 0, 1234567890123456789};
    const bool limited = o->min != 0 || o->max != 0;
    char *const to = (char *)config + o->offset;
    const uint64_t number = numbers[turn];
    const struct gnn_u32_list list = {.count = GNN_LAYERS_MAX, .values = {1, 64, 2, 63, 3, 62, 4, 61}};
    uint32_t choices = 0;
    switch (o->type) {
    case GNN_OPT_BOOL:
        *(bool *)to = turn % 2 == 0 ? !*(bool *)to : *(bool *)to;
        return;
    case GNN_OPT_U32:
        *(uint32_t *)to = limited ? (uint32_t)(turn % 2 == 0 ? o->max : o->min) : (uint32_t)number;
        return;
    case GNN_OPT_SCALE:
        *(uint32_t *)to = turn == 0 ? UINT32_MAX : (uint32_t)turn * 37;
        return;
    case GNN_OPT_CHOICE:
        while (o->choices[choices] != NULL)
            choices++;
        *(uint32_t *)to = (uint32_t)turn % choices;
        return;
    case GNN_OPT_TEXT:
        (void)snprintf(to, GNN_TEXT_MAX, "%s", texts[turn]);
        if (turn == 3) {
            memset(to, 'x', GNN_TEXT_MAX - 1);
            to[GNN_TEXT_MAX - 1] = '\0';
        }
        return;
    case GNN_OPT_U32_LIST:
        memcpy(to, &list, sizeof list);
        return;
    case GNN_OPT_F64:
        *(double *)to = reals[turn];
        return;
    case GNN_OPT_U64:
        *(uint64_t *)to = limited && (double)number > o->max ? (uint64_t)o->max : number;
        return;
    case GNN_OPT_BYTES:
    case GNN_OPT_DURATION:
        *(uint64_t *)to = number;
        return;
    }
}

static void every_option_arrives(void **state)
{
    (void)state;
    for (int turn = 0; turn < 5; turn++) {
        struct gnn_run_config sent, got;
        gnn_run_config_defaults(&sent);
        for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++)
            set_awkward(o, &sent, turn);
        assert_int_equal(hand_over(&sent, &got, 0), 10);
        for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
            if (same_field(o, &sent, &got))
                continue;
            char a[2 * GNN_TEXT_MAX], b[2 * GNN_TEXT_MAX];
            gnn_option_format(o, &sent, a, sizeof a);
            gnn_option_format(o, &got, b, sizeof b);
            fail_msg("turn %d, option %s: sent %s, the worker has %s", turn, o->name, a, b);
        }
        assert_int_equal(got.set_count, 0);
    }
}

static void every_setting_arrives(void **state)
{
    (void)state;
    struct gnn_run_config sent, got;
    struct gnn_err err = {0};
    gnn_run_config_defaults(&sent);
    for (int i = 0; i < GNN_SETS_MAX; i++) {
        char text[GNN_SET_MAX];
        (void)snprintf(text, sizeof text, "gnndrive.key%d=value with = and , number %d", i, i);
        assert_int_equal(gnn_run_config_set(&sent, text, &err), GNN_OK);
    }
    assert_int_equal(gnn_run_config_set(&sent, "gnndrive.one=more", &err), GNN_EUSAGE);
    assert_int_equal(hand_over(&sent, &got, 0), 10);
    assert_int_equal(got.set_count, GNN_SETS_MAX);
    for (int i = 0; i < GNN_SETS_MAX; i++)
        assert_string_equal(got.sets[i], sent.sets[i]);
}

/* A sweep may set parameters of a shared object for runs of other systems: their workers do not open it. */
static void settings_of_other_objects_stay(void **state)
{
    (void)state;
    struct gnn_run_config sent, got;
    struct gnn_err err = {0};
    gnn_run_config_defaults(&sent);
    (void)snprintf(sent.system, sizeof sent.system, "null");
    assert_int_equal(gnn_run_config_set(&sent, "elsewhere.depth=3", &err), GNN_OK);
    assert_int_equal(gnn_run_config_set(&sent, "null.queue=3", &err), GNN_OK);
    assert_int_equal(hand_over(&sent, &got, 0), 10);
    assert_int_equal(got.set_count, 1);
    assert_string_equal(got.sets[0], "null.queue=3");
    (void)snprintf(sent.system, sizeof sent.system, "elsewhere");
    assert_int_equal(hand_over(&sent, &got, 0), 10);
    assert_int_equal(got.set_count, 2);
}

static void commands_reach_the_worker(void **state)
{
    (void)state;
    struct gnn_run_config sent, got;
    gnn_run_config_defaults(&sent);
    assert_int_equal(hand_over(&sent, &got, 't'), 't');
}

static void malformed_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *argument;
        enum gnn_status status;
    } cases[] = {{"quiet", GNN_EBUG}, {"nosuch=1", GNN_EUSAGE}, {"batch=0", GNN_EUSAGE}, {"set=nodot", GNN_EUSAGE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[] = "oocgnn", worker[] = "--worker", argument[32];
        (void)snprintf(argument, sizeof argument, "%s", cases[i].argument);
        char *argv[] = {name, worker, argument, NULL};
        struct gnn_run_config config;
        struct gnn_err err = {0};
        assert_int_equal(gnn_spawn_parse(3, argv, &config, &err), cases[i].status);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return echo_worker(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_arrives),
        cmocka_unit_test(every_setting_arrives),
        cmocka_unit_test(settings_of_other_objects_stay),
        cmocka_unit_test(commands_reach_the_worker),
        cmocka_unit_test(malformed_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
