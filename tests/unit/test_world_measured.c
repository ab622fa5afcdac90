/* SPDX-License-Identifier: MIT */
/* The measured world: where a thread's time goes, large memory and its limit, files, mappings and their bad
 * pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/world/measured/internal.h"
#include "harness/world/measured/measured.h"
#include "tests/support/io_scratch.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t ms = UINT64_C(1000000);

static struct gnn_world *open_world(void)
{
    struct gnn_world *world;
    assert_int_equal(gnn_world_measured_open(NULL, &world, NULL), GNN_OK);
    return world;
}

static uint64_t waits_of(const struct gnn_time_split *split)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        sum += split->wait_ns[kind];
    return sum;
}

/* ---- time ---- */

static void test_sleep_counts_as_its_kind(void **state)
{
    (void)state;
    struct gnn_world *w = open_world();
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++) {
        struct gnn_time_split before, after;
        gnn_thread_split(w, &before);
        const uint64_t start = gnn_now_ns(w);
        gnn_sleep_until(w, start + 3 * ms, (enum gnn_wait)kind);
        const uint64_t slept = gnn_now_ns(w) - start;
        gnn_thread_split(w, &after);
        assert_true(slept >= 3 * ms);
        assert_in_range(after.wait_ns[kind] - before.wait_ns[kind], 3 * ms, slept);
        assert_int_equal(waits_of(&after) - waits_of(&before), after.wait_ns[kind] - before.wait_ns[kind]);
        assert_true(after.wall_ns - before.wall_ns >= slept);
    }
    gnn_sleep_until(w, 0, GNN_WAIT_IO); /* the past: no sleep */
    gnn_world_measured_close(w);
}

struct splitting {
    struct gnn_world *world;
    struct gnn_time_split split;
    uint64_t wall_ns;
};

static void wait_and_work(void *arg)
{
    struct splitting *s = arg;
    gnn_thread_split(s->world, &s->split); /* the first call: a foreign thread joins in */
    const uint64_t start = gnn_now_ns(s->world);
    gnn_sleep_until(s->world, start + 10 * ms, GNN_WAIT_RESOURCE);
    gnn_add_wait(s->world, GNN_WAIT_COMPUTE, 5);
    const uint64_t busy = gnn_now_ns(s->world);
    while (gnn_now_ns(s->world) < busy + 10 * ms)
        continue;
    gnn_thread_split(s->world, &s->split);
    s->wall_ns = gnn_now_ns(s->world) - start;
}

static void check_splitting(const struct splitting *s)
{
    assert_true(s->split.wall_ns >= 20 * ms);
    assert_in_range(s->split.wait_ns[GNN_WAIT_RESOURCE], 10 * ms, s->wall_ns);
    assert_int_equal(s->split.wait_ns[GNN_WAIT_COMPUTE], 5);
    assert_int_equal(s->split.wait_ns[GNN_WAIT_IO], 0);
    assert_int_equal(s->split.wait_ns[GNN_WAIT_LOCK], 0);
    assert_true(s->split.cpu_ns <= s->split.wall_ns);
}

static void *raw_thread(void *arg)
{
    wait_and_work(arg);
    return NULL;
}

/* A thread of the world and one the world never heard of split their time alike. */
static void test_every_thread_has_a_split(void **state)
{
    (void)state;
    struct gnn_world *w = open_world();
    struct splitting inside = {.world = w}, outside = {.world = w};
    struct gnn_thread *thread;
    assert_int_equal(gnn_thread_start(w, "a-name-longer-than-the-kernel-takes", wait_and_work, &inside, &thread, NULL),
                     GNN_OK);
    pthread_t raw;
    assert_int_equal(pthread_create(&raw, NULL, raw_thread, &outside), 0);
    gnn_thread_join(w, thread);
    assert_int_equal(pthread_join(raw, NULL), 0);
    gnn_thread_join(w, NULL);
    check_splitting(&inside);
    check_splitting(&outside);
    struct gnn_time_split mine;
    gnn_thread_split(w, &mine);
    assert_int_equal(waits_of(&mine), 0); /* joining is charged to nothing */
    gnn_world_measured_close(w);
}

/* ---- locks ---- */

struct locking {
    struct gnn_world *world;
    struct gnn_mutex *mutex;
    struct gnn_cond *cond;
    bool ready;
    bool held;
    uint64_t counter;
    struct gnn_time_split split;
};

static void hold_for_20_ms(void *arg)
{
    struct locking *l = arg;
    gnn_mutex_lock(l->world, l->mutex);
    __atomic_store_n(&l->held, true, __ATOMIC_SEQ_CST);
    gnn_sleep_until(l->world, gnn_now_ns(l->world) + 20 * ms, GNN_WAIT_COMPUTE);
    gnn_mutex_unlock(l->world, l->mutex);
    gnn_thread_split(l->world, &l->split);
}

