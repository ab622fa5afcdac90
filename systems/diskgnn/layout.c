/* SPDX-License-Identifier: MIT */
/* The four levels of a set of samples: found on the disk, or placed and packed now. See prepare.h. */
#include "harness/base/log.h"
#include "harness/base/rng.h"
#include "harness/base/units.h"
#include "systems/diskgnn/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FORMAT = 1 /* of the files of stages 2 and 3: part of the key */ };
static const char layout_magic[16] = "diskgnn layout2";                 /* the number is that of the samples' index */
static const char *const packed_files[] = {"chunks", "disk", "cached"}; /* the last is renamed last */
enum layout_word {
    WORD_BATCHES,
    WORD_SEGMENTS,
    WORD_SEGMENT,
    WORD_DISK_ROWS,
    WORD_FOUND_SEGMENT,
    WORD_FOUND_DISK_ROWS,
    WORD_GPU_ROWS,
    WORD_CPU_ROWS,
    WORD_TABLES_BYTES,
    WORD_CHUNKS_BYTES,
    WORD_DISK_BYTES,
};

/* ---- what a layout depends on ---- */

static uint64_t limit_of(const struct gnn_env *env, const struct diskgnn_prepare_config *config)
{
    return (uint64_t)floor(config->disk_limit * (double)env->dataset->feature_bytes);
}

static uint64_t key_of(const struct gnn_env *env, const struct diskgnn_prepare_config *c,
                       const struct diskgnn_sampled *sampled, const struct diskgnn_caches *caches)
{
    const uint64_t words[] = {FORMAT,     sampled->key, caches->gpu_rows,       caches->cpu_rows, limit_of(env, c),
                              c->search,  c->segment,   c->disk_rows,           c->brute_step,    c->hashes,
                              c->reorder, c->page,      env->dataset->row_bytes};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        key = gnn_rng_fold(key, words[i]);
    return key;
}

/* ---- the directory of a layout ---- */

static enum gnn_status write_layout(struct diskgnn_job *job, struct diskgnn_layout *l, struct gnn_err *err)
{
    struct diskgnn_table_file table = {
        .name = "layout",
        .key = l->key,
        .words = {[WORD_BATCHES] = l->batches,
                  [WORD_SEGMENTS] = l->segments,
                  [WORD_SEGMENT] = l->segment,
                  [WORD_DISK_ROWS] = l->disk_rows,
                  [WORD_FOUND_SEGMENT] = l->found_segment,
                  [WORD_FOUND_DISK_ROWS] = l->found_disk_rows,
                  [WORD_GPU_ROWS] = l->gpu_rows,
                  [WORD_CPU_ROWS] = l->cpu_rows,
                  [WORD_TABLES_BYTES] = l->tables_bytes,
                  [WORD_CHUNKS_BYTES] = l->chunks_bytes,
                  [WORD_DISK_BYTES] = l->disk_bytes},
        .array = {{l->of, l->batches * sizeof *l->of}, {l->segment_of, l->segments * sizeof *l->segment_of}}};
    memcpy(table.magic, layout_magic, sizeof table.magic);
    return diskgnn_write_table(job, &table, &l->layout_bytes, err);
}

static enum gnn_status read_layout(const struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                   struct diskgnn_layout *l, bool *found, struct gnn_err *err)
{
    struct diskgnn_table_file table = {.name = "layout", .key = l->key};
    memcpy(table.magic, layout_magic, sizeof table.magic);
    const enum gnn_status status = diskgnn_read_table(job, &table, found, &l->layout_bytes, err);
    l->of = table.array[0].data;
    l->segment_of = table.array[1].data;
    if (table.outdated) { /* what was packed from it is outdated, too */
        diskgnn_kept_remove(job);
        diskgnn_remove(job, packed_files[2]);
    }
    if (status != GNN_OK || !*found)
        return status;
    const uint64_t *const w = table.words;
    l->batches = (uint32_t)w[WORD_BATCHES];
    l->segments = (uint32_t)w[WORD_SEGMENTS];
    l->segment = (uint32_t)w[WORD_SEGMENT];
    l->disk_rows = (uint32_t)w[WORD_DISK_ROWS];
    l->found_segment = (uint32_t)w[WORD_FOUND_SEGMENT];
    l->found_disk_rows = (uint32_t)w[WORD_FOUND_DISK_ROWS];
    l->gpu_rows = (uint32_t)w[WORD_GPU_ROWS];
    l->cpu_rows = (uint32_t)w[WORD_CPU_ROWS];
    l->tables_bytes = w[WORD_TABLES_BYTES];
    l->chunks_bytes = w[WORD_CHUNKS_BYTES];
    l->disk_bytes = w[WORD_DISK_BYTES];
    if (l->batches != sampled->batches || l->segment == 0 || l->segments != gnn_div_up(l->batches, l->segment) ||
        table.array[0].bytes != l->batches * sizeof *l->of ||
        table.array[1].bytes != l->segments * sizeof *l->segment_of)
        return diskgnn_not_ours(job, table.name, err);
    return GNN_OK;
}

