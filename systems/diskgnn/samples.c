/* SPDX-License-Identifier: MIT */
/* Offline sampling: all mini-batches of an epoch, drawn by the harness's samplers in the harness's order and stored
 * (DiskGNN, SIGMOD 2025, section 3).
 *
 *     sample (W)   batch w, w + W, ... drawn by worker w, two ahead
 *     store (1)    in the order of the epoch: record, access counts
 *
 * Source   the paper samples on a GPU over pinned topology; here topology is read through the page cache, under the cap
 * Memory   2 W mini-batches, the samplers, 4 bytes a node, a record */
#include "harness/base/rng.h"
#include "harness/sample/digest.h"
#include "harness/storage/exact.h"
#include "harness/system/sampling.h"
#include "systems/diskgnn/internal.h"

#include <inttypes.h>
#include <stdio.h>

enum { AHEAD = 2, FORMAT = 1 /* of the files of samples: part of the key */ };
static const char index_magic[16] = "diskgnn index 2";
_Static_assert((int)GNN_DIGEST_VERSION == 2, "the number of both magics: what is prepared has digests of this version");
enum index_word { WORD_BATCHES, WORD_ACCESSES, WORD_EDGES, WORD_SAMPLES_BYTES, WORD_COUNTS_BYTES };

/* ---- records ---- */

void diskgnn_sample_view(const struct diskgnn_sample *sample, uint64_t epoch, uint64_t batch, const uint32_t *record,
                         struct gnn_batch_view *out)
{
    const uint32_t layers = sample->layers;
    *out = (struct gnn_batch_view){.epoch = epoch,
                                   .batch = batch,
                                   .layer_count = layers,
                                   .seed_count = sample->nodes[0],
                                   .node_count = diskgnn_sample_nodes(sample),
                                   .nodes = record};
    const uint32_t *at = record + diskgnn_sample_nodes(sample);
    for (uint32_t b = 0; b < layers; b++) {
        struct gnn_block *const block = &out->blocks[b];
        *block = (struct gnn_block){.dst_count = sample->nodes[layers - 1 - b],
                                    .src_count = sample->nodes[layers - b],
                                    .edge_count = sample->edges[b],
                                    .row_start = at};
        at += block->dst_count + UINT64_C(1);
        block->col = at;
        at += block->edge_count;
    }
}

static void describe(const struct gnn_batch_view *view, uint64_t offset_bytes, uint64_t digest,
                     struct diskgnn_sample *out)
{
    *out = (struct diskgnn_sample){.offset_bytes = offset_bytes, .digest = digest, .layers = view->layer_count};
    out->nodes[0] = view->seed_count;
    for (uint32_t b = 0; b < view->layer_count; b++) {
        out->nodes[view->layer_count - b] = view->blocks[b].src_count;
        out->edges[b] = view->blocks[b].edge_count;
    }
}

static uint32_t *put_words(uint32_t *at, const uint32_t *words, uint64_t count)
{
    if (count > 0)
        memcpy(at, words, count * sizeof *words);
    return at + count;
}

/* record (bytes): the mini-batch, and zeros. */
static void fill_record(const struct gnn_batch_view *view, uint32_t *record, uint64_t bytes)
{
    uint32_t *at = put_words(record, view->nodes, view->node_count);
    for (uint32_t b = 0; b < view->layer_count; b++) {
        const struct gnn_block *const block = &view->blocks[b];
        at = put_words(at, block->row_start, block->dst_count + UINT64_C(1));
        at = put_words(at, block->col, block->edge_count);
    }
    const uint64_t filled = (uint64_t)(at - record) * sizeof *record;
    assert(filled <= bytes);
    memset(at, 0, bytes - filled);
}

/* ---- drawing ---- */

struct item {
    struct gnn_batch *batch;
    uint64_t digest;
    uint32_t worker;
};