/* Returns how long it waited for a lock that another thread holds for 20 ms, and checks where that went. */
static uint64_t wait_for_the_holder(void)
{
    struct locking l = {.world = open_world()};
    assert_int_equal(gnn_mutex_open(l.world, &l.mutex, NULL), GNN_OK);
    struct gnn_thread *thread;
    assert_int_equal(gnn_thread_start(l.world, "holder", hold_for_20_ms, &l, &thread, NULL), GNN_OK);
    while (!__atomic_load_n(&l.held, __ATOMIC_SEQ_CST))
        gnn_sleep_until(l.world, gnn_now_ns(l.world) + ms / 10, GNN_WAIT_QUEUE);
    const uint64_t start = gnn_now_ns(l.world);
    gnn_mutex_lock(l.world, l.mutex);
    const uint64_t waited = gnn_now_ns(l.world) - start;
    gnn_mutex_unlock(l.world, l.mutex);
    gnn_thread_join(l.world, thread);
    struct gnn_time_split mine;
    gnn_thread_split(l.world, &mine);
    if (waited > 2 * ms) /* shorter, clocks and calls are a part of it */
        assert_in_range(mine.wait_ns[GNN_WAIT_LOCK], waited / 2, waited);
    assert_int_equal(l.split.wait_ns[GNN_WAIT_LOCK], 0);
    gnn_mutex_close(l.world, l.mutex);
    gnn_mutex_close(l.world, NULL);
    gnn_world_measured_close(l.world);
    return waited;
}

/* This thread comes within the holder's first moments, unless the machine has no core for it: then once more. */
static void test_taken_mutex_is_a_lock_wait(void **state)
{
    (void)state;
    uint64_t waited = 0;
    for (int turn = 0; turn < 20 && waited <= 2 * ms; turn++) {
        waited = wait_for_the_holder();
        if (waited <= 2 * ms)
            print_message("turn %d: came after the holder had gone\n", turn);
    }
    assert_true(waited > 2 * ms);
}

static void signal_after_5_ms(void *arg)
{
    struct locking *l = arg;
    gnn_sleep_until(l->world, gnn_now_ns(l->world) + 5 * ms, GNN_WAIT_COMPUTE);
    gnn_mutex_lock(l->world, l->mutex);
    l->ready = true;
    gnn_cond_signal(l->world, l->cond);
    gnn_cond_broadcast(l->world, l->cond);
    gnn_mutex_unlock(l->world, l->mutex);
}

static void test_conditions(void **state)
{
    (void)state;
    struct locking l = {.world = open_world()};
    assert_int_equal(gnn_mutex_open(l.world, &l.mutex, NULL), GNN_OK);
    assert_int_equal(gnn_cond_open(l.world, &l.cond, NULL), GNN_OK);
    gnn_mutex_lock(l.world, l.mutex);
    uint64_t start = gnn_now_ns(l.world);
    bool in_time = true;
    while (in_time)
        in_time = gnn_cond_wait(l.world, l.cond, l.mutex, start + 4 * ms, GNN_WAIT_QUEUE);
    assert_true(gnn_now_ns(l.world) >= start + 4 * ms);
    struct gnn_time_split mine;
    gnn_thread_split(l.world, &mine);
    assert_true(mine.wait_ns[GNN_WAIT_QUEUE] >= 3 * ms);
    assert_int_equal(mine.wait_ns[GNN_WAIT_RESOURCE], 0);
    struct gnn_thread *thread;
    assert_int_equal(gnn_thread_start(l.world, "signal", signal_after_5_ms, &l, &thread, NULL), GNN_OK);
    while (!l.ready)
        assert_true(gnn_cond_wait(l.world, l.cond, l.mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE));
    gnn_mutex_unlock(l.world, l.mutex);
    gnn_thread_join(l.world, thread);
    gnn_thread_split(l.world, &mine);
    assert_true(mine.wait_ns[GNN_WAIT_RESOURCE] > ms);
    gnn_cond_close(l.world, l.cond);
    gnn_cond_close(l.world, NULL);
    gnn_mutex_close(l.world, l.mutex);
    gnn_world_measured_close(l.world);
}

static void count_10000(void *arg)
{
    struct locking *l = arg;
    for (int i = 0; i < 10000; i++) {
        gnn_mutex_lock(l->world, l->mutex);
        l->counter++;
        gnn_mutex_unlock(l->world, l->mutex);
    }
}

static void test_mutex_excludes(void **state)
{
    (void)state;
    struct locking l = {.world = open_world()};
    assert_int_equal(gnn_mutex_open(l.world, &l.mutex, NULL), GNN_OK);
    struct gnn_thread *threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(gnn_thread_start(l.world, "count", count_10000, &l, &threads[i], NULL), GNN_OK);
    for (int i = 0; i < 4; i++)
        gnn_thread_join(l.world, threads[i]);
    assert_int_equal(l.counter, 40000);
    gnn_mutex_close(l.world, l.mutex);
    gnn_world_measured_close(l.world);
}

