/* SPDX-License-Identifier: MIT */
/* Preparation of a hyperbatch: its mini-batches are drawn ahead of their training and forgotten again but for the rows
 * that they use; windows, loads and classes follow from those; then the sorted rows are distributed. A mini-batch
 * depends on (seed, epoch, number) alone, so that what is drawn again for training is what was planned for.
 *
 * With presort.reuse the first epoch of each group is kept, and the others take what it left (kept.h): they load the
 * same rows into the same slots, and where a row lies there already nothing is read. Rows that memory held before the
 * first epoch are therefore among the loads, too (belady.h, recall). An epoch that could not be kept is drawn again. */
#include "harness/pipeline/team.h"

#include "systems/presort/distribute.h"
#include "systems/presort/kept.h"
#include "systems/presort/order.h"
#include "systems/presort/rounds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROWTH = 4, /* of hyperbatches that follow one that training waited for */
    GAIN = 2,   /* by which sorting is cheaper where training waits for what is sorted */
};

struct presort_preparer {
    const struct presort_setup *setup;
    struct gnn_sampling *sampling;
    struct gnn_team *team; /* draws `threads` mini-batches at a time; NULL: one thread draws one */
    struct gnn_batch *batches[PRESORT_THREADS_MAX]; /* drawn ones; batches[0] is the first */
    uint32_t drawing;                               /* mini-batches that the threads were last asked for */
    uint32_t drawn, taken;                          /* of them */
    struct presort_windows windows;
    struct presort_belady *belady;
    struct presort_classes *classes;
    struct presort_hot *hot; /* NULL: no rows are packed */
    struct presort_distributor *distributor;
    struct presort_kept *kept; /* NULL: every epoch is drawn anew */
    uint64_t epoch;
    uint32_t next_batch; /* of the epoch */
    uint32_t most;       /* mini-batches of the next hyperbatch */
    bool growing;        /* this one has not all that it might: training waits for it */
    bool takes, keeps;   /* the epoch is taken as it was kept; it is to be kept */
    uint32_t turn;       /* of the scratch files: that of the next extents */
    uint64_t end_bytes;  /* of the epoch's extents in it */
};

/* ---- open, close ---- */

static enum gnn_status open_classes(struct presort_preparer *p, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &p->setup->sizes;
    const struct gnn_env *const env = p->setup->env;
    const struct presort_classes_config classes = {.node_count = env->dataset->node_count,
                                                   .choice = p->setup->config->classes,
                                                   .costs = sizes->costs,
                                                   .packed = p->hot != NULL ? presort_hot_packed(p->hot) : NULL,
                                                   .table = presort_belady_lend(p->belady)};
    return presort_classes_open(env->world, &classes, &p->classes, err);
}

static enum gnn_status open_plan(struct presort_preparer *p, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &p->setup->sizes;
    const struct gnn_env *const env = p->setup->env;
    const struct presort_windows_config windows = presort_windows_config_of(env, p->setup->config, sizes);
    const struct presort_belady_config belady = presort_belady_config_of(env, p->setup->config, sizes);
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
    GNN_TRY(presort_sampling_open(setup, NULL, &p->sampling, err));
    for (uint32_t i = 0; i < setup->sizes.threads; i++)
        GNN_TRY(gnn_batch_open(env->world, &p->batches[i], err));
    if (setup->sizes.threads > 1)
        GNN_TRY(gnn_team_open(env->world, setup->sizes.threads, &p->team, err));
    GNN_TRY(open_plan(p, err));
    if (setup->config->reuse > 1)
        GNN_TRY(presort_kept_open(setup, &p->kept, err));
    return presort_distributor_open(setup, p->hot, &p->distributor, err);
}

void presort_preparer_close(struct presort_preparer *p)
{
    if (p == NULL)
        return;
    presort_distributor_close(p->distributor);
    presort_kept_close(p->kept);
    presort_hot_close(p->hot);
    presort_classes_close(p->classes);
    presort_belady_close(p->belady);
    presort_windows_close(&p->windows);
    gnn_team_close(p->team);
    for (uint32_t i = 0; i < PRESORT_THREADS_MAX; i++)
        gnn_batch_close(p->setup->env->world, p->batches[i]);
    gnn_sampling_close(p->sampling);
    free(p);
}

/* ---- an epoch ---- */

/* The first epoch that draws other mini-batches than this one. */
static uint64_t next_drawn(const struct presort_preparer *p)
{
    return presort_drawn_epoch(p->setup->config, p->epoch) + p->setup->config->reuse;
}

/* Training waits for the next hyperbatch: it is a small one, and those behind it grow while the one before trains. */
static void begin_small(struct presort_preparer *p)
{
    p->most = p->setup->sizes.first;
}

