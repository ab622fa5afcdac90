/* SPDX-License-Identifier: MIT */
/* Rings of the measured world: both engines keep the same promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, DEPTH = 8, READ_BYTES = 4096 };

struct ring_case {
    struct fixture base;
    struct gnn_file *file;
    unsigned char *memory; /* FILE_BYTES */
    struct gnn_ring_config config;
    struct gnn_ring *ring;
    enum gnn_status status; /* of work done on other threads */
};

/* Fills everything but the ring, which each test opens as it likes. */
static void ring_case_open(struct ring_case *f, enum gnn_ring_engine engine)
{
    *f = (struct ring_case){.config = {.engine = engine, .depth = DEPTH}};
    fixture_open(&f->base, .scratch = true);
    io_scratch_fill(&f->base.scratch, "f", FILE_BYTES);
    char path[512];
    assert_int_equal(gnn_file_open(f->base.world, io_scratch_path(&f->base.scratch, "f", path),
                                   f->base.direct ? GNN_OPEN_DIRECT : GNN_OPEN_READ, &f->file, NULL),
                     GNN_OK);
    void *memory;
    assert_int_equal(gnn_mem_alloc(f->base.world, "landing place", FILE_BYTES, GNN_MEM_PINNED, &memory, NULL), GNN_OK);
    f->memory = memory;
}

static void open_ring(struct ring_case *f)
{
    struct gnn_err err = {0};
    must(gnn_ring_open(f->base.world, &f->config, &f->ring, &err), &err);
}

static void ring_case_close(struct ring_case *f)
{
    gnn_ring_close(f->base.world, f->ring);
    gnn_mem_free(f->base.world, f->memory);
    gnn_file_close(f->base.world, f->file);
    fixture_close(&f->base);
}

static struct gnn_read page_read(const struct ring_case *f, uint64_t page)
{
    return (struct gnn_read){.file = f->file,
                             .offset_bytes = page * READ_BYTES,
                             .dst = f->memory + page * READ_BYTES,
                             .len_bytes = READ_BYTES,
                             .tag = page + 1000};
}

static void check_page(const struct ring_case *f, uint64_t page)
{
    for (uint64_t at = page * READ_BYTES; at < (page + 1) * READ_BYTES; at += 4)
        assert_int_equal(*(const uint32_t *)(const void *)(f->memory + at), io_scratch_value(at / 4));
}

/* Reads the whole file through the ring; a status instead of assertions, for it also runs on other threads. */
static enum gnn_status read_file(struct ring_case *f)
{
    enum { PAGES = FILE_BYTES / READ_BYTES };
    uint32_t submitted = 0, completed = 0;
    while (completed < PAGES) {
        struct gnn_read reads[5];
        uint32_t count = 0;
        while (count < 5 && submitted + count < PAGES) {
            reads[count] = page_read(f, submitted + count);
            count++;
        }
        uint32_t accepted, got;
        GNN_TRY(gnn_ring_submit(f->base.world, f->ring, reads, count, &accepted, NULL));
        submitted += accepted;
        if (submitted - completed > DEPTH)
            return GNN_EBUG;
        struct gnn_completion out[DEPTH];
        GNN_TRY(gnn_ring_wait(f->base.world, f->ring, 1, DEPTH, out, &got, NULL));
        for (uint32_t i = 0; i < got; i++)
            if (out[i].result != READ_BYTES || out[i].tag < 1000 || out[i].tag >= 1000 + PAGES)
                return GNN_EIO;
        completed += got;
    }
    return GNN_OK;
}

static void check_file(struct ring_case *f)
{
    memset(f->memory, 0, FILE_BYTES);
    assert_int_equal(read_file(f), GNN_OK);
    for (uint64_t page = 0; page < FILE_BYTES / READ_BYTES; page++)
        check_page(f, page);
}

static enum gnn_ring_engine engine_of(void **state)
{
    return *(const enum gnn_ring_engine *)*state;
}

/* ---- promises of both engines ---- */

static void test_reads_arrive(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    open_ring(&f);
    check_file(&f);
    ring_case_close(&f);
}