/* ---- memory ---- */

static void test_memory_is_counted(void **state)
{
    (void)state;
    const struct gnn_measured_config config = {.memory_limit_bytes = 64 * 1024};
    struct gnn_world *w;
    assert_int_equal(gnn_world_measured_open(&config, &w, NULL), GNN_OK);
    void *a, *b, *c;
    assert_int_equal(gnn_mem_alloc(w, "a", 1, GNN_MEM_PLAIN, &a, NULL), GNN_OK);
    assert_int_equal(gnn_mem_alloc(w, "b", 40000, GNN_MEM_FEATURES | GNN_MEM_PINNED, &b, NULL), GNN_OK);
    assert_int_equal((uintptr_t)a % GNN_PAGE_BYTES, 0);
    assert_int_equal((uintptr_t)b % GNN_PAGE_BYTES, 0);
    for (int i = 0; i < 40000; i++)
        assert_int_equal(((unsigned char *)b)[i], 0);
    assert_int_equal(sanitizers_forbid((unsigned char *)b + 40000), SANITIZERS_ADDRESS); /* to the end of its page */
    assert_int_equal(sanitizers_forbid((unsigned char *)b + 40959), SANITIZERS_ADDRESS);
    struct gnn_mem_usage usage;
    gnn_mem_usage(w, &usage);
    assert_int_equal(usage.current_bytes, 4096 + 40960);
    struct gnn_err err = {0};
    assert_int_equal(gnn_mem_alloc(w, "the third", 24000, GNN_MEM_PLAIN, &c, &err), GNN_ECAP);
    assert_null(c);
    assert_non_null(strstr(err.message, "the third"));
    assert_non_null(strstr(err.message, "24000"));
    gnn_mem_free(w, b);
    assert_false(sanitizers_forbid((unsigned char *)b + 40000)); /* the kernel may give it to others */
    gnn_mem_free(w, NULL);
    assert_int_equal(gnn_mem_alloc(w, "c", 20000, GNN_MEM_PLAIN, &c, NULL), GNN_OK);
    void *d;
    gnn_world_measured_limit(w, 4096 + 20480); /* what is held stays, and nothing comes on top */
    assert_int_equal(gnn_mem_alloc(w, "d", 1, GNN_MEM_PLAIN, &d, NULL), GNN_ECAP);
    gnn_world_measured_limit(w, 2 * 4096 + 20480);
    assert_int_equal(gnn_mem_alloc(w, "d", 1, GNN_MEM_PLAIN, &d, NULL), GNN_OK);
    gnn_mem_free(w, d);
    memset(c, 1, 20000);
    memset(a, 2, 1);
    gnn_mem_copy(w, a, c, 1);
    assert_int_equal(*(unsigned char *)a, 1);
    gnn_mem_free(w, c);
    gnn_mem_free(w, a);
    gnn_mem_usage(w, &usage);
    assert_int_equal(usage.current_bytes, 0);
    assert_int_equal(usage.peak_bytes, 4096 + 40960);
    gnn_world_measured_close(w);
}

/* Whether the kernel was asked for large pages where address lies; *known = false: it tells of no mapping. */
static bool wants_large_pages(const void *address, bool *known)
{
    char line[512];
    bool here = false, wants = false;
    FILE *const file = fopen("/proc/self/smaps", "r");
    assert_non_null(file);
    *known = false;
    while (fgets(line, sizeof line, file) != NULL) {
        uintptr_t begin, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            here = begin <= (uintptr_t)address && (uintptr_t)address < end;
        else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            *known = true;
            wants = strstr(line, " hg") != NULL;
        }
    }
    (void)fclose(file);
    return wants;
}