/* The epoch begins: it is taken as it was kept, or drawn, and kept where another one trains on the same. */
static void begin_epoch(struct presort_preparer *p)
{
    if (!p->setup->config->ahead)
        begin_small(p);
    const uint64_t drawn = presort_drawn_epoch(p->setup->config, p->epoch);
    p->takes = p->kept != NULL && presort_kept_has(p->kept, drawn);
    if (p->takes) {
        presort_kept_rewind(p->kept);
        return;
    }
    gnn_sampling_begin(p->sampling, drawn);
    if (p->setup->rounds != NULL)
        presort_rounds_begin(p->setup->rounds, p->sampling, drawn);
    p->keeps = p->epoch + 1 < gnn_min_u64(next_drawn(p), p->setup->env->workload->epochs);
    presort_belady_recall(p->belady, p->keeps);
    if (p->kept != NULL)
        presort_kept_begin(p->kept, drawn);
}

/* The next extents go behind those of the epoch, where epochs are kept, else to the other file. */
static void choose_scratch(struct presort_preparer *p, struct presort_hyperbatch *x)
{
    if (p->kept == NULL || x->first_batch == 0) {
        p->turn = (p->turn + 1) % PRESORT_ALIVE;
        p->end_bytes = 0;
    }
    x->scratch = &p->setup->scratch[p->turn];
    x->base_bytes = p->end_bytes;
}

static void end_hyperbatch(struct presort_preparer *p, struct presort_hyperbatch *x)
{
    p->next_batch = x->first_batch + x->batches;
    x->epoch = p->epoch;
    x->more = p->next_batch < p->setup->sizes.batches || next_drawn(p) < p->setup->env->workload->epochs;
    if (p->next_batch < p->setup->sizes.batches)
        return;
    p->epoch++;
    p->next_batch = 0;
}

/* ---- inspect ---- */

enum gnn_status presort_preparer_stage(struct presort_preparer *p, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    if (p->setup->rounds != NULL)
        GNN_TRY(presort_rounds_stage(p->setup->rounds, pipeline, err));
    return p->team != NULL ? gnn_team_stage(p->team, pipeline, "inspect", err) : GNN_OK;
}

void presort_preparer_done(struct presort_preparer *p)
{
    if (p->setup->rounds != NULL)
        presort_rounds_done(p->setup->rounds);
    if (p->team != NULL)
        gnn_team_done(p->team);
}

/* Draws the mini-batch that is this thread's of those that are drawn together. */
static enum gnn_status draw_part(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct presort_preparer *const p = ctx;
    assert(p->drawing <= parts);
    return part < p->drawing ? gnn_sampling_draw(p->sampling, part, p->next_batch + part, p->batches[part], err)
                             : GNN_OK;
}

/* Draws the next mini-batches of the epoch, as many as there are threads. */
static enum gnn_status draw_next(struct presort_preparer *p, struct gnn_err *err)
{
    p->drawing = gnn_min_u32(p->setup->sizes.threads, p->setup->sizes.batches - p->next_batch);
    p->drawn = p->taken = 0;
    if (p->setup->rounds != NULL)
        GNN_TRY(presort_rounds_reach(p->setup->rounds, p->next_batch, err));
    if (p->team == NULL) {
        GNN_TRY(draw_part(p, 0, 1, err));
    } else {
        gnn_team_post(p->team, draw_part, p);
        GNN_TRY(gnn_team_wait(p->team));
    }
    p->drawn = p->drawing;
    return GNN_OK;
}

/* Takes mini-batches from the next one on, until the hyperbatch or the epoch is full. */
static enum gnn_status take_batches(struct presort_preparer *p, struct presort_hyperbatch *x, uint32_t most,
                                    struct gnn_err *err)
{
    for (bool taken = true; p->windows.batches < most; p->next_batch++) {
        if (p->taken == p->drawn)
            GNN_TRY(draw_next(p, err));
        const struct gnn_batch_view *const view = gnn_batch_view(p->batches[p->taken]);
        GNN_TRY(presort_windows_take(&p->windows, view->nodes, view->node_count, &taken, err));
        if (!taken)
            return GNN_OK;
        p->taken++;
        if (p->setup->rounds != NULL)
            presort_rounds_add(p->setup->rounds, p->next_batch, &x->spooled);
    }
    return GNN_OK;
}

static enum gnn_status inspect(struct presort_preparer *p, struct presort_hyperbatch *x, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &p->setup->sizes;
    presort_windows_begin(&p->windows);
    x->first_batch = p->next_batch;
    x->spooled = (struct presort_spooled){.batches = 0};
    GNN_TRY(take_batches(p, x, gnn_min_u32(p->most, sizes->batches - p->next_batch), err));
    p->growing = p->most < sizes->hyperbatch;
    p->most = p->most > sizes->hyperbatch / GROWTH ? sizes->hyperbatch : GROWTH * p->most;
    presort_windows_end(&p->windows);
    x->batches = p->windows.batches;
    x->windows = p->windows.lists.windows;
    memcpy(x->batch_end, p->windows.batch_end, x->windows * sizeof *x->batch_end);
    choose_scratch(p, x);
    end_hyperbatch(p, x);
    return GNN_OK;
}

/* ---- plan ---- */

/* Adds the loads to the classes, but for those of recalled rows that stay in memory, which are not to be sorted.
 * Returns how many those are. */
