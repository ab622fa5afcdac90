/* Preparation of a hyperbatch: its mini-batches are drawn ahead of their training and forgotten again but for the rows
 * that they use; windows, loads and classes follow from those; then the sorted rows are distributed. A mini-batch
 * depends on (seed, epoch, number) alone, so that what is drawn again for training is what was planned for. */
#include "systems/presort/distribute.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct presort_preparer {
    const struct presort_setup *setup;
    struct gnn_sampling *sampling;
    struct gnn_batch *batch;
    struct presort_windows windows;
    struct presort_belady *belady;
    struct presort_classes *classes;
    struct presort_hot *hot; /* NULL: no rows are packed */
    struct presort_distributor *distributor;
    uint64_t epoch;
    uint32_t next_batch; /* of the epoch */
    bool drawn;          /* it is in `batch` already */
};

/* ---- open, close ---- */

static enum gnn_status open_classes(struct presort_preparer *p, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &p->setup->sizes;
    const struct gnn_env *const env = p->setup->env;
    const struct presort_classes_config classes = {.node_count = env->dataset->node_count,
                                                   .choice = p->setup->config->classes,
                                                   .costs = sizes->costs,
                                                   .packed = p->hot != NULL ? presort_hot_packed(p->hot) : NULL};
    return presort_classes_open(env->world, &classes, &p->classes, err);
}

static enum gnn_status open_plan(struct presort_preparer *p, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &p->setup->sizes;
    const struct gnn_env *const env = p->setup->env;
    const struct presort_windows_config windows = presort_windows_config_of(env, p->setup->config, sizes);
    const struct presort_belady_config belady = presort_belady_config_of(env, sizes);
    GNN_TRY(presort_windows_open(env->world, &windows, &p->windows, err));
    GNN_TRY(presort_belady_open(env->world, &belady, &p->belady, err));
    if (sizes->hot_places > 0)
        GNN_TRY(presort_hot_open(p->setup, presort_belady_held(p->belady), &p->hot, err));
    return open_classes(p, err);
}

enum gnn_status presort_preparer_open(const struct presort_setup *setup, struct presort_preparer **out,
                                      struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    struct presort_preparer *p;
    GNN_NEW(p, 1, err, "presort's preparation");
    *out = p;
    p->setup = setup;
    GNN_TRY(presort_sampling_open(env, setup->config->readahead, setup->topology, &p->sampling, err));
    GNN_TRY(gnn_batch_open(env->world, &p->batch, err));
    GNN_TRY(open_plan(p, err));
    return presort_distributor_open(setup, p->hot, &p->distributor, err);
}

void presort_preparer_close(struct presort_preparer *p)
{
    if (p == NULL)
        return;
    presort_distributor_close(p->distributor);
    presort_hot_close(p->hot);
    presort_classes_close(p->classes);
    presort_belady_close(p->belady);
    presort_windows_close(&p->windows);
    gnn_batch_close(p->setup->env->world, p->batch);
    gnn_sampling_close(p->sampling);
    free(p);
}

/* ---- inspect ---- */

/* Takes mini-batches from the next one on, until the hyperbatch or the epoch is full. */
static enum gnn_status take_batches(struct presort_preparer *p, uint32_t most, struct gnn_err *err)
{
    for (bool taken = true; p->windows.batches < most; p->next_batch++) {
        if (!p->drawn)
            GNN_TRY(gnn_sampling_draw(p->sampling, 0, p->next_batch, p->batch, err));
        p->drawn = true;
        const struct gnn_batch_view *const view = gnn_batch_view(p->batch);
        GNN_TRY(presort_windows_take(&p->windows, view->nodes, view->node_count, &taken, err));
        if (!taken)
            return GNN_OK;
        p->drawn = false;
    }
    return GNN_OK;
}

static enum gnn_status inspect(struct presort_preparer *p, struct presort_hyperbatch *x, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &p->setup->sizes;
    if (p->next_batch == 0)
        gnn_sampling_begin(p->sampling, p->epoch);
    presort_windows_begin(&p->windows);
    x->epoch = p->epoch;
    x->first_batch = p->next_batch;
    GNN_TRY(take_batches(p, gnn_min_u32(sizes->hyperbatch, sizes->batches - p->next_batch), err));
    presort_windows_end(&p->windows);
    x->batches = p->windows.batches;
    x->windows = p->windows.lists.windows;
    memcpy(x->batch_end, p->windows.batch_end, x->windows * sizeof *x->batch_end);
    if (p->next_batch == sizes->batches) {
        p->epoch++;
        p->next_batch = 0;
    }
    x->more = p->epoch < p->setup->env->workload->epochs;
    return GNN_OK;
}

/* ---- plan ---- */

static void plan(struct presort_preparer *p, struct presort_hyperbatch *x)
{
    uint32_t loads = 0;
    presort_belady_begin(p->belady, &p->windows.lists);
    presort_classes_begin(p->classes);
    for (uint32_t j = 0; j < x->windows; j++) {
        const uint32_t begin = loads;
        loads += presort_belady_window(p->belady, j, x->loads + loads);
        x->load_end[j] = loads;
        for (uint32_t i = begin; i < loads; i++)
            presort_classes_add(p->classes, x->loads[i].row);
    }
    gnn_charge(p->setup->env->world, GNN_WORK_TABLE_ENTRY, loads);
    if (p->hot != NULL)
        presort_hot_expect(p->hot, x->more);
    presort_classes_decide(p->classes, presort_distributor_room(p->distributor, x), &x->decision);
    assert(x->decision.loads == loads);
}

enum gnn_status presort_prepare(struct presort_preparer *p, struct presort_hyperbatch *x,
                                struct presort_prepared *figures, struct gnn_err *err)
{
    struct gnn_world *const world = p->setup->env->world;
    const uint64_t start_ns = gnn_now_ns(world);
    GNN_TRY(inspect(p, x, err));
    const uint64_t inspected_ns = gnn_now_ns(world);
    plan(p, x);
    const uint64_t planned_ns = gnn_now_ns(world);
    GNN_TRY(presort_distribute(p->distributor, x, p->classes, figures, err));
    figures->inspect_ns += inspected_ns - start_ns;
    figures->plan_ns += planned_ns - inspected_ns;
    figures->distribute_ns += gnn_now_ns(world) - planned_ns;
    return GNN_OK;
}

void presort_preparer_forget(struct presort_preparer *p, uint64_t epoch)
{
    presort_belady_clear(p->belady);
    p->epoch = epoch;
    p->next_batch = 0;
    p->drawn = false;
}

bool presort_preparer_between(const struct presort_preparer *p, uint64_t *epoch)
{
    *epoch = p->epoch;
    return p->next_batch == 0;
}

uint32_t presort_preparer_largest(const struct presort_preparer *p)
{
    return p->windows.largest;
}

uint64_t presort_preparer_evictions(const struct presort_preparer *p)
{
    return presort_belady_evictions(p->belady);
}