/* Bytes of address space that this process has mapped. */
static uint64_t mapped_bytes(void)
{
    uint64_t pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%" SCNu64, &pages), 1);
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Pages of `bytes` at address that the kernel holds in memory. */
static uint64_t resident_pages(void *address, uint64_t bytes)
{
    const uint64_t pages = (bytes + 4095) / 4096;
    unsigned char *const resident = calloc(pages, 1);
    assert_non_null(resident);
    assert_int_equal(mincore(address, bytes, resident), 0);
    uint64_t count = 0;
    for (uint64_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    free(resident);
    return count;
}

/* Memory of direct I/O, of rows, and what is filled whole asks for large pages from its first byte to its last, where
 * it has room for one, and is there at once: of other memory few pages may ever be touched. */
static void test_large_pages_for_what_is_read_and_written_directly(void **state)
{
    (void)state;
    enum { LARGE = 2 << 20, ODD = 3 * LARGE + 12345 };
    static const unsigned flags[] = {GNN_MEM_LARGE, GNN_MEM_FEATURES, GNN_MEM_PINNED, GNN_MEM_PLAIN};
    struct gnn_world *w;
    bool known;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0)
        skip(); /* this kernel has none */
    assert_int_equal(gnn_world_measured_open(NULL, &w, NULL), GNN_OK);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        unsigned char *whole, *small;
        void *memory;
        assert_int_equal(gnn_mem_alloc(w, "whole", ODD, flags[i], &memory, NULL), GNN_OK);
        whole = memory;
        assert_int_equal(gnn_mem_alloc(w, "small", LARGE - 4096, flags[i], &memory, NULL), GNN_OK);
        small = memory;
        const bool large = flags[i] != GNN_MEM_PLAIN;
        assert_true(wants_large_pages(whole, &known) == large || !known);
        assert_true(wants_large_pages(whole + ODD - 1, &known) == large || !known);
        assert_false(wants_large_pages(small, &known));
        assert_true(!large || (uintptr_t)whole % LARGE == 0);
        assert_int_equal(resident_pages(whole, ODD), large ? (ODD + 4095) / 4096 : 0);
        assert_true(flags[i] == GNN_MEM_PINNED || resident_pages(small, LARGE - 4096) == 0);
        memset(whole, 7, ODD);
        memset(small, 8, LARGE - 4096);
        assert_int_equal(whole[ODD - 1], 7);
        struct gnn_mem_usage usage;
        gnn_mem_usage(w, &usage); /* no more than without */
        assert_int_equal(usage.current_bytes, (ODD + 4095) / 4096 * 4096 + LARGE - 4096);
        gnn_mem_free(w, whole);
        gnn_mem_free(w, small);
    }
    gnn_world_measured_close(w);
}

/* What is mapped to begin at a large page is given back, before it and behind it. */
static void test_large_pages_leave_nothing_mapped(void **state)
{
    (void)state;
    enum { LARGE = 2 << 20, TIMES = 64 };
    struct gnn_world *w;
    void *memory[TIMES];
    assert_int_equal(gnn_world_measured_open(NULL, &w, NULL), GNN_OK);
    const uint64_t before_bytes = mapped_bytes();
    for (uint32_t i = 0; i < TIMES; i++)
        assert_int_equal(gnn_mem_alloc(w, "block", LARGE + i * UINT64_C(4096), GNN_MEM_LARGE, &memory[i], NULL),
                         GNN_OK);
    assert_true(mapped_bytes() < before_bytes + TIMES * (LARGE + TIMES * UINT64_C(4096)) + LARGE);
    for (uint32_t i = 0; i < TIMES; i++)
        gnn_mem_free(w, memory[i]);
    assert_true(mapped_bytes() <= before_bytes);
    gnn_world_measured_close(w);
}

/* Mappings of this process that others can share. */
static uint32_t shared_mappings(void)
{
    uint32_t count = 0;
    char line[512], rights[8];
    FILE *const maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count += sscanf(line, "%*x-%*x %7s", rights) == 1 && strcmp(rights, "rw-s") == 0;
    assert_int_equal(fclose(maps), 0);
    return count;
}

/* A page for the count of memory, one for each lock: all are given back. */
static void test_pages_of_all_processes_are_given_back(void **state)
{
    (void)state;
    const struct gnn_measured_config config = {.processes = true};
    const uint32_t before = shared_mappings();
    struct gnn_world *w;
    struct gnn_mutex *mutex;
    struct gnn_cond *cond;
    assert_int_equal(gnn_world_measured_open(&config, &w, NULL), GNN_OK);
    assert_int_equal(shared_mappings(), before + 1);
    assert_int_equal(gnn_mutex_open(w, &mutex, NULL), GNN_OK);
    assert_int_equal(gnn_cond_open(w, &cond, NULL), GNN_OK);
    assert_int_equal(shared_mappings(), before + 3);
    gnn_cond_close(w, cond);
    assert_int_equal(shared_mappings(), before + 2);
    gnn_mutex_close(w, mutex);
    gnn_cond_close(w, NULL);
    gnn_mutex_close(w, NULL);
    assert_int_equal(shared_mappings(), before + 1);
    gnn_world_measured_close(w);
    gnn_world_measured_close(NULL);
    assert_int_equal(shared_mappings(), before);
}

