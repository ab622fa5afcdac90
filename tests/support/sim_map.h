/* SPDX-License-Identifier: MIT */
/* A file of 4 MiB of computed values, mapped in a simulated world of round figures, and what its pages cost there.
 * Header only. */
#ifndef GNN_TESTS_SIM_MAP_H
#define GNN_TESTS_SIM_MAP_H

#include "harness/world/simulated/simulated.h"
#include "tests/support/sim_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    PAGE = GNN_PAGE_BYTES,
    PAGE_VALUES = PAGE / 4,
    FILE_PAGES = 1024,
    VALUES = FILE_PAGES * PAGE_VALUES,
    /* nanoseconds */
    ELEMENT = 10,
    ROW = 50,
    MINOR = 500,
    MAJOR = 2000,
    READ = 100000,
    WAKE = 5000,
    SYSCALL = 1000,
    BUFFERED_PAGE = 1000,
    READAHEAD_PAGE = 100,
};

static inline uint32_t value_at(uint64_t index)
{
    return (uint32_t)(index * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline void read_values(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst)
{
    (void)content;
    for (uint64_t i = 0; i < len_bytes; i++) {
        const uint32_t value = value_at((offset_bytes + i) / 4);
        ((unsigned char *)dst)[i] = (unsigned char)(value >> 8 * ((offset_bytes + i) % 4));
    }
}

static inline void gather_values(const struct gnn_content *content, const uint64_t *index, uint64_t count,
                                 uint32_t *out)
{
    (void)content;
    for (uint64_t i = 0; i < count; i++)
        out[i] = value_at(index[i]);
}

struct fixture {
    struct gnn_profile profile;
    struct gnn_content content;
    struct gnn_world *world;
    struct gnn_file *file;
    struct gnn_map *map;
};

/* f->profile is filled. */
static inline void open_on_profile(struct fixture *f, bool gathers, enum gnn_map_advice advice, unsigned flags)
{
    struct gnn_err err = {0};
    f->content = (struct gnn_content){.size_bytes = (uint64_t)VALUES * 4, .read = read_values};
    f->content.gather_ids = gathers ? gather_values : NULL;
    f->content.id_bytes = sizeof(uint32_t);
    const struct gnn_simulated_config config = {.profile = &f->profile};
    assert_int_equal(gnn_world_simulated_open(&config, &f->world, &err), GNN_OK);
    assert_int_equal(gnn_world_simulated_add_file(f->world, "values", &f->content, &err), GNN_OK);
    assert_int_equal(gnn_file_open(f->world, "values", flags, &f->file, &err), GNN_OK);
    assert_int_equal(gnn_map_open(f->world, f->file, advice, &f->map, &err), GNN_OK);
    (void)gnn_now_ns(f->world); /* what opening cost is past */
}

static inline void open_fixture(struct fixture *f, bool gathers, enum gnn_map_advice advice, unsigned flags)
{
    *f = (struct fixture){.world = NULL};
    sim_profile_fill(&f->profile);
    open_on_profile(f, gathers, advice, flags);
}

static inline void close_fixture(struct fixture *f)
{
    gnn_map_close(f->world, f->map);
    gnn_file_close(f->world, f->file);
    gnn_world_simulated_close(f->world);
}

static inline struct gnn_simulated_counts counts_of(const struct fixture *f)
{
    struct gnn_simulated_counts counts;
    gnn_world_simulated_counts(f->world, &counts);
    return counts;
}

static inline uint64_t io_wait_ns(const struct fixture *f)
{
    struct gnn_time_split split;
    gnn_thread_split(f->world, &split);
    return split.wait_ns[GNN_WAIT_IO];
}

/* One value of each of `count` pages, `stride` apart. */
static inline void gather_pages(const struct fixture *f, uint64_t first, uint64_t count, uint64_t stride)
{
    uint64_t index[FILE_PAGES] = {0};
    uint32_t out[FILE_PAGES];
    struct gnn_err err = {0};
    for (uint64_t i = 0; i < count; i++)
        index[i] = (first + i * stride) * PAGE_VALUES + i % PAGE_VALUES;
    assert_int_equal(gnn_map_gather_u32(f->world, f->map, index, count, out, &err), GNN_OK);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(out[i], value_at(index[i]));
}

#endif
