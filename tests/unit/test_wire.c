/* SPDX-License-Identifier: MIT */
/* The pipe between worker and supervisor: whole messages, torn ones, foreign bytes, ends that are gone. */
#include "harness/run/wire.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A message whose every byte is told apart from its neighbours. */
static void fill(struct gnn_wire_message *message, uint32_t salt)
{
    unsigned char *const bytes = (unsigned char *)message;
    for (size_t i = 0; i < sizeof *message; i++)
        bytes[i] = (unsigned char)(i * 7 + salt);
    message->magic = GNN_WIRE_MAGIC;
    message->type = GNN_WIRE_PROGRESS;
}

struct sender {
    int fd;
    uint32_t count;
    enum gnn_status status;
};

static void *send_all(void *arg)
{
    struct sender *const s = arg;
    for (uint32_t i = 0; i < s->count && s->status == GNN_OK; i++) {
        struct gnn_wire_message message;
        struct gnn_err err = {0};
        fill(&message, i);
        s->status = gnn_wire_send(s->fd, &message, &err);
    }
    (void)close(s->fd);
    return NULL;
}

/* More than a pipe holds, so that writes come in pieces; then a clean end. */
static void messages_arrive_whole_and_in_order(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct sender sender = {.fd = fds[1], .count = 200, .status = GNN_OK};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &sender), 0);
    struct gnn_wire_message got, expected;
    struct gnn_err err = {0};
    bool end = false;
    for (uint32_t i = 0; i < sender.count; i++) {
        assert_int_equal(gnn_wire_receive(fds[0], &got, &end, &err), GNN_OK);
        assert_false(end);
        fill(&expected, i);
        assert_memory_equal(&got, &expected, sizeof got);
    }
    assert_int_equal(gnn_wire_receive(fds[0], &got, &end, &err), GNN_OK);
    assert_true(end);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sender.status, GNN_OK);
    (void)close(fds[0]);
}

static enum gnn_status receive_bytes(const void *bytes, size_t count, bool *end, struct gnn_err *err)
{
    int fds[2];
    struct gnn_wire_message got;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], bytes, count), (ssize_t)count);
    (void)close(fds[1]);
    const enum gnn_status status = gnn_wire_receive(fds[0], &got, end, err);
    (void)close(fds[0]);
    return status;
}

static void a_torn_message_is_short(void **state)
{
    (void)state;
    struct gnn_wire_message message;
    fill(&message, 3);
    const size_t cuts[] = {1, 4, 8, sizeof message / 2, sizeof message - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct gnn_err err = {0};
        bool end = true;
        assert_int_equal(receive_bytes(&message, cuts[i], &end, &err), GNN_ESHORT);
        assert_false(end);
        assert_non_null(strstr(err.message, "ended inside a message"));
    }
    bool end = false;
    struct gnn_err err = {0};
    assert_int_equal(receive_bytes(&message, 0, &end, &err), GNN_OK);
    assert_true(end);
}

static void foreign_bytes_are_refused(void **state)
{
    (void)state;
    struct gnn_wire_message message;
    fill(&message, 5);
    message.magic ^= 1;
    struct gnn_err err = {0};
    bool end = false;
    assert_int_equal(receive_bytes(&message, sizeof message, &end, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "6f6f6367"));
}

static void a_gone_reader_is_an_error(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    (void)close(fds[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    struct gnn_wire_message message;
    fill(&message, 1);
    struct gnn_err err = {0};
    assert_int_equal(gnn_wire_send(fds[1], &message, &err), GNN_EIO);
    (void)close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_whole_and_in_order),
        cmocka_unit_test(a_torn_message_is_short),
        cmocka_unit_test(foreign_bytes_are_refused),
        cmocka_unit_test(a_gone_reader_is_an_error),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