/* Threads find their records by a key, of which a process has so many. */
static void test_too_many_worlds(void **state)
{
    (void)state;
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    const uint32_t before = shared_mappings();
    uint32_t count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    enum gnn_status status[2];
    struct gnn_err err[2] = {0};
    for (int processes = 0; processes < 2; processes++) {
        const struct gnn_measured_config config = {.processes = processes};
        struct gnn_world *w;
        status[processes] = gnn_world_measured_open(&config, &w, &err[processes]);
    }
    while (count > 0) /* whatever comes out: the tests that follow need some */
        assert_int_equal(pthread_key_delete(keys[--count]), 0);
    for (int processes = 0; processes < 2; processes++) {
        assert_int_equal(status[processes], GNN_ENOMEM);
        assert_non_null(strstr(err[processes].message, "too many worlds"));
    }
    assert_int_equal(shared_mappings(), before);
}

static void test_impossible_memory(void **state)
{
    (void)state;
    struct gnn_world *w = open_world();
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX / 2 + 1, UINT64_C(1) << 55};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct gnn_err err = {0};
        void *p;
        assert_int_equal(gnn_mem_alloc(w, "the universe", sizes[i], GNN_MEM_PLAIN, &p, &err), GNN_ENOMEM);
        assert_null(p);
        assert_non_null(strstr(err.message, "the universe"));
    }
    struct gnn_mem_usage usage;
    gnn_mem_usage(w, &usage);
    assert_int_equal(usage.current_bytes, 0);
    gnn_world_measured_close(w);
}

/* ---- files ---- */

static void test_file_errors(void **state)
{
    (void)state;
    struct io_scratch scratch;
    io_scratch_open(&scratch);
    io_scratch_fill(&scratch, "plain", 4096);
    struct gnn_world *w = open_world();
    const struct {
        const char *path;
        unsigned flags;
        enum gnn_status status;
        bool needs_tmpfs;
    } cases[] = {
        {"missing", GNN_OPEN_READ, GNN_ENOENT, false},
        {"plain/below", GNN_OPEN_READ, GNN_ENOENT, false},
        {".", GNN_OPEN_READ, GNN_ENOENT, false},
        {"missing/new", GNN_OPEN_WRITE, GNN_ENOENT, false},
        {"/dev/shm/oocgnn-direct-test", GNN_OPEN_WRITE | GNN_OPEN_DIRECT, GNN_ENOTSUP, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].needs_tmpfs && access("/dev/shm", W_OK) != 0) {
            leave_out("%s: no /dev/shm here", cases[i].path);
            continue;
        }
        char path[512];
        const char *const full =
            cases[i].path[0] == '/' ? cases[i].path : io_scratch_path(&scratch, cases[i].path, path);
        struct gnn_file *file;
        struct gnn_err err = {0};
        assert_int_equal(gnn_file_open(w, full, cases[i].flags, &file, &err), cases[i].status);
        assert_null(file);
        assert_non_null(strstr(err.message, full));
        if (cases[i].needs_tmpfs)
            (void)unlink(full);
    }
    gnn_file_close(w, NULL);
    gnn_world_measured_close(w);
    io_scratch_close(&scratch);
}

static void test_file_read_write(void **state)
{
    (void)state;
    struct io_scratch scratch;
    io_scratch_open(&scratch);
    struct gnn_world *w = open_world();
    char path[512];
    struct gnn_file *file;
    assert_int_equal(gnn_file_open(w, io_scratch_path(&scratch, "f", path), GNN_OPEN_WRITE, &file, NULL), GNN_OK);
    assert_string_equal(gnn_file_path(w, file), path);
    unsigned char bytes[100];
    memset(bytes, 7, sizeof bytes);
    assert_int_equal(gnn_file_write(w, file, 50, bytes, sizeof bytes), 100);
    struct gnn_file_info info;
    gnn_file_info(w, file, &info);
    assert_int_equal(info.size_bytes, 150);
    assert_int_equal(info.offset_align_bytes, 1);
    assert_false(info.direct);
    assert_int_equal(gnn_file_read(w, file, 120, bytes, sizeof bytes), 30); /* short at the end */
    assert_int_equal(gnn_file_read(w, file, 150, bytes, sizeof bytes), 0);
    assert_int_equal(gnn_file_sync(w, file, NULL), GNN_OK);
    gnn_file_close(w, file);
    assert_int_equal(gnn_file_open(w, path, GNN_OPEN_READ, &file, NULL), GNN_OK);
    assert_int_equal(gnn_file_write(w, file, 0, bytes, 1), -EBADF);
    gnn_file_close(w, file);
    assert_int_equal(gnn_file_open(w, path, GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE, &file, NULL), GNN_OK);
    gnn_file_info(w, file, &info);
    assert_int_equal(info.size_bytes, 0);
    gnn_file_close(w, file);
    gnn_world_measured_close(w);
    io_scratch_close(&scratch);
}

