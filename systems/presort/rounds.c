#include "systems/presort/rounds.h"

#include "harness/base/id_map.h"
#include "harness/base/id_width.h"
#include "harness/base/log.h"
#include "harness/base/sort_keys.h"
#include "harness/pipeline/team.h"
#include "harness/sample/batch.h"
#include "harness/sample/draw.h"
#include "systems/presort/distribute.h"
#include "systems/presort/spool.h"
#include "systems/presort/tape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ROUND_BATCHES_MAX = 4096 };

/* A want of a hop: a node whose list is drawn from, and where in `drawn` that goes. */
static uint64_t want_of(gnn_node node, uint64_t at)
{
    return (uint64_t)node << 32 | at;
}

static gnn_node node_of(uint64_t want)
{
    return (gnn_node)(want >> 32);
}

/* A round that was drawn, for whoever takes its mini-batches. */
struct round {
    uint32_t first, batches, spooled; /* of the mini-batches the first ones are on the tape */
    uint64_t begin_bytes, end_bytes;  /* of those on the tape */
};

struct presort_rounds {
    const struct presort_setup *setup;
    const struct gnn_env *env;
    struct gnn_world *world;
    struct gnn_file *file; /* of the lists */
    struct gnn_stream *lists;
    struct gnn_span_reader *reader;
    uint32_t align_bytes; /* of reads of the lists */
    uint32_t batches_max; /* of a round */
    uint64_t sample_key;

    gnn_node *drawn;       /* (words) of hop after hop, mini-batch after mini-batch; wants from its end on downwards */
    uint64_t words;        /* even */
    uint32_t *begin;       /* (layers, batches_max + 1) where in drawn a mini-batch's neighbours of a hop are */
    gnn_node *nodes;       /* (node bound) of one mini-batch */
    void *map_memory;      /* of the index of nodes */
    struct gnn_id_map map; /* of nodes */

    /* The epoch's. */
    const struct gnn_sampling *sampling;
    uint64_t epoch;
    uint32_t turn;  /* of the tapes */
    bool spools;    /* mini-batches that come will be on the tape */
    bool disk_full; /* nothing is written any more */

    /* Of whoever reaches mini-batches. */
    struct gnn_team *team;         /* draws rounds; NULL: they are drawn where they are reached */
    bool ahead;                    /* the round behind the current one is drawn, or was; that is on the tape then */
    struct round current;          /* of the mini-batch that was reached last */
    struct presort_tape back;      /* read: it */
    uint32_t reached, reached_hop; /* the source's next */
    uint64_t reached_bytes;        /* of the mini-batch on the tape: its begin, */
    uint64_t taken_bytes;          /* and its end as far as it was taken */

    /* Of the round that is drawn, or was drawn last. */
    uint32_t first, batches;
    struct round done;        /* it, once it is */
    uint64_t next_batches;    /* that the next round begins with */
    struct presort_tape tape; /* written */
    struct presort_rounds_counts counts;
    struct gnn_reader_counters read; /* when counts were taken last */

    /* The hop's. */
    uint32_t hop; /* from 1 */
    uint64_t *wants;
    uint64_t want_count;
    uint64_t next, next_edge; /* want of the next read, and where in its list that begins unless before it */
    uint64_t served;          /* wants before it have all they draw */
    uint64_t missing;         /* neighbours that are still to come */
    uint64_t looked;          /* draws that were made in order to cut long lists */
};

/* ---- sizes ---- */

/* Zeros where a mini-batch has no bounds, which open refuses. */
static void bounds_of(const struct gnn_env *env, struct gnn_sample_bounds *out)
{
    const struct gnn_workload *const load = env->workload;
    const uint32_t seeds = gnn_min_u32(load->batch_size, env->dataset->train.count);
    if (gnn_sample_bounds(env->dataset, seeds, load->fanout, load->layers, out, NULL) != GNN_OK)
        *out = (struct gnn_sample_bounds){.layers = load->layers};
}

