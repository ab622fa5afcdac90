/* SPDX-License-Identifier: MIT */
/* Reads that say which IDs they are for: those are as in any read, in every world, and nothing else is computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/id_width.h"
#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/world/faults.h"
#include "harness/world/measured/measured.h"
#include "tests/support/io_scratch.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <string.h>

enum { IDS = 40000, PAGE = 4096, UNTOUCHED = 0xa5, WANTED_MAX = 200 };

/* A file of IDs that knows how many of them it has computed. */
struct ids {
    struct gnn_content content; /* first */
    uint64_t *computed;
};

static void read_ids(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst)
{
    for (uint64_t k = 0; k < len_bytes; k++) {
        const uint64_t at = offset_bytes + k, in_id = at % content->id_bytes;
        const uint64_t value = io_scratch_value(at / content->id_bytes);
        ((unsigned char *)dst)[k] = (unsigned char)(value >> (8 * in_id));
    }
    *((const struct ids *)content)->computed += len_bytes / content->id_bytes;
}

static void gather_ids(const struct gnn_content *content, const uint64_t *index, uint64_t count, uint32_t *out)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_true(index[i] < IDS);
        out[i] = io_scratch_value(index[i]);
    }
    *((const struct ids *)content)->computed += count;
}

struct machine {
    struct gnn_profile profile;
    struct gnn_world *inner, *world;
    struct gnn_file *file;
    struct ids ids;
    uint64_t computed;
    unsigned char *memory; /* (IDS * 8) */
};

static void machine_open(struct machine *m, uint32_t id_bytes, const struct gnn_fault_plan *faults)
{
    struct gnn_err err = {0};
    *m = (struct machine){.ids.content = {(uint64_t)IDS * id_bytes, read_ids, gather_ids, id_bytes}};
    m->ids.computed = &m->computed;
    sim_profile_fill(&m->profile);
    m->inner = m->world = sim_world_of(&m->profile, 0);
    must(gnn_world_simulated_add_file(m->inner, "indices", &m->ids.content, &err), &err);
    if (faults != NULL)
        must(gnn_world_faulty_open(m->inner, faults, &m->world, &err), &err);
    must(gnn_file_open(m->world, "indices", GNN_OPEN_READ, &m->file, &err), &err);
    must(gnn_mem_alloc(m->world, "window", (uint64_t)IDS * 8, GNN_MEM_PLAIN, (void **)&m->memory, &err), &err);
}

static void machine_close(struct machine *m)
{
    gnn_mem_free(m->world, m->memory);
    gnn_file_close(m->world, m->file);
    if (m->world != m->inner)
        gnn_world_faulty_close(m->world);
    gnn_world_simulated_close(m->inner);
}

/* Draws ascending IDs between first and end, and returns how many. */
static uint64_t draw(struct gnn_rng *rng, uint64_t first, uint64_t end, uint64_t *index)
{
    uint64_t count = 0;
    for (uint64_t i = first; i < end && count < WANTED_MAX; i += 1 + gnn_rng_below(rng, 40))
        index[count++] = i;
    return count;
}

/* Every wanted ID of [first, end) stands at its place, counted from `first`. */
static void check_ids(const struct machine *m, const struct gnn_ids_wanted *wanted, uint64_t first, uint64_t end)
{
    for (uint64_t i = 0; i < wanted->count; i++)
        if (wanted->index[i] >= first && wanted->index[i] < end)
            assert_int_equal(gnn_id_stored(m->memory, wanted->id_bytes, wanted->index[i] - first),
                             io_scratch_value(wanted->index[i]));
}

/* A read for some IDs costs the virtual time of any, computes those of its range alone, and leaves the rest. */
static void test_only_what_is_wanted(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (uint32_t id_bytes = 4; id_bytes <= 8; id_bytes += 4) {
        struct machine m, plain;
        machine_open(&m, id_bytes, NULL);
        machine_open(&plain, id_bytes, NULL);
        for (uint64_t first = 0; first < IDS; first += 5000) {
            uint64_t index[WANTED_MAX];
            const uint64_t asked = 4000, end = gnn_min_u64(first + asked, IDS);
            const uint64_t before = first > 100 ? first - 100 : 0; /* some lie before the range, some behind */
            const struct gnn_ids_wanted wanted = {index, draw(&rng, before, gnn_min_u64(end + 900, IDS), index),
                                                  id_bytes};
            memset(m.memory, UNTOUCHED, asked * id_bytes);
            m.computed = 0;
            const int64_t bytes = (int64_t)((end - first) * id_bytes);
            assert_int_equal(gnn_file_read_ids(m.world, m.file, first * id_bytes, m.memory, asked * id_bytes, &wanted),
                             bytes);
            assert_int_equal(gnn_file_read(plain.world, plain.file, first * id_bytes, plain.memory, asked * id_bytes),
                             bytes);
            assert_int_equal(gnn_now_ns(m.world), gnn_now_ns(plain.world));
            check_ids(&m, &wanted, first, end);
            uint64_t inside = 0, touched = 0;
            for (uint64_t i = 0; i < wanted.count; i++)
                inside += index[i] >= first && index[i] < end;
            for (uint64_t i = 0; i < asked; i++)
                touched += gnn_id_stored(m.memory, id_bytes, i) !=
                           (id_bytes == 4 ? UINT64_C(0xa5a5a5a5) : UINT64_C(0xa5a5a5a5a5a5a5a5));
            assert_true(inside > 0);
            assert_int_equal(m.computed, inside);
            assert_int_equal(touched, inside);
        }
        machine_close(&plain);
        machine_close(&m);
    }
}