struct drawing {
    struct diskgnn_job *job;
    struct gnn_env env; /* the job's, with the whole epoch: a part of one is trained as it would be in the whole */
    struct gnn_workload workload;
    struct diskgnn_sampled *out;
    struct gnn_sampling *sampling;
    struct item *items; /* (AHEAD * W) */
    uint32_t item_count;
    struct gnn_queue **spare; /* (W) items that worker w may fill */
    struct gnn_reorder *delivery;
    struct gnn_file *file;
    struct gnn_buffer record;
    uint32_t *counts; /* (node_count, padded to pages) */
    uint64_t end_bytes;
};

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct drawing *const d = ctx;
    for (uint32_t k = worker->index; k < d->out->batches; k += d->job->config->samplers) {
        void *popped;
        GNN_TRY(gnn_queue_pop(d->spare[worker->index], &popped));
        struct item *const item = popped;
        GNN_TRY(gnn_sampling_draw(d->sampling, worker->index, k, item->batch, err));
        item->digest = gnn_batch_digest(gnn_batch_view(item->batch), NULL);
        GNN_TRY(gnn_reorder_put(d->delivery, k, item));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status store(struct drawing *d, const struct item *item, struct diskgnn_sample *sample,
                             struct gnn_err *err)
{
    struct gnn_world *const world = d->job->env->world;
    const struct gnn_batch_view *const view = gnn_batch_view(item->batch);
    describe(view, d->end_bytes, item->digest, sample);
    const uint64_t padded = gnn_round_up(diskgnn_sample_bytes(sample), GNN_PAGE_BYTES);
    GNN_TRY(gnn_buffer_reserve(world, &d->record, padded, err));
    fill_record(view, d->record.data, padded);
    for (uint32_t j = 0; j < view->node_count; j++)
        d->counts[view->nodes[j]]++;
    gnn_charge(world, GNN_WORK_COPIED_BYTE, padded);
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, view->node_count);
    GNN_TRY(gnn_write_all(world, d->file, d->end_bytes, d->record.data, padded, err));
    d->end_bytes += padded;
    d->out->accesses += view->node_count;
    for (uint32_t b = 0; b < view->layer_count; b++)
        d->out->edges += view->blocks[b].edge_count;
    return GNN_OK;
}

static enum gnn_status store_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct drawing *const d = ctx;
    for (uint32_t k = 0;; k++) {
        void *taken;
        GNN_TRY(gnn_reorder_take(d->delivery, &taken));
        if (taken == NULL)
            return GNN_OK;
        const struct item *const item = taken;
        GNN_TRY(store(d, item, &d->out->of[k], err));
        GNN_TRY(gnn_queue_push(d->spare[item->worker], taken));
        worker->items++;
        diskgnn_progress(d->job, "mini-batches sampled", k + 1, d->out->batches);
    }
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct drawing *const d = ctx;
    const uint32_t workers = d->job->config->samplers;
    for (uint32_t w = 0; w < workers; w++) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "diskgnn spare mini-batches", AHEAD, &d->spare[w], err));
        for (uint32_t i = 0; i < AHEAD; i++)
            GNN_TRY(gnn_queue_push(d->spare[w], &d->items[w * AHEAD + i]));
    }
    GNN_TRY(gnn_pipeline_reorder(pipeline, d->item_count, d->out->batches, &d->delivery, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", workers, sample_stage, d, err));
    return gnn_pipeline_stage(pipeline, "store", 1, store_stage, d, err);
}

static enum gnn_status open_drawing(struct drawing *d, struct gnn_err *err)
{
    const struct gnn_env *const env = &d->env;
    const uint32_t workers = d->job->config->samplers;
    const struct gnn_sampling_config config = {
        .workers = workers, .advice = GNN_MAP_RANDOM, .floyd_biased = env->floyd_biased};
    assert(workers > 0);
    d->env = *d->job->env;
    d->workload = *d->env.workload;
    d->workload.max_batches = 0;
    d->env.workload = &d->workload;
    GNN_TRY(gnn_sampling_open(env, &config, &d->sampling, err));
    GNN_MEM_NEW(env->world, d->counts, gnn_round_up(env->dataset->node_count, GNN_PAGE_BYTES / sizeof *d->counts),
                "diskgnn access counts", GNN_MEM_PLAIN, err);
    d->item_count = AHEAD * workers;
    GNN_NEW(d->items, d->item_count, err, "diskgnn: %" PRIu32 " mini-batches", d->item_count);
    GNN_NEW(d->spare, workers, err, "diskgnn: queues of %" PRIu32 " samplers", workers);
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->items[i].worker = i / AHEAD;
        GNN_TRY(gnn_batch_open(env->world, &d->items[i].batch, err));
    }
    return GNN_OK;
}