static void test_direct_alignment(void **state)
{
    (void)state;
    struct io_scratch scratch;
    io_scratch_open(&scratch);
    if (!scratch.direct) {
        io_scratch_close(&scratch);
        skip_test("no direct I/O in the temporary directory");
    }
    io_scratch_fill(&scratch, "f", 10000);
    static const uint32_t forced[] = {0, 512, 4096, 65536};
    for (size_t i = 0; i < sizeof forced / sizeof forced[0]; i++) {
        const struct gnn_measured_config config = {.force_align_bytes = forced[i]};
        struct gnn_world *w;
        assert_int_equal(gnn_world_measured_open(&config, &w, NULL), GNN_OK);
        char path[512];
        struct gnn_file *file;
        assert_int_equal(gnn_file_open(w, io_scratch_path(&scratch, "f", path), GNN_OPEN_DIRECT, &file, NULL), GNN_OK);
        struct gnn_file_info info;
        gnn_file_info(w, file, &info);
        assert_true(info.direct);
        assert_true(info.offset_align_bytes >= forced[i] && info.mem_align_bytes >= forced[i]);
        assert_int_equal(info.offset_align_bytes & (info.offset_align_bytes - 1), 0);
        /* What the world reports is what the kernel takes. */
        const uint64_t align = gnn_file_align(&info);
        void *buffer;
        assert_int_equal(gnn_mem_alloc(w, "buffer", align, GNN_MEM_PINNED, &buffer, NULL), GNN_OK);
        const int64_t expected = align < 10000 ? (int64_t)align : 10000;
        assert_int_equal(gnn_file_read(w, file, 0, buffer, align), expected);
        assert_int_equal(*(uint32_t *)buffer, io_scratch_value(0));
        gnn_mem_free(w, buffer);
        gnn_file_close(w, file);
        gnn_world_measured_close(w);
    }
    io_scratch_close(&scratch);
}

/* ---- mappings ---- */

struct mapping {
    struct io_scratch scratch;
    char path[512];
    struct gnn_world *world;
    struct gnn_file *file;
    struct gnn_map *map;
};

static void mapping_open(struct mapping *m, uint64_t bytes, enum gnn_map_advice advice)
{
    io_scratch_open(&m->scratch);
    io_scratch_fill(&m->scratch, "mapped", bytes);
    m->world = open_world();
    assert_int_equal(
        gnn_file_open(m->world, io_scratch_path(&m->scratch, "mapped", m->path), GNN_OPEN_READ, &m->file, NULL),
        GNN_OK);
    assert_int_equal(gnn_map_open(m->world, m->file, advice, &m->map, NULL), GNN_OK);
}

static void mapping_close(struct mapping *m)
{
    gnn_map_close(m->world, m->map);
    gnn_map_close(m->world, NULL);
    gnn_file_close(m->world, m->file);
    gnn_world_measured_close(m->world);
    io_scratch_close(&m->scratch);
}

static void test_gather_u32(void **state)
{
    (void)state;
    enum { ELEMENTS = 100003, COUNT = 5000 };
    struct mapping m;
    mapping_open(&m, ELEMENTS * 4 + 3, GNN_MAP_RANDOM);
    static uint64_t index[COUNT];
    static uint32_t out[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        index[i] = i == 0 ? ELEMENTS - 1 : i * 7919 % ELEMENTS;
    for (uint64_t count = 0; count <= COUNT; count = count * 3 + 1) {
        memset(out, 0, sizeof out);
        assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, count, out, NULL), GNN_OK);
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(out[i], io_scratch_value(index[i]));
        assert_int_equal(out[count], 0);
    }
    static const uint64_t outside[] = {ELEMENTS, ELEMENTS + 1, UINT64_MAX, UINT64_MAX / 4 + 1};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        index[77] = outside[i];
        struct gnn_err err = {0};
        assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, 100, out, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, m.path));
        assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, 77, out, NULL), GNN_OK);
    }
    mapping_close(&m);
}