/* A mini-batch's nodes but those that its last hop adds have a want each. */
uint64_t presort_rounds_batch_bytes(const struct gnn_env *env)
{
    struct gnn_sample_bounds bounds;
    uint64_t words = 0;
    bounds_of(env, &bounds);
    for (uint32_t l = 1; l <= bounds.layers; l++)
        words += bounds.edges[l];
    return gnn_round_up((words + UINT64_C(2) * bounds.nodes[bounds.layers - 1] + 2) * sizeof(gnn_node), GNN_PAGE_BYTES);
}

static uint32_t batches_max_of(const struct gnn_env *env)
{
    return gnn_min_u32(gnn_epoch_batches(env), ROUND_BATCHES_MAX);
}

static uint64_t begins_of(const struct gnn_env *env)
{
    return env->workload->layers * (batches_max_of(env) + UINT64_C(1));
}

/* Returns the bytes of a read of lists at most. */
static uint64_t read_bytes_max(const struct presort_config *config)
{
    return gnn_max_u64(config->merge, GNN_PAGE_BYTES);
}

static struct gnn_span_reader_config reads_config(const struct gnn_env *env, const struct presort_config *config)
{
    return (struct gnn_span_reader_config){.engine = env->io_engine,
                                           .depth = config->depth + 1,
                                           .span_bytes_max = read_bytes_max(config),
                                           .mem_flags = GNN_MEM_PLAIN};
}

uint64_t presort_rounds_bytes(const struct gnn_env *env, const struct presort_config *config, uint64_t drawn_bytes)
{
    struct gnn_sample_bounds bounds;
    bounds_of(env, &bounds);
    const uint32_t nodes = bounds.nodes[bounds.layers - 1];
    const struct gnn_span_reader_config reads = reads_config(env, config);
    const uint64_t arrays = gnn_round_up(begins_of(env) * sizeof(uint32_t), GNN_PAGE_BYTES) +
                            gnn_round_up(nodes * sizeof(gnn_node), GNN_PAGE_BYTES) +
                            gnn_round_up(gnn_id_map_bytes(env->dataset->node_count, nodes), GNN_PAGE_BYTES);
    const uint64_t tapes = env->workload->sample_only ? 0 : 2 * presort_tape_bytes();
    return gnn_add_bytes(gnn_add_bytes(arrays + tapes, gnn_span_reader_bytes(&reads)),
                         gnn_round_up(drawn_bytes, GNN_PAGE_BYTES));
}

/* ---- open, close ---- */

/* GNN_EUSAGE: a mini-batch may draw more than a round can hold. */
static enum gnn_status check_bounds(const struct presort_setup *setup, struct gnn_err *err)
{
    struct gnn_sample_bounds bounds;
    bounds_of(setup->env, &bounds);
    if (bounds.nodes[0] > 0 && presort_rounds_batch_bytes(setup->env) <= setup->sizes.drawn_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "presort.topology=swept: a mini-batch of %" PRIu32 " seeds could draw more than a round can hold: "
                    "lower --batch or --fanout, or set presort.topology=mapped",
                    setup->env->workload->batch_size);
}