static void test_depth_is_a_bound(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    f.config.depth = 5; /* no power of two */
    open_ring(&f);
    struct gnn_read reads[9];
    for (uint64_t i = 0; i < 9; i++)
        reads[i] = page_read(&f, i);
    uint32_t accepted, got;
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, reads, 3, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 3);
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, reads + 3, 6, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 2);
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, reads + 5, 4, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 0);
    struct gnn_completion out[9];
    assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 2, 2, out, &got, NULL), GNN_OK);
    assert_int_equal(got, 2);
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, reads + 5, 4, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 2);
    assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 5, 9, out + 2, &got, NULL), GNN_OK);
    assert_int_equal(got, 5);
    uint32_t seen = 0;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(out[i].result, READ_BYTES);
        seen |= 1U << (out[i].tag - 1000);
    }
    assert_int_equal(seen, 0x7f);
    for (uint64_t i = 0; i < 7; i++)
        check_page(&f, i);
    assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 0, 9, out, &got, NULL), GNN_OK);
    assert_int_equal(got, 0);
    ring_case_close(&f);
}

/* Looking without sleeping finds the completion in the end. */
static void test_look(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    open_ring(&f);
    const struct gnn_read read = page_read(&f, 3);
    uint32_t accepted, got = 0;
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, &read, 1, &accepted, NULL), GNN_OK);
    const uint64_t give_up_ns = gnn_now_ns(f.base.world) + HANG_WAIT_SECONDS * UINT64_C(1000000000);
    struct gnn_completion out;
    while (got == 0 && gnn_now_ns(f.base.world) < give_up_ns)
        assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 0, 1, &out, &got, NULL), GNN_OK);
    assert_int_equal(got, 1);
    assert_int_equal(out.tag, 1003);
    ring_case_close(&f);
}

/* Looks through the kernel: a thread may write there now, and a plain look would be a race. */
static uint32_t word_at(const struct ring_case *f, uint64_t index)
{
    uint32_t word = 0;
    const struct iovec to = {&word, sizeof word}, from = {(char *)f->memory + index * sizeof word, sizeof word};
    assert_int_equal(process_vm_readv(getpid(), &to, 1, &from, 1, 0), sizeof word);
    return word;
}

/* Whether a page comes to memory, and whole, while nobody asks the ring for it. */
static bool comes_unasked(const struct ring_case *f, uint64_t page)
{
    const uint64_t first = page * READ_BYTES / 4, last = first + READ_BYTES / 4 - 1;
    const uint64_t give_up_ns = gnn_now_ns(f->base.world) + HANG_WAIT_SECONDS * UINT64_C(1000000000);
    while (word_at(f, first) != io_scratch_value(first) || word_at(f, last) != io_scratch_value(last))
        if (gnn_now_ns(f->base.world) > give_up_ns)
            return false;
    return true;
}

/* However many go over at a time, all are on their way when submitting returns. */
static void test_what_is_submitted_is_on_its_way(void **state)
{
    for (uint32_t count = 1; count <= DEPTH; count++) {
        struct ring_case f;
        ring_case_open(&f, engine_of(state));
        open_ring(&f);
        struct gnn_read reads[DEPTH];
        struct gnn_completion out[DEPTH];
        uint32_t accepted, got;
        for (uint32_t i = 0; i < count; i++)
            reads[i] = page_read(&f, i);
        assert_int_equal(gnn_ring_submit(f.base.world, f.ring, reads, count, &accepted, NULL), GNN_OK);
        assert_int_equal(accepted, count);
        for (uint32_t i = 0; i < count; i++)
            assert_true(comes_unasked(&f, i));
        assert_int_equal(gnn_ring_wait(f.base.world, f.ring, count, DEPTH, out, &got, NULL), GNN_OK);
        assert_int_equal(got, count);
        ring_case_close(&f);
    }
}

static void test_results_are_the_kernels(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    open_ring(&f);
    struct gnn_read read = page_read(&f, 0);
    uint32_t accepted, got;
    struct gnn_completion out;
    struct gnn_file_info info;
    gnn_file_info(f.base.world, f.file, &info);
    const uint32_t tail = gnn_max_u32(info.offset_align_bytes, 512); /* a drive of 4096-byte blocks reads no less */
    read.offset_bytes = FILE_BYTES;                                  /* at the end: nothing */
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, &read, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 1, 1, &out, &got, NULL), GNN_OK);
    assert_int_equal(out.result, 0);
    read.offset_bytes = FILE_BYTES - tail;
    read.len_bytes = 2 * tail;
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, &read, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 1, 1, &out, &got, NULL), GNN_OK);
    assert_int_equal(out.result, tail);
    if (f.base.direct) {
        read.offset_bytes = 1; /* misaligned */
        assert_int_equal(gnn_ring_submit(f.base.world, f.ring, &read, 1, &accepted, NULL), GNN_OK);
        assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 1, 1, &out, &got, NULL), GNN_OK);
        assert_int_equal(out.result, -EINVAL);
    }
    ring_case_close(&f);
}

