/* SPDX-License-Identifier: MIT */
/* Writes on a ring: both engines of both worlds keep the same promises, and leave the same bytes in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "tests/support/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4096, BLOCKS = 256, FILE_BYTES = BLOCKS * BLOCK_BYTES, DEPTH = 8 };

/* Where a case runs. */
struct place {
    bool simulated, direct;
    enum gnn_ring_engine engine;
};

struct write_case {
    struct fixture base;
    struct gnn_file *file;
    unsigned char *memory; /* (FILE_BYTES) what is written */
    unsigned char *back;   /* (FILE_BYTES) what is read */
    struct gnn_ring_config config;
    struct gnn_ring *ring;
    enum gnn_status status; /* of work done on other threads */
};

/* The byte that block `block` has at `at` in its `version`. */
static unsigned char byte_of(uint64_t block, uint64_t at, uint32_t version)
{
    return (unsigned char)(gnn_mix64(block * BLOCK_BYTES + at + ((uint64_t)version << 40)) >> 7);
}

static void fill_block(unsigned char *out, uint64_t block, uint32_t version)
{
    for (uint64_t at = 0; at < BLOCK_BYTES; at++)
        out[at] = byte_of(block, at, version);
}

static void *take_memory(struct write_case *c, const char *name)
{
    void *memory;
    assert_int_equal(gnn_mem_alloc(c->base.world, name, FILE_BYTES, GNN_MEM_PINNED, &memory, NULL), GNN_OK);
    return memory;
}

static struct gnn_file *open_file(struct write_case *c, unsigned flags)
{
    char path[512];
    struct gnn_file *file;
    struct gnn_err err = {0};
    must(gnn_file_open(c->base.world, io_scratch_path(&c->base.scratch, "f", path), flags, &file, &err), &err);
    return file;
}

/* False: the place has no direct I/O. The ring is opened by each test as it likes. */
static bool write_case_open(struct write_case *c, const struct place *place)
{
    *c = (struct write_case){.config = {.engine = place->engine, .depth = DEPTH}};
    fixture_open(&c->base, .scratch = true, .simulated = place->simulated);
    if (place->direct && !c->base.direct) {
        fixture_close(&c->base);
        return false;
    }
    c->file = open_file(c, GNN_OPEN_WRITE | (place->direct ? GNN_OPEN_DIRECT : 0));
    c->memory = take_memory(c, "source");
    c->back = take_memory(c, "landing place");
    for (uint64_t block = 0; block < BLOCKS; block++)
        fill_block(c->memory + block * BLOCK_BYTES, block, 0);
    return true;
}

static void open_ring(struct write_case *c)
{
    struct gnn_err err = {0};
    must(gnn_ring_open(c->base.world, &c->config, &c->ring, &err), &err);
}

static void write_case_close(struct write_case *c)
{
    gnn_ring_close(c->base.world, c->ring);
    gnn_mem_free(c->base.world, c->back);
    gnn_mem_free(c->base.world, c->memory);
    gnn_file_close(c->base.world, c->file);
    fixture_close(&c->base);
}

static struct gnn_write block_write(const struct write_case *c, uint64_t block)
{
    return (struct gnn_write){.file = c->file,
                              .offset_bytes = block * BLOCK_BYTES,
                              .src = c->memory + block * BLOCK_BYTES,
                              .len_bytes = BLOCK_BYTES,
                              .tag = block + 1000};
}

static struct gnn_read block_read(const struct write_case *c, uint64_t block)
{
    return (struct gnn_read){.file = c->file,
                             .offset_bytes = block * BLOCK_BYTES,
                             .dst = c->back + block * BLOCK_BYTES,
                             .len_bytes = BLOCK_BYTES,
                             .tag = block + 2000};
}

/* A permutation of the blocks: nothing comes in order. */
static uint64_t nth_block(uint64_t n)
{
    return n * 97 % BLOCKS;
}

