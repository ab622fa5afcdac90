/* SPDX-License-Identifier: MIT */
/* Memory that lasts from one preparation to the next: the two caches with their rows, and a slot for everything that a
 * mini-batch holds on its way (DiskGNN, sections 4 and 5.3). Rows go straight from the file to where they stay. */
#include "systems/diskgnn/diskgnn.h"

#include "harness/storage/exact.h"
#include "harness/system/staging.h"

#include <assert.h>
#include <inttypes.h>

static const uint64_t piece_bytes = UINT64_C(16) << 20; /* of the cached rows read at a time */

/* ---- the caches ---- */

/* Reads `need_bytes` of the cached rows from offset_bytes on, piece by piece, into `rows` of the host. */
static enum gnn_status read_rows(struct diskgnn *s, uint64_t offset_bytes, unsigned char *rows, uint64_t need_bytes,
                                 struct gnn_err *err)
{
    const uint64_t bytes = gnn_round_up(need_bytes, s->layout.rows.align_bytes);
    for (uint64_t at = 0; at < bytes; at += piece_bytes) {
        const uint64_t len_bytes = gnn_min_u64(bytes - at, piece_bytes);
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_read_window(s->env->world, s->layout.cached, offset_bytes + at, rows + at, len_bytes,
                                gnn_min_u64(len_bytes, need_bytes - at), err));
    }
    return GNN_OK;
}

/* Brings the GPU cache's rows to the device through memory of the host that holds one piece. */
static enum gnn_status upload_gpu_rows(struct diskgnn *s, uint64_t need_bytes, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    const uint64_t room_bytes = gnn_min_u64(gnn_round_up(need_bytes, GNN_PAGE_BYTES), piece_bytes);
    void *piece = NULL;
    GNN_TRY(gnn_mem_alloc(world, "diskgnn cached rows on their way", room_bytes, GNN_MEM_FEATURES, &piece, err));
    enum gnn_status status = GNN_OK;
    for (uint64_t at = 0; at < need_bytes && status == GNN_OK; at += room_bytes) {
        const uint64_t part_bytes = gnn_min_u64(need_bytes - at, room_bytes);
        status = read_rows(s, at, piece, part_bytes, err);
        if (status == GNN_OK)
            s->env->tensor->ops->upload(s->env->tensor, (unsigned char *)s->gpu_cache + at, piece, part_bytes);
    }
    gnn_mem_free(world, piece);
    return status;
}

static enum gnn_status open_gpu_cache(struct diskgnn *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    static const char name[] = "diskgnn GPU cache";
    const uint64_t bytes = s->layout.gpu_rows * (uint64_t)env->dataset->row_bytes;
    if (bytes == 0)
        return GNN_OK;
    if (!gnn_env_on_device(env)) {
        GNN_TRY(
            gnn_mem_alloc(env->world, name, gnn_round_up(bytes, GNN_PAGE_BYTES), GNN_MEM_FEATURES, &s->gpu_cache, err));
        return read_rows(s, 0, s->gpu_cache, bytes, err);
    }
    GNN_TRY(env->tensor->ops->alloc(env->tensor, name, bytes, &s->gpu_cache, err));
    return upload_gpu_rows(s, bytes, err);
}

static enum gnn_status open_cpu_cache(struct diskgnn *s, struct gnn_err *err)
{
    const uint64_t bytes = s->layout.cpu_rows * (uint64_t)s->env->dataset->row_bytes;
    if (bytes == 0)
        return GNN_OK;
    GNN_TRY(gnn_staging_alloc(s->env, "diskgnn CPU cache", gnn_round_up(bytes, GNN_PAGE_BYTES), &s->cpu_cache, err));
    return read_rows(s, s->layout.cpu_offset_bytes, s->cpu_cache, bytes, err);
}

/* Writes what each row number means. */
static void fill_place(const struct diskgnn *s, uint32_t *place)
{
    const uint32_t gpu_rows = s->layout.gpu_rows, cached = gpu_rows + s->layout.cpu_rows;
    for (uint32_t i = 0; i + 1 < s->place_count; i++)
        place[i] = i < gpu_rows ? gnn_place(DISKGNN_GPU_CACHE, i)
                   : i < cached ? gnn_place(DISKGNN_CPU_CACHE, i - gpu_rows)
                                : gnn_place(DISKGNN_PARTIAL, i - cached);
    place[s->place_count - 1] = GNN_PLACE_NONE;
}