/* The first and the last ID of a range belong to it, those next to them do not. */
static void test_ends_of_a_range(void **state)
{
    (void)state;
    const uint64_t first = 1024, end = 2048, index[] = {first - 1, first, end - 1, end};
    const struct gnn_ids_wanted wanted = {index, 4, 4};
    struct machine m;
    machine_open(&m, 4, NULL);
    memset(m.memory, UNTOUCHED, PAGE + 4);
    assert_int_equal(gnn_file_read_ids(m.world, m.file, first * 4, m.memory, PAGE, &wanted), PAGE);
    assert_int_equal(m.computed, 2);
    check_ids(&m, &wanted, first, end);
    assert_int_equal(gnn_id_stored(m.memory, 4, end - first), UINT32_C(0xa5a5a5a5));
    machine_close(&m);
}

/* Where the content cannot give single IDs of that width, or the range begins or ends inside one, all of it comes. */
static void test_else_all_of_it(void **state)
{
    (void)state;
    const uint64_t index[] = {3, 500, 1023};
    static const struct {
        uint32_t id_bytes;
        bool gathers;
        uint64_t offset_bytes, len_bytes;
    } cases[] = {{8, true, 0, PAGE}, {4, false, 0, PAGE}, {4, true, 0, PAGE - 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine m;
        machine_open(&m, 4, NULL);
        if (!cases[i].gathers)
            m.ids.content.gather_ids = NULL;
        const struct gnn_ids_wanted wanted = {index, 3, cases[i].id_bytes};
        assert_int_equal(
            gnn_file_read_ids(m.world, m.file, cases[i].offset_bytes, m.memory, cases[i].len_bytes, &wanted),
            (int64_t)cases[i].len_bytes);
        for (uint64_t k = 0; k < cases[i].len_bytes / 4; k++)
            assert_int_equal(gnn_id_stored(m.memory, 4, k), io_scratch_value(k));
        machine_close(&m);
    }
}

/* A window whose reads come short or are to be repeated has every wanted ID in the end. */
static void test_short_reads_go_on(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    const struct gnn_fault_plan plan = {
        .seed = test_seed(), .read_short_probability = 0.6, .read_again_probability = 0.2};
    struct machine m;
    machine_open(&m, 4, &plan);
    for (uint64_t first = 0; first + 2048 <= IDS; first += 1024) {
        uint64_t index[WANTED_MAX];
        struct gnn_err err = {0};
        const struct gnn_ids_wanted wanted = {index, draw(&rng, first, first + 1800, index), 4};
        memset(m.memory, UNTOUCHED, 2 * PAGE);
        must(gnn_read_window_ids(m.world, m.file, first * 4, m.memory, 2 * PAGE, 1800 * 4, &wanted, &err), &err);
        check_ids(&m, &wanted, first, first + 1800);
    }
    struct gnn_fault_counts counts;
    gnn_world_faulty_counts(m.world, &counts);
    assert_true(counts.shortened > 20);
    machine_close(&m);
}

/* A disk gives what it has: the words are a hint. */
static void test_measured(void **state)
{
    (void)state;
    struct io_scratch scratch;
    struct gnn_err err = {0};
    char path[512];
    static uint32_t ids[PAGE / 4];
    const uint64_t index[] = {0, 7, 1023};
    const struct gnn_ids_wanted wanted = {index, 3, 4};
    io_scratch_open(&scratch);
    io_scratch_fill(&scratch, "indices", PAGE);
    struct gnn_world *world;
    struct gnn_file *file;
    must(gnn_world_measured_open(&(struct gnn_measured_config){0}, &world, &err), &err);
    must(gnn_file_open(world, io_scratch_path(&scratch, "indices", path), GNN_OPEN_READ, &file, &err), &err);
    must(gnn_read_window_ids(world, file, 0, ids, PAGE, PAGE, &wanted, &err), &err);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ids[index[i]], io_scratch_value(index[i]));
    gnn_file_close(world, file);
    gnn_world_measured_close(world);
    io_scratch_close(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_wanted),
        cmocka_unit_test(test_ends_of_a_range),
        cmocka_unit_test(test_else_all_of_it),
        cmocka_unit_test(test_short_reads_go_on),
        cmocka_unit_test(test_measured),
    };
    return cmocka_run_group_tests_name("sim_wanted", tests, NULL, NULL);
}
