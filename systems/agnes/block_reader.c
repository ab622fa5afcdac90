/* SPDX-License-Identifier: MIT */
#include "systems/agnes/block_reader.h"

#include "harness/storage/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 }; /* reads handed over, and completions taken, at a time */

struct flight { /* a frame on its way through the workers */
    struct gnn_task task;
    const struct agnes_block_reader *owner;
    uint32_t frame, block;
};

struct agnes_block_reader {
    const struct gnn_env *env;
    struct agnes_block_reader_config config;
    struct gnn_reader *reads;
    struct agnes_frames *frames;
    struct flight *flights; /* (frames) */
    uint64_t *resident;     /* (blocks) bits by place in `needed`, resident_first only */
    uint32_t busy;          /* frames with workers */
    struct agnes_block_counters counters;

    /* of the call in progress */
    const uint32_t *needed; /* (count) */
    uint32_t count, next;   /* needed[0 .. next) are served or on their way */
    agnes_serve_fn *serve;
    void *ctx;
};

static enum gnn_status serve_flight(struct gnn_task *task, uint32_t worker, struct gnn_err *err)
{
    const struct flight *const flight = (const struct flight *)task;
    const struct agnes_block_reader *const r = flight->owner;
    return r->serve(r->ctx, worker, flight->block, agnes_frames_memory(r->frames, flight->frame), err);
}

/* ---- open, close ---- */

enum gnn_status agnes_block_reader_open(const struct gnn_env *env, const struct agnes_block_reader_config *config,
                                        struct agnes_block_reader **out, struct gnn_err *err)
{
    const struct agnes_frames_config *const buffer = &config->buffer;
    struct agnes_block_reader *r;
    GNN_NEW(r, 1, err, "%s: block reader", buffer->name);
    *out = r;
    r->env = env;
    r->config = *config;
    r->config.depth = gnn_min_u32(config->depth, buffer->frames);
    GNN_TRY(agnes_frames_open(env->world, buffer, &r->frames, err));
    GNN_NEW(r->flights, buffer->frames, err, "%s: %" PRIu32 " frames", buffer->name, buffer->frames);
    for (uint32_t i = 0; i < buffer->frames; i++)
        r->flights[i] = (struct flight){.task = {.run = serve_flight}, .owner = r, .frame = i};
    if (config->resident_first)
        GNN_NEW(r->resident, gnn_div_up(buffer->blocks, 64), err, "%s: %" PRIu32 " bits", buffer->name, buffer->blocks);
    const struct gnn_reader_config reads = {
        .engine = env->io_engine, .depth = r->config.depth, .files = &r->config.file, .file_count = 1};
    return gnn_reader_open(env->world, &reads, &r->reads, err);
}

void agnes_block_reader_close(struct agnes_block_reader *r)
{
    if (r == NULL)
        return;
    gnn_reader_close(r->reads);
    agnes_frames_close(r->frames);
    free(r->resident);
    free(r->flights);
    free(r);
}

void agnes_block_reader_begin(struct agnes_block_reader *r)
{
    assert(gnn_reader_in_flight(r->reads) == 0);
    r->counters = (struct agnes_block_counters){.evictions = agnes_frames_evictions(r->frames)};
    if (r->busy > 0 || agnes_frames_pinned(r->frames) > 0)
        agnes_frames_clear(r->frames);
    r->busy = 0;
}

void agnes_block_reader_forget(struct agnes_block_reader *r)
{
    assert(gnn_reader_in_flight(r->reads) == 0);
    agnes_frames_clear(r->frames);
}

void agnes_block_reader_counters(const struct agnes_block_reader *r, struct agnes_block_counters *out)
{
    *out = r->counters;
    out->evictions = agnes_frames_evictions(r->frames) - r->counters.evictions;
}

/* ---- workers ---- */

static void give_frame(struct agnes_block_reader *r, uint32_t frame)
{
    assert(r->busy < r->config.buffer.frames);
    r->busy++;
    gnn_team_give(r->config.team, &r->flights[frame].task);
}

/* Gives a block that is in a frame to the workers. */
static void give_resident(struct agnes_block_reader *r, uint32_t frame, uint32_t block)
{
    agnes_frames_pin(r->frames, frame);
    r->flights[frame].block = block;
    r->counters.hits++;
    give_frame(r, frame);
}

/* Unpins the frames that workers are done with. wait: sleeps until there is one. */
static enum gnn_status take_back(struct agnes_block_reader *r, bool wait)
{
    for (;;) {
        struct gnn_task *task;
        GNN_TRY(gnn_team_take(r->config.team, wait, &task));
        if (task == NULL)
            return GNN_OK;
        assert(r->busy > 0);
        agnes_frames_unpin(r->frames, ((struct flight *)task)->frame);
        r->busy--;
        wait = false;
    }
}

