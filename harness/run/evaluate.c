#include "harness/run/evaluate.h"

#include "harness/base/rng.h"
#include "harness/stage/training.h"
#include "harness/storage/reader.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SEEDS_MAX = 512, /* of a batch of inference: its features are held beside whatever the system holds */
    READS_IN_FLIGHT = 64,
};

struct evaluation {
    const struct gnn_env *env;
    struct gnn_file *indices_file, *features_file;
    struct gnn_map *indices;
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    struct gnn_reader *reader;
    struct gnn_load *loads; /* (rows.capacity), world memory */
    uint64_t load_room;
    struct gnn_rows rows; /* (node_count, dim) of the batch */
};

static void close_evaluation(struct evaluation *e)
{
    struct gnn_world *const w = e->env->world;
    gnn_reader_close(e->reader);
    gnn_rows_close(&e->rows);
    gnn_mem_free(w, e->loads);
    gnn_sampler_close(e->sampler);
    gnn_batch_close(w, e->batch);
    gnn_source_close(e->source);
    gnn_map_close(w, e->indices);
    gnn_file_close(w, e->features_file);
    gnn_file_close(w, e->indices_file);
}

static enum gnn_status open_features(struct evaluation *e, struct gnn_err *err)
{
    struct gnn_world *const w = e->env->world;
    const char *const path = e->env->dataset->features_path;
    const uint32_t row_bytes = e->env->dataset->row_bytes;
    struct gnn_err refused = {0};
    enum gnn_status status = gnn_file_open(w, path, GNN_OPEN_DIRECT, &e->features_file, &refused);
    if (status == GNN_ENOTSUP)
        status = gnn_file_open(w, path, GNN_OPEN_READ, &e->features_file, err);
    else if (status != GNN_OK)
        return gnn_fail(err, status, "%s", refused.message);
    if (status != GNN_OK)
        return status;
    /* Rows are wanted one by one: whatever is no window of its own is bounced. */
    const struct gnn_reader_config config = {.engine = e->env->io_engine,
                                             .depth = READS_IN_FLIGHT,
                                             .files = &e->features_file,
                                             .file_count = 1,
                                             .bounce_bytes_max = row_bytes};
    return gnn_reader_open(w, &config, &e->reader, err);
}

static enum gnn_status open_evaluation(struct evaluation *e, struct gnn_err *err)
{
    struct gnn_world *const w = e->env->world;
    const struct gnn_dataset *const data = e->env->dataset;
    const struct gnn_workload *const load = e->env->workload;
    gnn_rows_init(&e->rows, e->env, "evaluation inputs", true);
    GNN_TRY(gnn_file_open(w, data->indices_path, GNN_OPEN_READ, &e->indices_file, err));
    GNN_TRY(gnn_map_open(w, e->indices_file, GNN_MAP_RANDOM, &e->indices, err));
    GNN_TRY(gnn_source_mapped(w, e->indices, &e->source, err));
    struct gnn_sampler_config config = {.seed = gnn_rng_fork(load->seed, "evaluate"),
                                        .layers = load->layers,
                                        .floyd_biased = e->env->floyd_biased};
    memcpy(config.fanout, load->fanout, sizeof config.fanout);
    GNN_TRY(gnn_sampler_open(w, &config, data, e->source, &e->sampler, err));
    GNN_TRY(gnn_batch_open(w, &e->batch, err));
    return open_features(e, err);
}

static enum gnn_status reserve_loads(struct evaluation *e, uint64_t count, struct gnn_err *err)
{
    if (count <= e->load_room)
        return GNN_OK;
    gnn_mem_free(e->env->world, e->loads);
    e->loads = NULL;
    e->load_room = count + count / 4;
    void *memory;
    GNN_TRY(gnn_mem_alloc(e->env->world, "evaluation loads", gnn_mul_bytes(e->load_room, sizeof *e->loads),
                          GNN_MEM_PLAIN, &memory, err));
    e->loads = memory;
    return GNN_OK;
}

static enum gnn_status read_rows(struct evaluation *e, const struct gnn_batch_view *view, struct gnn_err *err)
{
    const uint32_t row_bytes = e->env->dataset->row_bytes;
    GNN_TRY(gnn_rows_reserve(&e->rows, view->node_count, err));
    GNN_TRY(reserve_loads(e, view->node_count, err));
    for (uint32_t i = 0; i < view->node_count; i++)
        e->loads[i] = (struct gnn_load){.len_bytes = row_bytes,
                                        .offset_bytes = (uint64_t)view->nodes[i] * row_bytes,
                                        .dst = (char *)e->rows.data + (uint64_t)i * row_bytes};
    return gnn_reader_load_all(e->reader, e->loads, view->node_count, NULL, NULL, err);
}

static enum gnn_status evaluate_batch(struct evaluation *e, uint64_t index, const gnn_node *seeds,
                                      uint32_t count, uint64_t *correct, struct gnn_err *err)
{
    GNN_TRY(gnn_sampler_sample(e->sampler, 0, index, seeds, count, e->batch, err));
    const struct gnn_batch_view *const view = gnn_batch_view(e->batch);
    GNN_TRY(read_rows(e, view, err));
    int32_t labels[SEEDS_MAX];
    for (uint32_t i = 0; i < count; i++)
        labels[i] = e->env->dataset->labels[seeds[i]];
    struct gnn_step_result step;
    GNN_TRY(gnn_model_evaluate(e->env->model, view, e->rows.data, labels, &step, err));
    *correct += step.correct;
    return GNN_OK;
}

static enum gnn_status evaluate_all(struct evaluation *e, const struct gnn_split *split, uint64_t *correct,
                                    struct gnn_err *err)
{
    const uint32_t batch_size =
        e->env->workload->batch_size < SEEDS_MAX ? e->env->workload->batch_size : (uint32_t)SEEDS_MAX;
    uint64_t index = 0;
    for (uint32_t at = 0; at < split->count; at += batch_size) {
        if (atomic_load(e->env->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped while evaluating");
        const uint32_t count = split->count - at < batch_size ? split->count - at : batch_size;
        GNN_TRY(evaluate_batch(e, index++, split->nodes + at, count, correct, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_evaluate_split(const struct gnn_env *env, const struct gnn_split *split, double *accuracy,
                                   struct gnn_err *err)
{
    assert(env->model != NULL);
    *accuracy = NAN;
    if (split->count == 0)
        return GNN_OK;
    struct evaluation e = {.env = env};
    uint64_t correct = 0;
    enum gnn_status status = open_evaluation(&e, err);
    if (status == GNN_OK)
        status = evaluate_all(&e, split, &correct, err);
    close_evaluation(&e);
    if (status == GNN_OK)
        *accuracy = (double)correct / (double)split->count;
    return status;
}