/* Sums and maxima over the places. */
static void sum_up(struct diskgnn_layout *l)
{
    for (uint32_t i = 0; i < l->batches; i++) {
        const struct diskgnn_place *const place = &l->of[i];
        l->partial_most = gnn_max_u32(l->partial_most, place->packed + place->shared);
        l->cached_most = gnn_max_u32(l->cached_most, place->gpu + place->cpu);
        l->pages_most = gnn_max_u32(l->pages_most, place->pages);
        l->table_words_most = gnn_max_u32(l->table_words_most, (uint32_t)diskgnn_table_words(place));
        l->chunk_bytes_most = gnn_max_u64(l->chunk_bytes_most, diskgnn_dense_bytes(&l->rows, place->packed));
        l->packed_rows += place->packed;
        l->shared_rows += place->shared;
        l->pages += place->pages;
    }
    for (uint32_t k = 0; k < l->segments; k++)
        l->disk_rows_most = gnn_max_u32(l->disk_rows_most, l->segment_of[k].rows);
    l->cpu_offset_bytes = diskgnn_dense_bytes(&l->rows, l->gpu_rows);
    l->cached_bytes = l->cpu_offset_bytes + diskgnn_dense_bytes(&l->rows, l->cpu_rows);
}

/* ---- stage 2 ---- */

static enum gnn_status search_and_place(struct diskgnn_job *job, struct diskgnn_segmenter *s, struct diskgnn_layout *l,
                                        struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct diskgnn_found found;
    const uint64_t start_ns = gnn_now_ns(world);
    GNN_TRY(diskgnn_search(s, l->limit_bytes, &found, err));
    const uint64_t found_ns = gnn_now_ns(world);
    GNN_TRY(diskgnn_place_all(job, s, &found, l, err));
    GNN_TRY(write_layout(job, l, err));
    l->search_ns = found_ns - start_ns;
    l->place_ns = gnn_now_ns(world) - found_ns;
    return GNN_OK;
}

static enum gnn_status make_layout(struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                   const struct diskgnn_caches *caches, struct diskgnn_layout *l, struct gnn_err *err)
{
    struct diskgnn_levels levels;
    struct diskgnn_segmenter segmenter = {.env = NULL};
    enum gnn_status status = diskgnn_levels_open(job, sampled, caches, &levels, err);
    l->gpu_rows = levels.gpu_rows;
    l->cpu_rows = levels.cpu_rows;
    GNN_NEXT(status, diskgnn_segmenter_open(job, sampled, &levels, &segmenter, err));
    GNN_NEXT(status, search_and_place(job, &segmenter, l, err));
    diskgnn_segmenter_close(&segmenter);
    gnn_mem_free(job->env->world, levels.row_of);
    if (status != GNN_OK)
        diskgnn_remove(job, "tables");
    return status;
}

/* ---- open ---- */

static enum gnn_status open_packed(const struct diskgnn_job *job, struct diskgnn_layout *l, bool *found,
                                   struct gnn_err *err)
{
    struct gnn_file **const files[] = {&l->chunks, &l->disk, &l->cached};
    const uint64_t bytes[] = {l->chunks_bytes, l->disk_bytes, l->cached_bytes};
    for (uint32_t i = 3; i-- > 0;) {
        GNN_TRY(diskgnn_open_if_there(job, packed_files[i], diskgnn_direct_flag(job->config->io), files[i], err));
        *found = *files[i] != NULL;
        if (!*found && i == 2)
            return GNN_OK;
        if (!*found)
            return diskgnn_not_ours(job, packed_files[i], err);
        GNN_TRY(diskgnn_check_size(job, *files[i], bytes[i], err));
    }
    return GNN_OK;
}