/* ---- resident blocks ---- */

/* Notes which blocks are resident, serves them and waits for their workers. */
static enum gnn_status serve_resident(struct agnes_block_reader *r)
{
    memset(r->resident, 0, gnn_div_up(r->config.buffer.blocks, 64) * sizeof *r->resident);
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t frame = agnes_frames_find(r->frames, r->needed[i]);
        if (frame == AGNES_NO_FRAME)
            continue;
        r->resident[i / 64] |= UINT64_C(1) << (i % 64);
        give_resident(r, frame, r->needed[i]);
    }
    while (r->busy > 0)
        GNN_TRY(take_back(r, true));
    return GNN_OK;
}

static bool served_before(const struct agnes_block_reader *r, uint32_t i)
{
    return r->config.resident_first && (r->resident[i / 64] >> (i % 64) & 1) != 0;
}

/* ---- missing blocks ---- */

/* Fills loads with the reads of the next blocks, as far as frames and depth go; returns how many. */
static uint32_t next_loads(struct agnes_block_reader *r, struct gnn_load *loads)
{
    uint32_t n = 0;
    const uint32_t room = gnn_min_u32(BATCH, r->config.depth - gnn_reader_in_flight(r->reads));
    for (; r->next < r->count && n < room; r->next++) {
        const uint32_t block = r->needed[r->next];
        if (served_before(r, r->next))
            continue;
        uint32_t frame = agnes_frames_find(r->frames, block);
        if (frame != AGNES_NO_FRAME) { /* resident_first=off */
            give_resident(r, frame, block);
            continue;
        }
        frame = agnes_frames_take(r->frames, block);
        if (frame == AGNES_NO_FRAME)
            break;
        r->flights[frame].block = block;
        loads[n++] = (struct gnn_load){.len_bytes = r->config.buffer.block_bytes,
                                       .offset_bytes = (uint64_t)block * r->config.buffer.block_bytes,
                                       .dst = agnes_frames_memory(r->frames, frame),
                                       .tag = frame};
    }
    return n;
}

static enum gnn_status submit(struct agnes_block_reader *r, struct gnn_err *err)
{
    struct gnn_load loads[BATCH];
    uint32_t accepted;
    const uint32_t count = next_loads(r, loads);
    for (uint32_t done = 0; done < count; done += accepted) {
        GNN_TRY(gnn_reader_submit(r->reads, loads + done, count - done, &accepted, err));
        assert(accepted > 0);
    }
    r->counters.reads += count;
    r->counters.read_bytes += (uint64_t)count * r->config.buffer.block_bytes;
    return GNN_OK;
}

/* Hands the blocks whose reads have completed to the workers; sleeps until there is one. */
static enum gnn_status give_completed(struct agnes_block_reader *r, struct gnn_err *err)
{
    uint64_t tags[BATCH];
    uint32_t got;
    GNN_TRY(gnn_reader_harvest(r->reads, 1, BATCH, tags, &got, err));
    for (uint32_t i = 0; i < got; i++) {
        assert(tags[i] < r->config.buffer.frames);
        give_frame(r, (uint32_t)tags[i]);
    }
    return GNN_OK;
}

static enum gnn_status serve_needed(struct agnes_block_reader *r, struct gnn_err *err)
{
    if (r->config.resident_first)
        GNN_TRY(serve_resident(r));
    for (;;) {
        GNN_TRY(take_back(r, false));
        GNN_TRY(submit(r, err));
        if (gnn_reader_in_flight(r->reads) > 0)
            GNN_TRY(give_completed(r, err));
        else if (r->busy > 0)
            GNN_TRY(take_back(r, true));
        else if (r->next == r->count)
            return GNN_OK;
    }
}

enum gnn_status agnes_block_reader_serve(struct agnes_block_reader *r, const uint32_t *needed, uint32_t count,
                                         agnes_serve_fn *serve, void *ctx, struct gnn_err *err)
{
    assert(r->busy == 0);
    assert(agnes_frames_pinned(r->frames) == 0);
    assert(count <= r->config.buffer.blocks);
    r->needed = needed;
    r->count = count;
    r->next = 0;
    r->serve = serve;
    r->ctx = ctx;
    const enum gnn_status status = serve_needed(r, err);
    if (status != GNN_OK)
        gnn_reader_drain(r->reads);
    return status;
}