static enum gnn_status open_place(struct diskgnn *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    uint32_t *host;
    s->place_count = s->layout.gpu_rows + s->layout.cpu_rows + s->layout.partial_most + 1;
    GNN_MEM_NEW(env->world, host, s->place_count, "diskgnn places of rows", GNN_MEM_PLAIN, err);
    fill_place(s, host);
    if (!gnn_env_on_device(env)) {
        s->place = host;
        return GNN_OK;
    }
    void *device = NULL;
    const uint64_t bytes = s->place_count * (uint64_t)sizeof *host;
    const enum gnn_status status = env->tensor->ops->alloc(env->tensor, "diskgnn places of rows", bytes, &device, err);
    if (status == GNN_OK)
        env->tensor->ops->upload(env->tensor, device, host, bytes);
    gnn_mem_free(env->world, host);
    s->place = device;
    return status;
}

static void close_caches(struct diskgnn *s)
{
    const struct gnn_env *const env = s->env;
    if (env->tensor == NULL)
        return; /* --sample-only has none */
    gnn_staging_free(env, s->cpu_cache);
    if (gnn_env_on_device(env)) {
        env->tensor->ops->free(env->tensor, s->place);
        env->tensor->ops->free(env->tensor, s->gpu_cache);
    } else {
        gnn_mem_free(env->world, s->place);
        gnn_mem_free(env->world, s->gpu_cache);
    }
    s->cpu_cache = s->gpu_cache = NULL;
    s->place = NULL;
}

/* ---- slots ---- */

/* Cuts `count` slots of `bytes` each, on whole pages, from one range of memory. */
static enum gnn_status open_words(struct diskgnn *s, const char *name, uint32_t count, uint64_t bytes, void **memory,
                                  uint64_t *step_bytes, struct gnn_err *err)
{
    *step_bytes = gnn_round_up(gnn_max_u64(bytes, 1), GNN_PAGE_BYTES);
    return gnn_mem_alloc(s->env->world, name, gnn_mul_bytes(count, *step_bytes), GNN_MEM_PLAIN, memory, err);
}

static enum gnn_status open_graphs(struct diskgnn *s, struct gnn_err *err)
{
    uint64_t step_bytes;
    GNN_NEW(s->graphs, s->slots.graphs, err, "diskgnn: %" PRIu32 " graph samples", s->slots.graphs);
    GNN_TRY(open_words(s, "diskgnn graph samples", s->slots.graphs, s->most.record_bytes, &s->graph_memory, &step_bytes,
                       err));
    for (uint32_t i = 0; i < s->slots.graphs; i++) {
        s->graphs[i].words = (uint32_t *)((unsigned char *)s->graph_memory + i * step_bytes);
        if (!s->env->workload->sample_only)
            GNN_TRY(gnn_train_input_open(s->env, "diskgnn rows", s->config->transfer, &s->graphs[i].input, err));
    }
    return GNN_OK;
}

static enum gnn_status open_partials(struct diskgnn *s, struct gnn_err *err)
{
    uint64_t step_bytes;
    GNN_NEW(s->table_slots, s->slots.tables, err, "diskgnn: %" PRIu32 " address tables", s->slots.tables);
    GNN_NEW(s->partials, s->slots.partials, err, "diskgnn: %" PRIu32 " partial inputs", s->slots.partials);
    GNN_TRY(open_words(s, "diskgnn address tables", s->slots.tables, s->most.table_bytes, &s->table_memory, &step_bytes,
                       err));
    for (uint32_t i = 0; i < s->slots.tables; i++)
        s->table_slots[i].words = (uint32_t *)((unsigned char *)s->table_memory + i * step_bytes);
    for (uint32_t i = 0; i < s->slots.partials; i++) {
        void *rows = NULL;
        GNN_TRY(gnn_staging_alloc(s->env, "diskgnn partial input",
                                  gnn_round_up(gnn_max_u64(s->most.partial_bytes, 1), GNN_PAGE_BYTES), &rows, err));
        s->partials[i].rows = rows;
    }
    return GNN_OK;
}

