/* AGNES: block-wise storage I/O and hyperbatch processing. See README.md.
 *
 * Source   AGNES (KDD 2026); where paper and released code differ, the paper is the default (specs/agnes.md section 7)
 * Memory   sizes.c; under accounting=full graph buffer and feature cache get what the cap leaves
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ENOTSUP without direct I/O), GNN_ENOMEM,
 *          GNN_ECAP, GNN_EUSAGE, GNN_ECANCELLED */
#include "systems/agnes/agnes.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const layout_words[] = {"bf", "input", "degree", "random", NULL};
static const char *const width_words[] = {"4", "8", NULL};
static const char *const accounting_words[] = {"full", "paper", NULL};
static const char *const setting_words[] = {"1", "2", NULL};
static const char *const policy_words[] = {"lru", "clock", NULL};
static const char *const rank_words[] = {"threshold", "count", NULL};
static const char *const spill_words[] = {"sync", "async", NULL};
static const char *const overlap_words[] = {"round", "full", NULL};
static const char *const io_words[] = {"direct", "buffered", NULL};

#define FIELD(name) offsetof(struct agnes_config, name)
static const struct gnn_option options[] = {
    {.name = "layout",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(layout),
     .unit = "",
     .def = "bf",
     .choices = layout_words,
     .help = "Order of the nodes in the blocks: breadth-first, as they are, by falling degree, at random.",
     .source = "paper section 3.2: breadth-first data layout; released code: as they are"},
    {.name = "block",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(block_bytes),
     .unit = "bytes",
     .def = "0",
     .max = 16 << 20,
     .help = "Bytes of a graph or feature block (Z); 0 = 1 MiB, or less so that both files have 1000 blocks.",
     .source = "paper section 4, Figure 9: 1 MiB, swept from 64 KiB to 4 MiB"},
    {.name = "id_bytes",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(id_width),
     .unit = "bytes",
     .def = "4",
     .choices = width_words,
     .help = "Bytes of a neighbour ID in a graph block.",
     .source = "released code: 8"},
    {.name = "hyperbatch",
     .type = GNN_OPT_U32,
     .offset = FIELD(hyperbatch),
     .unit = "batches",
     .def = "0",
     .max = 1 << 24,
     .help = "Mini-batches of a hyperbatch (H); 1 = AGNES-No; 0 = as many hyperbatches an epoch as in the paper "
             "(2; yahoo 14), or more where the cap wants it.",
     .source = "paper section 4, Figure 9: 1024, swept from 64 to 2048"},
    {.name = "accounting",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(accounting),
     .unit = "",
     .def = "full",
     .choices = accounting_words,
     .help = "full: all memory counts against the cap; paper: the two buffers have a budget, nothing else "
             "counts.",
     .source = "paper section 4: paper"},
    {.name = "setting",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(setting),
     .unit = "",
     .def = "1",
     .choices = setting_words,
     .help = "Buffers relative to the data when accounting=paper or there is no cap: setting 1, or 2 (a "
             "quarter).",
     .source = "paper section 4: 16 + 16 GB, 4 + 4 GB"},
    {.name = "graph_buffer",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(graph_buffer_bytes),
     .unit = "bytes",
     .def = "0",
     .help = "Graph buffer; 0 = by accounting and setting.",
     .source = "paper section 4, Figure 10: 1 to 16 GB"},
    {.name = "feature_cache",
     .type = GNN_OPT_BYTES,
     .offset = FIELD(feature_cache_bytes),
     .unit = "bytes",
     .def = "0",
     .help = "Feature cache; 0 = by accounting and setting.",
     .source = "paper section 4, Figure 10: 1 to 16 GB"},
    {.name = "policy",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(policy),
     .unit = "",
     .def = "lru",
     .choices = policy_words,
     .help = "Which unpinned graph block is evicted.",
     .source = "paper section 3.2: LRU; released code: CLOCK"},
    {.name = "resident_first",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(resident_first),
     .unit = "",
     .def = "true",
     .help = "Serve graph blocks that are in the buffer before any is read; off: all in ascending order.",
     .source = "paper section 3.3; released code"},
    {.name = "gbuf_keep",
     .type = GNN_OPT_BOOL,
     .offset = FIELD(gbuf_keep),
     .unit = "",
     .def = "false",
     .help = "Keep the graph buffer's blocks from one hyperbatch to the next.",
     .source = "released code: emptied"},
    {.name = "cache_rank",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(cache_rank),
     .unit = "",
     .def = "threshold",
     .choices = rank_words,
     .help = "Who gets into the feature cache: counts at or above the mean, lowest IDs first; or highest counts.",
     .source = "paper section 3.3: a threshold, without a value; released code: the mean"},
    {.name = "spill",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(spill),
     .unit = "",
     .def = "sync",
     .choices = spill_words,
     .help = "Full staging buffers are written by the worker that filled them, or by a writer thread.",
     .source = "released code: sync"},
    {.name = "overlap",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(overlap),
     .unit = "",
     .def = "round",
     .choices = overlap_words,
     .help = "round: training runs alone after sampling and gathering; full: all three overlap.",
     .source = "released code: round"},
    {.name = "workers",
     .type = GNN_OPT_U32,
     .offset = FIELD(workers),
     .unit = "threads",
     .def = "2",
     .min = 1,
     .max = 64,
     .help = "Worker threads of sampling, and as many of gathering (W).",
     .source = "paper section 4: 16 on 16 cores"},
    {.name = "depth",
     .type = GNN_OPT_U32,
     .offset = FIELD(depth),
     .unit = "reads",
     .def = "32",
     .min = 1,
     .max = 4096,
     .help = "Block reads in flight per stage (D).",
     .source = "ours; released code: up to 5120"},
    {.name = "io",
     .type = GNN_OPT_CHOICE,
     .offset = FIELD(io),
     .unit = "",
     .def = "direct",
     .choices = io_words,
     .help = "Blocks, spool and spill bypass the page cache, or go through it.",
     .source = "paper section 4: O_DIRECT"},
    {.name = NULL},
};

