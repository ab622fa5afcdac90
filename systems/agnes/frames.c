#include "systems/agnes/frames.h"

#include <assert.h>
#include <inttypes.h>
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

static uint64_t table_bytes(const struct agnes_frames_config *config)
{
    return (config->frames + UINT64_C(1)) * sizeof(struct frame) + config->blocks * sizeof(uint32_t);
}

uint64_t agnes_frames_bytes(const struct agnes_frames_config *config)
{
    return table_bytes(config) + gnn_mul_bytes(config->frames, config->block_bytes);
}

/* ---- the list of unpinned frames ---- */

static void leave(struct agnes_frames *f, uint32_t frame)
{
    struct frame *const x = &f->frames[frame];
    f->frames[x->previous].next = x->next;
    f->frames[x->next].previous = x->previous;
}

/* Before `where`. */
static void enter(struct agnes_frames *f, uint32_t frame, uint32_t where)
{
    struct frame *const x = &f->frames[frame];
    x->next = where;
    x->previous = f->frames[where].previous;
    f->frames[x->previous].next = frame;
    f->frames[where].previous = frame;
}

/* ---- open, close ---- */

enum gnn_status agnes_frames_open(struct gnn_world *world, const struct agnes_frames_config *config,
                                  struct agnes_frames **out, struct gnn_err *err)
{
    assert(config->frames > 0);
    struct agnes_frames *const f = calloc(1, sizeof *f);
    *out = NULL;
    if (f == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s", config->name);
    f->world = world;
    f->config = *config;
    enum gnn_status status =
        gnn_mem_alloc(world, "agnes frame tables", table_bytes(config), GNN_MEM_PLAIN, &f->tables, err);
    if (status == GNN_OK)
        status = gnn_mem_alloc(world, config->name, gnn_mul_bytes(config->frames, config->block_bytes),
                               config->mem_flags, &f->memory, err);
    if (status != GNN_OK) {
        agnes_frames_close(f);
        return status;
    }
    f->frames = f->tables;
    f->frame_of = (uint32_t *)(f->frames + config->frames + 1);
    agnes_frames_clear(f);
    *out = f;
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
        enter(f, i, head);
    }
    memset(f->frame_of, 0xff, f->config.blocks * sizeof *f->frame_of);
}

/* ---- use ---- */

uint32_t agnes_frames_find(const struct agnes_frames *f, uint32_t block)
{
    assert(block < f->config.blocks);
    return f->frame_of[block];
}

/* Twice round: the first lowers every bit that is up. */
static uint32_t clock_victim(struct agnes_frames *f)
{
    for (uint64_t i = 0; i < 2 * (uint64_t)f->config.frames; i++) {
        const uint32_t frame = f->hand;
        struct frame *const x = &f->frames[frame];
        f->hand = frame + 1 < f->config.frames ? frame + 1 : 0;
        if (x->pins > 0)
            continue;
        if (!x->referenced)
            return frame;
        x->referenced = false;
    }
    return AGNES_NO_FRAME;
}

uint32_t agnes_frames_take(struct agnes_frames *f, uint32_t block)
{
    assert(f->frame_of[block] == AGNES_NO_FRAME);
    if (f->pinned == f->config.frames)
        return AGNES_NO_FRAME;
    const uint32_t frame = f->config.policy == AGNES_POLICY_CLOCK ? clock_victim(f) : f->frames[f->config.frames].next;
    assert(frame < f->config.frames && f->frames[frame].pins == 0);
    struct frame *const x = &f->frames[frame];
    if (x->block != UINT32_MAX) {
        f->frame_of[x->block] = AGNES_NO_FRAME;
        f->evictions++;
    }
    x->block = block;
    f->frame_of[block] = frame;
    agnes_frames_pin(f, frame);
    gnn_charge(f->world, GNN_WORK_TABLE_ENTRY, 1);
    return frame;
}

void agnes_frames_pin(struct agnes_frames *f, uint32_t frame)
{
    struct frame *const x = &f->frames[frame];
    assert(x->block != UINT32_MAX);
    if (x->pins++ > 0)
        return;
    leave(f, frame);
    f->pinned++;
}

void agnes_frames_unpin(struct agnes_frames *f, uint32_t frame)
{
    struct frame *const x = &f->frames[frame];
    assert(x->pins > 0);
    if (--x->pins > 0)
        return;
    x->referenced = true;
    enter(f, frame, f->config.frames);
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
