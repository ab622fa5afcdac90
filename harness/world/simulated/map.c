/* SPDX-License-Identifier: MIT */
/* Mappings and the gathers that fault on them. A page that is there costs a look at its flags; a page that is not makes
 * the thread sleep, as GNN_WAIT_IO, until cached.c's read of it is done, and be scheduled wake_latency_ns later.
 *
 * Values come once every page was touched: from the content in bulk where it can, else from the file's bytes. Rows that
 * go to feature memory are not moved at all.
 *
 * CPU time  gather_element_ns an element; gather_row_ns a row and its bytes as GNN_WORK_COPIED_BYTE; faults as in
 *           cached.c */
#include "harness/base/id_width.h"
#include "harness/world/simulated/files.h"

#include <assert.h>
#include <stdlib.h>

enum { LOOK_AHEAD = 12 }; /* elements or rows: the host's memory is as far away as the page's flags are scattered */

struct gnn_map {
    const struct gnn_file *file;
    enum gnn_map_advice advice;
    uint64_t size_bytes;
};

/* One gather under way. */
struct gather {
    struct simulated *s;
    const struct gnn_map *map;
    uint32_t number;        /* of the file in the page cache */
    uint64_t last_page;     /* touched just before; UINT64_MAX: none */
    uintptr_t written_page; /* of feature memory, likewise; 0: none */
    uint64_t pending_ps;    /* not yet given to the executor */
};

enum gnn_status sim_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                             struct gnn_map **out, struct gnn_err *err)
{
    struct simulated *const s = simulated_of(w);
    *out = NULL;
    struct gnn_map *map;
    GNN_NEW(map, 1, err, "%s: a mapping handle, %zu bytes", file->path, sizeof *map);
    *map = (struct gnn_map){.file = file, .advice = advice, .size_bytes = file->inode->size_bytes};
    sim_cpu(s->executor, 2 * s->profile->cpu.syscall_ns * SIM_PS_PER_NS); /* mmap, madvise */
    *out = map;
    return GNN_OK;
}

void sim_map_close(struct gnn_world *w, struct gnn_map *map)
{
    if (map == NULL)
        return;
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    sim_page_cache_unmap(s->cache, sim_inode_cache_number(map->file->inode));
    free(map);
}

static void charge(struct gather *g)
{
    sim_cpu(g->s->executor, g->pending_ps);
    g->pending_ps = 0;
}

static void look_ahead(const struct gather *g, uint64_t byte)
{
    if (byte < g->map->size_bytes)
        sim_page_cache_prefetch(g->s->cache, g->number, byte / GNN_PAGE_BYTES);
}

static void touch(struct gather *g, uint64_t page)
{
    if (page == g->last_page)
        return;
    g->last_page = page;
    struct simulated *const s = g->s;
    if (sim_cached_hit(s, g->map->file, g->map->advice, page))
        return;
    charge(g);
    const uint64_t done_ns = sim_cached_fault(s, g->map->file, g->map->advice, page);
    if (done_ns > sim_now(s->executor))
        sim_sleep_until(&s->base, done_ns + s->profile->cpu.wake_latency_ns, GNN_WAIT_IO);
}

/* A row goes to feature memory: the pages behind the one that was written before are charged. */
static void charge_row(struct gather *g, const unsigned char *to, uint32_t row_bytes)
{
    const uintptr_t last = ((uintptr_t)to + row_bytes - 1) / GNN_PAGE_BYTES;
    if (last == g->written_page)
        return;
    g->written_page = last;
    (void)sim_written_features(g->s, to, row_bytes);
}

/* ---- elements ---- */

static void take_values(struct simulated *s, const struct gnn_map *map, uint32_t id_bytes, const uint64_t *index,
                        uint64_t count, uint32_t *out)
{
    const struct gnn_content *const content = sim_file_content(map->file);
    if (content != NULL && content->id_bytes == id_bytes) {
        content->gather_ids(content, index, count, out);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = 0; /* little-endian: a narrow one fills the low half */
        sim_file_fetch(s, map->file, index[i] * id_bytes, id_bytes, &id);
        out[i] = id_bytes == sizeof *out ? (uint32_t)id : gnn_id_narrow(id);
    }
}

