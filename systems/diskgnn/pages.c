/* SPDX-License-Identifier: MIT */
#include "systems/diskgnn/pages.h"

#include "harness/storage/ring_reads.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct page {
    uint32_t number;    /* in the disk cache */
    uint32_t first_row; /* of the load's rows, the first on this page */
};

/* What a thread of the team reads with. */
struct lane {
    struct gnn_ring_reads reads;
    struct gnn_read *batch; /* (submit) */
    uint64_t *tags;         /* (entries) of completed reads, which nobody looks at */
    unsigned char *memory;  /* (group, page_bytes) */
};

struct diskgnn_pages {
    struct gnn_world *world;
    struct diskgnn_pages_config config;
    uint32_t group;        /* pages: entries, or as many as a load ever has */
    struct lane *lanes;    /* (rings) */
    unsigned char *memory; /* (rings, group, page_bytes) */
    struct page *pages;    /* (pages_most + 1) the distinct ones of the load in progress, ascending, then its end */
    uint32_t count;        /* of pages */
    struct diskgnn_page_rows wanted; /* workers may still look at it when a stopped load has returned */
};

static uint32_t group_of(const struct diskgnn_pages_config *config)
{
    return gnn_min_u32(config->entries, config->pages_most);
}

uint64_t diskgnn_pages_bytes(const struct diskgnn_pages_config *config)
{
    const uint64_t group = group_of(config);
    const uint64_t lane = group == 0 ? 0
                                     : gnn_ring_reads_bytes((uint32_t)group, (uint32_t)group) +
                                           config->submit * sizeof(struct gnn_read) + group * sizeof(uint64_t) +
                                           group * config->rows.page_bytes;
    return config->rings * lane + (config->pages_most + UINT64_C(1)) * sizeof(struct page);
}

static enum gnn_status open_lane(struct diskgnn_pages *p, const struct gnn_env *env, uint32_t i, struct gnn_err *err)
{
    struct lane *const lane = &p->lanes[i];
    const struct gnn_ring_reads_config config = {
        .ring = {.engine = env->io_engine, .depth = p->group}, .batch_max = p->group, .short_reads = GNN_SHORT_RESUMES};
    lane->memory = p->memory + (uint64_t)i * p->group * p->config.rows.page_bytes;
    GNN_NEW(lane->batch, p->config.submit, err, "diskgnn: submission of %" PRIu32 " reads", p->config.submit);
    GNN_NEW(lane->tags, p->group, err, "diskgnn: ring of %" PRIu32 " reads", p->group);
    return gnn_ring_reads_open(env->world, &config, &lane->reads, err);
}

enum gnn_status diskgnn_pages_open(const struct gnn_env *env, const struct diskgnn_pages_config *config,
                                   struct diskgnn_pages **out, struct gnn_err *err)
{
    assert(config->rings > 0);
    assert(config->entries > 0);
    assert(config->submit > 0);
    struct diskgnn_pages *p;
    GNN_NEW(p, 1, err, "diskgnn: reader of the disk cache");
    *out = p;
    p->world = env->world;
    p->config = *config;
    p->group = group_of(config);
    if (p->group == 0)
        return GNN_OK; /* there is no disk cache */
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(env->world, "diskgnn pages of the disk cache",
                          gnn_mul_bytes((uint64_t)config->rings * p->group, config->rows.page_bytes), GNN_MEM_FEATURES,
                          &memory, err));
    p->memory = memory;
    GNN_MEM_NEW(env->world, p->pages, config->pages_most + UINT64_C(1), "diskgnn page numbers", GNN_MEM_PLAIN, err);
    GNN_NEW(p->lanes, config->rings, err, "diskgnn: %" PRIu32 " rings", config->rings);
    for (uint32_t i = 0; i < config->rings; i++)
        GNN_TRY(open_lane(p, env, i, err));
    return GNN_OK;
}

void diskgnn_pages_close(struct diskgnn_pages *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; p->lanes != NULL && i < p->config.rings; i++) {
        gnn_ring_reads_close(&p->lanes[i].reads);
        free(p->lanes[i].tags);
        free(p->lanes[i].batch);
    }
    free(p->lanes);
    gnn_mem_free(p->world, p->pages);
    gnn_mem_free(p->world, p->memory);
    free(p);
}

/* ---- a group of pages ---- */