/* What is fetched ahead is no further than the list: behind it lies a page that nobody may read. */
static void test_a_gather_reads_its_list_alone(void **state)
{
    (void)state;
    enum { ELEMENTS = 4000, COUNT = 500, PAGE = 4096 };
    struct mapping m;
    mapping_open(&m, ELEMENTS * 8, GNN_MAP_RANDOM);
    unsigned char *const pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    uint64_t *const index = (uint64_t *)(void *)(pages + PAGE) - COUNT;
    static uint32_t out[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        index[i] = i * 7919 % ELEMENTS;
    for (uint32_t id_bytes = 4; id_bytes <= 8; id_bytes += 4)
        for (uint64_t count = 1; count <= COUNT; count = count == COUNT ? COUNT + 1 : gnn_min_u64(2 * count, COUNT))
            assert_int_equal(gnn_map_gather_ids(m.world, m.map, id_bytes, index + COUNT - count, count, out, NULL),
                             GNN_OK);
    assert_int_equal(munmap(pages, 2 * PAGE), 0);
    mapping_close(&m);
}

/* Entries of 8 bytes: what no gnn_node can hold is GNN_NODE_NONE. */
static void test_gather_wide_ids(void **state)
{
    (void)state;
    enum { ENTRIES = 3000 };
    struct io_scratch scratch;
    struct mapping m;
    mapping_open(&m, ENTRIES * 8 + 5, GNN_MAP_RANDOM);
    static uint64_t index[ENTRIES + 1], entries[ENTRIES];
    static uint32_t out[ENTRIES];
    for (uint64_t i = 0; i < ENTRIES; i++) {
        index[i] = i * 7919 % ENTRIES;
        const uint64_t low = io_scratch_value(2 * i), high = io_scratch_value(2 * i + 1);
        entries[i] = high << 32 | low;
    }
    assert_int_equal(gnn_map_gather_ids(m.world, m.map, 8, index, ENTRIES, out, NULL), GNN_OK);
    for (uint64_t i = 0; i < ENTRIES; i++) /* nearly all of these are wide */
        assert_int_equal(out[i], entries[index[i]] < UINT32_MAX ? entries[index[i]] : UINT32_MAX);
    index[1] = ENTRIES;
    struct gnn_err err = {0};
    assert_int_equal(gnn_map_gather_ids(m.world, m.map, 8, index, 2, out, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "element 3000 was asked for, the file ends at 3000"));
    mapping_close(&m);

    char path[1024];
    io_scratch_open(&scratch);
    (void)snprintf(path, sizeof path, "%s/ids", scratch.dir);
    for (uint64_t i = 0; i < ENTRIES; i++)
        entries[i] = i % 100 == 99 ? UINT64_C(1) << 32 | i : 3 * i;
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(entries, sizeof *entries, ENTRIES, file), ENTRIES);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(gnn_world_measured_open(NULL, &m.world, &err), GNN_OK);
    assert_int_equal(gnn_file_open(m.world, path, GNN_OPEN_READ, &m.file, &err), GNN_OK);
    assert_int_equal(gnn_map_open(m.world, m.file, GNN_MAP_RANDOM, &m.map, &err), GNN_OK);
    index[1] = 7919 % ENTRIES;
    assert_int_equal(gnn_map_gather_ids(m.world, m.map, 8, index, ENTRIES, out, &err), GNN_OK);
    for (uint64_t i = 0; i < ENTRIES; i++)
        assert_int_equal(out[i], index[i] % 100 == 99 ? GNN_NODE_NONE : 3 * index[i]);
    gnn_map_close(m.world, m.map);
    gnn_file_close(m.world, m.file);
    gnn_world_measured_close(m.world);
    io_scratch_close(&scratch);
}

static void test_gather_rows(void **state)
{
    (void)state;
    static const uint32_t widths[] = {1, 25, 128, 1000};
    for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
        enum { ROWS = 61, COUNT = 9, PAD = 12 };
        const uint32_t row_bytes = widths[k] * 4;
        struct mapping m;
        mapping_open(&m, (uint64_t)ROWS * row_bytes, GNN_MAP_NORMAL);
        gnn_node rows[COUNT] = {ROWS - 1, 0, 5, 5, 17, 60, 1, 2, 33};
        const uint64_t stride = row_bytes + PAD;
        unsigned char *dst = calloc(COUNT, stride);
        assert_int_equal(gnn_map_gather_rows(m.world, m.map, row_bytes, rows, COUNT, dst, stride, NULL), GNN_OK);
        for (uint64_t i = 0; i < COUNT; i++) {
            for (uint64_t c = 0; c < widths[k]; c++) {
                uint32_t value;
                memcpy(&value, dst + i * stride + c * 4, 4);
                assert_int_equal(value, io_scratch_value((uint64_t)rows[i] * widths[k] + c));
            }
            for (uint64_t c = row_bytes; c < stride; c++)
                assert_int_equal(dst[i * stride + c], 0);
        }
        rows[3] = ROWS;
        struct gnn_err err = {0};
        assert_int_equal(gnn_map_gather_rows(m.world, m.map, row_bytes, rows, COUNT, dst, stride, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "row 61"));
        free(dst);
        mapping_close(&m);
    }
}

static void test_empty_mapping(void **state)
{
    (void)state;
    struct mapping m;
    mapping_open(&m, 0, GNN_MAP_RANDOM);
    const uint64_t index = 0;
    uint32_t out;
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, &index, 0, &out, NULL), GNN_OK);
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, &index, 1, &out, NULL), GNN_EFORMAT);
    mapping_close(&m);
}