enum gnn_status sim_map_gather_ids(struct gnn_world *w, struct gnn_map *map, uint32_t id_bytes, const uint64_t *index,
                                   uint64_t count, uint32_t *out, struct gnn_err *err)
{
    assert(id_bytes == sizeof(uint32_t) || id_bytes == sizeof(uint64_t));
    struct simulated *const s = simulated_of(w);
    struct gather g = {.s = s, .map = map, .number = sim_inode_cache_number(map->file->inode), .last_page = UINT64_MAX};
    const uint64_t value_count = map->size_bytes / id_bytes;
    const uint64_t element_ps = s->profile->cpu.gather_element_ns * SIM_PS_PER_NS;
    uint64_t done = 0;
    for (; done < count && index[done] < value_count; done++) {
        if (done + LOOK_AHEAD < count)
            look_ahead(&g, index[done + LOOK_AHEAD] * id_bytes);
        touch(&g, index[done] * id_bytes / GNN_PAGE_BYTES);
        g.pending_ps += element_ps;
    }
    charge(&g);
    take_values(s, map, id_bytes, index, done, out);
    if (done < count)
        return gnn_fail(err, GNN_EFORMAT, "%s: element %llu was asked for, the file ends at %llu", map->file->path,
                        (unsigned long long)index[done], (unsigned long long)value_count);
    return GNN_OK;
}

/* ---- rows ---- */

enum gnn_status sim_map_gather_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes, const gnn_node *rows,
                                    uint64_t count, void *dst, uint64_t dst_stride_bytes, struct gnn_err *err)
{
    assert(row_bytes > 0);
    assert(dst_stride_bytes >= row_bytes);
    struct simulated *const s = simulated_of(w);
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    struct gather g = {.s = s, .map = map, .number = sim_inode_cache_number(map->file->inode), .last_page = UINT64_MAX};
    const uint64_t row_count = map->size_bytes / row_bytes;
    const uint64_t row_ps = cpu->gather_row_ns * SIM_PS_PER_NS + row_bytes * cpu->work_ps[GNN_WORK_COPIED_BYTE];
    const bool moves = count > 0 && !sim_is_feature(s, dst);
    uint64_t done = 0;
    for (; done < count && rows[done] < row_count; done++) {
        const uint64_t first_byte = (uint64_t)rows[done] * row_bytes;
        if (done + LOOK_AHEAD < count)
            look_ahead(&g, (uint64_t)rows[done + LOOK_AHEAD] * row_bytes);
        for (uint64_t page = first_byte / GNN_PAGE_BYTES; page * GNN_PAGE_BYTES < first_byte + row_bytes; page++)
            touch(&g, page);
        g.pending_ps += row_ps;
        unsigned char *const to = (unsigned char *)dst + done * dst_stride_bytes;
        if (moves)
            sim_file_fetch(s, map->file, first_byte, row_bytes, to);
        else
            charge_row(&g, to, row_bytes);
    }
    charge(&g);
    if (done < count)
        return gnn_fail(err, GNN_EFORMAT, "%s: row %u of %u bytes was asked for, the file holds %llu", map->file->path,
                        rows[done], row_bytes, (unsigned long long)row_count);
    return GNN_OK;
}

enum gnn_status sim_map_put_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes, const gnn_node *rows,
                                 uint64_t count, const void *src, struct gnn_err *err)
{
    assert(row_bytes > 0);
    struct simulated *const s = simulated_of(w);
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    struct gather g = {.s = s, .map = map, .number = sim_inode_cache_number(map->file->inode), .last_page = UINT64_MAX};
    const uint64_t row_count = map->size_bytes / row_bytes;
    const uint64_t row_ps = cpu->gather_row_ns * SIM_PS_PER_NS + row_bytes * cpu->work_ps[GNN_WORK_COPIED_BYTE];
    if (!map->file->writable)
        return gnn_fail(err, GNN_EPERM, "%s: mapped for reading; open the file for writing", map->file->path);
    uint64_t done = 0;
    for (; done < count && rows[done] < row_count; done++) {
        const uint64_t first_byte = (uint64_t)rows[done] * row_bytes;
        const unsigned char *const from = (const unsigned char *)src + done * row_bytes;
        for (uint64_t page = first_byte / GNN_PAGE_BYTES; page * GNN_PAGE_BYTES < first_byte + row_bytes; page++)
            touch(&g, page);
        g.pending_ps += row_ps;
        sim_cached_dirty(s, map->file, sim_now(s->executor), first_byte, row_bytes);
        if (!sim_inode_store(map->file->inode, first_byte, row_bytes, sim_is_feature(s, src) ? NULL : from))
            return gnn_fail(err, GNN_ENOMEM, "%s: the bytes of row %u", map->file->path, rows[done]);
    }
    charge(&g);
    if (done < count)
        return gnn_fail(err, GNN_EFORMAT, "%s: row %u of %u bytes was to be written, the file holds %llu",
                        map->file->path, rows[done], row_bytes, (unsigned long long)row_count);
    return GNN_OK;
}