static enum gnn_status agnes_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                  struct gnn_err *err)
{
    struct agnes_sizes sizes;
    (void)env;
    return agnes_size(config, 0, &sizes, plan, err);
}

/* Training nodes under their new names, in the order of the dataset's list: permuted alike, epoch by epoch. */
static enum gnn_status open_seeds(struct agnes *s, struct gnn_err *err)
{
    const struct gnn_dataset *const d = s->env->dataset;
    const gnn_node *const order = s->files.new_to_old;
    const uint64_t bytes = d->train.count * (uint64_t)sizeof(gnn_node);
    void *train = NULL, *permuted = NULL, *names = NULL;
    if (d->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", d->dir);
    GNN_TRY(gnn_mem_alloc(s->env->world, "agnes training nodes", bytes, GNN_MEM_PLAIN, &train, err));
    s->train = train;
    GNN_TRY(gnn_mem_alloc(s->env->world, "order of the epoch", bytes, GNN_MEM_PLAIN, &permuted, err));
    s->order = permuted;
    memcpy(s->train, d->train.nodes, bytes);
    if (order == NULL)
        return GNN_OK;
    GNN_TRY(gnn_mem_alloc(s->env->world, "agnes new names of nodes", d->node_count * (uint64_t)sizeof(gnn_node),
                          GNN_MEM_PLAIN, &names, err));
    gnn_node *const new_of = names;
    for (uint32_t v = 0; v < d->node_count; v++)
        new_of[order[v]] = v;
    for (uint32_t i = 0; i < d->train.count; i++)
        s->train[i] = new_of[s->train[i]];
    gnn_mem_free(s->env->world, names);
    return GNN_OK;
}

static enum gnn_status open_training(struct agnes *s, struct gnn_err *err)
{
    const bool on_host = s->env->tensor->host_memory;
    s->reload.name = "agnes reloaded rows";
    for (uint32_t i = 0; i < AGNES_INPUTS; i++) {
        s->items[i].blocks.name = "agnes blocks in training";
        s->items[i].nodes.name = "agnes nodes in training";
        gnn_rows_init(&s->items[i].rows, s->env, "agnes input", on_host);
    }
    return gnn_training_open(s->env, &s->training, err);
}

static enum gnn_status open_all(struct agnes *s, struct gnn_err *err)
{
    struct gnn_memory_plan plan;
    GNN_TRY(agnes_layout_open(s->env, s->config, &s->files, err));
    gnn_plan_begin(&plan, s->env);
    GNN_TRY(agnes_size(s->config, s->files.index.blocks, &s->sizes, &plan, err));
    GNN_TRY(gnn_plan_check(&plan, "", err));
    GNN_TRY(open_seeds(s, err));
    GNN_TRY(agnes_sampling_open(s, err));
    if (s->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(agnes_gathering_open(s, err));
    return open_training(s, err);
}

static void agnes_close(void *state)
{
    struct agnes *const s = state;
    if (s == NULL)
        return;
    struct gnn_world *const world = s->env->world;
    gnn_training_close(&s->training);
    for (uint32_t i = 0; i < AGNES_INPUTS; i++) {
        gnn_rows_close(&s->items[i].rows);
        agnes_array_close(world, &s->items[i].blocks);
        agnes_array_close(world, &s->items[i].nodes);
    }
    agnes_array_close(world, &s->reload);
    agnes_gathering_close(s);
    agnes_sampling_close(s);
    gnn_mem_free(world, s->order);
    gnn_mem_free(world, s->train);
    agnes_layout_close(world, &s->files);
    free(s);
}

static enum gnn_status agnes_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct agnes *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: state");
    *state = s;
    s->env = env;
    s->config = config;
    return open_all(s, err);
}

static enum gnn_status agnes_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    return agnes_epoch(state, epoch, out, err);
}

const struct gnn_system gnn_system_agnes = {
    .abi = GNN_SYSTEM_ABI,
    .name = "agnes",
    .title = "AGNES (KDD 2026)",
    .options = options,
    .config_bytes = sizeof(struct agnes_config),
    .plan = agnes_plan,
    .open = agnes_open,
    .train_epoch = agnes_train_epoch,
    .close = agnes_close,
};
