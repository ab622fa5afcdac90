/* SPDX-License-Identifier: MIT */
#include "systems/agnes/block_reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    uint32_t block; /* UINT32_MAX: free */
    uint32_t pins;
    uint32_t next, previous; /* LRU: of the list of unpinned frames, least recently unpinned first */
    bool referenced;         /* CLOCK */
};

struct agnes_frames {
    struct gnn_world *world;
    struct agnes_frames_config config;
    struct frame *frames; /* (frames + 1); the last is the list's head */
    uint32_t *frame_of;   /* (blocks) */
    void *tables, *memory;
    uint32_t hand, pinned;
    uint64_t evictions;
};

_Static_assert(AGNES_NO_FRAME == UINT32_MAX, "clear fills frame_of with bytes of 0xff");

/* ---- the list of unpinned frames ---- */

static void list_remove(struct agnes_frames *f, uint32_t frame)
{
    const struct frame *const removed = &f->frames[frame];
    f->frames[removed->previous].next = removed->next;
    f->frames[removed->next].previous = removed->previous;
}

static void list_append(struct agnes_frames *f, uint32_t frame)
{
    const uint32_t head = f->config.frames;
    struct frame *const appended = &f->frames[frame];
    appended->next = head;
    appended->previous = f->frames[head].previous;
    f->frames[appended->previous].next = frame;
    f->frames[head].previous = frame;
}

/* ---- open, close ---- */

enum gnn_status agnes_frames_open(struct gnn_world *world, const struct agnes_frames_config *config,
                                  struct agnes_frames **out, struct gnn_err *err)
{
    assert(config->frames > 0);
    assert(config->blocks > 0);
    assert(config->frames < AGNES_NO_FRAME);
    struct agnes_frames *f;
    GNN_NEW(f, 1, err, "%s", config->name);
    *out = f;
    f->world = world;
    f->config = *config;
    const uint64_t tables = (config->frames + UINT64_C(1)) * sizeof *f->frames + config->blocks * sizeof *f->frame_of;
    GNN_TRY(gnn_mem_alloc(world, "agnes frame tables", tables, GNN_MEM_PLAIN, &f->tables, err));
    GNN_TRY(gnn_mem_alloc(world, config->name, gnn_mul_bytes(config->frames, config->block_bytes),
                          config->mem_flags | GNN_MEM_LARGE, &f->memory, err));
    f->frames = f->tables;
    f->frame_of = (uint32_t *)(f->frames + config->frames + 1);
    agnes_frames_clear(f);
    return GNN_OK;
}

void agnes_frames_close(struct agnes_frames *f)
{
    if (f == NULL)
        return;
    gnn_mem_free(f->world, f->memory);
    gnn_mem_free(f->world, f->tables);
    free(f);
}

void agnes_frames_clear(struct agnes_frames *f)
{
    const uint32_t head = f->config.frames;
    f->frames[head].next = f->frames[head].previous = head;
    f->hand = f->pinned = 0;
    for (uint32_t i = 0; i < head; i++) {
        f->frames[i] = (struct frame){.block = UINT32_MAX};
        list_append(f, i);
    }
    memset(f->frame_of, 0xff, f->config.blocks * sizeof *f->frame_of);
}

/* ---- use ---- */

uint32_t agnes_frames_find(const struct agnes_frames *f, uint32_t block)
{
    assert(block < f->config.blocks);
    return f->frame_of[block];
}

/* Returns the first unpinned frame whose reference bit is down; lowers the bits it passes, so that twice round is
 * enough. */
static uint32_t clock_victim(struct agnes_frames *f)
{
    for (uint64_t i = 0; i < 2 * (uint64_t)f->config.frames; i++) {
        const uint32_t frame = f->hand;
        struct frame *const passed = &f->frames[frame];
        f->hand = frame + 1 < f->config.frames ? frame + 1 : 0;
        if (passed->pins > 0)
            continue;
        if (!passed->referenced)
            return frame;
        passed->referenced = false;
    }
    return AGNES_NO_FRAME;
}

uint32_t agnes_frames_take(struct agnes_frames *f, uint32_t block)
{
    assert(block < f->config.blocks);
    assert(f->frame_of[block] == AGNES_NO_FRAME);
    if (f->pinned == f->config.frames)
        return AGNES_NO_FRAME;
    const uint32_t frame = f->config.policy == AGNES_POLICY_CLOCK ? clock_victim(f) : f->frames[f->config.frames].next;
    assert(frame < f->config.frames);
    struct frame *const victim = &f->frames[frame];
    assert(victim->pins == 0);
    if (victim->block != UINT32_MAX) {
        assert(f->frame_of[victim->block] == frame);
        f->frame_of[victim->block] = AGNES_NO_FRAME;
        f->evictions++;
    }
    victim->block = block;
    f->frame_of[block] = frame;
    agnes_frames_pin(f, frame);
    gnn_charge(f->world, GNN_WORK_TABLE_ENTRY, 1);
    return frame;
}

void agnes_frames_pin(struct agnes_frames *f, uint32_t frame)
{
    assert(frame < f->config.frames);
    struct frame *const pinned = &f->frames[frame];
    assert(pinned->block != UINT32_MAX);
    if (pinned->pins++ > 0)
        return;
    list_remove(f, frame);
    f->pinned++;
}

void agnes_frames_unpin(struct agnes_frames *f, uint32_t frame)
{
    assert(frame < f->config.frames);
    struct frame *const pinned = &f->frames[frame];
    assert(pinned->pins > 0);
    if (--pinned->pins > 0)
        return;
    pinned->referenced = true;
    list_append(f, frame);
    f->pinned--;
}

void *agnes_frames_memory(const struct agnes_frames *f, uint32_t frame)
{
    assert(frame < f->config.frames);
    return (unsigned char *)f->memory + (uint64_t)frame * f->config.block_bytes;
}

uint64_t agnes_frames_evictions(const struct agnes_frames *f)
{
    return f->evictions;
}

uint32_t agnes_frames_pinned(const struct agnes_frames *f)
{
    return f->pinned;
}
