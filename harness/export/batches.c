/* SPDX-License-Identifier: MIT */
/* Samples mini-batches of an epoch and writes each to an archive. */
#include "harness/dataset/read.h"
#include "harness/export/export.h"
#include "harness/export/npz_out.h"
#include "harness/export/target.h"
#include "harness/sample/digest.h"
#include "harness/stats/lists.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

struct batches {
    struct gnn_world *world;
    const struct gnn_export_batches_config *config;
    const struct gnn_prepare_job *job;
    struct gnn_export_batches_result *result;
    struct gnn_output output;
    struct gnn_lists *lists;
    const struct gnn_dataset *dataset;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    gnn_node *order; /* (train.count) */
    int32_t *labels; /* (batch_size) of the seeds */
};

/* ---- one mini-batch ---- */

static enum gnn_status add_arrays(struct gnn_npz_out *npz, const struct gnn_batch_view *view, const int32_t *labels,
                                  struct gnn_err *err)
{
    char name[GNN_NPZ_NAME - 4];
    GNN_TRY(gnn_npz_add(npz, "seeds", view->nodes, false, view->seed_count, err));
    GNN_TRY(gnn_npz_add(npz, "labels", labels, true, view->seed_count, err));
    GNN_TRY(gnn_npz_add(npz, "nodes", view->nodes, false, view->node_count, err));
    for (uint32_t layer = 0; layer < view->layer_count; layer++) {
        const struct gnn_block *const block = &view->blocks[layer];
        (void)snprintf(name, sizeof name, "indptr_%" PRIu32, layer);
        GNN_TRY(gnn_npz_add(npz, name, block->row_start, false, block->dst_count + UINT64_C(1), err));
        (void)snprintf(name, sizeof name, "indices_%" PRIu32, layer);
        GNN_TRY(gnn_npz_add(npz, name, block->col, false, block->edge_count, err));
    }
    return GNN_OK;
}

static enum gnn_status write_batch(struct batches *b, uint32_t k, struct gnn_err *err)
{
    const uint64_t first = (uint64_t)k * b->config->batch_size;
    const uint32_t count = (uint32_t)gnn_min_u64(b->config->batch_size, b->dataset->train.count - first);
    struct gnn_npz_out npz;
    char name[GNN_META_NAME];
    GNN_TRY(gnn_job_stopped(b->job, "mini-batches", err));
    GNN_TRY(gnn_sampler_sample(b->sampler, b->config->epoch, k, b->order + first, count, b->batch, err));
    for (uint32_t i = 0; i < count; i++)
        b->labels[i] = b->dataset->labels[b->order[first + i]];
    (void)snprintf(name, sizeof name, "batch-%06" PRIu32 ".npz", k);
    enum gnn_status status = gnn_npz_open(&b->output, name, &npz, err);
    GNN_NEXT(status, add_arrays(&npz, gnn_batch_view(b->batch), b->labels, err));
    return gnn_npz_end(&npz, status, err);
}

/* ---- what they are ---- */

static json_t *describe(const struct batches *b)
{
    const struct gnn_export_batches_config *const c = b->config;
    char digest[24];
    json_t *const fanout = json_array();
    for (uint32_t l = 0; fanout != NULL && l < c->fanout.count; l++)
        (void)json_array_append_new(fanout, json_integer(c->fanout.values[l]));
    (void)snprintf(digest, sizeof digest, "%016" PRIx64, b->result->digest);
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"format", FORMAT_VERSION},
                   {"nodes", b->dataset->node_count},
                   {"classes", b->dataset->class_count},
                   {"seed", c->seed},
                   {"epoch", c->epoch},
                   {"batch", c->batch_size},
                   {"batches", b->result->batches},
                   {"epoch_batches", b->result->epoch_batches},
                   {"sampled_nodes", b->result->nodes},
                   {"sampled_edges", b->result->edges},
                   {"batch_digest_version", GNN_DIGEST_VERSION}};
    json_t *const object =
        json_pack("{s:s, s:s, s:o, s:b, s:s}", "dataset", b->dataset->name, "dataset_digest", b->dataset->digest,
                  "fanout", fanout, "floyd_biased", c->floyd_biased, "batch_digest", digest);
    for (size_t i = 0; object != NULL && i < sizeof numbers / sizeof *numbers; i++)
        (void)json_object_set_new(object, numbers[i].key, json_integer((json_int_t)numbers[i].value));
    return object;
}