static enum gnn_status open_memory(struct presort_rounds *r, struct gnn_err *err)
{
    struct gnn_sample_bounds bounds;
    bounds_of(r->env, &bounds);
    const uint32_t nodes = bounds.nodes[bounds.layers - 1], universe = r->env->dataset->node_count;
    GNN_MEM_NEW(r->world, r->drawn, r->words, "presort drawn neighbours", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(r->world, r->begin, begins_of(r->env), "presort mini-batches of a round", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(r->world, r->nodes, nodes, "presort nodes of a mini-batch", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_mem_alloc(r->world, "presort index of nodes", gnn_id_map_bytes(universe, nodes), GNN_MEM_PLAIN,
                          &r->map_memory, err));
    gnn_id_map_init_growing(&r->map, r->map_memory, universe, nodes);
    return GNN_OK;
}

/* What waits on a tape can be drawn ahead. */
static enum gnn_status open_tapes(struct presort_rounds *r, struct gnn_err *err)
{
    if (r->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(presort_tape_open(r->world, &r->tape, err));
    GNN_TRY(presort_tape_open(r->world, &r->back, err));
    return gnn_team_open(r->world, 1, &r->team, err);
}

enum gnn_status presort_rounds_open(const struct presort_setup *setup, struct presort_rounds **out, struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    struct gnn_span_reader_config reads = reads_config(env, setup->config);
    struct presort_rounds *r;
    *out = NULL;
    GNN_TRY(check_bounds(setup, err));
    GNN_NEW(r, 1, err, "presort's rounds");
    *out = r;
    r->setup = setup;
    r->env = env;
    r->world = env->world;
    r->sample_key = gnn_rng_fork(env->workload->seed, "sample");
    r->batches_max = batches_max_of(env);
    r->words = gnn_round_down(setup->sizes.drawn_bytes / sizeof *r->drawn, 2);
    assert(r->words <= UINT32_MAX);
    r->next_batches = setup->sizes.round_batches;
    r->turn = PRESORT_ALIVE - 1;
    GNN_TRY(open_memory(r, err));
    GNN_TRY(open_tapes(r, err));
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, presort_direct_flag(setup->config), &r->file,
                                  &r->align_bytes, err));
    GNN_TRY(gnn_stream_attach(env->world, r->file, env->dataset->indices_bytes, &r->lists, err));
    reads.file = r->file;
    return gnn_span_reader_open(env->world, &reads, &r->reader, err);
}

void presort_rounds_close(struct presort_rounds *r)
{
    if (r == NULL)
        return;
    gnn_span_reader_close(r->reader);
    gnn_stream_close(r->lists);
    gnn_file_close(r->world, r->file);
    gnn_team_close(r->team);
    presort_tape_close(&r->back);
    presort_tape_close(&r->tape);
    gnn_mem_free(r->world, r->map_memory);
    gnn_mem_free(r->world, r->nodes);
    gnn_mem_free(r->world, r->begin);
    gnn_mem_free(r->world, r->drawn);
    free(r);
}

void presort_rounds_begin(struct presort_rounds *r, const struct gnn_sampling *sampling, uint64_t epoch)
{
    r->sampling = sampling;
    r->epoch = epoch;
    r->current = (struct round){.batches = 0};
    r->ahead = false;
    r->spools = !r->disk_full && !r->env->workload->sample_only;
    if (!r->spools)
        return;
    r->turn = (r->turn + 1) % PRESORT_ALIVE;
    presort_tape_begin(&r->tape, r->setup->tapes[r->turn]);
}

/* ---- what a hop wants ---- */

/* Returns where the neighbours of mini-batch j of the round at a hop begin in drawn; j + 1: where they end. */
static uint32_t *begin_of(const struct presort_rounds *r, uint32_t hop, uint32_t j)
{
    return &r->begin[(hop - 1) * (r->batches_max + UINT64_C(1)) + j];
}

static void add_node(struct presort_rounds *r, gnn_node v)
{
    const uint32_t fresh = r->map.count;
    if (gnn_id_map_add(&r->map, v) != fresh)
        return;
    r->nodes[fresh] = v;
    if (r->map.count == r->map.capacity)
        gnn_id_map_grow(&r->map, r->nodes);
}

/* Fills nodes with those of mini-batch j that its hop draws for, in the order in which they came; returns how many. */
static uint32_t find_nodes(struct presort_rounds *r, uint32_t j)
{
    uint32_t seeds;
    const gnn_node *const seed = gnn_sampling_seeds(r->sampling, r->first + j, &seeds);
    uint64_t seen = seeds;
    gnn_id_map_clear(&r->map);
    for (uint32_t i = 0; i < seeds; i++)
        add_node(r, seed[i]);
    for (uint32_t hop = 1; hop < r->hop; hop++) {
        const uint32_t begin = *begin_of(r, hop, j), end = *begin_of(r, hop, j + 1);
        for (uint32_t i = begin; i < end; i++)
            add_node(r, r->drawn[i]);
        seen += end - begin;
    }
    gnn_charge(r->world, GNN_WORK_HASHED_ID, seen);
    return r->map.count;
}

/* Adds the wants of mini-batch j, whose neighbours go to *at and behind it. False: they have no room, and nothing has
 * changed. */
static bool add_wants(struct presort_rounds *r, uint32_t j, uint64_t *at)
{
    const uint64_t *const indptr = r->env->dataset->indptr;
    const uint32_t count = find_nodes(r, j), fanout = r->env->workload->fanout[r->hop - 1];
    uint64_t end = *at, wants = r->want_count;
    gnn_charge(r->world, GNN_WORK_TABLE_ENTRY, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t drawn = gnn_min_u64(indptr[r->nodes[i] + 1] - indptr[r->nodes[i]], fanout);
        if (drawn == 0)
            continue;
        if (end + drawn + 2 * (wants + 1) > r->words)
            return false;
        *((uint64_t *)(void *)(r->drawn + r->words) - ++wants) = want_of(r->nodes[i], end);
        end += drawn;
    }
    *at = end;
    r->want_count = wants;
    return true;
}

/* Collects the wants of the hop, ascending; mini-batches without room for theirs leave the round. */
static enum gnn_status collect_wants(struct presort_rounds *r, struct gnn_err *err)
{
    uint64_t at = r->hop > 1 ? *begin_of(r, r->hop - 1, r->batches) : 0;
    const uint64_t begin = at;
    r->want_count = r->next = r->next_edge = r->served = r->looked = 0;
    *begin_of(r, r->hop, 0) = (uint32_t)at;
    for (uint32_t j = 0; j < r->batches; j++) {
        GNN_TRY(gnn_check_stop(r->env, err));
        if (!add_wants(r, j, &at)) {
            r->batches = j;
            break;
        }
        *begin_of(r, r->hop, j + 1) = (uint32_t)at;
    }
    assert(r->batches > 0); /* one has room, whatever it draws */
    r->missing = at - begin;
    r->wants = (uint64_t *)(void *)(r->drawn + r->words) - r->want_count;
    gnn_charge(r->world, GNN_WORK_SORTED_KEY, r->want_count);
    gnn_sort_keys(r->wants, r->want_count, 32, 64);
    return GNN_OK;
}

/* Draws what a want takes from its list, as edge offsets; returns how many. */
static uint32_t draw_want(const struct presort_rounds *r, uint64_t want, uint64_t *out)
{
    const uint64_t *const indptr = r->env->dataset->indptr;
    const gnn_node v = node_of(want);
    const uint32_t at = (uint32_t)want;
    uint32_t low = 0, high = r->batches; /* of which mini-batch: begin_of(low) <= at < begin_of(high) */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (*begin_of(r, r->hop, middle) <= at)
            low = middle;
        else
            high = middle;
    }
    const uint64_t key = gnn_draw_hop_key(r->sample_key, r->epoch, r->first + low, r->hop);
    return gnn_draw(gnn_rng_fold(key, v), indptr[v], indptr[v + 1] - indptr[v], r->env->workload->fanout[r->hop - 1],
                    r->env->floyd_biased, out);
}