static void close_drawing(struct drawing *d)
{
    struct gnn_world *const world = d->job->env->world;
    for (uint32_t i = 0; d->items != NULL && i < d->item_count; i++)
        gnn_batch_close(world, d->items[i].batch);
    free(d->spare);
    free(d->items);
    gnn_buffer_close(world, &d->record);
    gnn_sampling_close(d->sampling);
}

static enum gnn_status draw_all(struct drawing *d, struct gnn_err *err)
{
    struct gnn_epoch_result times = {0}; /* the stages' times are not an epoch's */
    GNN_TRY(open_drawing(d, err));
    gnn_sampling_begin(d->sampling, d->out->epoch);
    return gnn_epoch_run(d->job->env, add_stages, d, &times, err);
}

/* ---- the files ---- */

static void fill_histogram(const struct gnn_env *env, const uint32_t *counts, struct diskgnn_sampled *out)
{
    for (gnn_node v = 0; v < env->dataset->node_count; v++) {
        assert(counts[v] <= out->batches);
        out->histogram[counts[v]]++;
    }
    gnn_charge(env->world, GNN_WORK_TABLE_ENTRY, env->dataset->node_count);
}

static enum gnn_status write_counts(struct drawing *d, struct gnn_err *err)
{
    struct gnn_world *const world = d->job->env->world;
    struct gnn_file *file = NULL;
    const uint64_t bytes = gnn_round_up(d->job->env->dataset->node_count * (uint64_t)sizeof *d->counts, GNN_PAGE_BYTES);
    enum gnn_status status = diskgnn_part_open(d->job, "counts", diskgnn_direct_flag(d->job->config->io), &file, err);
    GNN_NEXT(status, gnn_write_all(world, file, 0, d->counts, bytes, err));
    d->out->counts_bytes = bytes;
    return diskgnn_part_close(d->job, "counts", file, status, err);
}

static enum gnn_status write_index(struct diskgnn_job *job, struct diskgnn_sampled *out, struct gnn_err *err)
{
    struct diskgnn_table_file table = {
        .name = "index",
        .key = out->key,
        .words = {[WORD_BATCHES] = out->batches,
                  [WORD_ACCESSES] = out->accesses,
                  [WORD_EDGES] = out->edges,
                  [WORD_SAMPLES_BYTES] = out->samples_bytes,
                  [WORD_COUNTS_BYTES] = out->counts_bytes},
        .array = {{out->of, out->batches * sizeof *out->of},
                  {out->histogram, (out->batches + UINT64_C(1)) * sizeof *out->histogram}}};
    memcpy(table.magic, index_magic, sizeof table.magic);
    return diskgnn_write_table(job, &table, &out->index_bytes, err);
}

static enum gnn_status make_samples(struct diskgnn_job *job, struct diskgnn_sampled *out, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct drawing d = {.job = job, .out = out, .record = {.name = "diskgnn record"}};
    out->batches = gnn_whole_epoch_batches(job->env);
    GNN_MEM_NEW(world, out->of, out->batches, "diskgnn samples", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->histogram, out->batches + UINT64_C(1), "diskgnn histogram", GNN_MEM_PLAIN, err);
    enum gnn_status status = diskgnn_part_open(job, "samples", diskgnn_direct_flag(job->config->io), &d.file, err);
    GNN_NEXT(status, draw_all(&d, err));
    close_drawing(&d);
    status = diskgnn_part_close(job, "samples", d.file, status, err);
    out->samples_bytes = d.end_bytes;
    if (status == GNN_OK)
        fill_histogram(job->env, d.counts, out);
    GNN_NEXT(status, write_counts(&d, err));
    gnn_mem_free(world, d.counts);
    GNN_NEXT(status, write_index(job, out, err));
    if (status != GNN_OK) { /* without their index nobody can use them */
        diskgnn_remove(job, "samples");
        diskgnn_remove(job, "counts");
    }
    return status;
}

/* ---- open ---- */