/* Every block through the ring, as many in flight as it takes; a status, for it also runs on other threads. */
static enum gnn_status write_blocks(struct write_case *c, uint64_t from, uint64_t to)
{
    uint64_t submitted = from, completed = from;
    while (completed < to) {
        struct gnn_write writes[5];
        struct gnn_completion out[DEPTH];
        uint32_t count = 0, accepted, got;
        for (; count < 5 && submitted + count < to; count++)
            writes[count] = block_write(c, nth_block(submitted + count));
        GNN_TRY(gnn_ring_submit_writes(c->base.world, c->ring, writes, count, &accepted, NULL));
        submitted += accepted;
        if (submitted - completed > c->config.depth)
            return GNN_EBUG;
        GNN_TRY(gnn_ring_wait(c->base.world, c->ring, 1, DEPTH, out, &got, NULL));
        for (uint32_t i = 0; i < got; i++)
            if (out[i].result != BLOCK_BYTES || out[i].tag < 1000 || out[i].tag >= 1000 + BLOCKS)
                return GNN_EIO;
        completed += got;
    }
    return GNN_OK;
}

static void check_block(const struct write_case *c, uint64_t block, uint32_t version)
{
    for (uint64_t at = 0; at < BLOCK_BYTES; at++)
        if (c->back[block * BLOCK_BYTES + at] != byte_of(block, at, version))
            fail_msg("block %u, byte %u is not of version %u", (unsigned)block, (unsigned)at, version);
}

/* The whole file as another handle reads it, and its size. */
static void check_file(struct write_case *c)
{
    struct gnn_file *const again = open_file(c, GNN_OPEN_READ);
    struct gnn_file_info info;
    struct gnn_err err = {0};
    gnn_file_info(c->base.world, again, &info);
    assert_int_equal(info.size_bytes, FILE_BYTES);
    memset(c->back, 0, FILE_BYTES);
    must(gnn_read_all(c->base.world, again, 0, c->back, FILE_BYTES, &err), &err);
    for (uint64_t block = 0; block < BLOCKS; block++)
        check_block(c, block, 0);
    gnn_file_close(c->base.world, again);
}

/* ---- promises of every place ---- */

static void test_what_is_written_is_there(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    open_ring(&c);
    assert_int_equal(write_blocks(&c, 0, BLOCKS), GNN_OK);
    check_file(&c);
    write_case_close(&c);
}

/* Reads and writes of one ring share its depth and its completions; tags tell them apart. */
static void test_reads_beside_writes(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    open_ring(&c);
    assert_int_equal(write_blocks(&c, 0, 16), GNN_OK);
    for (uint64_t n = 16; n < BLOCKS; n += 4) {
        struct gnn_write writes[4];
        struct gnn_read reads[4];
        struct gnn_completion out[DEPTH];
        uint32_t accepted, got;
        for (uint64_t k = 0; k < 4; k++) {
            writes[k] = block_write(&c, nth_block(n + k));
            reads[k] = block_read(&c, nth_block(n + k - 16)); /* that write has completed */
        }
        assert_int_equal(gnn_ring_submit_writes(c.base.world, c.ring, writes, 4, &accepted, NULL), GNN_OK);
        assert_int_equal(accepted, 4);
        assert_int_equal(gnn_ring_submit(c.base.world, c.ring, reads, 4, &accepted, NULL), GNN_OK);
        assert_int_equal(accepted, 4);
        assert_int_equal(gnn_ring_wait(c.base.world, c.ring, DEPTH, DEPTH, out, &got, NULL), GNN_OK);
        uint32_t seen = 0;
        for (uint32_t i = 0; i < DEPTH; i++)
            for (uint32_t k = 0; k < 4; k++) {
                assert_int_equal(out[i].result, BLOCK_BYTES);
                seen |= out[i].tag == writes[k].tag ? 1U << k : out[i].tag == reads[k].tag ? 16U << k : 0;
            }
        assert_int_equal(seen, 0xff);
        for (uint64_t k = 0; k < 4; k++)
            check_block(&c, nth_block(n + k - 16), 0);
    }
    check_file(&c);
    write_case_close(&c);
}