static enum gnn_status write_description(struct batches *b, struct gnn_err *err)
{
    json_t *const object = describe(b);
    char *const text = object != NULL ? json_dumps(object, JSON_INDENT(2)) : NULL;
    const enum gnn_status status =
        text != NULL ? gnn_out_array(&b->output, "batches.json", text, strlen(text), GNN_OUT_EXPORT, NULL, err)
                     : gnn_fail(err, GNN_ENOMEM, "description of the mini-batches");
    free(text);
    json_decref(object);
    return status;
}

/* ---- the whole ---- */

static enum gnn_status open_dataset(struct batches *b, struct gnn_err *err)
{
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta of %s", b->config->dir);
    enum gnn_status status = gnn_read_meta(b->config->dir, meta, err);
    if (status == GNN_OK && meta->relation_count > 0)
        status = gnn_fail(err, GNN_ENOTSUP,
                          "%s is a knowledge graph: its mini-batches are edges with negatives, which are not exported; "
                          "leave out --batches to export the graph",
                          b->config->dir);
    if (status == GNN_OK && meta->train_count == 0)
        status = gnn_fail(err, GNN_EUSAGE, "%s has no training nodes, which mini-batches are made of", b->config->dir);
    if (status == GNN_OK) {
        assert(meta->dim_count > 0);
        status = gnn_lists_open_prepared(b->world, b->config->dir, meta->dims[0], meta->types[0], &b->lists, err);
    }
    free(meta);
    return status;
}

static enum gnn_status open_sampling(struct batches *b, struct gnn_err *err)
{
    const struct gnn_export_batches_config *const c = b->config;
    struct gnn_sampler_config config = {.seed = c->seed, .layers = c->fanout.count, .floyd_biased = c->floyd_biased};
    memcpy(config.fanout, c->fanout.values, sizeof config.fanout);
    GNN_TRY(open_dataset(b, err));
    b->dataset = gnn_lists_dataset(b->lists);
    GNN_TRY(gnn_sampler_open(b->world, &config, b->dataset, gnn_lists_source(b->lists), &b->sampler, err));
    GNN_TRY(gnn_batch_open(b->world, &b->batch, err));
    GNN_MEM_NEW(b->world, b->order, b->dataset->train.count, "order of an epoch", GNN_MEM_PLAIN, err);
    GNN_NEW(b->labels, gnn_min_u32(c->batch_size, b->dataset->train.count), err, "labels of a mini-batch");
    gnn_epoch_order(c->seed, c->epoch, b->dataset->train.nodes, b->dataset->train.count, b->order);
    b->result->epoch_batches = (uint32_t)gnn_div_up(b->dataset->train.count, c->batch_size);
    b->result->batches = gnn_min_u32(b->result->epoch_batches, c->batches);
    return GNN_OK;
}

static enum gnn_status write_all(struct batches *b, struct gnn_err *err)
{
    struct gnn_ticker ticker;
    struct gnn_sample_counters counters;
    GNN_TRY(gnn_output_open(b->job, 0, &b->output, err));
    gnn_ticker_start(&ticker, b->job, "mini-batches", "mini-batches", b->result->batches);
    for (uint32_t k = 0; k < b->result->batches; k++) {
        GNN_TRY(write_batch(b, k, err));
        GNN_TRY(gnn_ticker_set(&ticker, k + UINT64_C(1), err));
    }
    gnn_ticker_end(&ticker);
    gnn_sampler_counters(b->sampler, &counters);
    b->result->nodes = counters.sampled_nodes;
    b->result->edges = counters.sampled_edges;
    b->result->digest = counters.batch_digest;
    GNN_TRY(write_description(b, err));
    return gnn_output_publish(&b->output, err);
}

enum gnn_status gnn_export_batches(struct gnn_world *world, const struct gnn_export_batches_config *config,
                                   const struct gnn_prepare_job *job, struct gnn_export_batches_result *out,
                                   struct gnn_err *err)
{
    struct batches b = {.world = world, .config = config, .job = job, .result = out, .output = {.lock_fd = -1}};
    assert(config->batches > 0);
    assert(config->batch_size > 0);
    *out = (struct gnn_export_batches_result){.batches = 0};
    GNN_TRY(gnn_export_check_target(job->out_dir, err));
    enum gnn_status status = open_sampling(&b, err);
    GNN_NEXT(status, write_all(&b, err));
    gnn_output_close(&b.output);
    free(b.labels);
    gnn_mem_free(world, b.order);
    gnn_batch_close(world, b.batch);
    gnn_sampler_close(b.sampler);
    gnn_lists_close(b.lists);
    return status;
}