static enum gnn_status pack(struct diskgnn_job *job, const struct diskgnn_sampled *sampled, struct diskgnn_layout *l,
                            struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const uint64_t start_ns = gnn_now_ns(world);
    bool found;
    GNN_TRY(diskgnn_pack(job, sampled, l, err));
    l->pack_ns = gnn_now_ns(world) - start_ns;
    GNN_TRY(open_packed(job, l, &found, err));
    return found ? GNN_OK : diskgnn_not_ours(job, packed_files[2], err);
}

/* Warns of a plan that Algorithm 2 chose by its estimate: the first segment may use few rows, others many. */
static void check_limit(const struct gnn_env *env, const struct diskgnn_prepare_config *config,
                        const struct diskgnn_layout *l)
{
    const uint64_t bytes = l->tables_bytes + l->chunks_bytes + l->disk_bytes;
    if (l->limit_bytes == 0 || bytes <= l->limit_bytes)
        return;
    gnn_log_warn("diskgnn.search=approximate: chunks, disk caches and tables take %" PRIu64
                 " bytes, %.3f times the features, but diskgnn.disk_limit=%g allows %" PRIu64
                 ". Algorithm 2 estimates the size from the first segment (%" PRIu32 " of %" PRIu32
                 " mini-batches). Set diskgnn.search=exact to keep the limit",
                 bytes, (double)bytes / (double)env->dataset->feature_bytes, config->disk_limit, l->limit_bytes,
                 l->segment, l->batches);
}

static enum gnn_status open_placed(struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                   const struct diskgnn_caches *caches, struct diskgnn_layout *l, struct gnn_err *err)
{
    bool found = false;
    if (!job->config->reuse) {
        diskgnn_kept_remove(job);
        diskgnn_remove(job, packed_files[2]);
        diskgnn_remove(job, "layout");
    }
    GNN_TRY(read_layout(job, sampled, l, &found, err));
    if (!found)
        GNN_TRY(make_layout(job, sampled, caches, l, err));
    sum_up(l);
    check_limit(job->env, job->config, l);
    GNN_TRY(gnn_file_open(job->env->world, diskgnn_path_of(job, "tables", "").text,
                          GNN_OPEN_READ | diskgnn_direct_flag(job->config->io), &l->tables, err));
    return diskgnn_check_size(job, l->tables, l->tables_bytes, err);
}

static void remove_layout(const struct diskgnn_job *job)
{
    static const char *const names[] = {"cached", "layout", "disk", "chunks", "tables"};
    diskgnn_kept_remove(job);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        diskgnn_remove(job, names[i]);
}

static void remove_samples(struct diskgnn_job job, const struct diskgnn_sampled *sampled)
{
    static const char *const names[] = {"index", "counts", "samples"};
    (void)snprintf(job.stem, sizeof job.stem, "e%" PRIu64, sampled->epoch);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        diskgnn_remove(&job, names[i]);
}

static void name_layout(struct diskgnn_job *job, uint64_t epoch, uint64_t key)
{
    (void)snprintf(job->stem, sizeof job->stem, "e%" PRIu64 "-%016" PRIx64, epoch, key);
}

/* After a failure. On a full disk, whoever frees space next should not find it taken by what this run began. */
static enum gnn_status give_room(const struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                 enum gnn_status status)
{
    if (status != GNN_ENOSPC)
        return status;
    remove_layout(job);
    if (sampled->written_bytes > 0)
        remove_samples(*job, sampled);
    return status;
}