static void test_file_cut_while_mapped(void **state)
{
    (void)state;
    struct mapping m;
    mapping_open(&m, 64 * 4096, GNN_MAP_RANDOM);
    const uint64_t index[2] = {0, 63 * 1024};
    uint32_t out[2];
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, 2, out, NULL), GNN_OK);
    assert_int_equal(truncate(m.path, 63 * 4096 + 100), 0); /* inside the last page: no signal, zeros */
    struct gnn_err err = {0};
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, 2, out, &err), GNN_EIO);
    assert_non_null(strstr(err.message, "mapped"));
    mapping_close(&m);
}

/* A page that cannot be read raises SIGBUS: the mapping's file is cut, while the handle's size check looks at
 * an equal file that is not. The call and every later one fail; the process lives. */
static void test_unreadable_page(void **state)
{
    (void)state;
    struct mapping m;
    mapping_open(&m, 64 * 4096, GNN_MAP_RANDOM);
    io_scratch_fill(&m.scratch, "other", 64 * 4096);
    char other[512];
    const int fd = open(io_scratch_path(&m.scratch, "other", other), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, m.file->fd), m.file->fd);
    assert_int_equal(close(fd), 0);
    assert_int_equal(truncate(m.path, 10 * 4096), 0);
    const uint64_t good[2] = {0, 5 * 1024}, bad[3] = {0, 20 * 1024 + 3, 40 * 1024};
    uint32_t out[3];
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, good, 2, out, NULL), GNN_OK);
    assert_int_equal(out[1], io_scratch_value(5 * 1024));
    struct gnn_err err = {0};
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, bad, 3, out, &err), GNN_EIO);
    assert_non_null(strstr(err.message, "offset 81920"));
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, good, 2, out, NULL), GNN_EIO);
    const gnn_node row = 0;
    unsigned char bytes[64];
    assert_int_equal(gnn_map_gather_rows(m.world, m.map, 64, &row, 1, bytes, 64, NULL), GNN_EIO);
    mapping_close(&m);
}

/* Pages that are not in memory are waited for as I/O; pages that are, are not. */
static void test_faults_are_io_waits(void **state)
{
    (void)state;
    enum { PAGES = 2000 };
    struct mapping m;
    mapping_open(&m, PAGES * 4096, GNN_MAP_RANDOM);
    const int fd = open(m.path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    assert_int_equal(close(fd), 0);
    static uint64_t index[PAGES];
    static uint32_t out[PAGES];
    for (uint64_t i = 0; i < PAGES; i++)
        index[i] = i * 997 % PAGES * 1024;
    struct gnn_time_split a, b, c;
    gnn_thread_split(m.world, &a);
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, PAGES, out, NULL), GNN_OK);
    gnn_thread_split(m.world, &b);
    assert_int_equal(gnn_map_gather_u32(m.world, m.map, index, PAGES, out, NULL), GNN_OK);
    gnn_thread_split(m.world, &c);
    const uint64_t cold = b.wait_ns[GNN_WAIT_IO] - a.wait_ns[GNN_WAIT_IO];
    const uint64_t warm = c.wait_ns[GNN_WAIT_IO] - b.wait_ns[GNN_WAIT_IO];
    print_message("%d pages: cold %.1f ms of I/O wait in %.1f ms, warm %.3f ms\n", PAGES, (double)cold / 1e6,
                  (double)(b.wall_ns - a.wall_ns) / 1e6, (double)warm / 1e6);
    assert_true(cold <= b.wall_ns - a.wall_ns);
    if (m.scratch.direct) { /* a disk: tmpfs keeps its pages */
        assert_true(cold > ms);
        assert_true(warm < cold / 4);
    }
    assert_int_equal(waits_of(&c), c.wait_ns[GNN_WAIT_IO]);
    mapping_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleep_counts_as_its_kind),
        cmocka_unit_test(test_every_thread_has_a_split),
        cmocka_unit_test(test_taken_mutex_is_a_lock_wait),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_mutex_excludes),
        cmocka_unit_test(test_memory_is_counted),
        cmocka_unit_test(test_large_pages_for_what_is_read_and_written_directly),
        cmocka_unit_test(test_large_pages_leave_nothing_mapped),
        cmocka_unit_test(test_pages_of_all_processes_are_given_back),
        cmocka_unit_test(test_too_many_worlds),
        cmocka_unit_test(test_impossible_memory),
        cmocka_unit_test(test_file_errors),
        cmocka_unit_test(test_file_read_write),
        cmocka_unit_test(test_direct_alignment),
        cmocka_unit_test(test_gather_u32),
        cmocka_unit_test(test_a_gather_reads_its_list_alone),
        cmocka_unit_test(test_gather_wide_ids),
        cmocka_unit_test(test_gather_rows),
        cmocka_unit_test(test_empty_mapping),
        cmocka_unit_test(test_file_cut_while_mapped),
        cmocka_unit_test(test_unreadable_page),
        cmocka_unit_test(test_faults_are_io_waits),
    };
    return cmocka_run_group_tests_name("world_measured", tests, NULL, NULL);
}