static void read_on_thread(void *arg)
{
    struct ring_case *f = arg;
    f->status = read_file(f);
}

/* A pipeline starts new threads each epoch: the ring follows its owner, registration included. */
static void test_ring_follows_its_owner(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    f.config.register_files = &f.file;
    f.config.register_file_count = 1;
    open_ring(&f);
    for (int epoch = 0; epoch < 4; epoch++) {
        struct gnn_thread *thread;
        memset(f.memory, 0, FILE_BYTES);
        assert_int_equal(gnn_thread_start(f.base.world, "owner", read_on_thread, &f, &thread, NULL), GNN_OK);
        gnn_thread_join(f.base.world, thread);
        assert_int_equal(f.status, GNN_OK);
        check_page(&f, 17);
    }
    check_file(&f);
    ring_case_close(&f);
}

static void submit_and_leave(void *arg)
{
    struct ring_case *f = arg;
    struct gnn_read reads[DEPTH];
    for (uint64_t i = 0; i < DEPTH; i++)
        reads[i] = page_read(f, i);
    uint32_t accepted;
    f->status = gnn_ring_submit(f->base.world, f->ring, reads, DEPTH, &accepted, NULL);
}

/* Closing waits: the reads have landed when it returns, also those of an owner that has ended. */
static void test_close_in_flight(void **state)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct ring_case f;
        ring_case_open(&f, engine_of(state));
        open_ring(&f);
        if (elsewhere) {
            struct gnn_thread *thread;
            assert_int_equal(gnn_thread_start(f.base.world, "owner", submit_and_leave, &f, &thread, NULL), GNN_OK);
            gnn_thread_join(f.base.world, thread);
        } else {
            submit_and_leave(&f);
        }
        assert_int_equal(f.status, GNN_OK);
        gnn_ring_close(f.base.world, f.ring);
        f.ring = NULL;
        for (uint64_t i = 0; i < DEPTH; i++)
            check_page(&f, i);
        ring_case_close(&f);
    }
}

static void test_waiting_is_io(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    open_ring(&f);
    check_file(&f);
    struct gnn_time_split split;
    gnn_thread_split(f.base.world, &split);
    assert_true(split.wait_ns[GNN_WAIT_IO] > 0);
    assert_true(split.wait_ns[GNN_WAIT_IO] <= split.wall_ns);
    for (int kind = GNN_WAIT_IO + 1; kind < GNN_WAIT_KINDS; kind++)
        assert_int_equal(split.wait_ns[kind], 0);
    ring_case_close(&f);
}

enum { CROWD = 8, CROWD_DEPTH = 512, CROWD_READS = 1 << 13 };

struct crowd_member {
    struct ring_case *f;
    struct gnn_time_split split;
    enum gnn_status status;
};

/* Reads single pages, all over the file and again, with as many in flight as the ring takes. */
static enum gnn_status read_in_a_crowd(struct crowd_member *member, struct gnn_ring *ring)
{
    const struct ring_case *const f = member->f;
    uint32_t submitted = 0, completed = 0;
    while (completed < CROWD_READS) {
        struct gnn_read reads[64];
        uint32_t count = 0, accepted, got;
        for (; count < 64 && submitted + count < CROWD_READS; count++)
            reads[count] = page_read(f, (submitted + count) * 7 % (FILE_BYTES / READ_BYTES));
        GNN_TRY(gnn_ring_submit(f->base.world, ring, reads, count, &accepted, NULL));
        submitted += accepted;
        struct gnn_completion out[64];
        GNN_TRY(gnn_ring_wait(f->base.world, ring, 1, 64, out, &got, NULL));
        completed += got;
    }
    return GNN_OK;
}

static void crowd_main(void *arg)
{
    struct crowd_member *const member = arg;
    struct gnn_world *const w = member->f->base.world;
    struct gnn_ring_config config = member->f->config;
    config.depth = CROWD_DEPTH;
    struct gnn_ring *ring = NULL;
    member->status = gnn_ring_open(w, &config, &ring, NULL);
    if (member->status == GNN_OK)
        member->status = read_in_a_crowd(member, ring);
    gnn_thread_split(w,
                     &member->split); /* closing joins the pool's threads, which is neither a read nor a wait for one */
    gnn_ring_close(w, ring);
}

/* Threads that together ask for more than the device's queue holds sleep when they submit, too: all that they neither
 * computed nor stood in line for is a wait. */