/* ---- reads ---- */

static uint64_t end_of_list(const struct presort_rounds *r, uint64_t want)
{
    return r->env->dataset->indptr[node_of(r->wants[want]) + 1];
}

/* Where the next read of want's list begins. */
static uint64_t begin_of_list(const struct presort_rounds *r, uint64_t want)
{
    return gnn_max_u64(r->env->dataset->indptr[node_of(r->wants[want])], r->next_edge);
}

/* Goes on behind edge `end`, which is at most the end of the list of the next want. */
static void pass_edges(struct presort_rounds *r, uint64_t end)
{
    const gnn_node v = node_of(r->wants[r->next]);
    r->next_edge = end;
    if (end < end_of_list(r, r->next))
        return;
    while (r->next < r->want_count && node_of(r->wants[r->next]) == v)
        r->next++;
}

/* Whether a want of the next one's list takes something from [begin, end). */
static bool is_wanted(struct presort_rounds *r, uint64_t begin, uint64_t end)
{
    const gnn_node v = node_of(r->wants[r->next]);
    for (uint64_t i = r->next; i < r->want_count && node_of(r->wants[i]) == v; i++) {
        uint64_t drawn[GNN_FANOUT_MAX];
        const uint32_t count = draw_want(r, r->wants[i], drawn);
        r->looked += count;
        for (uint32_t t = 0; t < count; t++)
            if (drawn[t] >= begin && drawn[t] < end)
                return true;
    }
    return false;
}