static enum gnn_status read_group(const struct diskgnn_pages *p, struct lane *lane, uint32_t first, uint32_t count,
                                  struct gnn_err *err)
{
    const uint32_t page_bytes = p->config.rows.page_bytes;
    uint32_t got = 0;
    for (uint32_t done = 0; done < count;) {
        const uint32_t n = gnn_min_u32(count - done, p->config.submit);
        for (uint32_t i = 0; i < n; i++, done++)
            lane->batch[i] = (struct gnn_read){.file = p->wanted.file,
                                               .offset_bytes = p->wanted.offset_bytes +
                                                               (uint64_t)p->pages[first + done].number * page_bytes,
                                               .dst = lane->memory + (uint64_t)done * page_bytes,
                                               .len_bytes = page_bytes,
                                               .need_bytes = page_bytes};
        GNN_TRY(gnn_ring_reads_submit(&lane->reads, lane->batch, n, err));
    }
    return gnn_ring_reads_wait(&lane->reads, count, count, lane->tags, &got, err);
}

/* Copies the rows of a group's pages to their places. */
static void copy_group(const struct diskgnn_pages *p, const struct lane *lane, uint32_t first, uint32_t count)
{
    const struct diskgnn_rows *const rows = &p->config.rows;
    for (uint32_t k = 0; k < count; k++) {
        const struct page *const page = &p->pages[first + k];
        for (uint32_t i = page[0].first_row; i < page[1].first_row; i++)
            gnn_mem_copy(p->world, p->wanted.rows + (uint64_t)i * rows->row_bytes,
                         lane->memory + (uint64_t)k * rows->page_bytes +
                             (uint64_t)(p->wanted.from[i] % rows->per_page) * rows->row_bytes,
                         rows->row_bytes);
    }
}

/* gnn_part_fn: every `parts`-th group. */
static enum gnn_status load_part(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    const struct diskgnn_pages *const p = ctx;
    struct lane *const lane = &p->lanes[part];
    for (uint64_t first = (uint64_t)part * p->group; first < p->count; first += (uint64_t)parts * p->group) {
        const uint32_t count = gnn_min_u32(p->count - (uint32_t)first, p->group);
        if (p->config.new_memory)
            gnn_charge(p->world, GNN_WORK_FRESH_PAGE,
                       gnn_div_up((uint64_t)count * p->config.rows.page_bytes, GNN_PAGE_BYTES));
        const enum gnn_status status = read_group(p, lane, (uint32_t)first, count, err);
        if (status != GNN_OK) {
            gnn_ring_reads_drain(&lane->reads);
            return status;
        }
        copy_group(p, lane, (uint32_t)first, count);
    }
    return GNN_OK;
}

/* ---- a load ---- */

/* Names the distinct pages. GNN_EFORMAT when the rows are not in order or lie on more pages than the layout said. */
static enum gnn_status list_pages(struct diskgnn_pages *p, struct gnn_err *err)
{
    const struct diskgnn_page_rows *const w = &p->wanted;
    p->count = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const uint32_t number = w->from[i] / p->config.rows.per_page;
        const uint32_t last = p->count > 0 ? p->pages[p->count - 1].number : 0;
        const bool same = p->count > 0 && number == last, falls = p->count > 0 && number < last;
        if (falls || (!same && p->count == p->config.pages_most) || w->from[i] >= w->end)
            return gnn_fail(
                err, GNN_EFORMAT,
                "%s: row %" PRIu32 " (entry %" PRIu32
                " of an address table) is out of order or out of range; remove the file, or set diskgnn.reuse=false",
                gnn_file_path(p->world, w->table), w->from[i], i);
        if (!same)
            p->pages[p->count++] = (struct page){.number = number, .first_row = i};
    }
    p->pages[p->count] = (struct page){.number = UINT32_MAX, .first_row = w->count};
    gnn_charge(p->world, GNN_WORK_TABLE_ENTRY, w->count);
    return GNN_OK;
}

enum gnn_status diskgnn_pages_load(struct diskgnn_pages *p, const struct diskgnn_page_rows *wanted, uint32_t *read,
                                   struct gnn_err *err)
{
    *read = 0;
    if (wanted->count == 0)
        return GNN_OK;
    assert(p->group > 0);
    p->wanted = *wanted;
    GNN_TRY(list_pages(p, err));
    gnn_team_post(p->config.team, load_part, p);
    GNN_TRY(gnn_team_wait(p->config.team));
    *read = p->count;
    return GNN_OK;
}