static uint32_t add_loads(struct presort_preparer *p, struct presort_hyperbatch *x, uint32_t loads)
{
    uint32_t stay = 0;
    gnn_charge(p->setup->env->world, GNN_WORK_TABLE_ENTRY, loads);
    presort_classes_begin(p->classes);
    for (uint32_t i = 0; i < loads; i++) {
        const bool recalled = (x->loads[i].slot & PRESORT_RECALLED) != 0;
        x->loads[i].slot &= ~PRESORT_RECALLED;
        if (recalled && presort_belady_holds(p->belady, x->loads[i].row))
            stay++;
        else
            presort_classes_add(p->classes, x->loads[i].row);
    }
    return stay;
}

/* Puts the loads of each window in ascending order, recalled rows among them. */
static void order_recalled(struct presort_preparer *p, struct presort_hyperbatch *x)
{
    for (uint32_t j = 0; j < x->windows; j++) {
        const uint32_t begin = presort_begin_of(x->load_end, j);
        gnn_charge(p->setup->env->world, GNN_WORK_SORTED_KEY,
                   presort_order_by_row(x->loads + begin, x->load_end[j] - begin));
    }
}

/* The hyperbatch is kept where the limits leave room for its lists; else the rest of the epoch is not, either. */
static void choose_keeping(struct presort_preparer *p, struct presort_hyperbatch *x)
{
    x->keeps = p->keeps && presort_kept_list_bytes(x) <= presort_budget_bytes(p->setup, x) &&
               presort_kept_has_room(p->kept, x, presort_file_bytes(p->setup));
    p->keeps = x->keeps;
}

static void plan(struct presort_preparer *p, struct presort_hyperbatch *x)
{
    uint32_t loads = 0;
    presort_belady_begin(p->belady, &p->windows.lists);
    for (uint32_t j = 0; j < x->windows; j++) {
        loads += presort_belady_window(p->belady, j, x->loads + loads);
        x->load_end[j] = loads;
    }
    const uint32_t stay = add_loads(p, x, loads);
    if (p->keeps)
        order_recalled(p, x);
    if (p->hot != NULL)
        presort_hot_expect(p->hot, x->more);
    presort_distributor_cut(p->distributor, x);
    choose_keeping(p, x);
    const uint64_t room = presort_distributor_room(p->distributor, x);
    presort_classes_decide(p->classes, room > stay ? room - stay : 0, p->growing ? GAIN : 1, &x->decision);
    assert(x->decision.loads == loads - stay);
}

/* ---- a hyperbatch ---- */

static enum gnn_status keep(struct presort_preparer *p, const struct presort_hyperbatch *x, struct gnn_err *err)
{
    p->end_bytes += (uint64_t)x->blocks * x->block_bytes;
    return x->keeps ? presort_kept_put(p->kept, x, p->next_batch == 0, &p->keeps, err) : GNN_OK;
}

static void count_lists(struct presort_preparer *p, struct presort_prepared *figures)
{
    struct presort_tape_counts counts;
    if (p->kept == NULL)
        return;
    presort_kept_take_counts(p->kept, &counts);
    figures->written_bytes += counts.written_bytes;
    figures->writes += counts.writes;
    figures->list_read_bytes += counts.read_bytes;
    figures->list_reads += counts.reads;
}

static enum gnn_status take(struct presort_preparer *p, struct presort_hyperbatch *x, struct gnn_err *err)
{
    GNN_TRY(presort_kept_take(p->kept, x, err));
    end_hyperbatch(p, x);
    return GNN_OK;
}

enum gnn_status presort_prepare(struct presort_preparer *p, struct presort_hyperbatch *x,
                                struct presort_prepared *figures, struct gnn_err *err)
{
    struct gnn_world *const world = p->setup->env->world;
    const uint64_t start_ns = gnn_now_ns(world);
    presort_hyperbatch_detach(x);
    if (p->next_batch == 0)
        begin_epoch(p);
    if (p->takes) {
        GNN_TRY(take(p, x, err));
        count_lists(p, figures);
        return GNN_OK;
    }
    GNN_TRY(inspect(p, x, err));
    const uint64_t inspected_ns = gnn_now_ns(world);
    plan(p, x);
    const uint64_t planned_ns = gnn_now_ns(world);
    GNN_TRY(presort_distribute(p->distributor, x, p->classes, figures, err));
    GNN_TRY(keep(p, x, err));
    count_lists(p, figures);
    figures->inspect_ns += inspected_ns - start_ns;
    figures->plan_ns += planned_ns - inspected_ns;
    figures->distribute_ns += gnn_now_ns(world) - planned_ns;
    return GNN_OK;
}

void presort_preparer_forget(struct presort_preparer *p, uint64_t epoch)
{
    presort_belady_clear(p->belady);
    if (p->kept != NULL)
        presort_kept_forget(p->kept);
    p->epoch = epoch;
    p->next_batch = 0;
    begin_small(p);
    p->drawn = p->taken = 0;
    p->turn = PRESORT_ALIVE - 1; /* number 0 of the run is next */
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