/* Returns where a read that begins before `edge` ends at most, in edges. */
static uint64_t longest_read(const struct presort_rounds *r, uint64_t edge)
{
    const uint32_t id_bytes = r->env->dataset->id_bytes;
    return (gnn_round_down(edge * id_bytes, GNN_PAGE_BYTES) + read_bytes_max(r->setup->config)) / id_bytes;
}

/* Passes over pieces of lists longer than a read from which nothing is wanted. */
static void pass_unwanted(struct presort_rounds *r)
{
    while (r->next < r->want_count) {
        const uint64_t begin = begin_of_list(r, r->next), end = end_of_list(r, r->next), most = longest_read(r, begin);
        const bool is_long = end > longest_read(r, r->env->dataset->indptr[node_of(r->wants[r->next])]);
        if (!is_long || is_wanted(r, begin, gnn_min_u64(end, most)))
            return;
        pass_edges(r, gnn_min_u64(end, most));
    }
}

/* Whether a read to edge `end` goes on to a list of `count` edges at edge `at`: what it adds costs less than another
 * request, or lies in a sector that is read anyway. */
static bool goes_on(const struct presort_rounds *r, uint64_t end, uint64_t at, uint64_t count)
{
    const uint64_t id_bytes = r->env->dataset->id_bytes;
    const uint64_t end_bytes = end * id_bytes, at_bytes = at * id_bytes, bytes = count * id_bytes;
    return at_bytes - end_bytes + bytes <= gnn_max_u64(r->setup->sizes.list_random_bytes, bytes) ||
           gnn_round_down(at_bytes, r->align_bytes) < gnn_round_up(end_bytes, r->align_bytes);
}

/* gnn_span_fn */
static bool next_read(void *ctx, struct gnn_span *out)
{
    struct presort_rounds *const r = ctx;
    const uint32_t id_bytes = r->env->dataset->id_bytes;
    pass_unwanted(r);
    if (r->next == r->want_count)
        return false;
    uint64_t begin = begin_of_list(r, r->next), end = begin;
    const uint64_t most = longest_read(r, begin), begin_bytes = gnn_round_down(begin * id_bytes, r->align_bytes);
    while (r->next < r->want_count) {
        begin = begin_of_list(r, r->next);
        if (begin >= most || !goes_on(r, end, begin, end_of_list(r, r->next) - begin))
            break;
        end = gnn_min_u64(end_of_list(r, r->next), most);
        pass_edges(r, end);
    }
    const uint64_t end_bytes = gnn_round_up(end * id_bytes, r->align_bytes);
    *out = (struct gnn_span){.stream = r->lists,
                             .offset_bytes = begin_bytes,
                             .len_bytes = gnn_min_u64(end_bytes, gnn_stream_bytes(r->lists)) - begin_bytes};
    return true;
}

static enum gnn_status neighbour_error(const struct presort_rounds *r, gnn_node of, gnn_node neighbour,
                                       struct gnn_err *err)
{
    const struct gnn_dataset *const d = r->env->dataset;
    return gnn_fail(err, GNN_EFORMAT,
                    "dataset %s: in the list of node %" PRIu32 ", neighbour %" PRIu32 ", but there are %" PRIu32
                    " nodes; run `oocgnn prepare --check`",
                    d->name, of, neighbour, d->node_count);
}

