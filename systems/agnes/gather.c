/* Gathering of a hyperbatch, feature block by feature block (AGNES, KDD 2026, section 3.3; specs/agnes.md section 3).
 *
 *   count    how many mini-batches need a node
 *   place    often-used rows get a slot of the feature cache (C of them), all others are spilled
 *   bucket   which positions of which V_j need which block
 *   serve    each needed block once, ascending, W workers: a cached row is copied once, a spilled one for every
 *            mini-batch that needs it
 *
 * Memory   C rows, H (+ spares) staging blocks, D + W blocks being read or served; 4 bytes a node (counts, then slots);
 *          8 sum |V_j| of the bucket, 4 sum |V_j| of places */
#include "systems/agnes/agnes.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- open, close ---- */

static uint32_t spares(const struct agnes *s)
{
    return s->config->spill == AGNES_SPILL_ASYNC ? s->config->workers + 1 : 0;
}

static enum gnn_status open_staging(struct agnes *s, struct agnes_gathered *g, struct gnn_err *err)
{
    const uint32_t h = s->sizes.hyperbatch, buffers = h + spares(s);
    GNN_TRY(gnn_mem_alloc(s->env->world, "agnes staging buffers", gnn_mul_bytes(buffers, s->sizes.block_bytes),
                          GNN_MEM_FEATURES, &g->staging, err));
    g->staging_of = calloc(h, sizeof *g->staging_of);
    g->batches = calloc(h, sizeof *g->batches);
    g->base = calloc(h + UINT64_C(1), sizeof *g->base);
    g->jobs = calloc(buffers, sizeof *g->jobs);
    if (g->staging_of == NULL || g->batches == NULL || g->base == NULL || g->jobs == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: hyperbatch of %" PRIu32, h);
    for (uint32_t i = 0; i < buffers; i++)
        g->jobs[i] = (struct agnes_spill_job){.gathered = g, .buffer = i};
    return GNN_OK;
}

static enum gnn_status open_gathered(struct agnes *s, struct agnes_gathered *g, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    const struct gnn_dataset *const d = s->env->dataset;
    g->place.name = "agnes places of spilled rows";
    g->spill_at.name = "agnes spilled blocks";
    GNN_TRY(gnn_mem_alloc(world, "agnes tiers of nodes", d->node_count * (uint64_t)sizeof *g->tier, GNN_MEM_PLAIN,
                          &g->tier_memory, err));
    g->tier = g->tier_memory;
    GNN_TRY(gnn_mem_alloc(world, "agnes feature cache", gnn_mul_bytes(s->sizes.cache_rows, d->row_bytes),
                          GNN_MEM_FEATURES, &g->cache, err));
    GNN_TRY(open_staging(s, g, err));
    for (uint32_t i = 0; i < AGNES_LOCKS; i++)
        GNN_TRY(gnn_mutex_open(world, &g->locks[i], err));
    const unsigned direct = s->config->io == AGNES_IO_DIRECT ? (unsigned)GNN_OPEN_DIRECT : 0U;
    GNN_TRY(gnn_file_open(world, s->files.dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | direct, &g->spill, err));
    const struct gnn_reader_config reader = {
        .engine = s->env->io_engine, .depth = s->config->depth, .files = &g->spill, .file_count = 1};
    return gnn_reader_open(world, &reader, &g->reload, err);
}

static void close_gathered(struct agnes *s, struct agnes_gathered *g)
{
    struct gnn_world *const world = s->env->world;
    gnn_reader_close(g->reload);
    gnn_file_close(world, g->spill);
    for (uint32_t i = 0; i < AGNES_LOCKS; i++)
        gnn_mutex_close(world, g->locks[i]);
    free(g->jobs);
    free(g->base);
    free(g->batches);
    free(g->staging_of);
    gnn_mem_free(world, g->staging);
    gnn_mem_free(world, g->cache);
    gnn_mem_free(world, g->tier_memory);
    gnn_buffer_close(world, &g->place);
    gnn_buffer_close(world, &g->spill_at);
}

enum gnn_status agnes_gathering_open(struct agnes *s, struct gnn_err *err)
{
    struct agnes_gathering *const x = &s->gathering;
    x->list_counts = calloc(s->sizes.hyperbatch, sizeof *x->list_counts);
    if (x->list_counts == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: hyperbatch of %" PRIu32, s->sizes.hyperbatch);
    GNN_TRY(gnn_team_open(s->env->world, s->config->workers, &x->team, err));
    GNN_TRY(agnes_bucket_open(s->env->world, s->sizes.feature_blocks, s->config->workers, &x->bucket, err));
    const struct agnes_pump_config pump = {.team = x->team,
                                           .file = s->files.features,
                                           .depth = s->config->depth,
                                           .block_bytes = s->sizes.block_bytes,
                                           .frames = s->sizes.pool_frames,
                                           .blocks = s->sizes.feature_blocks,
                                           .policy = AGNES_POLICY_LRU,
                                           .resident_first = true,
                                           .mem_flags = GNN_MEM_FEATURES,
                                           .name = "agnes feature blocks"};
    GNN_TRY(agnes_pump_open(s->env, &pump, &x->pump, err));
    for (uint32_t i = 0; i < s->sizes.gathers; i++)
        GNN_TRY(open_gathered(s, &s->gathered[i], err));
    return GNN_OK;
}

void agnes_gathering_close(struct agnes *s)
{
    agnes_pump_close(&s->gathering.pump);
    agnes_bucket_close(&s->gathering.bucket);
    gnn_team_close(s->gathering.team);
    free(s->gathering.list_counts);
    for (uint32_t i = 0; i < s->sizes.gathers; i++)
        close_gathered(s, &s->gathered[i]);
}

/* ---- count and place ---- */

/* gnn_each_fn: mini-batch j. */
static enum gnn_status count_nodes(void *ctx, uint32_t worker, uint64_t j, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    const struct agnes_gather_round *const x = ctx;
    const struct agnes_batch *const batch = &x->hb->batches[j];
    for (uint32_t i = 0; i < batch->count; i++)
        atomic_fetch_add_explicit(&x->g->tier[batch->nodes[i]], 1, memory_order_relaxed);
    gnn_charge(x->s->env->world, GNN_WORK_TABLE_ENTRY, batch->count);
    return GNN_OK;
}

/* The mean number of mini-batches a needed node is needed by, rounded down. */
static uint32_t mean_count(const struct agnes_gathered *g, uint32_t nodes)
{
    uint64_t sum = 0, used = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        sum += g->tier[v];
        used += g->tier[v] > 0;
    }
    return used > 0 ? (uint32_t)(sum / used) : 0;
}

/* cache_rank=count: the smallest count all of whose nodes fit above, plus one; *left: slots for nodes of just less. */
static enum gnn_status count_cut(const struct agnes *s, const struct agnes_gathered *g, uint32_t *cut,
                                 struct gnn_err *err)
{
    const uint32_t nodes = s->env->dataset->node_count, most = s->sizes.hyperbatch;
    uint32_t *const having = calloc(most + UINT64_C(1), sizeof *having);
    if (having == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: histogram of access counts");
    for (uint32_t v = 0; v < nodes; v++)
        having[g->tier[v]]++;
    uint64_t above = 0;
    for (*cut = most + 1; *cut > 1 && above + having[*cut - 1] <= s->sizes.cache_rows; --*cut)
        above += having[*cut - 1];
    free(having);
    return GNN_OK;
}

/* Ascending, nodes with `least` uses and more, while there are slots. */
static void fill_slots(const struct agnes *s, struct agnes_gathered *g, uint32_t least, uint32_t *used)
{
    const uint32_t nodes = s->env->dataset->node_count;
    for (uint32_t v = 0; v < nodes && *used < s->sizes.cache_rows; v++) {
        const uint32_t count = g->tier[v];
        if (count >= least && count > 0 && (count & AGNES_CACHED) == 0)
            g->tier[v] = AGNES_CACHED | (*used)++;
    }
}

/* Threshold: the mean, lowest IDs first, then whatever is used at all. Rank: by count. */
static enum gnn_status place_nodes(const struct agnes *s, struct agnes_gathered *g, struct gnn_err *err)
{
    const uint32_t nodes = s->env->dataset->node_count;
    uint32_t least = mean_count(g, nodes), used = 0;
    if (s->config->cache_rank == AGNES_RANK_COUNT) {
        GNN_TRY(count_cut(s, g, &least, err));
        fill_slots(s, g, least, &used);
        least = least > 1 ? least - 1 : 1;
    }
    fill_slots(s, g, least, &used);
    fill_slots(s, g, 1, &used);
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    return GNN_OK;
}

/* ---- one block ---- */

/* agnes_blocks_fn */
static uint32_t feature_block_of(void *ctx, uint32_t j, uint32_t position, uint32_t *out)
{
    const struct agnes_gather_round *const x = ctx;
    out[0] = x->hb->batches[j].nodes[position] / x->s->sizes.rows;
    return 1;
}

/* A block's nodes are one worker's: nobody else looks at their tiers. */
static void cache_row(const struct agnes_gather_round *x, gnn_node v, const void *data)
{
    const uint32_t tier = x->g->tier[v], row_bytes = x->s->env->dataset->row_bytes;
    if ((tier & AGNES_COPIED) != 0)
        return;
    x->g->tier[v] = tier | AGNES_COPIED;
    gnn_mem_copy(x->s->env->world, (unsigned char *)x->g->cache + (uint64_t)(tier & AGNES_SLOT_MASK) * row_bytes, data,
                 row_bytes);
    atomic_fetch_add_explicit(&x->s->gathering.cached_rows, 1, memory_order_relaxed);
}

/* Entries [e, end) of one mini-batch. */
static enum gnn_status serve_batch(const struct agnes_gather_round *x, uint32_t block, const void *memory, uint64_t e,
                                   uint64_t end, struct gnn_err *err)
{
    const struct agnes_entry *const entries = x->s->gathering.bucket.entries;
    const uint32_t j = entries[e].batch, rows = x->s->sizes.rows;
    const struct agnes_batch *const batch = &x->hb->batches[j];
    uint64_t spilled = 0;
    struct gnn_mutex *const lock = x->g->locks[j % AGNES_LOCKS];
    enum gnn_status status = GNN_OK;
    gnn_mutex_lock(x->s->env->world, lock);
    for (; status == GNN_OK && e < end; e++) {
        const gnn_node v = batch->nodes[entries[e].position];
        const void *const data =
            (const unsigned char *)memory + (uint64_t)(v - block * rows) * x->s->env->dataset->row_bytes;
        if ((x->g->tier[v] & AGNES_CACHED) != 0) {
            cache_row(x, v, data);
            continue;
        }
        status = agnes_spill_row(x->s, x->g, j, data, &x->place[x->g->base[j] + entries[e].position], err);
        spilled++;
    }
    gnn_mutex_unlock(x->s->env->world, lock);
    atomic_fetch_add_explicit(&x->s->gathering.spilled_rows, spilled, memory_order_relaxed);
    return status;
}

/* agnes_serve_fn */
static enum gnn_status serve_block(void *ctx, uint32_t worker, uint32_t block, const void *memory, struct gnn_err *err)
{
    (void)worker;
    const struct agnes_gather_round *const x = ctx;
    const struct agnes_bucket *const bucket = &x->s->gathering.bucket;
    const uint64_t row_end = bucket->row_begin[block + 1];
    for (uint64_t e = bucket->row_begin[block], end; e < row_end; e = end) {
        for (end = e + 1; end < row_end && bucket->entries[end].batch == bucket->entries[e].batch;)
            end++;
        GNN_TRY(serve_batch(x, block, memory, e, end, err));
    }
    return GNN_OK;
}

/* ---- a hyperbatch ---- */

static enum gnn_status begin(struct agnes_gather_round *x, struct gnn_err *err)
{
    struct agnes *const s = x->s;
    struct agnes_gathered *const g = x->g;
    uint32_t *const counts = s->gathering.list_counts, largest = 0;
    for (uint32_t j = 0; j < x->hb->count; j++) {
        counts[j] = x->hb->batches[j].count;
        g->base[j + 1] = g->base[j] + counts[j];
        g->batches[j] = (struct agnes_spill_batch){0};
        g->staging_of[j] = j;
        largest = counts[j] > largest ? counts[j] : largest;
    }
    g->blocks_max = largest / s->sizes.rows;
    atomic_store(&g->spill_end, 0);
    memset(g->tier_memory, 0, s->env->dataset->node_count * sizeof *g->tier);
    GNN_TRY(gnn_buffer_reserve(s->env->world, &g->place, g->base[x->hb->count] * sizeof(uint32_t), err));
    GNN_TRY(gnn_buffer_reserve(s->env->world, &g->spill_at, (uint64_t)x->hb->count * g->blocks_max * sizeof(uint32_t),
                               err));
    x->place = g->place.data;
    for (uint32_t i = 0; i < spares(s); i++)
        GNN_TRY(gnn_queue_push(g->spare, &g->jobs[s->sizes.hyperbatch + i]));
    return GNN_OK;
}

/* All spares are back: everything is written. */
static enum gnn_status finish_writes(const struct agnes *s, const struct agnes_gathered *g)
{
    for (uint32_t i = 0; i < spares(s); i++) {
        void *job;
        GNN_TRY(gnn_queue_pop(g->spare, &job));
    }
    return GNN_OK;
}

static enum gnn_status run(struct agnes_gather_round *x, struct gnn_err *err)
{
    struct agnes_gathering *const y = &x->s->gathering;
    GNN_TRY(begin(x, err));
    GNN_TRY(gnn_team_each(y->team, x->hb->count, count_nodes, x));
    GNN_TRY(place_nodes(x->s, x->g, err));
    GNN_TRY(agnes_bucket_build(&y->bucket, y->team, y->list_counts, x->hb->count, feature_block_of, x, err));
    agnes_frames_clear(y->pump.frames); /* one visit a block: nothing is worth keeping */
    GNN_TRY(gnn_check_stop(x->s->env, err));
    GNN_TRY(agnes_pump_run(&y->pump, y->bucket.needed, y->bucket.needed_count, serve_block, x, err));
    return finish_writes(x->s, x->g);
}

enum gnn_status agnes_gather(struct agnes *s, uint32_t h, struct gnn_err *err)
{
    s->gathering.round = (struct agnes_gather_round){
        .s = s, .hb = &s->contexts[h % s->sizes.contexts], .g = &s->gathered[h % s->sizes.gathers]};
    return run(&s->gathering.round, err);
}