static enum gnn_status read_index(const struct diskgnn_job *job, struct diskgnn_sampled *out, bool *found,
                                  struct gnn_err *err)
{
    struct diskgnn_table_file table = {.name = "index", .key = out->key};
    memcpy(table.magic, index_magic, sizeof table.magic);
    const enum gnn_status status = diskgnn_read_table(job, &table, found, &out->index_bytes, err);
    out->of = table.array[0].data;
    out->histogram = table.array[1].data;
    if (status != GNN_OK || !*found)
        return status;
    out->batches = (uint32_t)table.words[WORD_BATCHES];
    out->accesses = table.words[WORD_ACCESSES];
    out->edges = table.words[WORD_EDGES];
    out->samples_bytes = table.words[WORD_SAMPLES_BYTES];
    out->counts_bytes = table.words[WORD_COUNTS_BYTES];
    if (out->batches != gnn_whole_epoch_batches(job->env) || table.array[0].bytes != out->batches * sizeof *out->of ||
        table.array[1].bytes != (out->batches + UINT64_C(1)) * sizeof *out->histogram)
        return diskgnn_not_ours(job, table.name, err);
    return GNN_OK;
}

/* Everything the samples depend on. */
static uint64_t key_of(const struct gnn_env *env)
{
    const struct gnn_workload *const load = env->workload;
    const struct gnn_dataset *const d = env->dataset;
    const uint64_t words[] = {FORMAT,
                              load->seed,
                              load->batch_size,
                              load->layers,
                              d->node_count,
                              d->edge_count,
                              d->train.count,
                              gnn_whole_epoch_batches(env),
                              env->floyd_biased,
                              gnn_segments(env)};
    uint64_t key = diskgnn_fold_text(0, d->digest[0] != '\0' ? d->digest : d->name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        key = gnn_rng_fold(key, words[i]);
    for (uint32_t l = 0; l < load->layers; l++)
        key = gnn_rng_fold(key, load->fanout[l]);
    return key;
}

static void find_most(struct diskgnn_sampled *out)
{
    for (uint32_t i = 0; i < out->batches; i++) {
        const uint64_t bytes = gnn_round_up(diskgnn_sample_bytes(&out->of[i]), GNN_PAGE_BYTES);
        out->nodes_most = gnn_max_u32(out->nodes_most, diskgnn_sample_nodes(&out->of[i]));
        out->record_bytes_most = gnn_max_u64(out->record_bytes_most, bytes);
    }
}

static enum gnn_status open_samples(struct diskgnn_job *job, struct diskgnn_sampled *out, struct gnn_err *err)
{
    bool found = false;
    if (!job->config->reuse)
        diskgnn_remove(job, "index");
    GNN_TRY(read_index(job, out, &found, err));
    const uint64_t start_ns = gnn_now_ns(job->env->world);
    if (!found) {
        GNN_TRY(make_samples(job, out, err));
        out->prepare_ns = gnn_now_ns(job->env->world) - start_ns;
        out->written_bytes = job->written_bytes;
    }
    find_most(out);
    const unsigned flags = GNN_OPEN_READ | diskgnn_direct_flag(job->config->io);
    GNN_TRY(gnn_file_open(job->env->world, diskgnn_path_of(job, "samples", "").text, flags, &out->samples, err));
    GNN_TRY(diskgnn_check_size(job, out->samples, out->samples_bytes, err));
    GNN_TRY(gnn_file_open(job->env->world, diskgnn_path_of(job, "counts", "").text, flags, &out->counts, err));
    return diskgnn_check_size(job, out->counts, out->counts_bytes, err);
}

enum gnn_status diskgnn_sampled_open(const struct gnn_env *env, const struct diskgnn_prepare_config *config,
                                     uint64_t epoch, struct diskgnn_sampled *out, struct gnn_err *err)
{
    *out = (struct diskgnn_sampled){.epoch = epoch, .key = key_of(env)};
    const char *const base = config->prepare_dir[0] != '\0' ? config->prepare_dir : env->dataset->dir;
    (void)snprintf(out->dir, sizeof out->dir, "%s/diskgnn-%016" PRIx64, base, out->key);
    struct diskgnn_job job = {.env = env, .config = config, .dir = out->dir};
    (void)snprintf(job.stem, sizeof job.stem, "e%" PRIu64, epoch);
    struct gnn_file *lock = NULL;
    enum gnn_status status = diskgnn_lock(&job, &lock, err);
    GNN_NEXT(status, open_samples(&job, out, err));
    gnn_file_close(env->world, lock);
    return status;
}

void diskgnn_sampled_close(struct gnn_world *world, struct diskgnn_sampled *sampled)
{
    gnn_file_close(world, sampled->samples);
    gnn_file_close(world, sampled->counts);
    gnn_mem_free(world, sampled->of);
    gnn_mem_free(world, sampled->histogram);
    *sampled = (struct diskgnn_sampled){.epoch = 0};
}