static enum gnn_status open_inputs(struct diskgnn *s, struct gnn_err *err)
{
    const uint32_t lists = gnn_env_on_device(s->env) ? 2 : 1;
    uint64_t step_bytes;
    GNN_NEW(s->inputs, s->slots.inputs, err, "diskgnn: %" PRIu32 " inputs", s->slots.inputs);
    for (uint32_t i = 0; i < s->slots.inputs; i++) {
        struct diskgnn_input *const input = &s->inputs[i];
        gnn_rows_init_wide(&input->x, s->env, "diskgnn input", GNN_ROWS_TENSOR);
        gnn_rows_init(&input->copy, s->env, "diskgnn copy of a partial input", GNN_ROWS_TENSOR);
        GNN_TRY(gnn_rows_reserve(&input->x, s->most.nodes, err));
        if (s->config->assembly == DISKGNN_ASSEMBLY_SCATTER)
            GNN_TRY(gnn_rows_reserve(&input->copy, gnn_max_u32(s->layout.partial_most, 1), err));
        if (diskgnn_streams_halves(s->env, s->config))
            GNN_TRY(gnn_rows_reserve(&input->copy, s->most.nodes, err));
    }
    GNN_TRY(open_words(s, "diskgnn numbers of rows", lists * s->slots.inputs, s->most.nodes * sizeof(uint32_t),
                       &s->list_memory, &step_bytes, err));
    for (uint32_t i = 0; i < s->slots.inputs; i++) {
        unsigned char *const own = (unsigned char *)s->list_memory + (uint64_t)lists * i * step_bytes;
        s->inputs[i].places = (uint32_t *)own;
        s->inputs[i].from = lists > 1 ? (uint32_t *)(own + step_bytes) : NULL;
    }
    return GNN_OK;
}

static enum gnn_status open_chunk_memory(struct diskgnn *s, struct gnn_err *err)
{
    void *memory = NULL;
    if (s->config->loader != DISKGNN_LOADER_COPIES)
        return GNN_OK;
    s->chunk_step_bytes = diskgnn_chunk_step(&s->most);
    GNN_TRY(gnn_mem_alloc(s->env->world, "diskgnn chunk and clone", 2 * s->chunk_step_bytes, GNN_MEM_FEATURES, &memory,
                          err));
    s->chunk_memory = memory;
    return GNN_OK;
}

static enum gnn_status open_readers(struct diskgnn *s, struct gnn_err *err)
{
    const struct diskgnn_config *const config = s->config;
    const struct diskgnn_pages_config pages = diskgnn_pages_config_of(config, &s->layout.rows, s->team, s->most.pages);
    const struct gnn_ring_reads_config chunk = {
        .ring = {.engine = s->env->io_engine, .depth = config->chunk_depth},
        .batch_max = 1,
        .short_reads = GNN_SHORT_RESUMES,
    };
    GNN_TRY(diskgnn_pages_open(s->env, &pages, &s->pages, err));
    GNN_TRY(open_chunk_memory(s, err));
    return config->chunk_request > 0 ? gnn_ring_reads_open(s->env->world, &chunk, &s->chunk_reads, err) : GNN_OK;
}

enum gnn_status diskgnn_slots_open(struct diskgnn *s, struct gnn_err *err)
{
    s->slots = diskgnn_slots_of(s->env, s->config);
    GNN_TRY(open_graphs(s, err));
    if (s->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(open_gpu_cache(s, err));
    GNN_TRY(open_cpu_cache(s, err));
    GNN_TRY(open_place(s, err));
    GNN_TRY(open_partials(s, err));
    GNN_TRY(open_inputs(s, err));
    return open_readers(s, err);
}

void diskgnn_slots_close(struct diskgnn *s)
{
    struct gnn_world *const world = s->env->world;
    diskgnn_pages_close(s->pages);
    gnn_ring_reads_close(&s->chunk_reads);
    for (uint32_t i = 0; s->inputs != NULL && i < s->slots.inputs; i++)
        if (s->inputs[i].x.env != NULL) {
            gnn_rows_close(&s->inputs[i].x);
            gnn_rows_close(&s->inputs[i].copy);
        }
    for (uint32_t i = 0; s->partials != NULL && i < s->slots.partials; i++)
        gnn_staging_free(s->env, s->partials[i].rows);
    for (uint32_t i = 0; s->graphs != NULL && i < s->slots.graphs; i++)
        gnn_train_input_close(&s->graphs[i].input);
    gnn_mem_free(world, s->chunk_memory);
    gnn_mem_free(world, s->list_memory);
    gnn_mem_free(world, s->table_memory);
    gnn_mem_free(world, s->graph_memory);
    free(s->inputs);
    free(s->partials);
    free(s->table_slots);
    free(s->graphs);
    close_caches(s);
    s->pages = NULL;
    s->chunk_memory = NULL;
    s->list_memory = s->table_memory = s->graph_memory = NULL;
    s->inputs = NULL;
    s->partials = NULL;
    s->table_slots = NULL;
    s->graphs = NULL;
}