static void test_depth_is_a_bound_for_both(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    c.config.depth = 5;
    open_ring(&c);
    struct gnn_write writes[9];
    struct gnn_read reads[9];
    struct gnn_completion out[9];
    uint32_t accepted, got;
    assert_int_equal(gnn_write_all(c.base.world, c.file, 0, c.memory, FILE_BYTES, NULL), GNN_OK);
    for (uint64_t i = 0; i < 9; i++) {
        writes[i] = block_write(&c, i);
        reads[i] = block_read(&c, 100 + i);
    }
    assert_int_equal(gnn_ring_submit_writes(c.base.world, c.ring, writes, 3, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 3);
    assert_int_equal(gnn_ring_submit(c.base.world, c.ring, reads, 9, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 2);
    assert_int_equal(gnn_ring_submit_writes(c.base.world, c.ring, writes + 3, 6, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 0);
    assert_int_equal(gnn_ring_wait(c.base.world, c.ring, 5, 9, out, &got, NULL), GNN_OK);
    assert_int_equal(got, 5);
    assert_int_equal(gnn_ring_submit_writes(c.base.world, c.ring, writes + 3, 6, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 5);
    assert_int_equal(gnn_ring_wait(c.base.world, c.ring, 5, 9, out, &got, NULL), GNN_OK);
    assert_int_equal(got, 5);
    check_block(&c, 100, 0);
    check_block(&c, 101, 0);
    write_case_close(&c);
}

/* A range again and again: the last version that completed is what is there. */
static void test_the_last_version_stays(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    open_ring(&c);
    for (uint32_t version = 1; version <= 20; version++) {
        const struct gnn_write write = block_write(&c, 7);
        const struct gnn_read read = block_read(&c, 7);
        struct gnn_completion out;
        uint32_t accepted, got;
        fill_block(c.memory + 7 * BLOCK_BYTES, 7, version);
        assert_int_equal(gnn_ring_submit_writes(c.base.world, c.ring, &write, 1, &accepted, NULL), GNN_OK);
        assert_int_equal(gnn_ring_wait(c.base.world, c.ring, 1, 1, &out, &got, NULL), GNN_OK);
        assert_int_equal(out.tag, 1007);
        memset(c.memory + 7 * BLOCK_BYTES, 0xee, BLOCK_BYTES); /* it is the caller's again */
        assert_int_equal(gnn_ring_submit(c.base.world, c.ring, &read, 1, &accepted, NULL), GNN_OK);
        assert_int_equal(gnn_ring_wait(c.base.world, c.ring, 1, 1, &out, &got, NULL), GNN_OK);
        assert_int_equal(out.tag, 2007);
        check_block(&c, 7, version);
    }
    write_case_close(&c);
}

static int32_t result_of(struct write_case *c, const struct gnn_write *write)
{
    struct gnn_completion out = {0};
    uint32_t accepted, got;
    assert_int_equal(gnn_ring_submit_writes(c->base.world, c->ring, write, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 1);
    assert_int_equal(gnn_ring_wait(c->base.world, c->ring, 1, 1, &out, &got, NULL), GNN_OK);
    assert_int_equal(got, 1);
    assert_int_equal(out.tag, write->tag);
    return out.result;
}

static void test_results_are_the_kernels(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    open_ring(&c);
    struct gnn_write write = block_write(&c, 3);
    assert_int_equal(result_of(&c, &write), BLOCK_BYTES); /* behind a hole */
    struct gnn_file_info info;
    gnn_file_info(c.base.world, c.file, &info);
    assert_int_equal(info.size_bytes, 4 * BLOCK_BYTES);
    write.len_bytes = 0;
    assert_int_equal(result_of(&c, &write), 0);
    write = block_write(&c, 3);
    struct gnn_file *const read_only = open_file(&c, GNN_OPEN_READ);
    write.file = read_only;
    assert_int_equal(result_of(&c, &write), -EBADF);
    gnn_file_close(c.base.world, read_only);
    if (place->direct) {
        static const struct {
            uint32_t offset, memory, len;
        } off[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
            write = block_write(&c, 3);
            write.offset_bytes += off[i].offset;
            write.src = c.memory + off[i].memory;
            write.len_bytes += off[i].len;
            const uint32_t unit = i == 1 ? info.mem_align_bytes : info.offset_align_bytes;
            if (unit > 1)
                assert_int_equal(result_of(&c, &write), -EINVAL);
        }
    } else {
        write = block_write(&c, 3);
        write.offset_bytes = 4 * BLOCK_BYTES + 1; /* buffered: any place, any length */
        write.len_bytes = 1;
        assert_int_equal(result_of(&c, &write), 1);
        gnn_file_info(c.base.world, c.file, &info);
        assert_int_equal(info.size_bytes, 4 * BLOCK_BYTES + 2);
    }
    write_case_close(&c);
}

static void submit_and_leave(void *arg)
{
    struct write_case *const c = arg;
    struct gnn_write writes[DEPTH];
    uint32_t accepted;
    for (uint64_t i = 0; i < DEPTH; i++)
        writes[i] = block_write(c, i);
    c->status = gnn_ring_submit_writes(c->base.world, c->ring, writes, DEPTH, &accepted, NULL);
}

/* Closing waits: the writes have left their memory when it returns, also those of an owner that has ended. */
static void test_close_in_flight(const struct place *place)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct write_case c;
        if (!write_case_open(&c, place))
            return;
        open_ring(&c);
        if (elsewhere) {
            struct gnn_thread *thread;
            assert_int_equal(gnn_thread_start(c.base.world, "owner", submit_and_leave, &c, &thread, NULL), GNN_OK);
            gnn_thread_join(c.base.world, thread);
        } else {
            submit_and_leave(&c);
        }
        assert_int_equal(c.status, GNN_OK);
        gnn_ring_close(c.base.world, c.ring);
        c.ring = NULL;
        memset(c.memory, 0xee, FILE_BYTES);
        assert_int_equal(gnn_read_all(c.base.world, c.file, 0, c.back, DEPTH * BLOCK_BYTES, NULL), GNN_OK);
        for (uint64_t i = 0; i < DEPTH; i++)
            check_block(&c, i, 0);
        write_case_close(&c);
    }
}

static void write_on_thread(void *arg)
{
    struct write_case *const c = arg;
    c->status = write_blocks(c, 0, BLOCKS);
}

/* A pipeline starts new threads each epoch: the ring follows its owner, registration included. */
static void test_ring_follows_its_owner(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    c.config.register_files = &c.file;
    c.config.register_file_count = 1;
    if (place->engine == GNN_RING_URING) {
        c.config.register_buffer = c.memory;
        c.config.register_buffer_bytes = FILE_BYTES / 2; /* the other half leaves unregistered */
    }
    open_ring(&c);
    for (int epoch = 0; epoch < 3; epoch++) {
        struct gnn_thread *thread;
        assert_int_equal(gnn_thread_start(c.base.world, "owner", write_on_thread, &c, &thread, NULL), GNN_OK);
        gnn_thread_join(c.base.world, thread);
        assert_int_equal(c.status, GNN_OK);
    }
    check_file(&c);
    write_case_close(&c);
}

/* Writes of feature memory take their place in the file; in the simulated world no bytes come with them. */
static void test_feature_memory_is_written(const struct place *place)
{
    struct write_case c;
    void *features;
    if (!write_case_open(&c, place))
        return;
    open_ring(&c);
    assert_int_equal(gnn_mem_alloc(c.base.world, "features", FILE_BYTES, GNN_MEM_FEATURES, &features, NULL), GNN_OK);
    struct gnn_write write = block_write(&c, BLOCKS - 1);
    write.src = (const unsigned char *)features + (BLOCKS - 1) * BLOCK_BYTES;
    assert_int_equal(result_of(&c, &write), BLOCK_BYTES);
    struct gnn_file_info info;
    gnn_file_info(c.base.world, c.file, &info);
    assert_int_equal(info.size_bytes, FILE_BYTES);
    gnn_mem_free(c.base.world, features);
    write_case_close(&c);
}

static void test_waiting_is_io(const struct place *place)
{
    struct write_case c;
    if (!write_case_open(&c, place))
        return;
    open_ring(&c);
    assert_int_equal(write_blocks(&c, 0, BLOCKS), GNN_OK);
    struct gnn_time_split split;
    gnn_thread_split(c.base.world, &split);
    if (place->direct)
        assert_true(split.wait_ns[GNN_WAIT_IO] > 0);
    for (int kind = GNN_WAIT_IO + 1; kind < GNN_WAIT_KINDS; kind++)
        if (kind != GNN_WAIT_LOCK) /* the simulated pool's own */
            assert_int_equal(split.wait_ns[kind], 0);
    write_case_close(&c);
}

/* Polling threads and spinning waits write the same bytes; where a machine refuses one, it says so. */
static void test_polling_and_spinning(const struct place *place)
{
    for (int variant = 0; variant < 3; variant++) {
        struct write_case c;
        struct gnn_err err = {0};
        if ((variant == 1 && place->engine == GNN_RING_POOL) || !write_case_open(&c, place))
            continue;
        c.config.spin = variant != 1;
        c.config.sqpoll = variant == 1;
        c.config.depth = variant == 2 ? 1 : DEPTH;
        const enum gnn_status status = gnn_ring_open(c.base.world, &c.config, &c.ring, &err);
        if (status == GNN_OK) {
            assert_int_equal(write_blocks(&c, 0, BLOCKS), GNN_OK);
            check_file(&c);
        } else {
            assert_true(variant == 1 && (status == GNN_EPERM || status == GNN_ENOTSUP));
        }
        write_case_close(&c);
    }
}

/* ---- the same in both worlds ---- */

/* A seeded sequence of writes of many places and lengths, each completed before the next that it overlaps. */
static void play(struct write_case *c, uint64_t seed, bool direct)
{
    struct gnn_rng rng = gnn_rng_at(seed);
    const uint64_t unit = direct ? 4096 : 1;
    for (int step = 0; step < 120; step++) {
        struct gnn_write writes[3];
        struct gnn_completion out[3];
        uint32_t accepted, got;
        for (uint64_t k = 0; k < 3; k++) { /* three thirds of the file, so that none overlaps another */
            const uint64_t third = FILE_BYTES / 4;
            const uint64_t at = gnn_round_down(gnn_rng_below(&rng, third / 2), unit);
            const uint64_t from = gnn_round_down(gnn_rng_below(&rng, FILE_BYTES / 2), unit);
            writes[k] = (struct gnn_write){.file = c->file,
                                           .offset_bytes = k * third + at,
                                           .src = c->memory + from,
                                           .len_bytes = (uint32_t)gnn_round_up(1 + gnn_rng_below(&rng, 30000), unit),
                                           .tag = k};
        }
        assert_int_equal(gnn_ring_submit_writes(c->base.world, c->ring, writes, 3, &accepted, NULL), GNN_OK);
        assert_int_equal(accepted, 3);
        assert_int_equal(gnn_ring_wait(c->base.world, c->ring, 3, 3, out, &got, NULL), GNN_OK);
        for (int i = 0; i < 3; i++)
            assert_int_equal(out[i].result, writes[out[i].tag].len_bytes);
    }
}

static void test_both_worlds_leave_the_same_file(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        uint64_t size_bytes[2] = {0};
        unsigned char *bytes[2] = {NULL};
        for (int simulated = 0; simulated < 2; simulated++) {
            const struct place place = {.simulated = simulated == 1,
                                        .direct = variant % 2 == 1,
                                        .engine = variant < 2 ? GNN_RING_URING : GNN_RING_POOL};
            struct write_case c;
            struct gnn_file_info info;
            if (!write_case_open(&c, &place))
                continue;
            open_ring(&c);
            play(&c, 11 + (uint64_t)variant, place.direct);
            gnn_file_info(c.base.world, c.file, &info);
            size_bytes[simulated] = info.size_bytes;
            bytes[simulated] = malloc(info.size_bytes);
            assert_non_null(bytes[simulated]);
            struct gnn_file *const again = open_file(&c, GNN_OPEN_READ);
            assert_int_equal(gnn_read_all(c.base.world, again, 0, bytes[simulated], info.size_bytes, NULL), GNN_OK);
            gnn_file_close(c.base.world, again);
            write_case_close(&c);
        }
        if (bytes[0] != NULL) {
            assert_int_equal(size_bytes[0], size_bytes[1]);
            assert_memory_equal(bytes[0], bytes[1], size_bytes[0]);
        }
        free(bytes[0]);
        free(bytes[1]);
    }
}

/* What the ring of the measured world wrote is in the file of this machine. */
static void test_the_machines_own_file(void **state)
{
    (void)state;
    struct write_case c;
    char path[512];
    assert_true(write_case_open(&c, &(struct place){.engine = GNN_RING_URING}));
    open_ring(&c);
    assert_int_equal(write_blocks(&c, 0, BLOCKS), GNN_OK);
    FILE *const file = fopen(io_scratch_path(&c.base.scratch, "f", path), "re");
    assert_non_null(file);
    assert_int_equal(fread(c.back, 1, FILE_BYTES, file), FILE_BYTES);
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
    for (uint64_t block = 0; block < BLOCKS; block++)
        check_block(&c, block, 0);
    write_case_close(&c);
}

/* ---- every promise in every place ---- */

typedef void promise_fn(const struct place *place);

static void everywhere(promise_fn *promise)
{
    for (int i = 0; i < 8; i++) {
        const struct place place = {
            .simulated = (i & 1) != 0, .direct = (i & 2) != 0, .engine = (i & 4) != 0 ? GNN_RING_POOL : GNN_RING_URING};
        promise(&place);
    }
}

#define EVERYWHERE(promise)                                                                                            \
    static void promise##_everywhere(void **state)                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        everywhere(promise);                                                                                           \
    }
EVERYWHERE(test_what_is_written_is_there)
EVERYWHERE(test_reads_beside_writes)
EVERYWHERE(test_depth_is_a_bound_for_both)
EVERYWHERE(test_the_last_version_stays)
EVERYWHERE(test_results_are_the_kernels)
EVERYWHERE(test_close_in_flight)
EVERYWHERE(test_ring_follows_its_owner)
EVERYWHERE(test_feature_memory_is_written)
EVERYWHERE(test_waiting_is_io)
EVERYWHERE(test_polling_and_spinning)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_there_everywhere),
        cmocka_unit_test(test_reads_beside_writes_everywhere),
        cmocka_unit_test(test_depth_is_a_bound_for_both_everywhere),
        cmocka_unit_test(test_the_last_version_stays_everywhere),
        cmocka_unit_test(test_results_are_the_kernels_everywhere),
        cmocka_unit_test(test_close_in_flight_everywhere),
        cmocka_unit_test(test_ring_follows_its_owner_everywhere),
        cmocka_unit_test(test_feature_memory_is_written_everywhere),
        cmocka_unit_test(test_waiting_is_io_everywhere),
        cmocka_unit_test(test_polling_and_spinning_everywhere),
        cmocka_unit_test(test_both_worlds_leave_the_same_file),
        cmocka_unit_test(test_the_machines_own_file),
    };
    return cmocka_run_group_tests_name("world_writes", tests, NULL, NULL);
}
