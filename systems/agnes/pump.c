/* Block-wise I/O (AGNES, KDD 2026, section 3.3; specs/agnes.md section 3, sampling steps 2 to 4, gathering step 4):
 * resident blocks are served first and nothing is evicted meanwhile; missing ones are read in ascending order, many in
 * flight, each into a frame that stays pinned until its worker is done. One thread, the driver, submits and polls: a
 * wait is either for a read or, with none in flight, for a worker. */
#include "systems/agnes/agnes.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BATCH = 64 }; /* reads handed over, and completions taken, at a time */

static enum gnn_status run_flight(struct gnn_task *task, uint32_t worker, struct gnn_err *err)
{
    const struct agnes_flight *const flight = (const struct agnes_flight *)task;
    const struct agnes_pump *const p = flight->pump;
    return p->serve(p->ctx, worker, flight->block, agnes_frames_memory(p->frames, flight->frame), err);
}

/* ---- open, close ---- */

static enum gnn_status open_all(struct agnes_pump *p, const struct agnes_pump_config *config, struct gnn_err *err)
{
    struct gnn_world *const world = p->env->world;
    const struct agnes_frames_config frames = {.name = config->name,
                                               .frames = config->frames,
                                               .blocks = config->blocks,
                                               .block_bytes = config->block_bytes,
                                               .policy = config->policy,
                                               .mem_flags = config->mem_flags};
    GNN_TRY(agnes_frames_open(world, &frames, &p->frames, err));
    p->flights = calloc(config->frames, sizeof *p->flights);
    if (p->flights == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s: %" PRIu32 " frames", config->name, config->frames);
    for (uint32_t i = 0; i < config->frames; i++)
        p->flights[i] = (struct agnes_flight){.task = {.run = run_flight}, .pump = p, .frame = i};
    const struct gnn_reader_config reader = {
        .engine = p->env->io_engine, .depth = p->depth, .files = &p->file, .file_count = 1};
    return gnn_reader_open(world, &reader, &p->reader, err);
}

enum gnn_status agnes_pump_open(const struct gnn_env *env, const struct agnes_pump_config *config,
                                struct agnes_pump *out, struct gnn_err *err)
{
    *out = (struct agnes_pump){.env = env,
                               .team = config->team,
                               .file = config->file,
                               .depth = config->depth < config->frames ? config->depth : config->frames,
                               .block_bytes = config->block_bytes,
                               .resident_first = config->resident_first};
    return open_all(out, config, err);
}

void agnes_pump_close(struct agnes_pump *p)
{
    gnn_reader_close(p->reader);
    agnes_frames_close(p->frames);
    free(p->flights);
    p->reader = NULL;
    p->frames = NULL;
    p->flights = NULL;
}

void agnes_pump_begin(struct agnes_pump *p)
{
    p->reads = p->read_bytes = p->hits = 0;
    if (p->busy > 0 || agnes_frames_pinned(p->frames) > 0) /* the last epoch ended half-way */
        agnes_frames_clear(p->frames);
    p->busy = 0;
}

/* ---- workers ---- */

static void dispatch(struct agnes_pump *p, uint32_t frame, uint32_t block)
{
    p->flights[frame].block = block;
    p->busy++;
    gnn_team_give(p->team, &p->flights[frame].task);
}

/* Unpins what workers are done with; wait: until there is one. */
static enum gnn_status collect(struct agnes_pump *p, bool wait)
{
    for (;;) {
        struct gnn_task *task;
        GNN_TRY(gnn_team_take(p->team, wait, &task));
        if (task == NULL)
            return GNN_OK;
        agnes_frames_unpin(p->frames, ((struct agnes_flight *)task)->frame);
        p->busy--;
        wait = false;
    }
}

/* ---- resident blocks ---- */

/* All are pinned before the first is served. Leaves the missing ones in place: they have no frame. */
static void serve_resident(struct agnes_pump *p, const uint32_t *needed, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t frame = agnes_frames_find(p->frames, needed[i]);
        if (frame == AGNES_NO_FRAME)
            continue;
        agnes_frames_pin(p->frames, frame);
        p->hits++;
        dispatch(p, frame, needed[i]);
    }
}