static void test_a_full_device_queue_is_waited_for(void **state)
{
    if (SANITIZERS_THREAD && engine_of(state) == GNN_RING_POOL)
        skip_test("the threads read the same bytes into one buffer, which the sanitizer reports as a race");
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    struct crowd_member members[CROWD];
    struct gnn_thread *threads[CROWD];
    for (int i = 0; i < CROWD; i++) {
        members[i] = (struct crowd_member){.f = &f};
        assert_int_equal(gnn_thread_start(f.base.world, "crowd", crowd_main, &members[i], &threads[i], NULL), GNN_OK);
    }
    uint64_t work_ns = 0, wall_ns = 0, seen_ns = 0;
    bool told = true; /* the kernel tells how long a thread stood in line for a core */
    for (int i = 0; i < CROWD; i++) {
        gnn_thread_join(f.base.world, threads[i]);
        assert_int_equal(members[i].status, GNN_OK);
        const struct gnn_time_split *const split = &members[i].split;
        uint64_t waits_ns = 0;
        for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
            waits_ns += split->wait_ns[kind];
        assert_true(waits_ns > 0 && waits_ns <= split->wall_ns);
        wall_ns += split->wall_ns;
        work_ns += split->wall_ns - waits_ns;
        told = told && split->queued_ns != GNN_UNKNOWN;
        seen_ns += split->cpu_ns + split->queued_ns;
    }
    print_message("%.0f ms of work, %.0f ms on a core or in line for one, %.0f ms in all\n", (double)work_ns / 1e6,
                  (double)seen_ns / 1e6, (double)wall_ns / 1e6);
    ring_case_close(&f);
    if (!told)
        skip_test("needs /proc/thread-self/schedstat");
    assert_true(work_ns <= seen_ns + wall_ns / 20);
}

/* A wait that spins finds what a wait that sleeps finds, and is a wait all the same: it keeps its core. */
static void test_spinning(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    f.config.spin = true;
    open_ring(&f);
    check_file(&f);
    struct gnn_time_split split;
    gnn_thread_split(f.base.world, &split);
    assert_true(split.wait_ns[GNN_WAIT_IO] > 0);
    assert_true(split.wait_ns[GNN_WAIT_IO] <= split.wall_ns);
    const struct gnn_read read = page_read(&f, 3);
    uint32_t accepted, got = 0;
    assert_int_equal(gnn_ring_submit(f.base.world, f.ring, &read, 1, &accepted, NULL), GNN_OK);
    const uint64_t give_up_ns = gnn_now_ns(f.base.world) + HANG_WAIT_SECONDS * UINT64_C(1000000000);
    struct gnn_completion out;
    while (got == 0 && gnn_now_ns(f.base.world) < give_up_ns) /* looking without a wait needs no system call either */
        assert_int_equal(gnn_ring_wait(f.base.world, f.ring, 0, 1, &out, &got, NULL), GNN_OK);
    assert_int_equal(got, 1);
    struct gnn_thread *thread;
    memset(f.memory, 0, FILE_BYTES);
    assert_int_equal(gnn_thread_start(f.base.world, "owner", read_on_thread, &f, &thread, NULL), GNN_OK);
    gnn_thread_join(f.base.world, thread);
    assert_int_equal(f.status, GNN_OK);
    submit_and_leave(&f); /* closing waits for these */
    gnn_ring_close(f.base.world, f.ring);
    f.ring = NULL;
    for (uint64_t i = 0; i < DEPTH; i++)
        check_page(&f, i);
    ring_case_close(&f);
}

static void test_bad_depth(void **state)
{
    struct ring_case f;
    ring_case_open(&f, engine_of(state));
    static const uint32_t depths[] = {0, 8193, UINT32_MAX};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        f.config.depth = depths[i];
        struct gnn_err err = {0};
        assert_int_equal(gnn_ring_open(f.base.world, &f.config, &f.ring, &err), GNN_EUSAGE);
        assert_null(f.ring);
    }
    gnn_ring_close(f.base.world, NULL);
    ring_case_close(&f);
}

/* ---- io_uring's own ---- */

static void test_registered_memory(void **state)
{
    (void)state;
    struct ring_case f;
    ring_case_open(&f, GNN_RING_URING);
    f.config.register_files = &f.file;
    f.config.register_file_count = 1;
    f.config.register_buffer = f.memory;
    f.config.register_buffer_bytes = FILE_BYTES / 2; /* the other half lands unregistered */
    open_ring(&f);
    check_file(&f);
    ring_case_close(&f);
}