/* Puts what a want takes from edges [begin, end), which are at `ids`, into its place. */
static enum gnn_status serve_want(struct presort_rounds *r, uint64_t want, const void *ids, uint64_t begin,
                                  uint64_t end, struct gnn_err *err)
{
    const struct gnn_dataset *const d = r->env->dataset;
    uint64_t drawn[GNN_FANOUT_MAX];
    const uint32_t count = draw_want(r, want, drawn);
    gnn_charge(r->world, GNN_WORK_SAMPLED_EDGE, count);
    for (uint32_t t = 0; t < count; t++) {
        if (drawn[t] < begin || drawn[t] >= end)
            continue;
        const gnn_node neighbour = gnn_id_at(ids, d->id_bytes, drawn[t] - begin);
        if (neighbour >= d->node_count)
            return neighbour_error(r, node_of(want), neighbour, err);
        r->drawn[(uint32_t)want + t] = neighbour;
        r->missing--;
    }
    return GNN_OK;
}

/* Serves the wants of the lists that a read covers, as far as it covers them. */
static enum gnn_status serve(struct presort_rounds *r, const struct gnn_span *span, const void *ids,
                             struct gnn_err *err)
{
    const struct gnn_dataset *const d = r->env->dataset;
    const uint64_t begin = span->offset_bytes / d->id_bytes, end = begin + span->len_bytes / d->id_bytes;
    while (r->served < r->want_count && end_of_list(r, r->served) <= begin)
        r->served++;
    for (uint64_t i = r->served; i < r->want_count && d->indptr[node_of(r->wants[i])] < end; i++) {
        GNN_TRY(serve_want(r, r->wants[i], ids, begin, end, err));
        if (i == r->served && end_of_list(r, i) <= end)
            r->served++;
    }
    return GNN_OK;
}

static enum gnn_status read_lists(struct presort_rounds *r, struct gnn_err *err)
{
    gnn_span_reader_start(r->reader, next_read, r);
    for (;;) {
        struct gnn_span span;
        void *ids;
        GNN_TRY(gnn_check_stop(r->env, err));
        GNN_TRY(gnn_span_reader_next(r->reader, &span, &ids, err));
        if (ids == NULL)
            break;
        GNN_TRY(serve(r, &span, ids, err));
    }
    gnn_charge(r->world, GNN_WORK_SAMPLED_EDGE, r->looked);
    return r->missing == 0
               ? GNN_OK
               : gnn_fail(err, GNN_EBUG, "presort: hop %" PRIu32 " of a round misses %" PRIu64 " neighbours", r->hop,
                          r->missing);
}

/* ---- the tape ---- */

/* Where on the tape what mini-batch j of the round drew begins, from where the round does. */
static uint64_t spool_offset(const struct presort_rounds *r, uint32_t j)
{
    uint64_t words = 0;
    for (uint32_t hop = 1; hop <= r->env->workload->layers; hop++)
        words += j + UINT64_C(1) * (*begin_of(r, hop, j) - *begin_of(r, hop, 0));
    return words * sizeof(uint32_t);
}

static enum gnn_status put_batch(struct presort_rounds *r, uint32_t j, struct gnn_err *err)
{
    for (uint32_t hop = 1; hop <= r->env->workload->layers; hop++) {
        const uint32_t begin = *begin_of(r, hop, j), count = *begin_of(r, hop, j + 1) - begin;
        GNN_TRY(presort_tape_put(&r->tape, &count, sizeof count, err));
        GNN_TRY(presort_tape_put(&r->tape, r->drawn + begin, count * sizeof *r->drawn, err));
    }
    return GNN_OK;
}