static enum gnn_status finish_workers(struct agnes_pump *p)
{
    while (p->busy > 0)
        GNN_TRY(collect(p, true));
    return GNN_OK;
}

/* ---- missing blocks ---- */

/* Frames and reads for the next blocks, as far as frames and depth go. *next: how many of needed are passed.
 * skip: bits of those that were served before this pass. */
static enum gnn_status submit(struct agnes_pump *p, const uint32_t *needed, uint32_t count, uint32_t *next,
                              const uint64_t *skip, struct gnn_err *err)
{
    struct gnn_load loads[BATCH];
    uint32_t n = 0, accepted = 0, at = *next;
    while (at < count && n < BATCH && gnn_reader_in_flight(p->reader) + n < p->depth) {
        const uint32_t block = needed[at];
        if (skip != NULL && (skip[at / 64] >> (at % 64) & 1) != 0) {
            at++;
            continue;
        }
        uint32_t frame = agnes_frames_find(p->frames, block);
        if (frame != AGNES_NO_FRAME) { /* resident_first=off */
            agnes_frames_pin(p->frames, frame);
            p->hits++;
            dispatch(p, frame, block);
            at++;
            continue;
        }
        frame = agnes_frames_take(p->frames, block);
        if (frame == AGNES_NO_FRAME)
            break;
        p->flights[frame].block = block;
        loads[n++] = (struct gnn_load){.len_bytes = p->block_bytes,
                                       .offset_bytes = (uint64_t)block * p->block_bytes,
                                       .dst = agnes_frames_memory(p->frames, frame),
                                       .tag = frame};
        at++;
    }
    *next = at;
    for (uint32_t done = 0; done < n; done += accepted) {
        GNN_TRY(gnn_reader_submit(p->reader, loads + done, n - done, &accepted, err));
        assert(accepted > 0);
    }
    p->reads += n;
    p->read_bytes += (uint64_t)n * p->block_bytes;
    return GNN_OK;
}

static enum gnn_status serve_all(struct agnes_pump *p, const uint32_t *needed, uint32_t count, const uint64_t *skip,
                                 struct gnn_err *err)
{
    uint32_t next = 0;
    for (;;) {
        GNN_TRY(collect(p, false));
        GNN_TRY(submit(p, needed, count, &next, skip, err));
        if (gnn_reader_in_flight(p->reader) > 0) {
            uint64_t tags[BATCH];
            uint32_t got;
            GNN_TRY(gnn_reader_harvest(p->reader, 1, BATCH, tags, &got, err));
            for (uint32_t i = 0; i < got; i++)
                dispatch(p, (uint32_t)tags[i], p->flights[tags[i]].block);
        } else if (p->busy > 0) {
            GNN_TRY(collect(p, true));
        } else if (next == count) {
            return GNN_OK;
        }
    }
}

static enum gnn_status run(struct agnes_pump *p, const uint32_t *needed, uint32_t count, uint64_t *resident,
                           struct gnn_err *err)
{
    if (resident == NULL)
        return serve_all(p, needed, count, NULL, err);
    for (uint32_t i = 0; i < count; i++)
        if (agnes_frames_find(p->frames, needed[i]) != AGNES_NO_FRAME)
            resident[i / 64] |= UINT64_C(1) << (i % 64);
    serve_resident(p, needed, count);
    GNN_TRY(finish_workers(p));
    return serve_all(p, needed, count, resident, err);
}

enum gnn_status agnes_pump_run(struct agnes_pump *p, const uint32_t *needed, uint32_t count, agnes_serve_fn *serve,
                               void *ctx, struct gnn_err *err)
{
    assert(p->busy == 0 && agnes_frames_pinned(p->frames) == 0);
    p->serve = serve;
    p->ctx = ctx;
    uint64_t *resident = NULL;
    if (p->resident_first) {
        resident = calloc(count / 64 + UINT64_C(1), sizeof *resident);
        if (resident == NULL)
            return gnn_fail(err, GNN_ENOMEM, "agnes: %" PRIu32 " resident blocks", count);
    }
    const enum gnn_status status = run(p, needed, count, resident, err);
    if (status != GNN_OK)
        gnn_reader_drain(p->reader);
    free(resident);
    return status;
}