static void test_sqpoll(void **state)
{
    (void)state;
    struct ring_case f;
    ring_case_open(&f, GNN_RING_URING);
    f.config.sqpoll = true;
    struct gnn_err err = {0};
    const enum gnn_status status = gnn_ring_open(f.base.world, &f.config, &f.ring, &err);
    if (status == GNN_OK) {
        check_file(&f);
    } else {
        assert_true(status == GNN_EPERM || status == GNN_ENOTSUP);
        assert_non_null(strstr(err.message, "--io pool"));
        leave_out("sqpoll: %s", err.message);
    }
    ring_case_close(&f);
}

/* Refused before the kernel is asked, so where it has no io_uring too. */
static void test_too_much_to_register(void **state)
{
    (void)state;
    struct ring_case f;
    ring_case_open(&f, GNN_RING_URING);
    struct gnn_file *const files[65] = {f.file};
    struct gnn_err err = {0};
    f.config.register_files = files;
    f.config.register_file_count = 65;
    assert_int_equal(gnn_ring_open(f.base.world, &f.config, &f.ring, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "65 files to register, at most 64"));
    f.config.register_files = NULL;
    f.config.register_file_count = 0;
    f.config.register_buffer = f.memory;
    f.config.register_buffer_bytes = (UINT64_C(64) << 30) + 1;
    err = (struct gnn_err){0};
    assert_int_equal(gnn_ring_open(f.base.world, &f.config, &f.ring, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "68719476737 bytes to register, at most 64 GiB"));
    ring_case_close(&f);
}

static void test_pool_has_no_polling(void **state)
{
    (void)state;
    struct ring_case f;
    ring_case_open(&f, GNN_RING_POOL);
    f.config.sqpoll = true;
    struct gnn_err err = {0};
    assert_int_equal(gnn_ring_open(f.base.world, &f.config, &f.ring, &err), GNN_EUSAGE);
    f.config.sqpoll = false;
    f.config.iopoll = true;
    assert_int_equal(gnn_ring_open(f.base.world, &f.config, &f.ring, NULL), GNN_EUSAGE);
    ring_case_close(&f);
}

/* In a process of its own: system call io_uring_setup fails with `error`, as in a container. Exit status 0:
 * refused as expected, and the pool works. */
static int open_where_forbidden(struct ring_case *f, int error, enum gnn_status expected)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    struct gnn_err err = {0};
    if (gnn_ring_open(f->base.world, &f->config, &f->ring, &err) != expected || f->ring != NULL ||
        strstr(err.message, "--io pool") == NULL)
        return 1;
    f->config.engine = GNN_RING_POOL;
    if (gnn_ring_open(f->base.world, &f->config, &f->ring, NULL) != GNN_OK || read_file(f) != GNN_OK)
        return 2;
    gnn_ring_close(f->base.world, f->ring);
    return 0;
}

static void test_forbidden(void **state)
{
    (void)state;
    static const struct {
        int error;
        enum gnn_status expected;
    } cases[] = {{EPERM, GNN_EPERM}, {ENOSYS, GNN_ENOTSUP}, {ENOMEM, GNN_EPERM}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_case f;
        ring_case_open(&f, GNN_RING_URING);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(open_where_forbidden(&f, cases[i].error, cases[i].expected));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            leave_out("rings that are forbidden: no seccomp filters here");
        else
            assert_int_equal(WEXITSTATUS(status), 0);
        ring_case_close(&f);
    }
}

#define BOTH(test) cmocka_unit_test_prestate(test, &uring), cmocka_unit_test_prestate(test, &pool)

int main(void)
{
    static enum gnn_ring_engine uring = GNN_RING_URING, pool = GNN_RING_POOL;
    const struct CMUnitTest tests[] = {
        BOTH(test_reads_arrive),
        BOTH(test_depth_is_a_bound),
        BOTH(test_look),
        BOTH(test_what_is_submitted_is_on_its_way),
        BOTH(test_results_are_the_kernels),
        BOTH(test_ring_follows_its_owner),
        BOTH(test_close_in_flight),
        BOTH(test_waiting_is_io),
        BOTH(test_a_full_device_queue_is_waited_for),
        BOTH(test_spinning),
        BOTH(test_bad_depth),
        cmocka_unit_test(test_registered_memory),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_sqpoll),
        cmocka_unit_test(test_too_much_to_register),
        cmocka_unit_test(test_pool_has_no_polling),
    };
    return cmocka_run_group_tests_name("world_rings", tests, NULL, NULL);
}