/* Returns how many of the round's mini-batches have room on the tape, by the limits that the options set. */
static uint32_t room_on_tape(const struct presort_rounds *r)
{
    const uint64_t most = gnn_min_u64(presort_file_bytes(r->setup), presort_spool_budget_bytes(r->setup->config));
    uint32_t j = r->batches;
    while (j > 0 && gnn_round_up(r->done.begin_bytes + spool_offset(r, j), GNN_PAGE_BYTES) > most)
        j--;
    return j;
}

static enum gnn_status write_tape(struct presort_rounds *r, uint32_t batches, struct gnn_err *err)
{
    const uint32_t goes_on = PRESORT_TAPE_GOES_ON;
    for (uint32_t j = 0; j < batches; j++)
        GNN_TRY(put_batch(r, j, err));
    if (presort_tape_position(&r->tape) % GNN_PAGE_BYTES > 0)
        GNN_TRY(presort_tape_put(&r->tape, &goes_on, sizeof goes_on, err));
    return presort_tape_flush(&r->tape, err);
}

/* Writes what the round drew. From the first mini-batch on that has no room none of the epoch is written. */
static enum gnn_status spool(struct presort_rounds *r, struct gnn_err *err)
{
    struct gnn_err why = {0};
    r->done = (struct round){.first = r->first, .batches = r->batches};
    if (!r->spools)
        return GNN_OK;
    r->done.begin_bytes = presort_tape_position(&r->tape);
    const uint32_t batches = room_on_tape(r);
    const enum gnn_status status = write_tape(r, batches, &why);
    r->spools = status == GNN_OK && batches == r->batches;
    if (status == GNN_OK) {
        r->done.spooled = batches;
        r->done.end_bytes = r->done.begin_bytes + spool_offset(r, batches);
        return GNN_OK;
    }
    if (status != GNN_ENOSPC)
        return gnn_fail(err, status, "%s", why.message);
    r->disk_full = true;
    r->counts.full++;
    gnn_log_warn("presort: mini-batches are drawn again through a mapping from now on: %s", why.message);
    return GNN_OK;
}

/* ---- a round ---- */

/* Lets the next round begin with as many mini-batches as this one would have had room for. */
static void guess_next(struct presort_rounds *r)
{
    const uint64_t words = *begin_of(r, r->env->workload->layers, r->batches) + 2 * r->want_count;
    r->next_batches = words > 0 ? r->batches * r->words / words : r->batches_max;
}

static enum gnn_status draw_round(struct presort_rounds *r, uint32_t first, struct gnn_err *err)
{
    const uint64_t start_ns = gnn_now_ns(r->world);
    const uint32_t most = gnn_min_u32(r->setup->sizes.batches - first, r->batches_max);
    r->first = first;
    r->batches = (uint32_t)gnn_max_u64(gnn_min_u64(r->next_batches, most), 1);
    for (r->hop = 1; r->hop <= r->env->workload->layers; r->hop++) {
        GNN_TRY(collect_wants(r, err));
        GNN_TRY(read_lists(r, err));
    }
    guess_next(r);
    GNN_TRY(spool(r, err));
    r->counts.rounds++;
    r->counts.draw_ns += gnn_now_ns(r->world) - start_ns;
    return GNN_OK;
}

/* ---- mini-batches ---- */

static enum gnn_status draw_ahead(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct presort_rounds *const r = ctx;
    (void)part;
    (void)parts;
    return draw_round(r, r->current.first + r->current.batches, err);
}

/* Lets the team draw the round behind the current one, of which nothing in memory is taken any more. */
static void post_next(struct presort_rounds *r)
{
    gnn_team_post(r->team, draw_ahead, r);
    r->ahead = true;
}

enum gnn_status presort_rounds_stage(struct presort_rounds *r, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    return gnn_team_stage(r->team, pipeline, "draw", err);
}

void presort_rounds_done(struct presort_rounds *r)
{
    gnn_team_done(r->team);
}

/* The current round becomes the one behind it, which is waited for. Where there is another one and all of its
 * mini-batches are on the tape they come from there, and that one is drawn at once; else it stays in memory. */