enum gnn_status diskgnn_layout_open(const struct gnn_env *env, const struct diskgnn_prepare_config *config,
                                    const struct diskgnn_sampled *sampled, const struct diskgnn_caches *caches,
                                    struct diskgnn_layout *out, struct gnn_err *err)
{
    struct gnn_world *const world = env->world;
    *out = (struct diskgnn_layout){.key = key_of(env, config, sampled, caches),
                                   .rows = diskgnn_rows_of(env->dataset->row_bytes, diskgnn_page_bytes(config)),
                                   .limit_bytes = limit_of(env, config)};
    if (env->workload->sample_only)
        return GNN_OK;
    struct diskgnn_job job = {.env = env, .config = config, .dir = sampled->dir};
    name_layout(&job, sampled->epoch, out->key);
    struct gnn_file *lock = NULL;
    const uint64_t start_ns = gnn_now_ns(world);
    enum gnn_status status = diskgnn_lock(&job, &lock, err);
    GNN_NEXT(status, open_placed(&job, sampled, caches, out, err));
    status = give_room(&job, sampled, status);
    gnn_file_close(world, lock);
    out->written_bytes = job.written_bytes;
    out->prepare_ns = out->search_ns + out->place_ns > 0 ? gnn_now_ns(world) - start_ns : 0;
    return status;
}

enum gnn_status diskgnn_layout_pack(const struct gnn_env *env, const struct diskgnn_prepare_config *config,
                                    const struct diskgnn_sampled *sampled, struct diskgnn_layout *layout,
                                    struct gnn_err *err)
{
    if (env->workload->sample_only)
        return GNN_OK;
    struct diskgnn_job job = {.env = env, .config = config, .dir = sampled->dir};
    name_layout(&job, sampled->epoch, layout->key);
    struct gnn_file *lock = NULL;
    bool found = false;
    const uint64_t start_ns = gnn_now_ns(env->world);
    enum gnn_status status = diskgnn_lock(&job, &lock, err);
    GNN_NEXT(status, open_packed(&job, layout, &found, err));
    if (!found)
        GNN_NEXT(status, pack(&job, sampled, layout, err));
    status = give_room(&job, sampled, status);
    gnn_file_close(env->world, lock);
    layout->written_bytes += job.written_bytes;
    layout->prepare_ns += layout->pack_ns > 0 ? gnn_now_ns(env->world) - start_ns : 0;
    return status;
}

void diskgnn_layout_close(struct gnn_world *world, struct diskgnn_layout *layout)
{
    gnn_file_close(world, layout->tables);
    gnn_file_close(world, layout->chunks);
    gnn_file_close(world, layout->disk);
    gnn_file_close(world, layout->cached);
    gnn_mem_free(world, layout->of);
    gnn_mem_free(world, layout->segment_of);
    *layout = (struct diskgnn_layout){.key = 0};
}

uint64_t diskgnn_place_bytes(const struct gnn_env *env, const struct diskgnn_prepare_config *config, uint64_t nodes)
{
    const uint64_t all = env->dataset->node_count, hashed = config->hashes * (uint64_t)gnn_whole_epoch_batches(env);
    const bool disk = config->disk_limit > 0 || config->disk_rows > 0;
    const uint64_t values = diskgnn_minhash_values(config->hashes, config->reorder) + UINT64_C(1); /* and the order */
    const uint64_t rows = disk ? all / 4 * ((1 + values) * sizeof(uint32_t) + 2 * sizeof(uint64_t)) : 0;
    return all * 2 * sizeof(uint32_t) + rows + hashed * sizeof(uint32_t) +
           nodes * (10 * sizeof(uint32_t) + 2 * sizeof(uint64_t));
}

uint64_t diskgnn_prepared_bytes(const struct diskgnn_sampled *sampled, const struct diskgnn_layout *layout)
{
    return sampled->samples_bytes + sampled->counts_bytes + sampled->index_bytes + layout->tables_bytes +
           layout->layout_bytes + layout->chunks_bytes + layout->disk_bytes + layout->cached_bytes;
}

void diskgnn_prepared_remove(const struct gnn_env *env, const struct diskgnn_sampled *sampled,
                             const struct diskgnn_layout *layout)
{
    struct gnn_file *lock = NULL;
    struct diskgnn_job job = {.env = env, .dir = sampled->dir};
    name_layout(&job, sampled->epoch, layout->key);
    if (diskgnn_lock(&job, &lock, NULL) == GNN_OK) {
        remove_layout(&job);
        remove_samples(job, sampled);
    }
    gnn_file_close(env->world, lock);
}
