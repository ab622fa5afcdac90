/* SPDX-License-Identifier: MIT */
/* PyG+ learns links as it trains nodes, with the page cache as the only cache: vectors and the optimiser's state are
 * mapped files, a mini-batch's rows are gathered out of them, and what the step made of them is written through the
 * mapping. The kernel writes pages back when it likes.
 *
 *   sample (W) --in batch order--> train: take k | gather | step | put
 *                                    gather (G): rows of batch k out of the mappings, and back
 *
 * Overlap: sampling alone. The rows of batch k may be those that batch k - 1 changes, so that its gather waits for
 * them: no update is ever missed, and every epoch is the same whatever the threads do. */
#include "systems/pygplus/pygplus.h"

#include <assert.h>

static enum gnn_status move_part(struct pygplus *s, bool put, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    const struct gnn_batch_view *const view = gnn_link_item_view(&s->gathering->link);
    uint64_t first, end;
    gnn_team_share(view->node_count, worker, workers, &first, &end);
    for (uint32_t table = 0; table < s->embeddings.tables && first < end; table++) {
        gnn_real *const rows = s->link_training.rows[table].data + first * s->env->dataset->dim;
        GNN_TRY(put ? gnn_embeddings_put(&s->embeddings, table, view->nodes + first, end - first, rows, err)
                    : gnn_embeddings_gather(&s->embeddings, table, view->nodes + first, end - first, rows, err));
    }
    return GNN_OK;
}

static enum gnn_status gather_part(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    return move_part(ctx, false, worker, workers, err);
}

static enum gnn_status put_part(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    return move_part(ctx, true, worker, workers, err);
}

static enum gnn_status train_one(struct pygplus *s, const struct pygplus_item *item, struct gnn_err *err)
{
    const uint32_t nodes = gnn_link_item_view(&item->link)->node_count;
    GNN_TRY(gnn_link_training_reserve(&s->link_training, nodes, err));
    s->gathering = item;
    gnn_team_post(s->gather, gather_part, s);
    GNN_TRY(gnn_team_wait(s->gather));
    s->gathered_rows += (uint64_t)nodes * s->embeddings.tables;
    GNN_TRY(gnn_link_training_step(&s->link_training, &item->link, err));
    gnn_team_post(s->gather, put_part, s);
    return gnn_team_wait(s->gather);
}

enum gnn_status pygplus_link_train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pygplus *const s = ctx;
    struct pygplus_item *spare = &s->items[0];
    for (uint32_t k = 0;; k++) {
        struct pygplus_item *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(pygplus_take_batch(s, k, spare, &item));
        if (item == NULL)
            break;
        GNN_TRY(train_one(s, item, err));
        spare = item;
        worker->items++;
    }
    gnn_team_done(s->gather);
    return GNN_OK;
}

/* ---- open, close, sizes ---- */

enum gnn_status pygplus_link_open(struct pygplus *s, struct gnn_err *err)
{
    GNN_TRY(gnn_embeddings_open(s->env, s->config->readahead, &s->embeddings, err));
    gnn_link_training_open(s->env, &s->link_training);
    return gnn_team_open(s->env->world, s->config->gather_threads, &s->gather, err);
}

void pygplus_link_close(struct pygplus *s)
{
    gnn_link_training_close(&s->link_training);
    gnn_embeddings_close(&s->embeddings);
}

void pygplus_link_plan(const struct gnn_env *env, const struct pygplus_config *config, struct gnn_memory_plan *plan)
{
    gnn_plan_part(plan, "samplers", "pygplus.workers", gnn_link_sampling_bytes(env, config->workers));
    gnn_plan_in_flight(plan, "mini-batches sampled ahead", "pygplus.workers or pygplus.prefetch",
                       gnn_mul_bytes(gnn_link_item_bytes(env),
                                     (uint64_t)config->prefetch * config->workers + pygplus_delivered(env, config)));
    gnn_plan_in_flight(plan, "gathered vectors and gradients", "--batch, --negatives or --fanout",
                       gnn_link_training_bytes(env, &plan->largest));
}

void pygplus_link_result(const struct pygplus *s, struct gnn_epoch_result *out)
{
    gnn_link_training_result(&s->link_training, out);
    gnn_link_sampling_counters(s->link_sampling, &out->counters.sample);
    gnn_epoch_size(out, "embedding_bytes", gnn_embeddings_bytes(s->env));
}

enum gnn_status pygplus_read_embeddings(void *state, const gnn_node *nodes, uint32_t count, gnn_real *out,
                                        struct gnn_err *err)
{
    const struct pygplus *const s = state;
    assert(pygplus_links(s));
    return gnn_embeddings_gather(&s->embeddings, 0, nodes, count, out, err);
}