static enum gnn_status take_round(struct presort_rounds *r)
{
    if (!r->ahead)
        post_next(r);
    GNN_TRY(gnn_team_wait(r->team));
    r->ahead = false;
    r->current = r->done;
    r->taken_bytes = r->current.begin_bytes;
    const bool last = r->current.first + r->current.batches == r->setup->sizes.batches;
    if (last || r->current.spooled < r->current.batches)
        return GNN_OK;
    presort_tape_seek(&r->back, r->setup->tapes[r->turn], r->current.begin_bytes, r->current.end_bytes);
    post_next(r);
    return GNN_OK;
}

static enum gnn_status next_round(struct presort_rounds *r, uint32_t first, struct gnn_err *err)
{
    if (r->team != NULL)
        return take_round(r);
    GNN_TRY(draw_round(r, first, err));
    r->current = r->done;
    return GNN_OK;
}

enum gnn_status presort_rounds_reach(struct presort_rounds *r, uint32_t k, struct gnn_err *err)
{
    assert(k >= r->current.first);
    assert(k <= r->current.first + r->current.batches);
    if (k == r->current.first + r->current.batches)
        GNN_TRY(next_round(r, k, err));
    r->reached = k - r->current.first;
    r->reached_hop = 0;
    r->reached_bytes = r->taken_bytes;
    return GNN_OK;
}

void presort_rounds_add(const struct presort_rounds *r, uint32_t k, struct presort_spooled *spooled)
{
    assert(k == r->current.first + r->reached);
    if (r->reached >= r->current.spooled)
        return;
    if (spooled->batches++ == 0) {
        spooled->tape = r->turn;
        spooled->begin_bytes = r->reached_bytes;
    }
    spooled->end_bytes = r->taken_bytes;
}

/* ---- the source ---- */

struct source {
    struct gnn_neighbour_source base;
    struct presort_rounds *rounds;
};

static enum gnn_status fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                             gnn_node *out, struct gnn_err *err)
{
    struct presort_rounds *const r = ((const struct source *)source)->rounds;
    (void)edge_offset;
    r->taken_bytes += (count + 1) * sizeof *out;
    if (r->ahead)
        return presort_spool_take(&r->back, count, out, err);
    const uint32_t begin = *begin_of(r, ++r->reached_hop, r->reached);
    assert(begin + count == *begin_of(r, r->reached_hop, r->reached + 1));
    gnn_mem_copy(r->world, out, r->drawn + begin, count * sizeof *out);
    return GNN_OK;
}

static void close_source(struct gnn_neighbour_source *source)
{
    free(source);
}

static const struct gnn_neighbour_source_ops rounds_ops = {.name = "rounds", .fetch = fetch, .close = close_source};

enum gnn_status presort_rounds_source(void *rounds, uint32_t worker, struct gnn_neighbour_source **out,
                                      struct gnn_err *err)
{
    struct source *source;
    (void)worker;
    GNN_NEW(source, 1, err, "presort: source of drawn neighbours");
    *source = (struct source){.base = {&rounds_ops}, .rounds = rounds};
    *out = &source->base;
    return GNN_OK;
}

/* ---- figures ---- */

void presort_rounds_take_counts(struct presort_rounds *r, struct presort_rounds_counts *out)
{
    struct gnn_reader_counters now;
    struct presort_tape_counts tape, back;
    gnn_span_reader_counters(r->reader, &now);
    presort_tape_take_counts(&r->tape, &tape);
    presort_tape_take_counts(&r->back, &back);
    *out = r->counts;
    out->read_bytes = now.requested_bytes - r->read.requested_bytes;
    out->reads = now.requested_ios - r->read.requested_ios;
    out->written_bytes = tape.written_bytes;
    out->writes = tape.writes;
    out->back_bytes = back.read_bytes;
    out->back_reads = back.reads;
    r->read = now;
    r->counts = (struct presort_rounds_counts){.rounds = 0};
}
